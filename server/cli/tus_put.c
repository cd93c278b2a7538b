#include "tus_put.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define PIECE ((size_t)1 << 20)
#define TRIES 6 /* of one request, 1, 2, 4 … seconds apart */
#define HEADER_BYTES 8192
#define PROBLEM_BYTES 4096
#define NAME_BYTES 128

struct put {
    struct client *c;
    const struct tus_file *f;
    CURL *curl;
    char authorization[600], url[4096];
    unsigned char *piece;
    /* of the last answer */
    long status;
    char location[1024];
    int64_t offset;
    char problem[PROBLEM_BYTES];
    size_t problem_len;
};

/* Answers ----------------------------------------------------------------------------------------
 */

static size_t on_header(char *bytes, size_t size, size_t n, void *user)
{
    struct put *p = user;
    size_t len = size * n;
    char line[HEADER_BYTES];

    if (len >= sizeof line)
        return len;
    memcpy(line, bytes, len);
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncasecmp(line, "Location: ", 10) == 0)
        snprintf(p->location, sizeof p->location, "%.1000s", line + 10);
    else if (strncasecmp(line, "Upload-Offset: ", 15) == 0)
        p->offset = strtoll(line + 15, NULL, 10);
    return len;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    struct put *p = user;
    size_t len = size * n, room = PROBLEM_BYTES - 1 - p->problem_len;
    size_t kept = len < room ? len : room;

    memcpy(p->problem + p->problem_len, bytes, kept);
    p->problem_len += kept;
    p->problem[p->problem_len] = '\0';
    return len;
}

static bool refused(struct put *p, struct err *err)
{
    json_t *tree = json_loads(p->problem, 0, NULL);
    const char *detail = json_string_value(json_object_get(tree, "detail"));

    err_set(err,
            p->status == 403   ? ERR_FORBIDDEN
            : p->status == 401 ? ERR_UNAUTHORIZED
            : p->status == 413 ? ERR_TOO_BIG
                               : ERR_INVALID,
            "%.60s: the server answered %ld%s%.150s", p->f->name, p->status, detail ? ": " : "",
            detail ? detail : "");
    json_decref(tree);
    return false;
}

/* Requests ---------------------------------------------------------------------------------------
 */

static bool add(struct curl_slist **list, const char *line)
{
    struct curl_slist *more = curl_slist_append(*list, line);

    if (more)
        *list = more;
    return more != NULL;
}

