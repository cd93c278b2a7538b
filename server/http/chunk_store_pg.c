#include "server/http/chunk_store.h"

#include "server/common/clock.h"
#include "server/http/log.h"
#include "server/http/metrics.h"
#include "server/http/upload_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_OPS 256
#define BATCH_BYTES (16u * 1024 * 1024)
#define BATCH_MEMORY (32u * 1024 * 1024) /* of the statements' arguments */
/* A row of upload_chunk that fills one page. Longer ones would go to the TOAST table, 2 KB a row,
 * each with an index entry and a log record: that costs the database twice as much. */
#define ROW_BYTES 8064
#define TRIES 3 /* of a batch that met a deadlock */

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
    struct batch *batch;
};

/* A batch: operations sorted by upload, those of one upload in order of arrival. */
struct batch {
    struct chunk_store *store;
    struct arena *mem;
    size_t n_ops, n_rows;
    struct chunk_op *op[BATCH_OPS];
    struct upload_state row[BATCH_OPS];
    size_t first_op[BATCH_OPS + 1]; /* of row; those of the next row begin where its end */
    bool fresh[BATCH_OPS];          /* of row: inserted by this batch */
    bool jobs;
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

/* One transaction ---------------------------------------------------------------------------------
 */

static int compare_ops(const void *a, const void *b)
{
    const struct chunk_op *x = *(struct chunk_op *const *)a, *y = *(struct chunk_op *const *)b;
    int order = upload_key_compare(&x->key, &y->key);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void clear_row(struct upload_state *row)
{
    struct upload_key key = row->key;

    *row = (struct upload_state){.key = key};
}

/* Sorts and gives each upload its row; op->row is the arrival before and the row after. */
static void arrange(struct batch *b)
{
    for (size_t i = 0; i < b->n_ops; i++)
        b->op[i]->row = i;
    qsort(b->op, b->n_ops, sizeof *b->op, compare_ops);
    b->n_rows = 0;
    for (size_t i = 0; i < b->n_ops; i++) {
        if (i == 0 || upload_key_compare(&b->op[i]->key, &b->op[i - 1]->key) != 0) {
            b->row[b->n_rows].key = b->op[i]->key;
            clear_row(&b->row[b->n_rows]);
            b->first_op[b->n_rows] = i;
            b->fresh[b->n_rows++] = false;
        }
        b->op[i]->row = b->n_rows - 1;
    }
    b->first_op[b->n_rows] = b->n_ops;
}

/* The first creation among the operations of a row, or NULL. */
static struct chunk_op *creation_of(const struct batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++)
        if (b->op[i]->create)
            return b->op[i];
    return NULL;
}

static void apply_row(struct batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++)
        upload_apply(&b->row[row], &b->store->config.limits, b->op[i]);
}

/* Columns of a statement over arrays, one element for each row that takes part. */
struct columns {
    size_t n;
    int64_t *shard, *app, *day, *at, *length, *flag;
    struct bytes *id, *install;
    const char **kind, **file_id, **metadata, **concat, **state;
};

static bool columns_new(struct batch *b, struct columns *c, struct err *err)
{
    *c = (struct columns){0};
    int64_t **numbers[] = {&c->shard, &c->app, &c->day, &c->at, &c->length, &c->flag};
    const char ***texts[] = {&c->kind, &c->file_id, &c->metadata, &c->concat, &c->state};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = arena_array(b->mem, b->n_rows, sizeof(int64_t));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = arena_array(b->mem, b->n_rows, sizeof(const char *));
    c->id = arena_array(b->mem, b->n_rows, sizeof *c->id);
    c->install = arena_array(b->mem, b->n_rows, sizeof *c->install);
    return !arena_full(b->mem) || err_set(err, ERR_INTERNAL, "out of memory for a batch");
}

static void put_key(struct columns *c, const struct upload_state *row)
{
    c->shard[c->n] = row->key.shard;
    c->id[c->n] = (struct bytes){row->key.id, sizeof row->key.id};
    c->app[c->n] = row->app;
    c->day[c->n] = row->day;
    c->at[c->n] = row->at;
    c->length[c->n] = row->length;
    c->state[c->n] = upload_life_name(row->life);
}

