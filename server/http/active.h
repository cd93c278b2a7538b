/*
 * active: at most one request at a time sends bytes to an upload (in this process; between
 * processes the row lock of the database decides).
 *
 * A newcomer ends the holder at once and waits, suspended, until the holder's bytes are settled. Of
 * several that want to send, the newest wins and the others are superseded. Thread-safe; nodes are
 * embedded in the requests and registered by their owners.
 */
#pragma once
#include "server/http/chunk_store.h"

struct active_node {
    struct active_node *next;
    struct upload_key key;
    struct active_node *waiting; /* for this holder, oldest first */
    bool sends;                  /* wants to hold the upload */
    bool holding, ending, superseded;
};

struct active_calls {
    void (*end)(struct active_node *holder); /* under the registry's lock: be quick, call nothing */
    void (*resume)(struct active_node *waiter); /* its turn, or superseded */
};

struct active;
struct active *active_new(struct active_calls calls);
void active_free(struct active *a);

/* node->key and ->sends are set. True: go on (holding, if it sends). */
bool active_try(struct active *a, struct active_node *node) MUST_CHECK;
/* As active_try, but false means: it waits, and resume() will be called. */
bool active_enter(struct active *a, struct active_node *node) MUST_CHECK;
/* The holder needs no ending any more (its connection is gone, or its last bytes are with the
 * store): end() is not called for it from here on, newcomers only wait. */
void active_settle(struct active *a, struct active_node *node);
/* The holder's bytes are settled: those who wait go on. Nothing if it does not hold. */
void active_leave(struct active *a, struct active_node *node);
