#include "server/web/web.h"

#include "server/api/etag.h"
#include "server/http/coding.h"

#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)16 << 20)

static const char *const policies[] = {
    [WEB_STRICT] = "default-src 'self'; base-uri 'none'; form-action 'self'; "
                   "frame-ancestors 'none'; object-src 'none'",
    /* speedscope as its makers build it: WebAssembly and styles set by scripts */
    [WEB_SPEEDSCOPE] = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
                       "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                       "object-src 'none'",
};

const struct web_file *web_find(const struct web_file *files, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

enum web_coding web_coding_of(const struct web_file *f, const char *accept_encoding)
{
    if (f->zstd.len && coding_accepts(accept_encoding, "zstd"))
        return WEB_ZSTD;
    return f->gzip.len && coding_accepts(accept_encoding, "gzip") ? WEB_GZIP : WEB_PLAIN;
}

static void put_headers(struct req *r, const struct web_file *f, enum web_coding coding,
                        const char *etag)
{
    static const char *const names[] = {
        [WEB_PLAIN] = NULL, [WEB_GZIP] = "gzip", [WEB_ZSTD] = "zstd"};

    reply_header(r, "ETag", etag);
    reply_header(r, "Vary", "Accept-Encoding");
    reply_header(r, "Cache-Control",
                 f->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    reply_header(r, "Content-Security-Policy", policies[f->policy]);
    reply_header(r, "Referrer-Policy", "same-origin");
    if (names[coding])
        reply_header(r, "Content-Encoding", names[coding]);
}

bool web_reply(struct req *r, const struct web_file *f, struct err *err)
{
    enum web_coding coding = web_coding_of(f, req_header(r, "Accept-Encoding"));
    const struct bytes *form[] = {
        [WEB_PLAIN] = &f->plain, [WEB_GZIP] = &f->gzip, [WEB_ZSTD] = &f->zstd};
    const char *known = req_header(r, "If-None-Match");
    char etag[96];
    struct buf body;

    snprintf(etag, sizeof etag, "\"%s-%d\"", f->digest, (int)coding);
    put_headers(r, f, coding, etag);
    if (known && etag_in(known, etag, true))
        return reply_empty(r, 304);
    buf_init(&body, FILE_BYTES_MAX);
    buf_put(&body, form[coding]->at, form[coding]->len);
    return reply_buf(r, 200, f->type, &body, err);
}

/* Routes --------------------------------------------------------------------------------------- */

static const char missing[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta "
    "charset=\"utf-8\"><title>Framewatch</title></head>"
    "<body><h1>Framewatch</h1><p>This framewatchd was built without its page "
    "(<code>-DFW_WEB=OFF</code>). To have it, build with Node 18 or later and npm, as "
    "<code>cmake -DFW_WEB=ON</code>.</p><p>The API is here all the same, described in "
    "<a href=\"/v1/openapi.json\">/v1/openapi.json</a>.</p></body></html>\n";

static bool page(struct req *r, struct err *err)
{
    const struct web_file *f = web_find(web_files, web_files_n, "/index.html");
    const struct web_file otherwise = {
        .path = "/index.html",
        .type = "text/html; charset=utf-8",
        .digest = "none",
        .plain = {(const unsigned char *)missing, sizeof missing - 1},
    };

    return web_reply(r, f ? f : &otherwise, err);
}

static bool file(struct req *r, struct err *err)
{
    const struct web_file *f = web_find(web_files, web_files_n, r->path);

    return f ? web_reply(r, f, err) : err_set(err, ERR_NOT_FOUND, "there is no such file");
}

static bool speedscope(struct req *r, struct err *err)
{
    const struct web_file *f = web_find(web_files, web_files_n, "/speedscope/index.html");

    return f ? web_reply(r, f, err) : err_set(err, ERR_NOT_FOUND, "there is no such file");
}

const struct route web_routes[] = {
#define X(pattern, name) {"GET", pattern, ROLE_NONE, 0, page, name, true},
    WEB_PAGES(X)
#undef X
        {"GET", "/assets/{file}", ROLE_NONE, 0, file, "page_asset", true},
    {"GET", "/speedscope/", ROLE_NONE, 0, speedscope, "page_speedscope", true},
    {"GET", "/speedscope/{file}", ROLE_NONE, 0, file, "page_speedscope_file", true},
    {"GET", "/favicon.ico", ROLE_NONE, 0, file, "page_icon", true},
};
const size_t web_routes_n = sizeof web_routes / sizeof *web_routes;
