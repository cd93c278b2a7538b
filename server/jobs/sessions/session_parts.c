#include "server/jobs/sessions/session_parts.h"

#include "base/digest.h"

#include <string.h>

static const struct db_col stored_cols[] = {
    DB_COL(stored_part, part),        DB_COL(stored_part, upload_shard),
    DB_COL(stored_part, upload_day),  DB_COL(stored_part, size),
    DB_COL(stored_part, received_us), DB_COL(stored_part, sha256),
    DB_COL(stored_part, upload_id),   DB_COL(stored_part, install_hash),
    DB_COL(stored_part, kept),
};
static const struct db_map stored_map = DB_MAP(stored_part, stored_cols);

static const struct db_col chunk_cols[] = {
    DB_COL(chunk_row, n),
    DB_COL(chunk_row, at),
    DB_COL(chunk_row, crc32c),
    DB_COL(chunk_row, bytes),
};
static const struct db_map chunk_map = DB_MAP(chunk_row, chunk_cols);

bool parts_list(struct db *db, int64_t shard, const unsigned char session_id[16], bool used_only,
                size_t room, struct arena *mem, struct stored_parts *out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, used_only ? Q_SESSION_STORE_USED : Q_SESSION_STORE_PARTS,
                DB_ARGS(db_i64(shard), db_uuid(session_id)), &stored_map, mem, &rows, err))
        return false;

    struct stored_part *at = arena_array(mem, rows.n + room, sizeof *at);

    if (!at)
        return err_set(err, ERR_TOO_BIG, "the session has too many parts");
    if (rows.n)
        memcpy(at, rows.at, rows.n * sizeof *at);
    *out = (struct stored_parts){at, rows.n};
    return true;
}

int64_t parts_first_us(const struct stored_parts *parts)
{
    int64_t first = parts->at[0].received_us;

    for (size_t i = 1; i < parts->n; i++)
        if (parts->at[i].received_us < first)
            first = parts->at[i].received_us;
    return first;
}

int64_t parts_first_day(const struct stored_parts *parts)
{
    int64_t first = parts->at[0].upload_day;

    for (size_t i = 1; i < parts->n; i++)
        if (parts->at[i].upload_day < first)
            first = parts->at[i].upload_day;
    return first;
}

static int order(const struct stored_part *a, const struct stored_part *b)
{
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return memcmp(a->sha256.at, b->sha256.at, SHA256_BYTES);
}

void parts_add(struct stored_parts *parts, const struct stored_part *part)
{
    size_t i = parts->n++;

    for (; i > 0 && order(&parts->at[i - 1], part) > 0; i--)
        parts->at[i] = parts->at[i - 1];
    parts->at[i] = *part;
}

static bool damaged(struct err *err, const char *what, int64_t at)
{
    return err_set(err, ERR_INTERNAL, "stored upload: %s at byte %lld", what, (long long)at);
}

bool chunks_join(const struct chunk_row *chunks, size_t n, int64_t size, struct arena *mem,
                 struct bytes *out, struct err *err)
{
    int64_t at = 0;
    unsigned char *whole = n == 1 ? NULL : arena_alloc(mem, (size_t)size + 1);

    if (n != 1 && !whole)
        return err_set(err, ERR_TOO_BIG, "the session's files are too big together");
    for (size_t i = 0; i < n; i++) {
        struct bytes b = chunks[i].bytes;

        if (chunks[i].at != at || (int64_t)b.len > size - at)
            return damaged(err, "chunk missing or overlapping", at);
        if (crc32c(0, b.at, b.len) != (uint32_t)chunks[i].crc32c)
            return damaged(err, "CRC differs in the chunk", at);
        if (whole && b.len)
            memcpy(whole + at, b.at, b.len);
        at += (int64_t)b.len;
    }
    if (at != size)
        return damaged(err, "bytes missing", at);
    *out = n == 1 ? chunks[0].bytes : (struct bytes){whole, (size_t)size};
    return true;
}

/* The chunks of all parts of one day without bytes yet, in one statement. */
struct day_read {
    int64_t day;
    size_t n;
    int64_t *shard;
    struct bytes *id;
    struct stored_part **part;
};

