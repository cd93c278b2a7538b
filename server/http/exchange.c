#include "server/http/exchange.h"

#include "server/common/clock.h"
#include "server/http/coding.h"
#include "server/http/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROBLEM_BYTES_MAX 4096

/* Pool --------------------------------------------------------------------------------------------
 */

/* With the lock held. */
static struct exchange *take_idle(struct http_server *s)
{
    struct exchange *x = s->idle;

    if (x) {
        s->idle = x->next;
        return x;
    }
    if (s->exchanges == s->config.connections)
        return NULL;
    x = calloc(1, sizeof *x);
    if (x) {
        x->server = s;
        s->exchanges++;
    }
    return x;
}

static void put_back(struct http_server *s, struct exchange *x)
{
    pthread_mutex_lock(&s->pool_lock);
    x->next = s->idle;
    s->idle = x;
    if (--s->in_use == 0)
        pthread_cond_signal(&s->emptied);
    pthread_mutex_unlock(&s->pool_lock);
}

struct exchange *exchange_new(struct http_server *s)
{
    struct exchange *x;

    pthread_mutex_lock(&s->pool_lock);
    x = s->closing ? NULL : take_idle(s);
    s->in_use += x != NULL;
    pthread_mutex_unlock(&s->pool_lock);
    if (x && !x->mem && !(x->mem = arena_new(EXCHANGE_MEMORY))) {
        put_back(s, x);
        x = NULL;
    }
    if (!x) {
        metric_refused(REFUSED_too_many_requests);
        return NULL;
    }
    memset(&x->stage, 0, offsetof(struct exchange, target) - offsetof(struct exchange, stage));
    x->response = NULL;
    reply_init(&x->reply);
    x->started_us = now_us();
    gauge_add(GAUGE_requests_active, 1);
    return x;
}

void exchange_free(struct exchange *x)
{
    struct http_server *s = x->server;

    upload_release(x);
    block_give(s->blocks, &x->body_blocks);
    if (x->response)
        MHD_destroy_response(x->response);
    x->response = NULL;
    reply_fini(&x->reply);
    arena_reset(x->mem);
    x->conn = NULL;
    x->peer = NULL;
    gauge_add(GAUGE_requests_active, -1);
    put_back(s, x);
}

void exchange_suspend(struct exchange *x)
{
    peer_phase(x->peer, PHASE_BUSY, 0);
    MHD_suspend_connection(x->conn);
}

void exchange_resume(struct exchange *x)
{
    MHD_resume_connection(x->conn);
}

/* Refusals ----------------------------------------------------------------------------------------
 */

void exchange_retry_after(struct exchange *x, int64_t seconds)
{
    snprintf(x->retry_after, sizeof x->retry_after, "%" PRId64, seconds);
}

static void put_refusal_headers(struct exchange *x, int status)
{
    if (status == 401)
        reply_put(&x->reply, "WWW-Authenticate", "Bearer realm=\"framewatch\"");
    if (status == 503 && !x->retry_after[0])
        exchange_retry_after(x, 1);
    if (x->retry_after[0])
        reply_put(&x->reply, "Retry-After", x->retry_after);
    if (status == 405)
        reply_put(&x->reply, "Allow", x->match.allow);
}

enum step exchange_refuse(struct exchange *x, enum refusal why, const struct problem *p)
{
    struct buf b;

    if (why < REFUSED_N)
        metric_refused(why);
    buf_init(&b, PROBLEM_BYTES_MAX);
    problem_write(&b, p, x->request_id);
    if (!reply_take(&x->reply, p->status, "application/problem+json", &b))
        x->reply.status = p->status;
    put_refusal_headers(x, p->status);
    if (!x->error[0])
        snprintf(x->error, sizeof x->error, "%s: %s", p->code, p->detail);
    x->stage = STAGE_REPLY;
    return STEP_REPLY;
}

static enum refusal refusal_of(enum err_code code)
{
    switch (code) {
    case ERR_INVALID:
        return REFUSED_bad_request;
    case ERR_UNAUTHORIZED:
        return REFUSED_unauthorized;
    case ERR_FORBIDDEN:
        return REFUSED_forbidden;
    case ERR_TOO_BIG:
        return REFUSED_too_big;
    case ERR_WORK:
        return REFUSED_too_much_work;
    case ERR_CROWDED:
        return REFUSED_crowded;
    case ERR_DB:
    case ERR_BUSY:
        return REFUSED_database;
    default:
        return REFUSED_N;
    }
}

enum step exchange_refuse_err(struct exchange *x, const struct err *err)
{
    static struct log_limit database; /* each request tells it while the database is away */
    struct problem p = problem_of(err);

