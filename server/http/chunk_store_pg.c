#include "server/http/chunk_store.h"

#include "server/common/clock.h"
#include "server/http/chunk_batch.h"
#include "server/http/log.h"
#include "server/http/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_BYTES (16u * 1024 * 1024)
#define BATCH_MEMORY (32u * 1024 * 1024) /* of the statements' arguments */
#define TRIES 3                          /* of a batch that met a deadlock */
#define COMMITTERS 2 /* one fills its transaction while the other waits for its commit */

struct committer {
    struct chunk_store *store;
    struct arena *mem;
    struct db *db;
    pthread_t thread;
    bool started; /* the thread */
    bool fills;   /* it was this one that set `filling` */
    struct chunk_batch batch;
};

struct chunk_store {
    struct chunk_store_config config;
    struct committer *committer[COMMITTERS];
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t wake;
    struct chunk_op *first, **last;
    size_t n;
    bool filling; /* a batch that was taken is not yet at its commit */
    bool stopping;
};

/* Queue -------------------------------------------------------------------------------------------
 */

bool chunk_store_submit(struct chunk_store *s, struct chunk_op *op, bool force)
{
    op->next = NULL;
    pthread_mutex_lock(&s->lock);
    bool ok = force || s->n < s->config.queue_max;

    if (ok) {
        *s->last = op;
        s->last = &op->next;
        s->n++;
        gauge_set(GAUGE_commit_queue, (int64_t)s->n);
        if (s->n == 1)
            pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool chunk_store_roomy(struct chunk_store *s)
{
    pthread_mutex_lock(&s->lock);
    bool roomy = s->n < s->config.queue_max;
    pthread_mutex_unlock(&s->lock);
    return roomy;
}

/* All that is queued, as far as it fits into one transaction; 0: stopping and nothing left. */
static size_t take(struct committer *c)
{
    struct chunk_store *s = c->store;
    size_t n = 0, bytes = 0;

    pthread_mutex_lock(&s->lock);
    while (s->filling || (!s->first && !s->stopping))
        pthread_cond_wait(&s->wake, &s->lock);
    while (s->first && n < BATCH_OPS && (n == 0 || bytes + s->first->len <= BATCH_BYTES)) {
        c->batch.op[n] = s->first;
        bytes += s->first->len;
        s->first = s->first->next;
        n++;
    }
    if (!s->first)
        s->last = &s->first;
    s->n -= n;
    s->filling = c->fills = n > 0;
    gauge_set(GAUGE_commit_queue, (int64_t)s->n);
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* All statements of the batch are through, or it was given up: the next one may be taken. */
static void filled(struct committer *c)
{
    struct chunk_store *s = c->store;

    if (!c->fills)
        return;
    c->fills = false;
    pthread_mutex_lock(&s->lock);
    s->filling = false;
    if (s->first || s->stopping)
        pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* Answers -----------------------------------------------------------------------------------------
 */

static void count_stored(const struct chunk_batch *b)
{
    for (size_t i = 0; i < b->n_ops; i++) {
        const struct chunk_op *op = b->op[i];

        if (op->answer.created)
            metric_add(COUNT_uploads_created, 1);
        if (op->accepted)
            metric_add(COUNT_upload_bytes, op->len);
    }
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->row[i].completed)
            metric_add(COUNT_uploads_completed, 1);
}

static void finish(struct chunk_batch *b)
{
    for (size_t i = 0; i < b->n_ops; i++)
        b->op[i]->done(b->op[i]);
}

static void fail(struct chunk_batch *b, enum chunk_outcome outcome)
{
    for (size_t i = 0; i < b->n_ops; i++) {
        b->op[i]->answer = (struct chunk_answer){.outcome = outcome};
        b->op[i]->accepted = false;
    }
}

/* True when the batch is durable. What it met, if not, is logged here and counted. */
static bool commit(struct committer *c)
{
    const struct chunk_store_config *config = &c->store->config;
    struct chunk_batch *b = &c->batch;
    static struct log_limit away;
    struct err err = {0};
    int64_t start = now_us();
    bool ok = false;

    for (int i = 0; i < TRIES && !ok; i++) {
        ok = db_revive(c->db, &err) && chunk_batch_fill(b, &err);
        filled(c);
        ok = ok && chunk_batch_commit(b, &err);
        if (ok)
            break;
        metric_add(COUNT_commit_failures, 1);
        if (db_transient(c->db))
            log_err_seldom(&away, LOG_ERROR, "commit failed", &err);
        else
            log_err(LOG_ERROR, "commit failed", &err);
        if (strncmp(db_sqlstate(c->db), "40", 2) != 0) /* deadlock, serialization */
            break;
    }
    metric_add(COUNT_commit_batches, 1);
    metric_observe(HIST_commit_seconds, now_us() - start);
    if (ok) {
        metric_add(COUNT_commit_ops, b->n_ops);
        metric_observe(HIST_commit_batch_ops, (int64_t)b->n_ops);
        count_stored(b);
        if (b->jobs && config->jobs_added)
            config->jobs_added(config->user);
    }
    return ok;
}

/* One operation the database refuses must not take the others with it: each is tried alone. */
static void commit_alone(struct committer *c, struct chunk_op *op)
{
    c->batch.op[0] = op;
    c->batch.n_ops = 1;
    if (!commit(c)) {
        bool transient = db_transient(c->db);

        fail(&c->batch, transient ? CHUNK_FAILED : CHUNK_POISON);
        metric_add(COUNT_commit_poison, !transient);
    }
    finish(&c->batch);
}

static void commit_all(struct committer *c)
{
    if (commit(c)) {
        finish(&c->batch);
    } else if (db_transient(c->db)) {
        fail(&c->batch, CHUNK_FAILED);
        finish(&c->batch);
    } else {
        size_t n = c->batch.n_ops;
        struct chunk_op *op[BATCH_OPS];

        memcpy(op, c->batch.op, n * sizeof *op);
        for (size_t i = 0; i < n; i++)
            commit_alone(c, op[i]);
    }
}

static void *run(void *arg)
{
    struct committer *c = arg;

    while ((c->batch.n_ops = take(c)) > 0)
        commit_all(c);
    return NULL;
}

static bool start_committer(struct chunk_store *s, struct committer **out, struct err *err)
{
    struct committer *c = calloc(1, sizeof *c);

    *out = c;
    if (c)
        c->mem = arena_new(BATCH_MEMORY);
    if (!c || !c->mem)
        return err_memory(err);
    c->store = s;
    c->batch.mem = c->mem;
    c->batch.limits = &s->config.limits;
    c->db = c->batch.db = db_open(s->config.conninfo, err);
    if (!c->db)
        return false;
    c->started = pthread_create(&c->thread, NULL, run, c) == 0;
    return c->started || err_set(err, ERR_INTERNAL, "cannot start a committer's thread");
}

static void end_committer(struct committer *c)
{
    if (!c)
        return;
    if (c->started)
        pthread_join(c->thread, NULL);
    db_close(c->db);
    arena_free(c->mem);
    free(c);
}

struct chunk_store *chunk_store_start(const struct chunk_store_config *config, struct err *err)
{
    struct chunk_store *s = calloc(1, sizeof *s);
    bool ok = true;

    if (!s) {
        err_memory(err);
        return NULL;
    }
    s->config = *config;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    for (size_t i = 0; i < COMMITTERS && ok; i++)
        ok = start_committer(s, &s->committer[i], err);
    if (ok)
        return s;
    chunk_store_stop(s);
    return NULL;
}

void chunk_store_stop(struct chunk_store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < COMMITTERS; i++)
        end_committer(s->committer[i]);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    free(s);
}
