#include "server/http/req.h"

#include "base/utf8.h"
#include "server/http/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JSON_DEPTH_MAX 32

const char *req_header(const struct req *r, const char *name)
{
    return headers_find(r->headers, name);
}

const char *req_query(const struct req *r, const char *name)
{
    return uri_arg(r->uri, name);
}

bool req_query_i64(struct req *r, const char *name, struct range range, int64_t *out,
                   struct err *err)
{
    const char *text = req_query(r, name);
    char *end;

    if (!text) {
        *out = range.otherwise;
        return true;
    }
    errno = 0;
    long long v = strtoll(text, &end, 10);

    if (end == text || *end || errno || !((*text >= '0' && *text <= '9') || *text == '-'))
        return err_field(err, ERR_INVALID, name, "not a whole number");
    if (v < range.min || v > range.max)
        return err_field(err, ERR_INVALID, name, "must be %lld to %lld", (long long)range.min,
                         (long long)range.max);
    *out = v;
    return true;
}

bool req_query_bool(struct req *r, const char *name, bool otherwise, bool *out, struct err *err)
{
    const char *text = req_query(r, name);

    if (!text)
        *out = otherwise;
    else if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
        *out = true;
    else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        *out = false;
    else
        return err_field(err, ERR_INVALID, name, "must be true or false");
    return true;
}

static bool among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

bool req_query_only(struct req *r, const char *const *names, struct err *err)
{
    for (size_t i = 0; i < r->uri->n_args; i++)
        if (!among(r->uri->arg[i].name, names))
            return err_field(err, ERR_INVALID, r->uri->arg[i].name, "no such argument");
    return true;
}

/* The 32 digits of an id, also of one written with the dashes of a UUID. */
static bool id_digits(const char *text, char digits[33])
{
    size_t len = strlen(text), n = 0;

    if (len != 32 && len != 36)
        return false;
    for (size_t at = 0; at < len; at++) {
        bool dash = len == 36 && (at == 8 || at == 13 || at == 18 || at == 23);

        if (dash != (text[at] == '-'))
            return false;
        if (!dash)
            digits[n++] = text[at];
    }
    digits[n] = '\0';
    return true;
}

bool req_param_id(struct req *r, unsigned i, unsigned char id[16], struct err *err)
{
    const char *text = i < REQ_MAX_PARAMS && r->param[i] ? r->param[i] : "";
    char digits[33];

    if (!id_digits(text, digits) || !from_hex(digits, 16, id))
        return err_field(err, ERR_INVALID, "id", "not an id: 32 hex digits");
    return true;
}

/* jansson would follow any depth it was compiled for. */
static bool too_deep(const unsigned char *at, size_t n)
{
    unsigned depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            if (at[i] == '\\')
                i++;
            else if (at[i] == '"')
                in_string = false;
        } else if (at[i] == '"') {
            in_string = true;
        } else if (at[i] == '{' || at[i] == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (at[i] == '}' || at[i] == ']') {
            depth -= depth > 0;
        }
    }
    return false;
}

bool req_json(struct req *r, struct err *err)
{
    const char *type = req_header(r, "Content-Type");
    json_error_t why;

    if (!type || strncasecmp(type, "application/json", 16) != 0 ||
        (type[16] && !strchr("; \t", type[16])))
        return err_field(err, ERR_INVALID, "Content-Type", "must be application/json");
    if (too_deep(r->body.at, r->body.len))
        return err_set(err, ERR_INVALID, "the body nests deeper than %d levels", JSON_DEPTH_MAX);
    json_decref(r->json);
    r->json = json_loadb((const char *)r->body.at, r->body.len, JSON_REJECT_DUPLICATES, &why);
    if (!r->json)
        return err_set(err, ERR_INVALID, "the body is not JSON: line %d, column %d: %s", why.line,
                       why.column, why.text);
    return true;
}

