#include "server/http/server.h"

#include "server/common/clock.h"
#include "server/http/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CUT_MS 20000 /* after the cut, for commits and handlers to end */

static bool healthz(struct req *r, struct err *err)
{
    (void)err;
    r->reply->content_type = "text/plain; charset=utf-8";
    r->reply->body = (unsigned char *)strdup("ok\n");
    r->reply->len = r->reply->body ? 3 : 0;
    return reply_empty(r, 200);
}

bool upload_options(struct req *r, struct err *err);
bool upload_head(struct req *r, struct err *err);
bool upload_delete(struct req *r, struct err *err);

const struct route builtin_routes[] = {
    {"GET", "/healthz", ROLE_NONE, 0, healthz, "healthz", true},
    {"OPTIONS", "/v1/uploads", ROLE_NONE, 0, upload_options, "upload_options", true},
    {"OPTIONS", "/v1/uploads/{id}", ROLE_NONE, 0, upload_options, "upload_options", true},
    {"POST", "/v1/uploads", ROLE_INGEST, 0, NULL, "upload_create", false},
    {"PATCH", "/v1/uploads/{id}", ROLE_INGEST, 0, NULL, "upload_patch", false},
    {"HEAD", "/v1/uploads/{id}", ROLE_INGEST, 0, upload_head, "upload_head", false},
    {"DELETE", "/v1/uploads/{id}", ROLE_INGEST, 0, upload_delete, "upload_delete", false},
};
const enum flow builtin_flows[] = {
    FLOW_INLINE,      FLOW_INLINE,      FLOW_INLINE,      FLOW_UPLOAD_SEND,
    FLOW_UPLOAD_SEND, FLOW_UPLOAD_CALL, FLOW_UPLOAD_CALL,
};
const size_t builtin_routes_n = sizeof builtin_routes / sizeof *builtin_routes;

static bool start_parts(struct http_server *s, struct err *err)
{
    const struct http_config *c = &s->config;
    const struct context *ctx = c->context;
    struct chunk_store_config store = {.conninfo = c->conninfo,
                                       .limits = c->uploads,
                                       .queue_max = c->commit_queue,
                                       .jobs_added = ctx->jobs_added,
                                       .user = ctx->jobs_user};
    struct dispatch_config dispatch = {.pool = c->pool,
                                       .threads = c->dispatch_threads,
                                       .queue_max = c->dispatch_queue,
                                       .borrow_ms = c->borrow_ms};

    /* the first one is /healthz */
    if (!routes_add(&s->routes, builtin_routes, c->accepts_uploads ? builtin_routes_n : 1) ||
        !routes_add(&s->routes, c->routes, c->n_routes))
        return err_set(err, ERR_INTERNAL, "too many tables of routes");
    s->unmatched = metric_route("unmatched");
    s->keys = keys_new(c->keys);
    s->active = active_new((struct active_calls){.end = upload_end, .resume = upload_resume});
    if (!s->keys || !s->active)
        return err_memory(err);
    s->blocks = block_pool_new(c->body_memory, err);
    if (s->blocks && c->accepts_uploads)
        s->store = chunk_store_start(&store, err);
    if (s->store || (s->blocks && !c->accepts_uploads))
        s->dispatch = dispatch_start(&dispatch, err);
    return s->dispatch && timer_start(s, err) && listener_start(s, err);
}

static void free_parts(struct http_server *s)
{
    timer_stop(s);
    dispatch_stop(s->dispatch);
    chunk_store_stop(s->store);
    while (s->idle) {
        struct exchange *x = s->idle;

        s->idle = x->next;
        arena_free(x->mem);
        free(x);
    }
    block_pool_free(s->blocks);
    active_free(s->active);
    keys_free(s->keys);
    pthread_mutex_destroy(&s->pool_lock);
    pthread_mutex_destroy(&s->peers_lock);
    pthread_cond_destroy(&s->place_free);
    pthread_mutex_destroy(&s->timer_lock);
    pthread_cond_destroy(&s->timer_wake);
    pthread_cond_destroy(&s->emptied);
    free(s);
}

struct http_server *http_start(const struct http_config *config, struct err *err)
{
    struct http_server *s = calloc(1, sizeof *s);

    if (!s) {
        err_memory(err);
        return NULL;
    }
    s->config = *config;
    s->listen_fd = s->accept_wake = -1;
    pthread_mutex_init(&s->pool_lock, NULL);
    pthread_mutex_init(&s->peers_lock, NULL);
    pthread_cond_init(&s->place_free, NULL);
    pthread_mutex_init(&s->timer_lock, NULL);
    monotonic_cond_init(&s->timer_wake);
    monotonic_cond_init(&s->emptied);
    if (getrandom(&s->id_seed, sizeof s->id_seed, 0) != sizeof s->id_seed)
        s->id_seed = (uint64_t)now_us();
    if (start_parts(s, err))
        return s;
    listener_stop(s);
    free_parts(s);
    return NULL;
}

unsigned http_port(const struct http_server *s)
{
    return s->port;
}

static bool wait_until_empty(struct http_server *s, int64_t ms)
{
    struct timespec deadline = monotonic_in(ms);
    bool empty;

    pthread_mutex_lock(&s->pool_lock);
    while (s->in_use && pthread_cond_timedwait(&s->emptied, &s->pool_lock, &deadline) == 0)
        ;
    empty = s->in_use == 0;
    s->closing = empty; /* from here on nothing may be suspended any more */
    pthread_mutex_unlock(&s->pool_lock);
    return empty;
}

bool http_stop(struct http_server *s)
{
    if (!s)
        return true;
    listener_quiesce(s);
    atomic_store(&s->draining, true);
    peers_end(s, true);
    if (!wait_until_empty(s, s->config.drain_ms)) {
        peers_end(s, false);
        if (!wait_until_empty(s, CUT_MS))
            return false;
    }
    listener_stop(s);
    free_parts(s);
    return true;
}
