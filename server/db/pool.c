#include "server/common/clock.h"
#include "server/db/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct db_pool {
    char *conninfo;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t returned;
    unsigned size, open, idle;
    struct db *rest[]; /* idle connections, [0, idle) */
};

struct db_pool *db_pool_new(const char *conninfo, unsigned size, struct err *err)
{
    struct db_pool *p = calloc(1, sizeof *p + size * sizeof *p->rest);

    if (p)
        p->conninfo = strdup(conninfo);
    if (!p || !p->conninfo) {
        free(p);
        err_memory(err);
        return NULL;
    }
    p->size = size;
    pthread_mutex_init(&p->lock, NULL);
    monotonic_cond_init(&p->returned);
    return p;
}

void db_pool_free(struct db_pool *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->idle; i++)
        db_close(p->rest[i]);
    pthread_cond_destroy(&p->returned);
    pthread_mutex_destroy(&p->lock);
    free(p->conninfo);
    free(p);
}

/* With the lock held: an idle connection, or the right (*open_new) to open one, or neither. */
static struct db *take(struct db_pool *p, bool *open_new)
{
    *open_new = false;
    if (p->idle)
        return p->rest[--p->idle];
    *open_new = p->open < p->size;
    if (*open_new)
        p->open++;
    return NULL;
}

struct db *db_borrow(struct db_pool *p, unsigned timeout_ms, struct err *err)
{
    struct timespec deadline = monotonic_in(timeout_ms);
    bool open_new;
    struct db *db;

    pthread_mutex_lock(&p->lock);
    while (!(db = take(p, &open_new)) && !open_new)
        if (pthread_cond_timedwait(&p->returned, &p->lock, &deadline) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&p->lock);
    if (db && db_revive(db, err))
        return db;
    if (db) {
        db_return(p, db);
        return NULL;
    }
    if (!open_new) {
        err_set(err, ERR_BUSY, "all %u database connections are in use", p->size);
        return NULL;
    }
    db = db_open(p->conninfo, err);
    if (!db) {
        pthread_mutex_lock(&p->lock);
        p->open--;
        pthread_cond_signal(&p->returned);
        pthread_mutex_unlock(&p->lock);
    }
    return db;
}

void db_return(struct db_pool *p, struct db *db)
{
    if (!db)
        return;
    if (db_in_transaction(db))
        db_rollback(db);
    pthread_mutex_lock(&p->lock);
    p->rest[p->idle++] = db;
    pthread_cond_signal(&p->returned);
    pthread_mutex_unlock(&p->lock);
}
