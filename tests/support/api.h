/*
 * api: the whole server with two apps on a database of its own, asked over real HTTP. Each answer
 * is checked against the API's document; one that is not as described fails the test.
 *
 *     static void lists_nothing_at_first(void **state)
 *     {
 *         struct api *api = *state;
 *         json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions");
 *         …
 *     }
 *     cmocka_unit_test_setup_teardown(lists_nothing_at_first, api_setup, api_teardown)
 *
 * The group needs pg_group_setup and pg_group_teardown. Single-threaded; failures are fail_msg().
 */
#pragma once
#include "server/http/req.h"
#include "support/pg.h"
#include "support/session_builder.h"

#include <stddef.h>

#define API_APPS 2

struct api_answer {
    int status;
    char type[96], etag[96], location[256], request_id[64], cache[64], retry_after[16];
    char cookie[512], policy[256]; /* Set-Cookie, Content-Security-Policy */
    char coding[16], vary[32];     /* Content-Encoding, Vary */
    json_t *json;                  /* NULL if it is none */
    unsigned char *body;
    size_t len;
    int64_t us; /* from the request's first byte to the answer's last */
};

struct api {
    char conninfo[PG_CONNINFO_BYTES], base[64];
    int64_t app[API_APPS];
    char key[API_APPS][ROLE_ADMIN + 1][64]; /* by enum role; "" for ROLE_NONE */
    json_t *doc;
    struct api_answer answer; /* the last one; freed by the next call */
    struct api_server *server;
};

/* CMocka fixtures. */
int api_setup(void **state);
int api_teardown(void **state);
/* A new server on the same database: it remembers nothing. */
void api_restart(struct api *api);

struct api_call {
    const char *method, *path, *key; /* key NULL: no Authorization */
    const char *body, *content_type; /* text; NULL: none, application/json */
    size_t body_len;                 /* 0: strlen(body) */
    const char *headers[8];          /* "Name: value", NULL at the end */
    bool undescribed;                /* a path or method that the document has not: not checked */
};
const struct api_answer *api_send(struct api *api, struct api_call call);

/* Expects the status; the tree belongs to the fixture and lives until the next call. */
json_t *api_get(struct api *api, unsigned app, enum role role, int status, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
json_t *api_post(struct api *api, unsigned app, enum role role, int status, const char *path,
                 const char *body);

/* Has all jobs done that are due; none may fail. */
void api_work(struct api *api);
/* Sends the builder's part as an upload of that install and analyses all there is. */
void api_upload(struct api *api, unsigned app, struct session_builder *b, const char *install);
/* A session of `seconds` from sb_play(), with its end: number → id, as 32 hex digits. */
void api_play(struct api *api, unsigned app, uint64_t number, unsigned seconds, char id[33]);

/* Members of an answer; a missing one fails the test. */
int64_t api_i64(const json_t *object, const char *name);
const char *api_text(const json_t *object, const char *name);
/* The problem's code and field are these ("" for no field). */
void api_problem(const json_t *problem, const char *code, const char *field);