static const char *concat_text(enum tus_concat concat)
{
    return concat == CONCAT_PARTIAL ? "partial" : "";
}

static struct upload_state *find_row(struct batch *b, int64_t shard, struct bytes id)
{
    struct upload_key key = {.shard = shard};
    size_t low = 0, high = b->n_rows;

    if (id.len != sizeof key.id)
        return NULL;
    memcpy(key.id, id.at, sizeof key.id);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = upload_key_compare(&b->row[middle].key, &key);

        if (order == 0)
            return &b->row[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct row_created {
    int64_t shard, day, expires_s;
    struct bytes upload_id;
};
static const struct db_col created_cols[] = {
    DB_COL(row_created, shard),
    DB_COL(row_created, upload_id),
    DB_COL(row_created, day),
    DB_COL(row_created, expires_s),
};
static const struct db_map created_map = DB_MAP(row_created, created_cols);

static void put_creation(struct columns *c, const struct upload_state *row,
                         const struct new_upload *u)
{
    put_key(c, row);
    c->kind[c->n] = upload_kind_name(u->kind);
    c->file_id[c->n] = u->file_id;
    c->install[c->n] = u->has_install ? (struct bytes){u->install_hash, sizeof u->install_hash}
                                      : (struct bytes){0};
    c->metadata[c->n] = u->metadata;
    c->concat[c->n] = concat_text(u->concat);
    c->n++;
}

/* Of those the database did not have: day and expiry, also in the answers given already. */
static void note_created(struct batch *b, const struct db_rows *rows)
{
    const struct row_created *created = rows->at;

    for (size_t i = 0; i < rows->n; i++) {
        struct upload_state *row = find_row(b, created[i].shard, created[i].upload_id);

        if (!row)
            continue;
        row->day = (int32_t)created[i].day;
        row->expires_s = created[i].expires_s;
        b->fresh[row - b->row] = true;
    }
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->fresh[b->op[i]->row])
            b->op[i]->answer.expires_s = b->row[b->op[i]->row].expires_s;
}

/* Most creations are of files never seen. So they are inserted as they would be after all their
 * operations, and only where a row was there before is the truth read and decided again. */
static bool create_rows(struct batch *b, struct err *err)
{
    struct columns c;
    struct db_rows rows;

    if (!columns_new(b, &c, err))
        return false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct chunk_op *op = creation_of(b, i);

        if (!op)
            continue;
        apply_row(b, i);
        if (b->row[i].exists)
            put_creation(&c, &b->row[i], &op->upload);
    }
    if (!c.n)
        return true;
    if (!db_all(b->store->db, Q_UPLOAD_CREATE,
                DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.app, c.n),
                        db_texts(c.kind, c.n), db_texts(c.file_id, c.n), db_bytess(c.install, c.n),
                        db_texts(c.metadata, c.n), db_texts(c.concat, c.n), db_i64s(c.length, c.n),
                        db_i64s(c.at, c.n), db_texts(c.state, c.n),
                        db_i64(b->store->config.limits.expire_s)),
                &created_map, b->mem, &rows, err))
        return false;
    note_created(b, &rows);
    return true;
}

struct row_locked {
    int64_t shard, app_id, day, length, at, expires_s;
    struct bytes upload_id;
    const char *kind, *concat, *state;
    bool expired;
};
static const struct db_col locked_cols[] = {
    DB_COL(row_locked, shard),   DB_COL(row_locked, upload_id), DB_COL(row_locked, app_id),
    DB_COL(row_locked, day),     DB_COL(row_locked, kind),      DB_COL(row_locked, concat),
    DB_COL(row_locked, length),  DB_COL(row_locked, at),        DB_COL(row_locked, state),
    DB_COL(row_locked, expired), DB_COL(row_locked, expires_s),
};
static const struct db_map locked_map = DB_MAP(row_locked, locked_cols);

