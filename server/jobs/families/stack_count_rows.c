#include "server/jobs/families/family_counts_parts.h"

#include <string.h>

int counts_by_stack(const void *va, const void *vb)
{
    const struct stack_entry *a = va, *b = vb;
    const struct count_facts *x = a->facts, *y = b->facts;
    int order = compare_i64(x->shard, y->shard);

    if (!order)
        order = memcmp(a->hash, b->hash, 16);
    if (!order)
        order = compare_i64(a->kind, b->kind);
    if (!order)
        order = compare_i64(x->build_id, y->build_id);
    if (!order)
        order = compare_i64(x->day, y->day);
    if (!order)
        order = compare_i64(x->tier, y->tier);
    if (!order)
        order = compare_i64(x->model_id, y->model_id);
    if (!order)
        order = strcmp(x->os, y->os);
    if (!order)
        order = strcmp(x->scene, y->scene);
    return order ? order : strcmp(x->cause, y->cause);
}

struct stack_columns {
    int64_t *shard, *kind, *build, *day, *tier, *model;
    struct bytes *hash;
    const char **os, **scene, **cause;
};

static bool new_stack_columns(struct arena *mem, size_t n, struct stack_columns *k)
{
    *k = (struct stack_columns){
        .shard = arena_array(mem, n, sizeof *k->shard),
        .kind = arena_array(mem, n, sizeof *k->kind),
        .build = arena_array(mem, n, sizeof *k->build),
        .day = arena_array(mem, n, sizeof *k->day),
        .tier = arena_array(mem, n, sizeof *k->tier),
        .model = arena_array(mem, n, sizeof *k->model),
        .hash = arena_array(mem, n, sizeof *k->hash),
        .os = arena_array(mem, n, sizeof *k->os),
        .scene = arena_array(mem, n, sizeof *k->scene),
        .cause = arena_array(mem, n, sizeof *k->cause),
    };
    return !arena_full(mem);
}

static void put_stack_key(struct stack_columns *k, size_t i, const struct stack_entry *e)
{
    k->shard[i] = e->facts->shard;
    k->kind[i] = e->kind;
    k->build[i] = e->facts->build_id;
    k->day[i] = e->facts->day;
    k->tier[i] = e->facts->tier;
    k->model[i] = e->facts->model_id;
    k->hash[i] = (struct bytes){e->hash, 16};
    k->os[i] = e->facts->os;
    k->scene[i] = e->facts->scene;
    k->cause[i] = e->facts->cause;
}

#define STACK_KEY_ARGS(k, n)                                                                       \
    db_i64s((k).shard, n), db_bytess((k).hash, n), db_i64s((k).kind, n), db_i64s((k).build, n),    \
        db_i64s((k).day, n), db_i64s((k).tier, n), db_i64s((k).model, n), db_texts((k).os, n),     \
        db_texts((k).scene, n), db_texts((k).cause, n)

bool counts_write_stacks(struct counts *c, struct db *db, const size_t *group, size_t n,
                         struct err *err)
{
    const struct stack_entry *e = c->stacks.at;
    struct stack_columns k;
    struct count_columns s;
    struct db_rows rows;

    if (!new_stack_columns(c->chunk, n, &k) || !count_columns_new(c->chunk, n, &s))
        return counts_out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        put_stack_key(&k, i, &e[group[i]]);
    if (!db_all(db, Q_STACK_COUNT_READ, DB_ARGS(STACK_KEY_ARGS(k, n)), &count_held_map, c->chunk,
                &rows, err))
        return false;
    if (rows.n != n)
        return err_set(err, ERR_DB, "counts of stacks vanished");
    for (size_t i = 0; i < n; i++) {
        struct count_sums sums;
        struct count_sum sum;

        if (!count_begin(c->row, (const struct count_held *)rows.at + i, true, &sums, err))
            return false;
        for (size_t at = group[i]; at < group[i + 1]; at++)
            if (!count_add(&sums, e[at].change, true, err))
                return false;
        if (!count_end(c->chunk, &sums, true, &sum, err))
            return false;
        count_columns_put(&s, i, &sum);
    }
    return db_exec(db, Q_STACK_COUNT_PUT,
                   DB_ARGS(STACK_KEY_ARGS(k, n), db_i64s(s.events, n), db_i64s(s.jank_us, n),
                           db_bytess(s.sessions, n), db_bytess(s.installs, n)),
                   err) &&
           db_exec(db, Q_STACK_COUNT_DROP, DB_ARGS(STACK_KEY_ARGS(k, n)), err);
}

bool counts_write_totals(struct counts *c, struct db *db, struct err *err)
{
    const struct stack_entry *e = c->stacks.at;
    size_t n = c->stacks.n;
    struct bytes *hash = arena_array(c->chunk, n, sizeof *hash);
    int64_t *kind = arena_array(c->chunk, n, sizeof *kind);
    int64_t *build = arena_array(c->chunk, n, sizeof *build);
    int64_t *events = arena_array(c->chunk, n, sizeof *events);
    int64_t *us = arena_array(c->chunk, n, sizeof *us);

    if (arena_full(c->chunk))
        return counts_out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        hash[i] = (struct bytes){e[i].hash, 16};
        kind[i] = e[i].kind;
        build[i] = e[i].facts->build_id;
        events[i] = e[i].change->events;
        us[i] = e[i].change->jank_us;
    }

    const struct db_args all = DB_ARGS(db_i64(c->app), db_bytess(hash, n), db_i64s(kind, n),
                                       db_i64s(build, n), db_i64s(events, n), db_i64s(us, n));
    const struct db_args keys = DB_ARGS(db_i64(c->app), db_bytess(hash, n));
    const struct db_args sums =
        DB_ARGS(db_i64(c->app), db_bytess(hash, n), db_i64s(kind, n), db_i64s(events, n));

    return db_exec(db, Q_STACK_TOTAL_ADD, all, err) && db_exec(db, Q_STACK_TOTAL_DROP, keys, err) &&
           db_exec(db, Q_STACK_FAMILY_ADD, sums, err) &&
           db_exec(db, Q_STACK_FAMILY_DROP, keys, err);
}
