/*
 * req: one API request as a handler sees it, and the reply it builds.
 *
 * A handler runs to completion on a dispatcher thread, with a database connection borrowed for the
 * call. All it allocates is in `mem`; it frees nothing. It returns true after one reply_*() call,
 * or false with `err` set: the dispatcher then sends a problem document (RFC 9457) with a stable
 * `code`, the field at fault and the request id, and logs it. Handlers see neither libmicrohttpd
 * nor libpq.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "server/db/db.h"

#include <jansson.h>

enum role {
    ROLE_NONE,
    ROLE_INGEST,
    ROLE_READ,
    ROLE_ADMIN
}; /* admin may all; ingest and read do not
      include each other */

struct principal {
    int64_t app; /* the only app whose data this request may touch */
    enum role role;
    char hint[16]; /* of the key, for audit and logs */
};

#define REQ_MAX_PARAMS 4

struct context; /* of server/main.c: what handlers may share (configuration, metrics), read-only */

struct req {
    struct db *db;
    struct arena *mem;
    struct principal who;
    const unsigned char *key_hash; /* SHA-256 of the key; NULL on routes open to all */
    const struct context *ctx;
    const char *method, *path;
    const char *param[REQ_MAX_PARAMS]; /* {…} of the route, in order, percent-decoded */
    const char *request_id;
    struct bytes body; /* whole; at most the route's limit */
    json_t *json;      /* of the body, after req_json() */
    struct http_reply *reply;
    const struct http_headers *headers;
    const struct uri *uri; /* query arguments, for req_query() */
};

/* Request header or query argument (percent-decoded), NULL if absent. */
const char *req_header(const struct req *r, const char *name);
const char *req_query(const struct req *r, const char *name);

struct range {
    int64_t min, max, otherwise;
};
/* Typed query arguments; ERR_INVALID names the argument. Absent: `otherwise`. */
bool req_query_i64(struct req *r, const char *name, struct range range, int64_t *out,
                   struct err *err) MUST_CHECK;
bool req_query_bool(struct req *r, const char *name, bool otherwise, bool *out,
                    struct err *err) MUST_CHECK;
/* An argument nobody reads is an error: names of all that the route knows, NULL at the end. */
bool req_query_only(struct req *r, const char *const *names, struct err *err) MUST_CHECK;
/* Path parameter as a 128-bit id: 32 hex digits, dashes of a UUID allowed. */
bool req_param_id(struct req *r, unsigned i, unsigned char id[16], struct err *err) MUST_CHECK;

/* Parses the body (application/json, depth at most 32, no duplicate keys) into r->json. */
bool req_json(struct req *r, struct err *err) MUST_CHECK;
/* Strict getters on an object; ERR_INVALID names the field. Strings are valid UTF-8 without control
 * characters and at most `max` bytes. `otherwise` NULL makes the text required. */
bool json_get_text(const json_t *object, const char *name, size_t max, const char *otherwise,
                   const char **out, struct err *err) MUST_CHECK;
/* What people write: line ends and tabs may be in it. */
bool json_get_prose(const json_t *object, const char *name, size_t max, const char *otherwise,
                    const char **out, struct err *err) MUST_CHECK;
/* Required, and never shown to anybody: it may hold anything. */
bool json_get_opaque(const json_t *object, const char *name, size_t max, const char **out,
                     struct err *err) MUST_CHECK;
bool json_get_i64(const json_t *object, const char *name, struct range range, bool required,
                  int64_t *out, struct err *err) MUST_CHECK;
bool json_get_bool(const json_t *object, const char *name, bool otherwise, bool *out,
                   struct err *err) MUST_CHECK;
/* Every key of the object is among names (NULL at the end). */
bool json_only(const json_t *object, const char *const *names, struct err *err) MUST_CHECK;

/* Replies: exactly one. Each takes ownership of the tree or steals the buffer. */
bool reply_json(struct req *r, int status, json_t *body, struct err *err) MUST_CHECK;
bool reply_buf(struct req *r, int status, const char *content_type, struct buf *body,
               struct err *err) MUST_CHECK;
bool reply_empty(struct req *r, int status);
void reply_header(struct req *r, const char *name, const char *value); /* copied */

/* A list as {"items": […], "next": cursor or null}: rows mapped by their columns. bytes columns of
 * 16 bytes print as ids (32 hex digits), others as hex; text columns whose name ends in _json are
 * embedded as JSON under the name without it. */
bool reply_rows(struct req *r, int status, const struct db_rows *rows, const char *next,
                struct err *err) MUST_CHECK;
/* One row as an object. */
json_t *row_to_json(const struct db_map *map, const void *row);

typedef bool (*handler_fn)(struct req *r, struct err *err);

struct route {
    const char *method;
    const char *pattern; /* "/v1/sessions/{id}/timeline" */
    enum role role;      /* ROLE_NONE: open to all */
    size_t body_limit;   /* bytes; 0 = no body taken */
    handler_fn handle;
    const char *name; /* in logs and metrics: "session_timeline" */
    bool no_db;       /* needs no database: answers while it is down */
};