static bool load_row(struct upload_state *row, const struct row_locked *from, struct err *err)
{
    if (!upload_kind_parse(from->kind, &row->kind) || !upload_life_parse(from->state, &row->life))
        return err_set(err, ERR_DB, "upload of kind \"%s\" in state \"%s\"", from->kind,
                       from->state);
    row->concat = strcmp(from->concat, "final") == 0     ? CONCAT_FINAL
                  : strcmp(from->concat, "partial") == 0 ? CONCAT_PARTIAL
                                                         : CONCAT_NONE;
    row->exists = true;
    row->app = from->app_id;
    row->day = (int32_t)from->day;
    row->at = from->at;
    row->length = from->length;
    row->expired = from->expired;
    row->expires_s = from->expires_s;
    return true;
}

static bool load_rows(struct batch *b, const struct db_rows *rows, struct err *err)
{
    const struct row_locked *locked = rows->at;

    for (size_t i = 0; i < rows->n; i++) {
        struct upload_state *row = find_row(b, locked[i].shard, locked[i].upload_id);

        if (row && !load_row(row, &locked[i], err))
            return false;
    }
    return true;
}

/* A row that stood in the way of an insert and is gone now was removed by retention: try again. */
static void fail_row(struct batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++) {
        b->op[i]->answer = (struct chunk_answer){.outcome = CHUNK_FAILED};
        b->op[i]->accepted = false;
    }
    clear_row(&b->row[row]);
}

static void decide_rows(struct batch *b)
{
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->fresh[i])
            continue;
        bool existed = b->row[i].exists;

        apply_row(b, i);
        if (b->row[i].exists && !existed) {
            fail_row(b, i);
            continue;
        }
        if (b->row[i].renewed)
            b->row[i].expires_s = time(NULL) + b->store->config.limits.expire_s;
    }
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->row[b->op[i]->row].renewed)
            b->op[i]->answer.expires_s = b->row[b->op[i]->row].expires_s;
}

static bool lock_rows(struct batch *b, struct err *err)
{
    struct columns c;
    struct db_rows rows;

    if (!columns_new(b, &c, err))
        return false;
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->fresh[i])
            continue;
        clear_row(&b->row[i]);
        put_key(&c, &b->row[i]);
        c.n++;
    }
    if (!c.n)
        return true;
    if (!db_all(b->store->db, Q_UPLOAD_LOCK, DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n)),
                &locked_map, b->mem, &rows, err) ||
        !load_rows(b, &rows, err))
        return false;
    decide_rows(b);
    return true;
}

/* Reads along a list of blocks. */
struct block_cursor {
    const struct block *block;
    size_t at; /* in it */
};

static const unsigned char *block_bytes(struct block_cursor *c, size_t *n)
{
    if (c->at == c->block->len) {
        c->block = c->block->next;
        c->at = 0;
    }
    if (*n > c->block->len - c->at)
        *n = c->block->len - c->at;
    c->at += *n;
    return c->block->bytes + c->at - *n;
}

static uint32_t crc_of(struct block_cursor c, size_t len)
{
    uint32_t crc = 0;

    for (size_t n; len; len -= n) {
        n = len;
        const unsigned char *bytes = block_bytes(&c, &n);

        crc = crc32c(crc, bytes, n);
    }
    return crc;
}

static void copy_slice(struct db *db, const struct upload_state *row, int64_t at,
                       struct block_cursor *c, size_t len)
{
    db_copy_row(db, 6);
    db_copy_date(db, row->day);
    db_copy_i32(db, (int32_t)row->key.shard);
    db_copy_bytes(db, row->key.id, sizeof row->key.id);
    db_copy_i64(db, at);
    db_copy_i64(db, crc_of(*c, len));
    db_copy_open(db, len);
    for (size_t n; len; len -= n) {
        n = len;
        const unsigned char *bytes = block_bytes(c, &n);

        db_copy_more(db, bytes, n);
    }
}

static void copy_chunk(struct db *db, const struct upload_state *row, const struct chunk_op *op)
{
    struct block_cursor c = {op->blocks, 0};

    for (size_t done = 0, n; done < op->len; done += n) {
        n = op->len - done < ROW_BYTES ? op->len - done : ROW_BYTES;
        copy_slice(db, row, op->at + (int64_t)done, &c, n);
    }
}

