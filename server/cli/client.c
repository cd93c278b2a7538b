#include "client.h"

#include "base/buf.h"
#include "out_file.h"
#include "term.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEY_BYTES 512
#define MAX_URL_BYTES 2048
#define MAX_CONFIG_LINE 4096
#define CONNECT_TIMEOUT_S 10L
#define STALL_SECONDS 60L /* less than one byte a second for so long: given up */

struct client {
    CURL *curl;
    char url[MAX_URL_BYTES];
    char shown[MAX_URL_BYTES];              /* the same without user and password */
    char authorization[MAX_KEY_BYTES + 32]; /* the whole header line, "" when anonymous */
};

/* Where the answer of one exchange goes: into `body`, or to `file` once the status is a success. */
struct sink {
    CURL *curl;
    struct buf body;
    FILE *file;
    size_t written;
    bool file_failed;
};

static void trim(char *text)
{
    size_t lead = strspn(text, " \t\r\n"), len = strlen(text + lead);

    memmove(text, text + lead, len + 1);
    while (len && strchr(" \t\r\n", text[len - 1]))
        text[--len] = 0;
}

static bool copy_text(char *to, size_t size, const char *from, const char *what, struct err *err)
{
    size_t n = strlen(from);

    if (n >= size)
        return err_set(err, ERR_TOO_BIG, "%s is longer than %zu bytes", what, size - 1);
    memcpy(to, from, n + 1);
    return true;
}

static bool key_set(struct client *c, const char *key, struct err *err)
{
    char text[MAX_KEY_BYTES];

    if (!copy_text(text, sizeof text, key, "the API key", err))
        return false;
    trim(text);
    if (!text[0])
        return err_set(err, ERR_INVALID, "the API key is empty");
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p > '~')
            return err_set(err, ERR_INVALID, "the API key holds a byte that no key has");
    snprintf(c->authorization, sizeof c->authorization, "Authorization: Bearer %s", text);
    explicit_bzero(text, sizeof text);
    return true;
}

static bool key_from_file(struct client *c, const char *path, struct err *err)
{
    char text[MAX_KEY_BYTES];
    FILE *f = fopen(path, "re");

    if (!f)
        return err_set(err, ERR_INVALID, "cannot read the key file %.150s: %s", path,
                       strerror(errno));

    size_t n = fread(text, 1, sizeof text - 1, f);
    bool more = n == sizeof text - 1 && fgetc(f) != EOF;

    fclose(f);
    text[n] = 0;
    if (more)
        return err_set(err, ERR_TOO_BIG, "the key file %.150s is longer than a key", path);

    bool ok = key_set(c, text, err);

    explicit_bzero(text, sizeof text);
    return ok;
}

static void cut_slashes(char *url)
{
    for (size_t n = strlen(url); n && url[n - 1] == '/'; n--)
        url[n - 1] = 0;
}

/* Read as a request will read it, so that nothing is left over to be shown. */
static bool show_url(struct client *c, struct err *err)
{
    CURLU *u = curl_url();
    CURLUcode code = u ? curl_url_set(u, CURLUPART_URL, c->url, 0) : CURLUE_OUT_OF_MEMORY;
    char *text = NULL;

    if (!code)
        code = curl_url_set(u, CURLUPART_USER, NULL, 0);
    if (!code)
        code = curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
    if (!code)
        code = curl_url_get(u, CURLUPART_URL, &text, 0);
    if (!code && copy_text(c->shown, sizeof c->shown, text, "the server URL", err))
        cut_slashes(c->shown);
    else
        err_set(err, ERR_INVALID, "the server URL: %s", curl_url_strerror(code));
    curl_free(text);
    curl_url_cleanup(u);
    return c->shown[0];
}

static bool url_set(struct client *c, const char *url, struct err *err)
{
    if (!copy_text(c->url, sizeof c->url, url, "the server URL", err))
        return false;
    trim(c->url);
    if (strncmp(c->url, "http://", 7) != 0 && strncmp(c->url, "https://", 8) != 0)
        return err_set(err, ERR_INVALID, "the server URL must begin with http:// or https://");
    cut_slashes(c->url);
    return show_url(c, err);
}

/* Takes what options and environment left open. */
static bool config_line(struct client *c, char *line, const char *path, unsigned number,
                        struct err *err)
{
    char *comment = strchr(line, '#');

    if (comment)
        *comment = 0;
    trim(line);
    if (!line[0])
        return true;

    char *value = strchr(line, '=');

    if (value) {
        *value++ = 0;
        trim(line);
    }
    if (!value || line[strspn(line, "abcdefghijklmnopqrstuvwxyz_")])
        return err_set(err, ERR_INVALID, "%.150s:%u: not 'name = value'", path, number);
    trim(value);
    if (strcmp(line, "url") == 0)
        return c->url[0] || url_set(c, value, err);
    if (strcmp(line, "key") == 0)
        return c->authorization[0] || key_set(c, value, err);
    if (strcmp(line, "key_file") == 0)
        return c->authorization[0] || key_from_file(c, value, err);
    return err_set(err, ERR_INVALID, "%.150s:%u: '%.40s' is not url, key or key_file", path, number,
                   line);
}

