/*
 * The insides of struct http_server, for exchange.c, uploads.c, listener.c and server.c.
 */
#pragma once
#include "server/http/exchange.h"

#include <pthread.h>

struct http_server {
    struct http_config config;
    struct MHD_Daemon *daemon;
    int quiesced_fd; /* the listening socket once nothing is accepted any more; -1 before */
    unsigned port;
    struct routes routes;
    unsigned unmatched; /* metric of requests without a route */
    struct keys *keys;
    struct dispatch *dispatch;
    struct block_pool *blocks;
    struct chunk_store *store;
    struct active *active;
    uint64_t id_seed;
    _Atomic uint64_t id_next;
    _Atomic bool draining;

    pthread_mutex_t pool_lock; /* guards the next five */
    pthread_cond_t emptied;    /* in_use fell to 0 */
    struct exchange *idle;
    unsigned exchanges, in_use;
    bool closing;

    pthread_mutex_t peers_lock; /* guards the list; each peer's fd is open while it is in it */
    struct peer *peers;

    pthread_t timer;
    pthread_mutex_t timer_lock; /* guards stopping */
    pthread_cond_t timer_wake;
    bool timer_started, stopping;
};

bool listener_start(struct http_server *s, struct err *err) MUST_CHECK;
void listener_quiesce(struct http_server *s);
void listener_stop(struct http_server *s);
bool timer_start(struct http_server *s, struct err *err) MUST_CHECK;
void timer_stop(struct http_server *s);
/* Ends connections for reading, only those without a request or all: then bodies break. */
void peers_end(struct http_server *s, bool only_idle);
void peer_phase(struct peer *p, enum peer_phase phase, int64_t bytes);