static bool same_day_parts(struct stored_parts *parts, int64_t day, struct arena *mem,
                           struct day_read *out)
{
    *out = (struct day_read){.day = day,
                             .shard = arena_array(mem, parts->n, sizeof *out->shard),
                             .id = arena_array(mem, parts->n, sizeof *out->id),
                             .part = arena_array(mem, parts->n, sizeof(struct stored_part *))};
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < parts->n; i++) {
        struct stored_part *p = &parts->at[i];

        if (p->file.at || p->upload_day != day)
            continue;
        out->shard[out->n] = p->upload_shard;
        out->id[out->n] = p->upload_id;
        out->part[out->n++] = p;
    }
    return true;
}

bool part_day_kept(struct db *db, int64_t day, struct arena *mem, bool *out, struct err *err)
{
    struct kept {
        bool kept;
    } row = {false};
    static const struct db_col cols[] = {DB_COL(kept, kept)};
    static const struct db_map map = DB_MAP(kept, cols);

    if (!db_one(db, Q_PART_KEPT, DB_ARGS(db_i64(day)), &map, mem, &row, err))
        return false;
    *out = row.kept;
    return true;
}

static bool join_rows(const struct day_read *read, const struct db_rows *rows, struct arena *mem,
                      struct err *err)
{
    const struct chunk_row *row = rows->at;
    size_t at = 0;

    for (size_t i = 0; i < read->n; i++) {
        size_t end = at;

        while (end < rows->n && row[end].n == (int64_t)i + 1)
            end++;
        if (!chunks_join(row + at, end - at, read->part[i]->size, mem, &read->part[i]->file, err))
            return false;
        at = end;
    }
    return true;
}

static bool read_day(struct db *db, struct stored_parts *parts, int64_t day, struct arena *mem,
                     struct err *err)
{
    struct day_read read;
    struct db_rows rows;
    struct err why;
    bool kept;

    if (!same_day_parts(parts, day, mem, &read))
        return err_set(err, ERR_TOO_BIG, "the session has too many parts");
    if (!db_all(db, Q_PART_CHUNKS,
                DB_ARGS(db_i64(day), db_i64s(read.shard, read.n), db_uuids(read.id, read.n)),
                &chunk_map, mem, &rows, err))
        return false;
    if (join_rows(&read, &rows, mem, &why))
        return true;
    /* retention drops a whole day: asked only when bytes are missing */
    if (!part_day_kept(db, day, mem, &kept, err))
        return false;
    if (!kept)
        return err_set(err, ERR_GONE, "the session's uploads are past retention");
    *err = why;
    return false;
}

bool parts_read(struct db *db, struct stored_parts *parts, struct arena *mem, struct err *err)
{
    for (size_t i = 0; i < parts->n; i++)
        if (!parts->at[i].file.at && !parts->at[i].kept)
            return err_set(err, ERR_GONE, "an upload of the session was deleted");
    for (size_t i = 0; i < parts->n; i++)
        if (!parts->at[i].file.at && !read_day(db, parts, parts->at[i].upload_day, mem, err))
            return false;
    return true;
}

static const struct part *decoded(const struct stored_part *p, struct arena *mem, struct err *err)
{
    if (p->decoded)
        return p->decoded;

    struct part *part = arena_alloc(mem, sizeof *part);

    if (!part) {
        err_set(err, ERR_TOO_BIG, "the session's parts are too big together");
        return NULL;
    }
    return part_decode(p->file.at, p->file.len, &part_limits_default, mem, part, err) ? part : NULL;
}

bool parts_merge(const struct stored_parts *parts, size_t n, struct arena *mem, struct session *out,
                 struct err *err)
{
    struct session_part *list = arena_array(mem, n, sizeof *list);

    if (!list)
        return err_set(err, ERR_TOO_BIG, "the session has too many parts");
    for (size_t i = 0; i < n; i++) {
        list[i].part = decoded(&parts->at[i], mem, err);
        if (!list[i].part)
            return false;
        memcpy(list[i].sha256, parts->at[i].sha256.at, SHA256_BYTES);
    }
    return session_merge(list, n, mem, out, err);
}
