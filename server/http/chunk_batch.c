#include "server/http/chunk_batch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A row of upload_chunk that fills one page. Longer ones would go to the TOAST table, 2 KB a row,
 * each with an index entry and a log record: that costs the database twice as much. */
#define ROW_BYTES 8064

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
static void arrange(struct chunk_batch *b)
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
static struct chunk_op *creation_of(const struct chunk_batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++)
        if (b->op[i]->create)
            return b->op[i];
    return NULL;
}

static void apply_row(struct chunk_batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++)
        upload_apply(&b->row[row], b->limits, b->op[i]);
}

/* Columns of a statement over arrays, one element for each row that takes part. */
struct columns {
    size_t n;
    int64_t *shard, *app, *day, *at, *length, *flag;
    struct bytes *id, *install;
    const char **kind, **file_id, **metadata, **concat, **state;
};

static bool columns_new(struct chunk_batch *b, struct columns *c, struct err *err)
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
    return !arena_full(b->mem) || err_memory(err);
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

static struct upload_state *find_row(struct chunk_batch *b, int64_t shard, struct bytes id)
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
static void note_created(struct chunk_batch *b, const struct db_rows *rows)
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
static bool create_rows(struct chunk_batch *b, struct err *err)
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
    if (!db_all(b->db, Q_UPLOAD_CREATE,
                DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.app, c.n),
                        db_texts(c.kind, c.n), db_texts(c.file_id, c.n), db_bytess(c.install, c.n),
                        db_texts(c.metadata, c.n), db_texts(c.concat, c.n), db_i64s(c.length, c.n),
                        db_i64s(c.at, c.n), db_texts(c.state, c.n), db_i64(b->limits->expire_s)),
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

static bool load_rows(struct chunk_batch *b, const struct db_rows *rows, struct err *err)
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
static void fail_row(struct chunk_batch *b, size_t row)
{
    for (size_t i = b->first_op[row]; i < b->first_op[row + 1]; i++) {
        b->op[i]->answer = (struct chunk_answer){.outcome = CHUNK_FAILED};
        b->op[i]->accepted = false;
    }
    clear_row(&b->row[row]);
}

static void decide_rows(struct chunk_batch *b)
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
            b->row[i].expires_s = time(NULL) + b->limits->expire_s;
    }
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->row[b->op[i]->row].renewed)
            b->op[i]->answer.expires_s = b->row[b->op[i]->row].expires_s;
}

static bool lock_rows(struct chunk_batch *b, struct err *err)
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
    if (!db_all(b->db, Q_UPLOAD_LOCK, DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n)),
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

static bool copy_chunks(struct chunk_batch *b, struct err *err)
{
    struct db *db = b->db;
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

static bool advance_rows(struct chunk_batch *b, struct err *err)
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
    return !c.n || db_exec(b->db, Q_UPLOAD_ADVANCE,
                           DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.at, c.n),
                                   db_i64s(c.length, c.n), db_texts(c.state, c.n),
                                   db_i64s(c.flag, c.n), db_i64(b->limits->expire_s)),
                           err);
}

static bool add_jobs(struct chunk_batch *b, struct err *err)
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
    return !c.n || db_exec(b->db, Q_UPLOAD_JOB_ADD,
                           DB_ARGS(db_i64s(c.shard, c.n), db_uuids(c.id, c.n), db_i64s(c.app, c.n),
                                   db_i64s(c.day, c.n), db_texts(c.kind, c.n)),
                           err);
}

bool chunk_batch_fill(struct chunk_batch *b, struct err *err)
{
    arena_reset(b->mem);
    arrange(b);
    if (!db_begin(b->db, err))
        return false;
    if (create_rows(b, err) && lock_rows(b, err) && copy_chunks(b, err) && advance_rows(b, err) &&
        add_jobs(b, err))
        return true;
    db_rollback(b->db);
    return false;
}

bool chunk_batch_commit(struct chunk_batch *b, struct err *err)
{
    if (db_commit(b->db, err))
        return true;
    db_rollback(b->db);
    return false;
}