    /* the client reads less of our own faults than the log */
    snprintf(x->error, sizeof x->error, "%s: %s", p.code, err->text);
    if (err->code == ERR_DB)
        log_err_seldom(&database, LOG_ERROR, "request failed", err);
    else if (err->code == ERR_INTERNAL)
        log_err(LOG_ERROR, "request failed", err);
    return exchange_refuse(x, refusal_of(err->code), &p);
}

static enum step refuse(struct exchange *x, enum refusal why, int status, const char *code,
                        const char *detail)
{
    return exchange_refuse(x, why,
                           &(struct problem){.status = status, .code = code, .detail = detail});
}

/* Answers -----------------------------------------------------------------------------------------
 */

static void put_header(struct MHD_Response *response, const char *name, const char *value)
{
    MHD_add_response_header(response, name, value); /* fails only for want of memory */
}

static bool says_caching(const struct http_reply *r)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (strcasecmp(r->header[i].name, "Cache-Control") == 0)
            return true;
    return false;
}

struct MHD_Response *exchange_response(struct exchange *x)
{
    struct http_reply *r = &x->reply;
    struct MHD_Response *response =
        r->len ? MHD_create_response_from_buffer(r->len, r->body, MHD_RESPMEM_MUST_FREE)
               : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

    if (!response)
        return NULL;
    metric_add(COUNT_bytes_out, r->len);
    if (r->len)
        r->body = NULL; /* the response frees it */
    if (r->content_type)
        put_header(response, "Content-Type", r->content_type);
    put_header(response, "X-Request-Id", x->request_id);
    if (is_upload_path(x->uri.path ? x->uri.path : ""))
        put_header(response, "Tus-Resumable", TUS_VERSION);
    else
        put_header(response, "X-Content-Type-Options", "nosniff");
    if (!says_caching(r) && (r->status >= 400 || (x->method && strcmp(x->method, "HEAD") == 0)))
        put_header(response, "Cache-Control", "no-store");
    for (size_t i = 0; i < r->n_headers; i++)
        put_header(response, r->header[i].name, r->header[i].value);
    return response;
}

/* Handlers on the dispatcher ----------------------------------------------------------------------
 */

static struct bytes join_body(struct exchange *x, struct arena *mem, struct err *err)
{
    unsigned char *at = arena_alloc(mem, (size_t)x->received + 1), *end = at;

    if (!at) {
        err_full(err, "a request");
        return (struct bytes){0};
    }
    for (struct block *b = x->body_blocks; b; b = b->next) {
        memcpy(end, b->bytes, b->len);
        end += b->len;
    }
    return (struct bytes){at, (size_t)(end - at)};
}

static bool run_handler(struct exchange *x, struct req *r, struct err *err)
{
    r->body = join_body(x, r->mem, err);
    if (err->code)
        return false;
    if (!x->handle(r, err))
        return false;
    return x->reply.status || err_set(err, ERR_INTERNAL, "the handler gave no answer");
}

static void run_call(struct task *t, struct db *db, const struct err *why)
{
    struct exchange *x = (struct exchange *)((char *)t - offsetof(struct exchange, task));
    struct req r = {.db = db,
                    .mem = arena_new(x->server->config.request_memory),
                    .who = x->who,
                    .key_hash = x->authorized ? x->key_hash : NULL,
                    .ctx = x->server->config.context,
                    .method = x->method,
                    .path = x->uri.path,
                    .request_id = x->request_id,
                    .reply = &x->reply,
                    .headers = &x->headers,
                    .uri = &x->uri};
    struct err err = {0};
    bool ok;

    memcpy(r.param, x->match.param, sizeof r.param);
    if (!r.mem)
        ok = err_memory(&err);
    else if (t->wants_db && !db)
        ok = err_set(&err, why->code, "%s", why->text);
    else
        ok = run_handler(x, &r, &err);
    if (!ok) {
        reply_fini(&x->reply);
        exchange_refuse_err(x, &err);
    } else if (x->authorized) {
        coding_reply(&x->reply, headers_find(&x->headers, "Accept-Encoding"));
    }
    x->response = exchange_response(x); /* while what its headers say is alive */
    x->stage = STAGE_REPLY;
    json_decref(r.json);
    arena_free(r.mem);
    exchange_resume(x);
}

static enum step submit(struct exchange *x)
{
    exchange_suspend(x);
    if (dispatch_submit(x->server->dispatch, &x->task))
        return STEP_WAIT;
    refuse(x, REFUSED_dispatch_queue_full, 503, "busy", "Too many requests wait for an answer.");
    exchange_resume(x);
    return STEP_WAIT;
}

enum step exchange_call(struct exchange *x, handler_fn handle)
{
    x->handle = handle;
    x->task = (struct task){
        .run = run_call, .wants_db = !x->match.route->no_db, .urgent = x->flow != FLOW_API};
    return submit(x);
}

/* Keys --------------------------------------------------------------------------------------------
 */