static bool config_path(char *path, size_t size, bool *must_exist)
{
    const char *named = getenv("FW_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    int n = 0;

    *must_exist = named && named[0];
    if (*must_exist)
        n = snprintf(path, size, "%s", named);
    else if (xdg && xdg[0])
        n = snprintf(path, size, "%s/framewatch/client.conf", xdg);
    else if (home && home[0])
        n = snprintf(path, size, "%s/.config/framewatch/client.conf", home);
    return n > 0 && (size_t)n < size;
}

static bool config_read(struct client *c, struct err *err)
{
    char path[4096], line[MAX_CONFIG_LINE];
    bool must_exist;

    if (!config_path(path, sizeof path, &must_exist))
        return true;

    FILE *f = fopen(path, "re");

    if (!f)
        return !must_exist ||
               err_set(err, ERR_INVALID, "cannot read %.150s: %s", path, strerror(errno));

    bool ok = true;

    for (unsigned n = 1; ok && fgets(line, sizeof line, f); n++)
        ok = config_line(c, line, path, n, err);
    fclose(f);
    return ok;
}

static bool find_server(struct client *c, const struct client_options *o, struct err *err)
{
    const char *url = o->server ? o->server : getenv("FW_URL");

    return !url || !url[0] || url_set(c, url, err);
}

static bool find_key(struct client *c, const struct client_options *o, struct err *err)
{
    const char *key = getenv("FW_KEY"), *file = getenv("FW_KEY_FILE");

    if (o->key_file)
        return key_from_file(c, o->key_file, err);
    if (key && key[0])
        return key_set(c, key, err);
    return !file || !file[0] || key_from_file(c, file, err);
}

static bool settle(struct client *c, const struct client_options *o, struct err *err)
{
    if (!find_server(c, o, err) || !find_key(c, o, err))
        return false;
    if ((!c->url[0] || !c->authorization[0]) && !config_read(c, err))
        return false;
    if (!c->url[0])
        return err_set(err, ERR_INVALID, "no server given: --server URL or FW_URL");
    if (!c->authorization[0])
        return err_set(err, ERR_INVALID,
                       "no API key given: --key-file FILE, FW_KEY or FW_KEY_FILE");
    return true;
}

struct client *client_open(const struct client_options *o, struct err *err)
{
    struct client *c = calloc(1, sizeof *c);

    if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) || !(c->curl = curl_easy_init())) {
        err_memory(err);
        goto fail;
    }
    if (settle(c, o, err))
        return c;
fail:
    client_close(c);
    return NULL;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->curl);
    explicit_bzero(c->authorization, sizeof c->authorization);
    free(c);
}

const char *client_key(const struct client *c)
{
    static const char before[] = "Authorization: Bearer ";

    return c->authorization[0] ? c->authorization + sizeof before - 1 : "";
}

const char *client_url(const struct client *c)
{
    return c->url;
}

const char *client_shown(const struct client *c)
{
    return c->shown;
}

char *client_escape(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct buf b;
    size_t len;

    buf_init(&b, 1 << 20);
    for (; *text; text++)
        if (strchr(plain, *text))
            buf_byte(&b, (uint8_t)*text);
        else
            buf_printf(&b, "%%%02X", (unsigned char)*text);
    buf_byte(&b, 0);
    return (char *)buf_steal(&b, &len);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    struct sink *s = user;
    size_t len = size * n;
    long status = 0;

    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
    if (s->file && status >= 200 && status < 300) {
        s->written += len;
        if (s->written > CLIENT_MAX_ANSWER || fwrite(bytes, 1, len, s->file) != len)
            s->file_failed = true;
        return s->file_failed ? 0 : len;
    }
    buf_put(&s->body, bytes, len);
    return buf_ok(&s->body) ? len : 0;
}

static enum err_code code_of(long status)
{
    switch (status) {
    case 401:
        return ERR_UNAUTHORIZED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 410:
        return ERR_GONE;
    case 413:
        return ERR_TOO_BIG;
    case 429:
    case 503:
        return ERR_BUSY;
    default:
        return status >= 500 ? ERR_INTERNAL : ERR_INVALID;
    }
}

static const char *text_of(const json_t *problem, const char *name)
{
    const char *text = json_string_value(json_object_get(problem, name));

    return text ? text : "";
}

