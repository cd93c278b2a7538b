#include "server/jobs/sessions/posted_crashes.h"

#include "server/jobs/sessions/row_values.h"

#include <string.h>

struct any_row {
    bool any;
};
static const struct db_col any_cols[] = {DB_COL(any_row, any)};
static const struct db_map any_map = DB_MAP(any_row, any_cols);

struct posted_row {
    struct bytes hash;
    bool timed;
    int64_t t_us;
};
static const struct db_col posted_cols[] = {
    DB_COL(posted_row, hash),
    DB_COL(posted_row, timed),
    DB_COL(posted_row, t_us),
};
static const struct db_map posted_map = DB_MAP(posted_row, posted_cols);

static bool from_rows(const struct db_rows *rows, struct arena *mem, struct posted_crashes *out,
                      struct err *err)
{
    const struct posted_row *row = rows->at;

    out->at = arena_array(mem, rows->n, sizeof *out->at);
    if (!out->at)
        return rows_too_big(err);
    for (size_t i = 0; i < rows->n; i++) {
        struct tally_crash *c = &out->at[out->n];

        if (row[i].hash.len != sizeof c->hash)
            return err_set(err, ERR_DB, "a posted crash: its stack's hash has %zu bytes",
                           row[i].hash.len);
        memcpy(c->hash, row[i].hash.at, sizeof c->hash);
        c->timed = row[i].timed;
        c->t_us = (uint64_t)row[i].t_us;
        out->n++;
    }
    return true;
}

bool posted_crashes_of(struct db *db, int64_t app, int64_t shard, const unsigned char id[16],
                       int64_t build_id, struct arena *mem, struct posted_crashes *out,
                       struct err *err)
{
    struct any_row posted;
    struct db_rows rows;

    *out = (struct posted_crashes){0};
    if (!db_one(db, Q_SESSION_POSTED_CRASH, DB_ARGS(db_i64(shard), db_uuid(id)), &any_map, mem,
                &posted, err))
        return false;
    if (!posted.any)
        return true;
    return db_all(db, Q_SESSION_STORE_POSTED,
                  DB_ARGS(db_i64(shard), db_uuid(id), db_i64(app), db_i64(build_id)), &posted_map,
                  mem, &rows, err) &&
           (!rows.n || from_rows(&rows, mem, out, err));
}
