#include "server/http/headers.h"

#include <string.h>
#include <strings.h>

/* Headers of which a second one could only be a mistake or a trick. */
static const char *const single[] = {
    "Host",           "Content-Length",  "Transfer-Encoding",      "Content-Type",
    "Authorization",  "Expect",          "Tus-Resumable",          "Upload-Offset",
    "Upload-Length",  "Upload-Concat",   "Upload-Metadata",        "Upload-Defer-Length",
    "Upload-Expires", "Upload-Checksum", "X-HTTP-Method-Override", "X-Request-Id",
};

void headers_add(struct http_headers *h, const char *name, const char *value)
{
    if (h->n == HEADERS_MAX) {
        h->overflow = true;
        return;
    }
    h->at[h->n++] = (struct http_header){name, value ? value : ""};
}

const char *headers_find(const struct http_headers *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcasecmp(h->at[i].name, name) == 0)
            return h->at[i].value;
    return NULL;
}

bool parse_decimal(const char *text, int64_t *out)
{
    int64_t v = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        int digit = *text - '0';

        if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

/* token of RFC 9110, 5.6.2 */
static bool is_token(const char *name)
{
    if (!*name)
        return false;
    for (; *name; name++)
        if (!(*name >= '0' && *name <= '9') && !(*name >= 'a' && *name <= 'z') &&
            !(*name >= 'A' && *name <= 'Z') && !strchr("!#$%&'*+-.^_`|~", *name))
            return false;
    return true;
}

static bool is_value(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

static bool check_line(const struct http_header *h, bool *smuggling, struct err *err)
{
    if (!is_token(h->name)) {
        *smuggling = true;
        return err_set(err, ERR_INVALID, "a header name holds a character that names may not hold");
    }
    if (!is_value(h->value)) {
        *smuggling = true;
        return err_field(err, ERR_INVALID, h->name, "the header holds a control character");
    }
    if (strlen(h->value) > HEADER_VALUE_MAX)
        return err_field(err, ERR_TOO_BIG, h->name, "the header is longer than %d bytes",
                         HEADER_VALUE_MAX);
    return true;
}

static size_t count(const struct http_headers *h, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        n += strcasecmp(h->at[i].name, name) == 0;
    return n;
}

static bool check_single(const struct http_headers *h, bool *smuggling, struct err *err)
{
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (count(h, single[i]) > 1) {
            *smuggling = i < 3;
            return err_field(err, ERR_INVALID, single[i], "the header stands there twice");
        }
    return true;
}

/* uri-host [":" port]: what a Location may be built from. */
static bool is_host(const char *host)
{
    if (!*host || strlen(host) > 255)
        return false;
    for (; *host; host++)
        if (!(*host >= '0' && *host <= '9') && !(*host >= 'a' && *host <= 'z') &&
            !(*host >= 'A' && *host <= 'Z') && !strchr(".-_:[]~", *host))
            return false;
    return true;
}

static bool check_body(const struct http_headers *h, struct body_length *body, bool *smuggling,
                       struct err *err)
{
    const char *length = headers_find(h, "Content-Length");
    const char *coding = headers_find(h, "Transfer-Encoding");
    int64_t bytes = 0;

    *smuggling = true; /* whatever is wrong here */
    if (length && coding)
        return err_field(err, ERR_INVALID, "Transfer-Encoding",
                         "Content-Length and Transfer-Encoding exclude each other");
    if (coding && strcasecmp(coding, "chunked") != 0)
        return err_field(err, ERR_INVALID, "Transfer-Encoding", "only chunked is supported");
    if (length && !parse_decimal(length, &bytes))
        return err_field(err, ERR_INVALID, "Content-Length", "not a decimal number of bytes");
    *smuggling = false;
    *body = (struct body_length){.chunked = coding != NULL, .bytes = (uint64_t)bytes};
    return true;
}

bool headers_check(const struct http_headers *h, struct body_length *body, bool *smuggling,
                   struct err *err)
{
    const char *host = headers_find(h, "Host");

    *smuggling = false;
    if (h->overflow)
        return err_set(err, ERR_TOO_BIG, "more than %d header lines", HEADERS_MAX);
    for (size_t i = 0; i < h->n; i++)
        if (!check_line(&h->at[i], smuggling, err))
            return false;
    if (!check_single(h, smuggling, err))
        return false;
    if (!host || !is_host(host)) {
        *smuggling = true;
        return err_field(err, ERR_INVALID, "Host", host ? "not a host" : "the header is missing");
    }
    return check_body(h, body, smuggling, err);
}
