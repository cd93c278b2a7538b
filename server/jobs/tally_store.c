#include "server/jobs/tally_store.h"

#include <string.h>

static bool same_bytes(struct bytes a, struct bytes b)
{
    return a.len == b.len && (!a.len || memcmp(a.at, b.at, a.len) == 0);
}

static bool same(const struct tally_at *a, const struct tally_at *b)
{
    if (!a->tally.len && !b->tally.len)
        return true;
    return same_bytes(a->tally, b->tally) && same_bytes(a->install_hash, b->install_hash) &&
           a->build_id == b->build_id && a->model_id == b->model_id && a->tier == b->tier &&
           a->day == b->day;
}

static bool put(struct db *db, int64_t app, int64_t shard, const unsigned char id[16],
                const struct tally_at *t, int sign, struct err *err)
{
    return !t->tally.len ||
           db_exec(db, Q_TALLY_DELTA_ADD,
                   DB_ARGS(db_i64(app), db_i64(shard), db_uuid(id),
                           db_bytes(t->install_hash.at, t->install_hash.len), db_i64(t->build_id),
                           db_i64(t->day), db_i64(t->tier), db_i64(t->model_id), db_i64(sign),
                           db_bytes(t->tally.at, t->tally.len)),
                   err);
}

bool tally_store(struct db *db, int64_t app, int64_t shard, const unsigned char id[16],
                 const struct tally_at *was, const struct tally_at *is, struct err *err)
{
    return same(was, is) ||
           (put(db, app, shard, id, was, -1, err) && put(db, app, shard, id, is, +1, err) &&
            db_exec(db, Q_FAMILIES_QUEUE, DB_ARGS(db_i64(app)), err));
}