/* A problem document (RFC 9457) as one line; other answers by their status alone. */
static bool tell_problem(long status, const struct buf *body, struct err *err)
{
    json_t *p = json_loadb((const char *)body->at, body->len, 0, NULL);
    const char *title = text_of(p, "title"), *detail = text_of(p, "detail"),
               *field = text_of(p, "field"), *request = text_of(p, "request_id");

    if (json_is_object(p))
        err_set(err, code_of(status), "%ld %.60s%s%.120s%s%.40s%s", status, title,
                detail[0] ? ": " : "", detail, request[0] ? " (request " : "", request,
                request[0] ? ")" : "");
    else
        err_set(err, code_of(status), "the server answered with status %ld", status);
    snprintf(err->field, sizeof err->field, "%s", field);
    json_decref(p);
    return false;
}

static void prepare(struct client *c, const char *method, const char *url,
                    struct curl_slist *headers, const char *body, struct sink *sink)
{
    CURL *h = c->curl;

    curl_easy_reset(h);
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
    curl_easy_setopt(h, CURLOPT_USERAGENT, "framewatch/" FW_VERSION);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, sink);
    if (body)
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, body);
    if (strcmp(method, "GET") != 0)
        curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, method);
}

static bool exchange(struct client *c, const char *method, const char *path, const char *body,
                     struct sink *sink, struct err *err)
{
    char url[2 * MAX_URL_BYTES];
    int n = snprintf(url, sizeof url, "%s%s", c->url, path);
    struct curl_slist *headers = NULL, *more;

    if (n < 0 || (size_t)n >= sizeof url)
        return err_set(err, ERR_TOO_BIG, "the request's URL is longer than %zu bytes", sizeof url);
    if (c->authorization[0])
        headers = curl_slist_append(headers, c->authorization);
    if (body && (more = curl_slist_append(headers, "Content-Type: application/json")))
        headers = more;
    sink->curl = c->curl;
    buf_init(&sink->body, CLIENT_MAX_ANSWER);
    prepare(c, method, url, headers, body, sink);

    CURLcode done = curl_easy_perform(c->curl);
    long status = 0;
    bool ok = done == CURLE_OK;

    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    if (sink->file_failed || !buf_ok(&sink->body))
        ok = err_set(err, ERR_TOO_BIG, "the answer could not be stored (disk full, or too long)");
    else if (!ok)
        err_set(err, ERR_BUSY, "%.100s: %.120s", c->shown, curl_easy_strerror(done));
    else if (status < 200 || status > 299)
        ok = tell_problem(status, &sink->body, err);
    return ok;
}

/* Names of builds, scenes and functions come from phones, and commands print them. */
static bool clean(json_t *v)
{
    char *text = json_is_string(v) ? strdup(json_string_value(v)) : NULL;
    const char *key;
    json_t *item;
    size_t i;
    bool ok = !json_is_string(v) || text;

    if (text) {
        term_clean(text);
        ok = json_string_set(v, text) == 0;
    }
    free(text);
    json_object_foreach(v, key, item) ok = ok && clean(item);
    json_array_foreach(v, i, item) ok = ok && clean(item);
    return ok;
}

bool client_send(struct client *c, const char *method, const char *path, const json_t *body,
                 json_t **out, struct err *err)
{
    struct sink sink = {0};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_t *tree = NULL;
    bool ok = false;

    if (body && !text) {
        err_memory(err);
        goto out;
    }
    if (!exchange(c, method, path, text, &sink, err))
        goto out;
    if (sink.body.len && out) {
        tree = json_loadb((const char *)sink.body.at, sink.body.len, JSON_REJECT_DUPLICATES, NULL);
        if (!tree) {
            err_set(err, ERR_INVALID, "%.150s: the answer is not JSON", c->shown);
            goto out;
        }
        if (!clean(tree)) {
            json_decref(tree);
            err_memory(err);
            goto out;
        }
    }
    if (out)
        *out = tree;
    ok = true;
out:
    buf_fini(&sink.body);
    free(text);
    return ok;
}

bool client_get(struct client *c, const char *path, json_t **out, struct err *err)
{
    return client_send(c, "GET", path, NULL, out, err);
}

bool client_download(struct client *c, const char *path, FILE *to, struct err *err)
{
    struct sink sink = {.file = to};
    bool ok = exchange(c, "GET", path, NULL, &sink, err);

    buf_fini(&sink.body);
    return ok;
}

bool client_save(struct client *c, const char *path, const char *file, struct err *err)
{
    struct out_file out;

    return out_file_open(&out, file, err) &&
           out_file_close(&out, client_download(c, path, out.to, err), err);
}

const char *client_field(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

bool client_turn(json_t **page, json_t *next, const char **cursor, struct err *err)
{
    const char *on = json_string_value(json_object_get(next, "next"));
    bool stuck = on && *cursor && strcmp(on, *cursor) == 0;

    json_decref(*page);
    *page = next;
    *cursor = on;
    return !stuck || err_set(err, ERR_INTERNAL, "the server gave the same page twice");
}
