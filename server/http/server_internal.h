/*
 * The insides of struct http_server, for server.c, acceptor.c, listener.c, exchange.c and, through
 * upload_parts.h, the uploads.
 */
#pragma once
#include "server/http/exchange.h"

#include <pthread.h>

struct http_server {
    struct http_config config;
    struct MHD_Daemon *daemon;
    int listen_fd; /* -1: nothing is accepted any more */
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

    pthread_mutex_t peers_lock; /* guards the next four */
    pthread_cond_t place_free;  /* or accepting ends */
    struct peer *peers;         /* the fd of each is open while it is in the list */
    unsigned places_taken;      /* connections, the one that is waited for included */
    bool accepting_ends;

    pthread_t acceptor;
    bool acceptor_started;
    int accept_wake; /* readable: accepting ends */

    pthread_t timer;
    pthread_mutex_t timer_lock; /* guards stopping */
    pthread_cond_t timer_wake;
    bool timer_started, stopping;
};

bool acceptor_start(struct http_server *s, struct err *err) MUST_CHECK;
/* Nothing is accepted after it returns. */
void acceptor_stop(struct http_server *s);
/* Of a connection that ended. */
void acceptor_place_give(struct http_server *s);
bool listener_start(struct http_server *s, struct err *err) MUST_CHECK;
void listener_quiesce(struct http_server *s);
void listener_stop(struct http_server *s);
bool timer_start(struct http_server *s, struct err *err) MUST_CHECK;
void timer_stop(struct http_server *s);
/* Ends connections for reading, only those without a request or all: then bodies break. */
void peers_end(struct http_server *s, bool only_idle);
void peer_phase(struct peer *p, enum peer_phase phase, int64_t bytes);
