/*
 * server: the HTTP side as a whole: listener, dispatcher, store of uploads, timer. Started and
 * stopped by server/main.c; thread-safe in between.
 */
#pragma once
#include "server/http/chunk_store.h"
#include "server/http/context.h"
#include "server/http/keys.h"
#include "server/http/req.h"

struct http_config {
    const char *listen;      /* "127.0.0.1:8080", "[::]:8080"; port 0: any free one */
    int listen_fd;           /* inherited socket, or -1 */
    unsigned threads;        /* of the listener */
    unsigned connections;    /* at most, all together */
    unsigned idle_s;         /* a connection without activity is closed after so long */
    int64_t header_ms;       /* from the request's first line to the end of its headers */
    int64_t grace_ms;        /* a body or a reader may be as slow as it likes for so long … */
    int64_t min_bytes_per_s; /* … and needs this rate on the whole after that */
    int64_t drain_ms;        /* http_stop waits so long for requests under way */
    size_t body_memory;      /* of all request bodies together */
    size_t request_memory;   /* of one handler */
    unsigned dispatch_threads, dispatch_queue, borrow_ms;
    size_t commit_queue;
    struct key_limits keys;
    struct chunk_limits uploads;
    bool accepts_uploads; /* false: only the routes given, and /healthz */
    const char *conninfo; /* for the committers' own connections */
    struct db_pool *pool; /* for handlers */
    const struct context *context;
    const struct route *routes; /* of the API; must outlive the process */
    size_t n_routes;
};

struct http_server;

/* Everything in *config that is a pointer must outlive the server. */
struct http_server *http_start(const struct http_config *config, struct err *err) MUST_CHECK;
unsigned http_port(const struct http_server *s);
/* Takes no new connection, lets requests under way end (those that do not in drain_ms are cut; what
 * arrived of their bodies is stored), commits what is queued and frees all. False: the database did
 * not answer in time, so some requests are still open; then only _exit() is left. */
bool http_stop(struct http_server *s);
