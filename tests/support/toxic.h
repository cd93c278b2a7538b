/*
 * toxic: an HTTP/1.1 proxy on loopback that does to requests and answers what bad networks do.
 *
 * One thread; it serves one connection after the other. It does each thing once, then what it
 * draws from a seeded generator, so a run can be repeated. The server's port may change at any
 * time.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TOXINS(X)                                                                                  \
    X(none)                                                                                        \
    X(cut_request)  /* the server sees a beginning of it */                                        \
    X(cut_answer)   /* the server has acted; the client sees a beginning, or nothing */            \
    X(slow)         /* both trickle */                                                             \
    X(twice)        /* the server gets the request twice, the client the second answer */          \
    X(late)         /* no answer; the request reaches the server after the next one has */         \
    X(answer_twice) /* the client gets the answer twice */

enum toxin {
#define X(name) TOXIN_##name,
    TOXINS(X)
#undef X
        TOXIN_COUNT
};

struct toxic {
    unsigned port;                       /* where it listens */
    _Atomic unsigned target;             /* the server's port */
    _Atomic unsigned count[TOXIN_COUNT]; /* exchanges so treated */
    _Atomic bool kind;                   /* from now on it does nothing to them */
    _Atomic bool stop;
    uint64_t random, exchanges;
    int fd;
    pthread_t thread;
    struct toxic_message {
        unsigned char *bytes; /* head and body; NULL none */
        size_t len;
        bool to_head; /* answers of it have no body */
    } late;
};

void toxic_start(struct toxic *t, unsigned target, uint64_t seed);
void toxic_stop(struct toxic *t);
