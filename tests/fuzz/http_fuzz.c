/* Header rules, request targets and routes. The input is a request's head: a line with the
 * target, then "Name: value" lines. */
#include "server/http/headers.h"
#include "server/http/route.h"
#include "server/http/uri.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static bool no_handler(struct req *r, struct err *err)
{
    (void)r;
    (void)err;
    return false;
}

static const struct route some_routes[] = {
    {"GET", "/v1/sessions", ROLE_READ, 0, no_handler, "list", false},
    {"GET", "/v1/sessions/{id}/timeline", ROLE_READ, 0, no_handler, "timeline", false},
    {"PATCH", "/v1/uploads/{id}", ROLE_INGEST, 0, no_handler, "patch", false},
    {"GET", "/{a}/{b}/{c}/{d}", ROLE_READ, 0, no_handler, "four", false},
};

static void fuzz_target(char *target)
{
    struct routes routes = {.n = 1, .table = {{some_routes, 4, 0}}};
    char *scratch = malloc(strlen(target) + 1);
    struct route_match match;
    struct uri uri;
    struct err err = {0};

    if (scratch && uri_parse(target, &uri, &err)) {
        require(uri.n_args <= URI_ARGS_MAX && uri.path[0] == '/');
        routes_find(&routes, "GET", uri.path, scratch, &match);
        for (size_t i = 0; match.route && i < REQ_MAX_PARAMS && match.param[i]; i++)
            require(match.param[i] >= scratch && strlen(match.param[i]) <= strlen(uri.path));
    }
    free(scratch);
}

/* What passes has one length, however it was written. */
static void fuzz_headers(char *line)
{
    struct http_headers *h = calloc(1, sizeof *h);
    struct body_length body = {.chunked = true, .bytes = 1};
    struct err err = {0};
    bool smuggling;

    while (h && line) {
        char *next = strchr(line, '\n'), *colon;

        if (next)
            *next++ = '\0';
        colon = strchr(line, ':');
        if (colon) {
            *colon = '\0';
            headers_add(h, line, colon + 1 + strspn(colon + 1, " "));
        }
        line = next;
    }
    if (h && headers_check(h, &body, &smuggling, &err)) {
        require(!smuggling && headers_find(h, "host"));
        require(!(headers_find(h, "Content-Length") && headers_find(h, "Transfer-Encoding")));
        require(body.chunked == (headers_find(h, "Transfer-Encoding") != NULL));
        require(!body.chunked || body.bytes == 0);
        require(body.bytes <= INT64_MAX);
    }
    free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    rest = strchr(text, '\n');
    if (rest) {
        *rest++ = '\0';
        fuzz_headers(rest);
    }
    fuzz_target(text);
    free(text);
    return 0;
}