/* One request, without trying again. False: no answer. */
static bool request(struct put *p, const char *method, const char *const *headers,
                    const unsigned char *body, size_t len)
{
    struct curl_slist *list = NULL;
    bool ok =
        add(&list, p->authorization) && add(&list, "Tus-Resumable: 1.0.0") && add(&list, "Expect:");

    for (; ok && *headers; headers++)
        ok = add(&list, *headers);
    curl_easy_reset(p->curl);
    curl_easy_setopt(p->curl, CURLOPT_URL, p->url);
    curl_easy_setopt(p->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(p->curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(p->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(p->curl, CURLOPT_LOW_SPEED_TIME, 60L);
    curl_easy_setopt(p->curl, CURLOPT_USERAGENT, "framewatch/" FW_VERSION);
    curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(p->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(p->curl, CURLOPT_HEADERDATA, p);
    curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, p);
    if (body) {
        curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
        curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(p->curl, CURLOPT_NOBODY, (long)(strcmp(method, "HEAD") == 0));
    curl_easy_setopt(p->curl, CURLOPT_CUSTOMREQUEST, method);
    p->status = 0;
    p->offset = -1;
    p->problem_len = 0;
    p->problem[0] = '\0';
    ok = ok && curl_easy_perform(p->curl) == CURLE_OK;
    curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &p->status);
    curl_slist_free_all(list);
    return ok;
}

static bool may_pass(const struct put *p, bool answered)
{
    return !answered || p->status == 423 || p->status == 429 || p->status >= 500;
}

static void rest(unsigned attempt)
{
    struct timespec t = {.tv_sec = 1L << attempt};

    nanosleep(&t, NULL);
}

static bool gave_up(struct put *p, bool answered, struct err *err)
{
    return answered ? refused(p, err)
                    : err_set(err, ERR_BUSY, "%.100s: no answer", client_shown(p->c));
}

static bool insist(struct put *p, const char *method, const char *const *headers,
                   const unsigned char *body, size_t len, struct err *err)
{
    for (unsigned attempt = 0;; attempt++) {
        bool answered = request(p, method, headers, body, len);

        if (!may_pass(p, answered))
            return true;
        if (attempt + 1 == TRIES)
            return gave_up(p, answered, err);
        rest(attempt);
    }
}

/* Base64 of a text, after a key of Upload-Metadata. */
static void put_pair(char *out, size_t size, const char *key, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(out), len = strlen(text);

    n += (size_t)snprintf(out + n, size - n, "%s%s ", n && out[n - 1] != ' ' ? "," : "", key);
    for (size_t i = 0; i < len && n + 5 < size; i += 3) {
        size_t left = len - i;
        unsigned long v = (unsigned long)(unsigned char)text[i] << 16 |
                          (left > 1 ? (unsigned long)(unsigned char)text[i + 1] << 8 : 0) |
                          (left > 2 ? (unsigned long)(unsigned char)text[i + 2] : 0);

        out[n++] = digits[v >> 18 & 63];
        out[n++] = digits[v >> 12 & 63];
        out[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
        out[n++] = left > 2 ? digits[v & 63] : '=';
    }
    out[n] = '\0';
}

/* Makes the upload, or finds it as it stands. */
static bool create(struct put *p, char upload[33], struct err *err)
{
    char length[64], metadata[1024] = "Upload-Metadata: ", name[NAME_BYTES];
    const char *headers[] = {length, metadata, NULL};
    const char *id;

    snprintf(length, sizeof length, "Upload-Length: %lld", (long long)p->f->size);
    snprintf(name, sizeof name, "%s", p->f->name);
    put_pair(metadata, sizeof metadata, "kind", p->f->kind);
    put_pair(metadata, sizeof metadata, "fileid", p->f->file_id);
    put_pair(metadata, sizeof metadata, "filename", name);
    snprintf(p->url, sizeof p->url, "%s/v1/uploads", client_url(p->c));
    if (!insist(p, "POST", headers, (const unsigned char *)"", 0, err))
        return false;
    id = strrchr(p->location, '/');
    if (p->status != 201)
        return refused(p, err);
    if (!id || strlen(id + 1) != 32)
        return err_set(err, ERR_INVALID, "the server's answer has no upload");
    memcpy(upload, id + 1, 33);
    snprintf(p->url, sizeof p->url, "%s/v1/uploads/%s", client_url(p->c), upload);
    return true;
}

static bool find_offset(struct put *p, struct err *err)
{
    static const char *const none[] = {NULL};

    if (!insist(p, "HEAD", none, NULL, 0, err))
        return false;
    if (p->status != 200 || p->offset < 0 || p->offset > p->f->size)
        return refused(p, err);
    return true;
}

/* The piece at `at`; *at is where the server stands afterwards, by its own word. */
static bool send_piece(struct put *p, int64_t *at, struct err *err)
{
    char offset[64];
    const char *headers[] = {offset, "Content-Type: application/offset+octet-stream", NULL};
    size_t n;

    if (fseeko(p->f->bytes, *at, SEEK_SET) != 0 || !(n = fread(p->piece, 1, PIECE, p->f->bytes)))
        return err_set(err, ERR_INTERNAL, "%.100s cannot be read again", p->f->name);
    snprintf(offset, sizeof offset, "Upload-Offset: %lld", (long long)*at);
    for (unsigned attempt = 0;; attempt++) {
        bool answered = request(p, "PATCH", headers, p->piece, n);

        if (answered && p->status == 204 && p->offset > *at) {
            *at = p->offset;
            return true;
        }
        if (answered && !may_pass(p, answered) && p->status != 409)
            return refused(p, err);
        if (attempt + 1 == TRIES)
            return gave_up(p, answered, err);
        rest(attempt);
        if (!find_offset(p, err))
            return false;
        if (p->offset != *at) { /* some of it arrived */
            *at = p->offset;
            return true;
        }
    }
}

static bool send_all(struct put *p, int64_t at, struct err *err)
{
    const struct tus_file *f = p->f;

    while (at < f->size) {
        if (!send_piece(p, &at, err))
            return false;
        if (f->progress)
            f->progress(f->user, at, f->size);
    }
    return true;
}

bool tus_put(struct client *c, const struct tus_file *f, char upload[33], int64_t *resumed_at,
             struct err *err)
{
    struct put p = {.c = c, .f = f, .curl = curl_easy_init(), .piece = malloc(PIECE)};
    bool ok = (p.curl && p.piece) || err_memory(err);

    snprintf(p.authorization, sizeof p.authorization, "Authorization: Bearer %s", client_key(c));
    ok = ok && create(&p, upload, err) && find_offset(&p, err);
    if (ok) {
        *resumed_at = p.offset;
        ok = send_all(&p, p.offset, err);
    }
    explicit_bzero(p.authorization, sizeof p.authorization);
    curl_easy_cleanup(p.curl);
    free(p.piece);
    return ok;
}
