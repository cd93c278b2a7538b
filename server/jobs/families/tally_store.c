#include "server/jobs/families/tally_store.h"

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

struct columns {
    struct bytes *id, *install, *tally;
    int64_t *build, *day, *tier, *model, *sign;
    size_t n;
};

static bool new_columns(struct arena *mem, size_t n, struct columns *c)
{
    *c = (struct columns){
        .id = arena_array(mem, n, sizeof *c->id),
        .install = arena_array(mem, n, sizeof *c->install),
        .tally = arena_array(mem, n, sizeof *c->tally),
        .build = arena_array(mem, n, sizeof *c->build),
        .day = arena_array(mem, n, sizeof *c->day),
        .tier = arena_array(mem, n, sizeof *c->tier),
        .model = arena_array(mem, n, sizeof *c->model),
        .sign = arena_array(mem, n, sizeof *c->sign),
    };
    return !arena_full(mem);
}

static void put(struct columns *c, const unsigned char *id, const struct tally_at *t, int sign)
{
    size_t i = c->n;

    if (!t->tally.len)
        return;
    c->id[i] = (struct bytes){id, 16};
    c->install[i] = t->install_hash;
    c->tally[i] = t->tally;
    c->build[i] = t->build_id;
    c->day[i] = t->day;
    c->tier[i] = t->tier;
    c->model[i] = t->model_id;
    c->sign[i] = sign;
    c->n++;
}

/* Few are written without arrays: the plan is kept. */
static bool write_few(struct db *db, int64_t app, int64_t shard, const struct columns *c,
                      struct err *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (!db_exec(db, Q_TALLY_DELTA_ADD,
                     DB_ARGS(db_i64(app), db_i64(shard), db_uuid(c->id[i].at),
                             db_bytes(c->install[i].at, c->install[i].len), db_i64(c->build[i]),
                             db_i64(c->day[i]), db_i64(c->tier[i]), db_i64(c->model[i]),
                             db_i64(c->sign[i]), db_bytes(c->tally[i].at, c->tally[i].len)),
                     err))
            return false;
    return true;
}

static bool write_many(struct db *db, int64_t app, int64_t shard, const struct columns *c,
                       struct err *err)
{
    return db_exec(db, Q_TALLY_DELTAS_ADD,
                   DB_ARGS(db_i64(app), db_i64(shard), db_uuids(c->id, c->n),
                           db_bytess(c->install, c->n), db_i64s(c->build, c->n),
                           db_i64s(c->day, c->n), db_i64s(c->tier, c->n), db_i64s(c->model, c->n),
                           db_i64s(c->sign, c->n), db_bytess(c->tally, c->n)),
                   err);
}

bool tally_store(struct db *db, int64_t app, int64_t shard, const struct tally_move *moves,
                 size_t n, struct arena *mem, struct err *err)
{
    struct columns c;

    if (!new_columns(mem, 2 * n, &c))
        return err_full(err, "tallies");
    for (size_t i = 0; i < n; i++) {
        const struct tally_move *m = &moves[i];

        if (same(&m->was, &m->is))
            continue;
        put(&c, m->id, &m->was, -1);
        put(&c, m->id, &m->is, +1);
    }
    return !c.n || ((n == 1 ? write_few : write_many)(db, app, shard, &c, err) &&
                    db_exec(db, Q_FAMILIES_QUEUE, DB_ARGS(db_i64(app)), err));
}
