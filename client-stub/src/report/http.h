/*
 * http: one request to the Framewatch server through a transport.
 *
 * A struct fw_server is read-only and may be shared by threads if its transport may. The key goes
 * to `url`'s own origin only: callers give a path, never a whole URL.
 */
#pragma once
#include "wire/buf.h"

#include <framewatch.h>

#define FW_URL_BYTES 512
#define FW_ETAG_BYTES 128
#define FW_MAX_REQUEST_HEADERS 12
#define FW_RETRY_AFTER_LAST_MS 3600000 /* a longer Retry-After counts as this */

struct fw_transport {
    int (*exchange)(void *user, fw_http_request *request); /* as fw_options.transport */
    void *user;
};

struct fw_server {
    const char *url; /* "https://host[:port][/prefix]", without a final slash */
    const char *api_key;
    struct fw_transport transport;
    uint32_t timeout_ms; /* of one exchange */
};

/* What of an answer the SDK uses. status 0: no answer came. */
struct fw_answer {
    int status;
    int64_t upload_offset;  /* -1: absent or malformed */
    int64_t retry_after_ms; /* -1: absent or malformed */
    char location[FW_URL_BYTES];
    char etag[FW_ETAG_BYTES];
    struct fw_buf *body; /* where the body goes; NULL: nowhere */
};

/* path: "/v1/…" below the server's URL, or "/…" at its origin if `at_origin`. headers:
 * "Name: value", NULL at the end, at most FW_MAX_REQUEST_HEADERS less the key's. out->body is set
 * by the caller, all else here. */
struct fw_exchange {
    const char *method, *path;
    bool at_origin;
    const char *const *headers;
    const void *body;
    size_t body_len;
};
void fw_http(const struct fw_server *server, const struct fw_exchange *x, struct fw_answer *out);

/* Decimal digits only, at most 18; -1 otherwise. */
int64_t fw_parse_count(const char *text);