static bool copy_chunks(struct batch *b, struct err *err)
{
    struct db *db = b->store->db;
    bool any = false;

    for (size_t i = 0; i < b->n_ops; i++) {
        if (!b->op[i]->accepted)
            continue;
        if (!any && !db_copy_begin(db, Q_COPY_UPLOAD_CHUNK, err))
            return false;
        any = true;
        copy_chunk(db, &b->row[b->op[i]->row], b->op[i]);
    }
    return !any || db_copy_end(db, err);
}

static bool advance_rows(struct batch *b, struct err *err)
{
    struct columns c;

    if (!columns_new(b, &c, err))
        return false;
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->fresh[i] || !b->row[i].changed)
            continue;
        put_key(&c, &b->row[i]);
        c.flag[c.n++] = b->row[i].renewed;
    }
    return !c.n || db_exec(b->store->db, Q_UPLOAD_ADVANCE,
                           DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.at, c.n),
                                   db_i64s(c.length, c.n), db_texts(c.state, c.n),
                                   db_i64s(c.flag, c.n), db_i64(b->store->config.limits.expire_s)),
                           err);
}

static bool add_jobs(struct batch *b, struct err *err)
{
    struct columns c;

    if (!columns_new(b, &c, err))
        return false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct upload_state *row = &b->row[i];

        if (!row->completed || row->concat != CONCAT_NONE)
            continue;
        c.kind[c.n] = upload_kind_name(row->kind);
        put_key(&c, row);
        c.n++;
    }
    b->jobs = c.n > 0;
    return !c.n || db_exec(b->store->db, Q_UPLOAD_JOB_ADD,
                           DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.app, c.n),
                                   db_i64s(c.day, c.n), db_texts(c.kind, c.n)),
                           err);
}

static bool run_batch(struct batch *b, struct err *err)
{
    struct db *db = b->store->db;

    arena_reset(b->mem);
    arrange(b);
    if (!db_begin(db, err))
        return false;
    if (create_rows(b, err) && lock_rows(b, err) && copy_chunks(b, err) && advance_rows(b, err) &&
        add_jobs(b, err) && db_commit(db, err))
        return true;
    db_rollback(db);
    return false;
}

/* Answers -----------------------------------------------------------------------------------------
 */

static void count_stored(const struct batch *b)
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

static void finish(struct batch *b)
{
    for (size_t i = 0; i < b->n_ops; i++)
        b->op[i]->done(b->op[i]);
}

static void fail(struct batch *b, enum chunk_outcome outcome)
{
    for (size_t i = 0; i < b->n_ops; i++) {
        b->op[i]->answer = (struct chunk_answer){.outcome = outcome};
        b->op[i]->accepted = false;
    }
}

/* True when the batch is durable. What it met, if not, is logged here and counted. */
static bool commit(struct batch *b)
{
    static struct log_limit away;
    struct err err = {0};
    int64_t start = now_us();
    bool ok = false;

    for (int i = 0; i < TRIES && !ok; i++) {
        ok = run_batch(b, &err);
        if (ok)
            break;
        metric_add(COUNT_commit_failures, 1);
        if (db_transient(b->store->db))
            log_err_seldom(&away, LOG_ERROR, "commit failed", &err);
        else
            log_err(LOG_ERROR, "commit failed", &err);
        if (strncmp(db_sqlstate(b->store->db), "40", 2) != 0) /* deadlock, serialization */
            break;
    }
    metric_add(COUNT_commit_batches, 1);
    metric_observe(HIST_commit_seconds, now_us() - start);
    if (ok) {
        metric_add(COUNT_commit_ops, b->n_ops);
        metric_observe(HIST_commit_batch_ops, (int64_t)b->n_ops);
        count_stored(b);
        if (b->jobs && b->store->config.jobs_added)
            b->store->config.jobs_added(b->store->config.user);
    }
    return ok;
}

/* One operation the database refuses must not take the others with it: each is tried alone. */
static void commit_alone(struct chunk_store *s, struct batch *one, struct chunk_op *op)
{
    one->op[0] = op;
    one->n_ops = 1;
    if (!commit(one)) {
        bool transient = db_transient(s->db);

        fail(one, transient ? CHUNK_FAILED : CHUNK_POISON);
        metric_add(COUNT_commit_poison, !transient);
    }
    finish(one);
}

