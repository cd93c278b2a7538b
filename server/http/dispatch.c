#include "server/http/dispatch.h"

#include "server/http/metrics.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
    struct task *first, **last;
    unsigned n;
};

struct dispatch {
    struct dispatch_config config;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t for_urgent, for_any;
    struct queue urgent, normal;
    bool stopping;
    unsigned started;
    pthread_t thread[];
};

static void push(struct queue *q, struct task *t)
{
    t->next = NULL;
    *q->last = t;
    q->last = &t->next;
    q->n++;
}

static struct task *pop(struct queue *q)
{
    struct task *t = q->first;

    if (!t)
        return NULL;
    q->first = t->next;
    if (!q->first)
        q->last = &q->first;
    q->n--;
    return t;
}

static struct task *next_task(struct dispatch *d, bool urgent_only)
{
    struct task *t;

    pthread_mutex_lock(&d->lock);
    while (!(t = pop(&d->urgent)) && !(!urgent_only && (t = pop(&d->normal))) && !d->stopping)
        pthread_cond_wait(urgent_only ? &d->for_urgent : &d->for_any, &d->lock);
    pthread_mutex_unlock(&d->lock);
    if (t)
        gauge_add(GAUGE_dispatch_queue, -1);
    return t;
}

static void run_task(struct dispatch *d, struct task *t)
{
    struct err err = {0};
    struct db *db = t->wants_db ? db_borrow(d->config.pool, d->config.borrow_ms, &err) : NULL;

    t->run(t, db, &err); /* t is gone from here on */
    db_return(d->config.pool, db);
}

static void *run_urgent(void *arg)
{
    struct dispatch *d = arg;

    for (struct task *t; (t = next_task(d, true));)
        run_task(d, t);
    return NULL;
}

static void *run_any(void *arg)
{
    struct dispatch *d = arg;

    for (struct task *t; (t = next_task(d, false));)
        run_task(d, t);
    return NULL;
}

struct dispatch *dispatch_start(const struct dispatch_config *config, struct err *err)
{
    struct dispatch *d = calloc(1, sizeof *d + config->threads * sizeof *d->thread);

    if (!d) {
        err_memory(err);
        return NULL;
    }
    d->config = *config;
    d->urgent.last = &d->urgent.first;
    d->normal.last = &d->normal.first;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->for_urgent, NULL);
    pthread_cond_init(&d->for_any, NULL);
    for (; d->started < config->threads; d->started++)
        if (pthread_create(&d->thread[d->started], NULL, d->started ? run_any : run_urgent, d)) {
            dispatch_stop(d);
            err_set(err, ERR_INTERNAL, "cannot start the dispatcher's threads");
            return NULL;
        }
    return d;
}

bool dispatch_submit(struct dispatch *d, struct task *t)
{
    pthread_mutex_lock(&d->lock);
    struct queue *q = t->urgent ? &d->urgent : &d->normal;
    bool ok = q->n < d->config.queue_max;

    if (ok) {
        push(q, t);
        gauge_add(GAUGE_dispatch_queue, 1);
        pthread_cond_signal(&d->for_any);
        if (q == &d->urgent)
            pthread_cond_signal(&d->for_urgent);
    }
    pthread_mutex_unlock(&d->lock);
    return ok;
}

void dispatch_stop(struct dispatch *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stopping = true;
    pthread_cond_broadcast(&d->for_urgent);
    pthread_cond_broadcast(&d->for_any);
    pthread_mutex_unlock(&d->lock);
    for (unsigned i = 0; i < d->started; i++)
        pthread_join(d->thread[i], NULL);
    pthread_cond_destroy(&d->for_urgent);
    pthread_cond_destroy(&d->for_any);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
