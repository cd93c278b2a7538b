/*
 * dispatch: the threads that run handlers. Each takes a task, borrows a database connection around
 * it and runs it to completion.
 *
 * Bounded queue: a task that finds no place is refused at once. One thread runs urgent tasks only
 * (key look-ups, offsets of uploads), so that long questions cannot hold up the phones.
 */
#pragma once
#include "base/err.h"
#include "server/db/db.h"

struct task {
    struct task *next;
    /* On a dispatcher thread. `db` is NULL and `why` says why if it was wanted and not to be had.
     */
    void (*run)(struct task *t, struct db *db, const struct err *why);
    bool wants_db, urgent;
};

struct dispatch_config {
    struct db_pool *pool;
    unsigned threads;   /* at least 2 */
    unsigned queue_max; /* tasks waiting, in each of the two queues */
    unsigned borrow_ms; /* longest wait for a connection */
};

struct dispatch;
struct dispatch *dispatch_start(const struct dispatch_config *config, struct err *err) MUST_CHECK;
bool dispatch_submit(struct dispatch *d, struct task *t) MUST_CHECK; /* false: queue full */
void dispatch_stop(struct dispatch *d); /* runs what is queued, then ends */
