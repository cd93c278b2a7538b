/* GET /v1/heatmap: where on a map players jank. */
#include "server/api/args.h"
#include "server/api/handlers.h"
#include "server/api/tiers/tiers_arg.h"

#include "profile/cells.h"

#define CELLS_MAX 10000
#define COVERED_PERCENT 95 /* of visits are known at the level shown by default */
#define SHOWN_PERCENT 50   /* of visits are in squares entered often enough at that level */

struct level_row {
    int64_t level, visits, cells;
};
static const struct db_col level_cols[] = {DB_COL(level_row, level), DB_COL(level_row, visits),
                                           DB_COL(level_row, cells)};
static const struct db_map level_map = DB_MAP(level_row, level_cols);

struct cell_row {
    int64_t x, y, visits, janky_visits, jank_ms, dwell_ms;
};
static const struct db_col cell_cols[] = {
    DB_COL(cell_row, x),       DB_COL(cell_row, y),        DB_COL(cell_row, visits),
    DB_COL(cell_row, jank_ms), DB_COL(cell_row, dwell_ms), DB_COL(cell_row, janky_visits),
};
static const struct db_map cell_map = DB_MAP(cell_row, cell_cols);

struct heat_ask {
    int64_t build, min_visits, level, limit;
    struct db_arg scene, tier;
};

static bool read_ask(struct req *r, struct heat_ask *ask, struct err *err)
{
    static const char *const names[] = {"build", "scene", "tier", "min_visits",
                                        "level", "limit", NULL};
    bool one_tier;
    int64_t tier = 0;

    if (!req_query_only(r, names, err))
        return false;
    if (!req_query(r, "build"))
        return err_field(err, ERR_INVALID, "build", "is required: the id of a build");
    if (!req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &ask->build, err) ||
        !req_query_i64(r, "min_visits", (struct range){1, 1000000, 5}, &ask->min_visits, err) ||
        !req_query_i64(r, "level", (struct range){0, CELL_LEVEL_MAX, -1}, &ask->level, err) ||
        !req_query_i64(r, "limit", (struct range){1, CELLS_MAX, 4000}, &ask->limit, err) ||
        !arg_text(r, "scene", 256, &ask->scene, err) || !arg_tier(r, "tier", &one_tier, &tier, err))
        return false;
    ask->tier = one_tier && tier >= 0 ? db_i64(tier) : db_null();
    return true;
}

/* The finest level that nearly all visits are known at; -1: no positions at all. */
static int64_t best_level(const struct db_rows *rows)
{
    const struct level_row *row = rows->at;
    int64_t all = 0, seen = 0;

    for (size_t i = 0; i < rows->n; i++)
        all += row[i].visits;
    for (size_t i = 0; i < rows->n; i++) {
        seen += row[i].visits;
        if (seen * 100 >= all * COVERED_PERCENT)
            return row[i].level;
    }
    return -1;
}

static json_t *cell_json(const struct cell_row *c)
{
    double visits = (double)c->visits;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "x", c->x, "y", c->y, "visits",
                     c->visits, "janky_visits", c->janky_visits, "jank_ms", c->jank_ms, "dwell_ms",
                     c->dwell_ms, "jank_share", (double)c->janky_visits / visits,
                     "jank_ms_per_visit", (double)c->jank_ms / visits);
}

/* Visits at coarser levels than the one shown, which it cannot place. */
static int64_t coarser(const struct db_rows *rows, int64_t level)
{
    int64_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (((const struct level_row *)rows->at)[i].level > level)
            n += ((const struct level_row *)rows->at)[i].visits;
    return n;
}

struct scene_row {
    const char *scene;
    int64_t visits, jank_ms;
};
static const struct db_col scene_cols[] = {DB_COL(scene_row, scene), DB_COL(scene_row, visits),
                                           DB_COL(scene_row, jank_ms)};
static const struct db_map scene_map = DB_MAP(scene_row, scene_cols);

static bool reply_scenes(struct req *r, const struct heat_ask *ask, struct err *err)
{
    struct db_rows rows;

    return db_all(r->db, Q_HEATMAP_SCENES, DB_ARGS(db_i64(r->who.app), db_i64(ask->build)),
                  &scene_map, r->mem, &rows, err) &&
           reply_rows(r, 200, &rows, NULL, err);
}

static bool read_cells(struct req *r, const struct heat_ask *ask, int64_t level,
                       struct db_rows *cells, struct err *err)
{
    return db_all(r->db, Q_HEATMAP_CELLS,
                  DB_ARGS(db_i64(r->who.app), db_i64(ask->build), ask->scene, ask->tier,
                          db_i64(level), db_i64(ask->min_visits), db_i64(ask->limit)),
                  &cell_map, r->mem, cells, err);
}

static bool enough_shown(const struct db_rows *cells, const struct db_rows *levels)
{
    int64_t shown = 0, all = 0;

    for (size_t i = 0; i < cells->n; i++)
        shown += ((const struct cell_row *)cells->at)[i].visits;
    for (size_t i = 0; i < levels->n; i++)
        all += ((const struct level_row *)levels->at)[i].visits;
    return shown * 100 >= all * SHOWN_PERCENT;
}

/* The finest level that places nearly all visits, in squares that enough of them fall into. */
static bool find_level(struct req *r, const struct heat_ask *ask, const struct db_rows *levels,
                       int64_t *level, struct db_rows *cells, struct err *err)
{
    for (*level = best_level(levels); *level >= 0; (*level)++) {
        if (!read_cells(r, ask, *level, cells, err))
            return false;
        if (*level == CELL_LEVEL_MAX || enough_shown(cells, levels))
            break;
    }
    return true;
}

bool heatmap_get(struct req *r, struct err *err)
{
    struct heat_ask ask;
    struct db_rows levels, cells = {0};
    int64_t level;
    json_t *list;

    if (!read_ask(r, &ask, err))
        return false;
    if (ask.scene.type == ARG_NULL)
        return reply_scenes(r, &ask, err);
    if (!db_all(r->db, Q_HEATMAP_LEVELS,
                DB_ARGS(db_i64(r->who.app), db_i64(ask.build), ask.scene, ask.tier), &level_map,
                r->mem, &levels, err))
        return false;
    level = ask.level;
    if (level >= 0 ? !read_cells(r, &ask, level, &cells, err)
                   : !find_level(r, &ask, &levels, &level, &cells, err))
        return false;
    list = json_array();
    for (size_t i = 0; i < cells.n; i++)
        json_array_append_new(list, cell_json((const struct cell_row *)cells.at + i));
    return reply_json(r, 200,
                      json_pack("{s:I, s:s, s:o, s:o, s:I, s:I, s:o}", "build_id", ask.build,
                                "scene", ask.scene.text, "level",
                                level >= 0 ? json_integer(level) : json_null(), "cell_size",
                                level >= 0 ? json_real((double)(INT64_C(1) << level)) : json_null(),
                                "min_visits", ask.min_visits, "visits_too_coarse",
                                coarser(&levels, level), "cells", list),
                      err);
}