struct ended_row {
    bool ended;
};
static const struct db_col ended_cols[] = {DB_COL(ended_row, ended)};
static const struct db_map ended_map = DB_MAP(ended_row, ended_cols);

static bool login_ended(struct err *err)
{
    return err_field(err, ERR_UNAUTHORIZED, "Cookie", "this login has ended: log in again");
}

/* Whoever logged out did so on any server, a moment ago: this is not kept in memory. */
static bool login_goes_on(struct exchange *x, struct db *db)
{
    struct ended_row row;

    return db_one(db, Q_LOGIN_ENDED, DB_ARGS(db_bytes(x->login_id, sizeof x->login_id)), &ended_map,
                  x->mem, &row, &x->key_err) &&
           (!row.ended || login_ended(&x->key_err));
}

static void run_key(struct task *t, struct db *db, const struct err *why)
{
    struct exchange *x = (struct exchange *)((char *)t - offsetof(struct exchange, task));
    struct principal who;

    x->looked_up = true;
    if (!db) {
        x->key_err = *why;
        x->key_failed = true;
    } else if (x->by_login && !login_goes_on(x, db)) {
        x->key_failed = true;
    } else if (keys_find(x->server->keys, x->key_hash, &who) == KEY_MISSING) {
        x->key_failed = !keys_load(x->server->keys, db, x->mem, x->key_hash, &x->key_err);
    }
    exchange_resume(x);
}

/* A browser that logged in: its cookie stands for the key. */
static bool key_from_cookie(struct exchange *x, const char *token, struct err *err)
{
    const struct secret *secret = x->server->config.context->secret;
    bool reads = strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0;
    struct login login;

    if (!secret || !secret->len || !login_open(secret, token, time(NULL), &login))
        return login_ended(err);
    x->by_login = true;
    memcpy(x->key_hash, login.key_hash, sizeof x->key_hash);
    memcpy(x->login_id, login.id, sizeof x->login_id);
    if (!reads && !login_csrf_ok(secret, token, headers_find(&x->headers, LOGIN_CSRF_HEADER)))
        return err_field(err, ERR_FORBIDDEN, LOGIN_CSRF_HEADER,
                         "with a login cookie, send the token that the login gave");
    return true;
}

static bool find_key(struct exchange *x, struct err *err)
{
    const char *given = headers_find(&x->headers, "Authorization");
    char token[LOGIN_TOKEN_CHARS + 1];

    if (!given && login_cookie(&x->headers, token))
        return key_from_cookie(x, token, err);
    return key_from_header(given, x->key_hash, err);
}

static enum step look_up_key(struct exchange *x)
{
    x->task = (struct task){.run = run_key, .wants_db = true, .urgent = true};
    return submit(x);
}

static enum step check_key(struct exchange *x)
{
    struct err err = {0};
    int64_t retry_s;

    if (x->match.route->role == ROLE_NONE) {
        x->stage = STAGE_ADMIT;
        return STEP_MORE;
    }
    if (x->key_failed)
        return exchange_refuse_err(x, &x->key_err);
    if (!x->authorized && !find_key(x, &err))
        return exchange_refuse_err(x, &err);
    x->authorized = true;
    if (x->by_login && !x->looked_up)
        return look_up_key(x);
    switch (keys_find(x->server->keys, x->key_hash, &x->who)) {
    case KEY_MISSING:
        return look_up_key(x);
    case KEY_UNKNOWN:
        err_field(&err, ERR_UNAUTHORIZED, "Authorization", "this key is not known or was revoked");
        return exchange_refuse_err(x, &err);
    case KEY_KNOWN:
        break;
    }
    if (!role_allows(x->who.role, x->match.route->role)) {
        err_set(&err, ERR_FORBIDDEN, "this key's role may not do that");
        return exchange_refuse_err(x, &err);
    }
    if (!keys_take(x->server->keys, x->key_hash, &retry_s)) {
        exchange_retry_after(x, retry_s);
        return refuse(x, REFUSED_rate_limited, 429, "rate_limited",
                      "This key sends more requests than it may.");
    }
    x->stage = STAGE_ADMIT;
    return STEP_MORE;
}

/* The way of a request ----------------------------------------------------------------------------
 */

static bool tus_version_ok(const struct exchange *x)
{
    const char *version = headers_find(&x->headers, "Tus-Resumable");

    return x->flow == FLOW_INLINE || (version && strcmp(version, TUS_VERSION) == 0);
}

static enum flow flow_of(const struct route *route)
{
    for (size_t i = 0; i < builtin_routes_n; i++)
        if (&builtin_routes[i] == route)
            return builtin_flows[i];
    return FLOW_API;
}

static enum step find_route(struct exchange *x)
{
    const char *other = headers_find(&x->headers, "X-HTTP-Method-Override");

