#include "server/jobs/rollups/rollup_parts.h"

#include <stdlib.h>

struct cell_lines {
    struct cell_line {
        const struct rollup_key *key;
        struct map_cell cell;
    } * at;
    size_t n;
};

static int by_cell(const void *va, const void *vb)
{
    const struct cell_line *a = va, *b = vb;

    if (a->key->build_id != b->key->build_id)
        return a->key->build_id < b->key->build_id ? -1 : 1;
    if (a->key->tier != b->key->tier)
        return a->key->tier < b->key->tier ? -1 : 1;
    return map_cell_order(&a->cell, &b->cell);
}

static void add_cells(struct cell_lines *to, const struct rollup_key *key,
                      const struct contribution *c)
{
    for (size_t i = 0; i < c->n_cells; i++)
        to->at[to->n++] = (struct cell_line){key, c->cells[i]};
}

/* One line a row, as for metrics. */
static void merge_cells(struct cell_lines *l)
{
    size_t n = 0;

    qsort(l->at, l->n, sizeof *l->at, by_cell);
    for (size_t i = 0; i < l->n; i++) {
        const struct map_cell *c = &l->at[i].cell;
        struct map_cell *last = n ? &l->at[n - 1].cell : NULL;

        if (!last || by_cell(&l->at[n - 1], &l->at[i]) != 0) {
            l->at[n++] = l->at[i];
            continue;
        }
        last->visits += c->visits;
        last->janky_visits += c->janky_visits;
        last->jank_ms += c->jank_ms;
        last->dwell_ms += c->dwell_ms;
    }
    l->n = n;
}

enum { CELL_COLUMNS = 10 };

static bool write_cells(struct db *db, int64_t shard, struct cell_lines *l, struct arena *mem,
                        struct err *err)
{
    int64_t *column[CELL_COLUMNS];
    const char **scene = arena_array(mem, l->n, sizeof *scene);
    struct db_arg arg[1 + CELL_COLUMNS] = {db_i64(shard)};

    if (!l->n)
        return true;
    for (int k = 0; k < CELL_COLUMNS; k++)
        column[k] = arena_array(mem, l->n, sizeof *column[k]);
    if (arena_full(mem))
        return err_full(err, "rollups");
    merge_cells(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct map_cell *c = &l->at[i].cell;
        const int64_t values[CELL_COLUMNS] = {
            l->at[i].key->build_id, l->at[i].key->tier, 0,          c->level, c->x, c->y, c->visits,
            c->janky_visits,        c->jank_ms,         c->dwell_ms};

        scene[i] = c->scene;
        for (int k = 0; k < CELL_COLUMNS; k++)
            column[k][i] = values[k];
    }
    for (int k = 0; k < CELL_COLUMNS; k++)
        arg[1 + k] = k == 2 ? db_texts(scene, l->n) : db_i64s(column[k], l->n);
    return db_exec(db, Q_CELL_ADD, (struct db_args){1 + CELL_COLUMNS, arg}, err);
}

static struct contribution cells_alone(const struct contribution *c)
{
    return (struct contribution){.cells = c->cells, .n_cells = c->n_cells};
}

static bool find_cells(const struct rollup_move *m, struct arena *mem, struct cell_lines *to,
                       struct err *err)
{
    static const struct contribution nothing;
    const struct contribution before = cells_alone(&m->before), now = cells_alone(&m->now);
    bool stays = m->was.build_id == m->is.build_id && m->was.tier == m->is.tier;
    struct contribution delta;

    if (!contribution_diff(stays ? &now : &nothing, &before, mem, &delta, err))
        return false;
    if (!stays)
        add_cells(to, &m->is, &now);
    add_cells(to, stays ? &m->is : &m->was, &delta);
    return true;
}

bool rollup_cells_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                        struct arena *mem, struct err *err)
{
    struct cell_lines l = {0};
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most += moves[i].before.n_cells + moves[i].now.n_cells;
    if (!most)
        return true;
    l.at = arena_array(mem, most, sizeof *l.at);
    if (!l.at)
        return err_full(err, "rollups");
    for (size_t i = 0; i < n; i++)
        if (!find_cells(&moves[i], mem, &l, err))
            return false;
    return write_cells(db, shard, &l, mem, err);
}