/* NULL in *out: it is not there, and need not be. */
static bool get_string(const json_t *object, const char *name, size_t max, bool required,
                       const char **out, struct err *err)
{
    const json_t *v = json_object_get(object, name);

    if (!v && required)
        return err_field(err, ERR_INVALID, name, "is missing");
    if (v && !json_is_string(v))
        return err_field(err, ERR_INVALID, name, "must be a text");
    if (json_string_length(v) > max)
        return err_field(err, ERR_INVALID, name, "must be at most %zu bytes long", max);
    *out = json_string_value(v);
    return true;
}

bool json_get_text(const json_t *object, const char *name, size_t max, const char *otherwise,
                   const char **out, struct err *err)
{
    const char *text = NULL;

    if (!get_string(object, name, max, !otherwise, &text, err))
        return false;
    if (text && !utf8_is_tame(text, ""))
        return err_field(err, ERR_INVALID, name, "must have no control characters");
    *out = text ? text : otherwise;
    return true;
}

bool json_get_prose(const json_t *object, const char *name, size_t max, const char *otherwise,
                    const char **out, struct err *err)
{
    const char *text = NULL;

    if (!get_string(object, name, max, !otherwise, &text, err))
        return false;
    if (text && !utf8_is_tame(text, "\t\n\r"))
        return err_field(err, ERR_INVALID, name,
                         "must have no control characters but line ends and tabs");
    *out = text ? text : otherwise;
    return true;
}

bool json_get_opaque(const json_t *object, const char *name, size_t max, const char **out,
                     struct err *err)
{
    return get_string(object, name, max, true, out, err);
}

bool json_get_i64(const json_t *object, const char *name, struct range range, bool required,
                  int64_t *out, struct err *err)
{
    const json_t *v = json_object_get(object, name);

    if (!v && !required) {
        *out = range.otherwise;
        return true;
    }
    if (!v)
        return err_field(err, ERR_INVALID, name, "is missing");
    if (!json_is_integer(v))
        return err_field(err, ERR_INVALID, name, "must be a whole number");
    if (json_integer_value(v) < range.min || json_integer_value(v) > range.max)
        return err_field(err, ERR_INVALID, name, "must be %lld to %lld", (long long)range.min,
                         (long long)range.max);
    *out = json_integer_value(v);
    return true;
}

bool json_get_bool(const json_t *object, const char *name, bool otherwise, bool *out,
                   struct err *err)
{
    const json_t *v = json_object_get(object, name);

    if (v && !json_is_boolean(v))
        return err_field(err, ERR_INVALID, name, "must be true or false");
    *out = v ? json_is_true(v) : otherwise;
    return true;
}

bool json_only(const json_t *object, const char *const *names, struct err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return err_set(err, ERR_INVALID, "the body must be an object");
    json_object_foreach((json_t *)object, key, value)
    {
        if (!among(key, names))
            return err_field(err, ERR_INVALID, key, "no such field");
    }
    return true;
}

bool reply_json(struct req *r, int status, json_t *body, struct err *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

    json_decref(body);
    if (!text)
        return err_set(err, ERR_INTERNAL, "the answer could not be written as JSON");
    free(r->reply->body);
    r->reply->status = status;
    r->reply->content_type = "application/json";
    r->reply->body = (unsigned char *)text;
    r->reply->len = strlen(text);
    return true;
}

bool reply_buf(struct req *r, int status, const char *content_type, struct buf *body,
               struct err *err)
{
    const char *type = arena_dup(r->mem, content_type, strlen(content_type));

    if (!type || !reply_take(r->reply, status, type, body)) {
        buf_fini(body);
        return err_set(err, ERR_TOO_BIG, "the answer is too big");
    }
    return true;
}

bool reply_empty(struct req *r, int status)
{
    r->reply->status = status;
    return true;
}

void reply_header(struct req *r, const char *name, const char *value)
{
    const char *n = arena_dup(r->mem, name, strlen(name));
    const char *v = arena_dup(r->mem, value, strlen(value));

    if (n && v)
        reply_put(r->reply, n, v);
}