    if (other && is_upload_path(x->uri.path))
        x->method = other;
    routes_find(&x->server->routes, x->method, x->uri.path, x->scratch, &x->match);
    if (!x->match.route && x->match.allow[0])
        return refuse(x, REFUSED_bad_request, 405, "method_not_allowed",
                      "This resource does not know the method; Allow names those it knows.");
    if (!x->match.route)
        return refuse(x, REFUSED_N, 404, "not_found", "There is nothing at this path.");
    x->flow = flow_of(x->match.route);
    if (is_upload_path(x->uri.path) && !tus_version_ok(x)) {
        reply_put(&x->reply, "Tus-Version", TUS_VERSION);
        return refuse(x, REFUSED_bad_request, 412, "tus_version",
                      "Send Tus-Resumable: " TUS_VERSION ".");
    }
    x->stage = STAGE_KEY;
    return STEP_MORE;
}

static enum step open_request(struct exchange *x)
{
    struct err err = {0};
    bool smuggling = false;

    if (!headers_check(&x->headers, &x->body, &smuggling, &err)) {
        struct problem p = problem_of(&err);

        x->close = true; /* where the request ends is not certain */
        return exchange_refuse(x, smuggling ? REFUSED_smuggling : refusal_of(err.code), &p);
    }
    if (!x->target[0])
        return refuse(x, REFUSED_too_big, 414, "uri_too_long", "The request target is too long.");
    if (!uri_parse(x->target, &x->uri, &err))
        return exchange_refuse_err(x, &err);
    return find_route(x);
}

static enum step admit(struct exchange *x)
{
    size_t limit = x->match.route->body_limit;

    if (x->flow == FLOW_UPLOAD_SEND || x->flow == FLOW_UPLOAD_CALL) {
        x->stage = STAGE_UPLOAD;
        return STEP_MORE;
    }
    if (!limit && !x->bodiless)
        return refuse(x, REFUSED_too_big, 413, "too_big", "This resource takes no body.");
    if (x->body.bytes > limit)
        return refuse(x, REFUSED_too_big, 413, "too_big",
                      "The body is longer than this resource takes.");
    x->stage = x->bodiless ? STAGE_CALL : STAGE_BODY;
    return STEP_MORE;
}

/* A block with room, at the end of the body. */
static struct block *body_block(struct exchange *x)
{
    struct block *b = x->body_last;

    if (b && b->len < BLOCK_BYTES)
        return b;
    b = block_take(x->server->blocks);
    if (!b)
        return NULL;
    if (x->body_last)
        x->body_last->next = b;
    else
        x->body_blocks = b;
    x->body_last = b;
    return b;
}

static enum step collect(struct exchange *x, const char *data, size_t *size)
{
    if (*size == 0) {
        /* called once before the body and once after it */
        if (x->body_begun)
            x->stage = STAGE_CALL;
        x->body_begun = true;
        return STEP_MORE;
    }
    if (x->received + *size > x->match.route->body_limit)
        return refuse(x, REFUSED_too_big, 413, "too_big",
                      "The body is longer than this resource takes.");
    while (*size) {
        struct block *b = body_block(x);

        if (!b)
            return refuse(x, REFUSED_no_buffers, 503, "busy", "No memory for bodies is free.");

        size_t n = BLOCK_BYTES - b->len < *size ? BLOCK_BYTES - b->len : *size;

        memcpy(b->bytes + b->len, data, n);
        b->len += n;
        x->received += n;
        data += n;
        *size -= n;
    }
    return STEP_MORE;
}

static enum step call(struct exchange *x)
{
    struct req r = {.reply = &x->reply,
                    .headers = &x->headers,
                    .uri = &x->uri,
                    .ctx = x->server->config.context};
    struct err err = {0};

    if (x->flow != FLOW_INLINE)
        return exchange_call(x, x->match.route->handle);
    if (!x->match.route->handle(&r, &err))
        return exchange_refuse_err(x, &err);
    x->stage = STAGE_REPLY;
    return STEP_REPLY;
}

enum step exchange_step(struct exchange *x, const char *data, size_t *size)
{
    for (;;) {
        enum stage before = x->stage;
        enum step step = STEP_MORE;

        switch (x->stage) {
        case STAGE_OPEN:
            step = open_request(x);
            break;
        case STAGE_KEY:
            step = check_key(x);
            break;
        case STAGE_ADMIT:
            step = admit(x);
            break;
        case STAGE_BODY:
            step = collect(x, data, size);
            break;
        case STAGE_CALL:
            step = call(x);
            break;
        case STAGE_UPLOAD:
            step = upload_step(x, data, size);
            break;
        case STAGE_REPLY:
        case STAGE_DISCARD:
        case STAGE_DONE:
            return STEP_REPLY;
        }
        if (step == STEP_WAIT) /* it may be somebody else's by now */
            return step;
        if (step != STEP_MORE || x->stage == before)
            return step;
    }
}
