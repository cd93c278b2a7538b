#include "server/http/coding.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#define ZSTD_LEVEL 3
#define GZIP_LEVEL 4
#define GZIP_WINDOW (15 + 16) /* 16: a gzip head and tail around the stream */
#define GZIP_MEMORY 8

/* Whether one of the parameters of a list's member, `len` bytes, is a weight of nothing: "q=0",
 * "Q=0.", "q=0.000". */
static bool weighs_nothing(const char *at, size_t len)
{
    const char *end = at + len;

    while ((at = memchr(at, ';', (size_t)(end - at)))) {
        at++;
        at += strspn(at, " \t");
        if (strncasecmp(at, "q=0", 3) == 0) {
            at += 3;
            at += strspn(at, ".0");
            return *at < '1' || *at > '9';
        }
    }
    return false;
}

bool coding_accepts(const char *list, const char *coding)
{
    size_t n = strlen(coding);

    for (const char *at = list ? list : ""; *at;) {
        at += strspn(at, " \t,");

        size_t len = strcspn(at, ",");

        if (strncasecmp(at, coding, n) == 0 && strchr(" \t;,", at[n]))
            return !weighs_nothing(at, len);
        at += len;
    }
    return false;
}

static bool shrinks(const char *type)
{
    return type && (strncmp(type, "text/", 5) == 0 || strncmp(type, "application/json", 16) == 0);
}

static bool may_be_coded(const struct http_reply *r)
{
    static const char *const fixed[] = {"Content-Encoding", "ETag", "Vary"};

    if (r->status < 200 || r->status > 299 || r->len < CODING_BYTES_MIN ||
        !shrinks(r->content_type))
        return false;
    for (size_t i = 0; i < r->n_headers; i++) {
        for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
            if (strcasecmp(r->header[i].name, fixed[k]) == 0)
                return false;
        if (strcasecmp(r->header[i].name, "Cache-Control") == 0 &&
            strstr(r->header[i].value, "no-store"))
            return false;
    }
    return true;
}

/* Both: bytes written to `out`, 0 if they did not fit or it failed. */
static size_t with_zstd(const struct http_reply *r, unsigned char *out, size_t room)
{
    size_t n = ZSTD_compress(out, room, r->body, r->len, ZSTD_LEVEL);

    return ZSTD_isError(n) ? 0 : n;
}

static size_t with_gzip(const struct http_reply *r, unsigned char *out, size_t room)
{
    z_stream z = {
        .next_in = r->body, .avail_in = (uInt)r->len, .next_out = out, .avail_out = (uInt)room};
    size_t n = 0;

    if (r->len > UINT_MAX || deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                                          Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    if (deflate(&z, Z_FINISH) == Z_STREAM_END)
        n = z.total_out;
    deflateEnd(&z);
    return n;
}

static void squeeze(struct http_reply *r, const char *coding)
{
    size_t room = r->len - r->len / 10; /* less is not worth the other side's work */
    unsigned char *out = malloc(room), *fit;
    size_t n = 0;

    if (out)
        n = strcmp(coding, "zstd") == 0 ? with_zstd(r, out, room) : with_gzip(r, out, room);
    if (!n) {
        free(out);
        return;
    }
    fit = realloc(out, n);
    free(r->body);
    r->body = fit ? fit : out;
    r->len = n;
    reply_put(r, "Content-Encoding", coding);
}

void coding_reply(struct http_reply *r, const char *accept_encoding)
{
    if (!may_be_coded(r))
        return;
    reply_put(r, "Vary", "Accept-Encoding");
    if (coding_accepts(accept_encoding, "zstd"))
        squeeze(r, "zstd");
    else if (coding_accepts(accept_encoding, "gzip"))
        squeeze(r, "gzip");
}
