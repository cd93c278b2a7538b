/* What the dispatcher's threads ask of stored uploads: how one stands, its removal, and joining
 * partial ones to a whole. */
#include "server/http/chunk_store.h"

#include <string.h>

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
        return err_full(err, "a request");
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
