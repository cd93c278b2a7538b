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

struct chunk_store {
    struct chunk_store_config config;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the queue and stopping */
    pthread_cond_t wake;
    struct chunk_op *first, **last;
    size_t n;
    bool stopping;

    /* the committer's own */
    struct db *db;
    struct arena *mem;
    struct chunk_batch *batch;
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
static size_t take(struct chunk_store *s, struct chunk_op *op[BATCH_OPS])
{
    size_t n = 0, bytes = 0;

    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->stopping)
        pthread_cond_wait(&s->wake, &s->lock);
    while (s->first && n < BATCH_OPS && (n == 0 || bytes + s->first->len <= BATCH_BYTES)) {
        op[n] = s->first;
        bytes += s->first->len;
        s->first = s->first->next;
        n++;
    }
    if (!s->first)
        s->last = &s->first;
    s->n -= n;
    gauge_set(GAUGE_commit_queue, (int64_t)s->n);
    pthread_mutex_unlock(&s->lock);
    return n;
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
static bool commit(struct chunk_store *s, struct chunk_batch *b)
{
    static struct log_limit away;
    struct err err = {0};
    int64_t start = now_us();
    bool ok = false;

    for (int i = 0; i < TRIES && !ok; i++) {
        ok = chunk_batch_run(b, &err);
        if (ok)
            break;
        metric_add(COUNT_commit_failures, 1);
        if (db_transient(s->db))
            log_err_seldom(&away, LOG_ERROR, "commit failed", &err);
        else
            log_err(LOG_ERROR, "commit failed", &err);
        if (strncmp(db_sqlstate(s->db), "40", 2) != 0) /* deadlock, serialization */
            break;
    }
    metric_add(COUNT_commit_batches, 1);
    metric_observe(HIST_commit_seconds, now_us() - start);
    if (ok) {
        metric_add(COUNT_commit_ops, b->n_ops);
        metric_observe(HIST_commit_batch_ops, (int64_t)b->n_ops);
        count_stored(b);
        if (b->jobs && s->config.jobs_added)
            s->config.jobs_added(s->config.user);
    }
    return ok;
}

/* One operation the database refuses must not take the others with it: each is tried alone. */
static void commit_alone(struct chunk_store *s, struct chunk_batch *one, struct chunk_op *op)
{
    one->op[0] = op;
    one->n_ops = 1;
    if (!commit(s, one)) {
        bool transient = db_transient(s->db);

        fail(one, transient ? CHUNK_FAILED : CHUNK_POISON);
        metric_add(COUNT_commit_poison, !transient);
    }
    finish(one);
}

static void commit_all(struct chunk_store *s, struct chunk_batch *b)
{
    if (commit(s, b)) {
        finish(b);
    } else if (db_transient(s->db)) {
        fail(b, CHUNK_FAILED);
        finish(b);
    } else {
        size_t n = b->n_ops;
        struct chunk_op *op[BATCH_OPS];

        memcpy(op, b->op, n * sizeof *op);
        for (size_t i = 0; i < n; i++)
            commit_alone(s, b, op[i]);
    }
}

static void *run(void *arg)
{
    struct chunk_store *s = arg;

    while ((s->batch->n_ops = take(s, s->batch->op)) > 0)
        commit_all(s, s->batch);
    return NULL;
}

static void free_store(struct chunk_store *s)
{
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    db_close(s->db);
    arena_free(s->mem);
    free(s->batch);
    free(s);
}

static bool start_parts(struct chunk_store *s, struct err *err)
{
    s->mem = arena_new(BATCH_MEMORY);
    s->batch = calloc(1, sizeof *s->batch);
    if (!s->mem || !s->batch)
        return err_set(err, ERR_INTERNAL, "out of memory");
    s->batch->mem = s->mem;
    s->batch->limits = &s->config.limits;
    s->db = s->batch->db = db_open(s->config.conninfo, err);
    if (!s->db)
        return false;
    return pthread_create(&s->thread, NULL, run, s) == 0 ||
           err_set(err, ERR_INTERNAL, "cannot start the committer's thread");
}

struct chunk_store *chunk_store_start(const struct chunk_store_config *config, struct err *err)
{
    struct chunk_store *s = calloc(1, sizeof *s);

    if (!s) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    s->config = *config;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    if (start_parts(s, err))
        return s;
    free_store(s);
    return NULL;
}

void chunk_store_stop(struct chunk_store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    free_store(s);
}