static void commit_all(struct chunk_store *s, struct batch *b)
{
    if (commit(b)) {
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
    s->batch->store = s;
    s->batch->mem = s->mem;
    s->db = db_open(s->config.conninfo, err);
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

/* Calls of the dispatcher -----------------------------------------------------------------------
 */

static const struct db_col info_cols[] = {
    DB_COL(upload_info, kind),      DB_COL(upload_info, state),   DB_COL(upload_info, metadata),
    DB_COL(upload_info, concat),    DB_COL(upload_info, at),      DB_COL(upload_info, length),
    DB_COL(upload_info, expires_s), DB_COL(upload_info, expired),
};
static const struct db_map info_map = DB_MAP(upload_info, info_cols);

bool chunk_store_stat(struct db *db, const struct upload_key *key, struct arena *mem,
                      struct upload_info *out, struct err *err)
{
    return db_one(db, Q_UPLOAD_STAT, DB_ARGS(db_i64(key->shard), db_uuid(key->id)), &info_map, mem,
                  out, err);
}

struct row_delete {
    const char *state, *concat, *day;
};
static const struct db_col delete_cols[] = {
    DB_COL(row_delete, state),
    DB_COL(row_delete, concat),
    DB_COL(row_delete, day),
};
static const struct db_map delete_map = DB_MAP(row_delete, delete_cols);

static bool remove_locked(struct db *db, const struct upload_key *key, struct arena *mem,
                          struct err *err)
{
    struct row_delete row = {0};

    if (!db_one(db, Q_UPLOAD_DELETE_LOCK, DB_ARGS(db_i64(key->shard), db_uuid(key->id)),
                &delete_map, mem, &row, err))
        return false;
    if (strcmp(row.state, "deleted") == 0)
        return err_set(err, ERR_GONE, "the upload was deleted before");
    if (strcmp(row.state, "complete") == 0 && strcmp(row.concat, "partial") != 0)
        return err_set(err, ERR_FORBIDDEN, "the upload is complete and was handed on: it stays");
    return db_exec(db, Q_UPLOAD_DELETE_CHUNKS,
                   DB_ARGS(db_i64(key->shard), db_uuid(key->id), db_text(row.day)), err) &&
           db_exec(db, Q_UPLOAD_DELETE, DB_ARGS(db_i64(key->shard), db_uuid(key->id)), err);
}

bool chunk_store_remove(struct db *db, const struct upload_key *key, struct arena *mem,
                        struct err *err)
{
    if (!db_begin(db, err))
        return false;
    if (remove_locked(db, key, mem, err) && db_commit(db, err))
        return true;
    db_rollback(db);
    return false;
}

struct row_partial {
    struct bytes upload_id;
    int64_t at;
    const char *state, *concat, *kind;
};
static const struct db_col partial_cols[] = {
    DB_COL(row_partial, upload_id), DB_COL(row_partial, at),   DB_COL(row_partial, state),
    DB_COL(row_partial, concat),    DB_COL(row_partial, kind),
};
static const struct db_map partial_map = DB_MAP(row_partial, partial_cols);

struct join {
    struct db *db;
    const struct chunk_limits *limits;
    const struct upload_key *key;
    const struct new_upload *upload;
    const struct tus_partials *partials;
    const char *concat;
    struct arena *mem;
    struct upload_key *part; /* partials->n of them */
    int64_t *offset;         /* where each stands in the whole */
    int64_t length;
};

static bool lock_partials(struct join *j, struct db_rows *out, struct err *err)
{
    size_t n = j->partials->n;
    int64_t *shard = arena_array(j->mem, n, sizeof *shard);
    struct bytes *id = arena_array(j->mem, n, sizeof *id);

    j->part = arena_array(j->mem, n, sizeof *j->part);
    j->offset = arena_array(j->mem, n, sizeof *j->offset);
    if (arena_full(j->mem))
        return err_set(err, ERR_TOO_BIG, "out of memory for the request");
    for (size_t i = 0; i < n; i++) {
        j->part[i] = upload_key_of(j->upload->app, j->partials->id[i]);
        shard[i] = j->part[i].shard;
        id[i] = (struct bytes){j->part[i].id, sizeof j->part[i].id};
    }
    return db_all(j->db, Q_UPLOAD_JOIN_LOCK, DB_ARGS(db_i64s(shard, n), db_uuids(id, n)),
                  &partial_map, j->mem, out, err);
}

static const struct row_partial *find_partial(const struct db_rows *rows,
                                              const struct upload_key *key)
{
    const struct row_partial *p = rows->at;

    for (size_t i = 0; i < rows->n; i++)
        if (p[i].upload_id.len == sizeof key->id &&
            memcmp(p[i].upload_id.at, key->id, sizeof key->id) == 0)
            return &p[i];
    return NULL;
}

static bool measure(struct join *j, const struct db_rows *rows, struct err *err)
{
    int64_t limit = chunk_limit_of(j->limits, j->upload->kind);

    for (size_t i = 0; i < j->partials->n; i++) {
        const struct row_partial *p = find_partial(rows, &j->part[i]);

        if (!p || strcmp(p->state, "deleted") == 0)
            return err_field(err, ERR_INVALID, "Upload-Concat", "upload %zu does not exist", i + 1);
        if (strcmp(p->concat, "partial") != 0)
            return err_field(err, ERR_INVALID, "Upload-Concat", "upload %zu is not partial", i + 1);
        if (strcmp(p->state, "complete") != 0)
            return err_field(err, ERR_CONFLICT, "Upload-Concat", "upload %zu is not complete",
                             i + 1);
        if (p->at > limit - j->length)
            return err_field(err, ERR_TOO_BIG, "Upload-Concat", "the whole is longer than %lld",
                             (long long)limit);
        j->offset[i] = j->length;
        j->length += p->at;
    }
    return true;
}

static bool copy_partials(struct join *j, struct err *err)
{
    for (size_t i = 0; i < j->partials->n; i++)
        if (!db_exec(j->db, Q_UPLOAD_JOIN_CHUNKS,
                     DB_ARGS(db_i64(j->key->shard), db_uuid(j->key->id), db_i64(j->part[i].shard),
                             db_uuid(j->part[i].id), db_i64(j->offset[i])),
                     err))
            return false;
    return db_exec(j->db, Q_UPLOAD_JOIN_JOB, DB_ARGS(db_i64(j->key->shard), db_uuid(j->key->id)),
                   err);
}

static bool check_same(struct join *j, struct err *err)
{
    struct upload_info info = {0};

    if (!chunk_store_stat(j->db, j->key, j->mem, &info, err))
        return false;
    return strcmp(info.concat, j->concat) == 0 ||
           err_field(err, ERR_CONFLICT, "Upload-Metadata",
                     "the file id was used for another upload");
}

static bool join(struct join *j, struct err *err)
{
    const struct new_upload *u = j->upload;
    struct db_rows rows;
    int64_t made = 0;

    if (!lock_partials(j, &rows, err) || !measure(j, &rows, err))
        return false;
    if (!db_exec_n(j->db, Q_UPLOAD_JOIN_CREATE,
                   DB_ARGS(db_i64(j->key->shard), db_uuid(j->key->id), db_i64(u->app),
                           db_text(upload_kind_name(u->kind)), db_text(u->file_id),
                           db_bytes(u->has_install ? u->install_hash : NULL, SHA256_BYTES),
                           db_text(u->metadata), db_text(j->concat), db_i64(j->length),
                           db_i64(j->limits->expire_s)),
                   &made, err))
        return false;
    return made ? copy_partials(j, err) : check_same(j, err);
}

bool chunk_store_join(struct db *db, const struct chunk_limits *limits,
                      const struct upload_key *key, const struct new_upload *upload,
                      const struct tus_partials *partials, const char *concat, struct arena *mem,
                      struct err *err)
{
    struct join j = {.db = db,
                     .limits = limits,
                     .key = key,
                     .upload = upload,
                     .partials = partials,
                     .concat = concat,
                     .mem = mem};

    if (!db_begin(db, err))
        return false;
    if (join(&j, err) && db_commit(db, err))
        return true;
    db_rollback(db);
    return false;
}
