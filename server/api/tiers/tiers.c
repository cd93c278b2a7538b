/* GET /v1/tiers, the models in them and why; PUT /v1/tiers/catalogue: what a list of devices says
 * of models. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"
#include "server/api/tiers/tiers_arg.h"

#include "server/jobs/schedule.h"
#include "server/jobs/tiers/tier_name.h"

#include <math.h>
#include <string.h>

#define CATALOGUE_LINES 2000
#define NAME_BYTES 128

struct tier_row {
    int64_t tier, models, sessions;
    double from_ms, to_ms;
};
static const struct db_col tier_cols[] = {DB_COL(tier_row, tier), DB_COL(tier_row, models),
                                          DB_COL(tier_row, sessions), DB_COL(tier_row, from_ms),
                                          DB_COL(tier_row, to_ms)};
static const struct db_map tier_map = DB_MAP(tier_row, tier_cols);

struct model_row {
    int64_t version, untiered;
    const char *fit_json, *placed_at, *fitted_at;
};
static const struct db_col model_cols[] = {
    DB_COL(model_row, version), DB_COL(model_row, untiered), DB_COL(model_row, fit_json),
    DB_COL(model_row, placed_at), DB_COL(model_row, fitted_at)};
static const struct db_map model_map = DB_MAP(model_row, model_cols);

static json_t *tier_json(const struct tier_row *row, size_t tiers)
{
    char name[TIER_NAME_BYTES];

    tier_name(row->tier, (int64_t)tiers, name);
    return json_pack("{s:I, s:s, s:o, s:o, s:I, s:I}", "tier", row->tier, "name", name, "from_ms",
                     row->from_ms > 0 ? json_real(row->from_ms) : json_null(), "to_ms",
                     row->to_ms > 0 ? json_real(row->to_ms) : json_null(), "models", row->models,
                     "sessions", row->sessions);
}

bool tiers_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct db_args app = DB_ARGS(db_i64(r->who.app));
    struct db_rows models, tiers;
    json_t *tree, *list;

    if (!req_query_only(r, names, err) ||
        !db_all(r->db, Q_TIER_MODEL_GET, app, &model_map, r->mem, &models, err) ||
        !db_all(r->db, Q_TIER_GET, app, &tier_map, r->mem, &tiers, err))
        return false;
    list = json_array();
    for (size_t i = 0; i < tiers.n; i++)
        json_array_append_new(list, tier_json((const struct tier_row *)tiers.at + i, tiers.n));
    tree = models.n ? row_to_json(&model_map, models.at)
                    : json_pack("{s:n, s:n, s:n, s:n, s:n}", "version", "untiered", "fit",
                                "placed_at", "fitted_at");
    json_object_set_new(tree, "tiers", list);
    return reply_json(r, 200, tree, err);
}

struct device_row {
    int64_t id, ram_gb, tier, sessions;
    const char *platform, *manufacturer, *model, *soc, *gpu, *parts_json, *changed_at;
    double capability, sd, prior, weight, outside;
    bool scored;
};
static const struct db_col device_cols[] = {
    DB_COL(device_row, id),         DB_COL(device_row, platform), DB_COL(device_row, manufacturer),
    DB_COL(device_row, model),      DB_COL(device_row, soc),      DB_COL(device_row, ram_gb),
    DB_COL(device_row, gpu),        DB_COL(device_row, tier),     DB_COL(device_row, sessions),
    DB_COL(device_row, capability), DB_COL(device_row, sd),       DB_COL(device_row, prior),
    DB_COL(device_row, weight),     DB_COL(device_row, outside),  DB_COL(device_row, parts_json),
    DB_COL(device_row, changed_at), DB_COL(device_row, scored),
};
static const struct db_map device_map = DB_MAP(device_row, device_cols);

/* Capability and prior in ms, as people read them; null before the first fit. */
static json_t *device_json(const struct device_row *row, int64_t tiers)
{
    json_t *tree = row_to_json(&device_map, row);

    tier_name_put(tree, tiers);
    json_object_del(tree, "capability");
    json_object_del(tree, "prior");
    json_object_del(tree, "scored");
    json_object_set_new(tree, "p90_ms",
                        row->scored ? json_real(exp(row->capability)) : json_null());
    json_object_set_new(tree, "prior_ms", row->scored ? json_real(exp(row->prior)) : json_null());
    return tree;
}

bool tier_models(struct req *r, struct err *err)
{
    static const char *const names[] = {"tier", "q", "limit", "cursor", NULL};
    struct db_arg q;
    struct list_page p;
    struct db_rows rows;
    bool one_tier;
    int64_t tier = 0, tiers;
    const char *next = NULL;
    json_t *items;

    if (!list_page_read(r, names, &p, err) || !arg_tier(r, "tier", &one_tier, &tier, err) ||
        !arg_text(r, "q", NAME_BYTES, &q, err) || !tier_count(r, &tiers, err) ||
        !db_all(r->db, Q_TIER_MODEL_LIST,
                DB_ARGS(db_i64(r->who.app), one_tier ? db_i64(tier) : db_null(), q, p.key,
                        db_i64(p.limit + 1)),
                &device_map, r->mem, &rows, err))
        return false;

    const struct device_row *row = rows.at;
    size_t shown = rows.n > (size_t)p.limit ? (size_t)p.limit : rows.n;

    if (shown < rows.n)
        next = list_page_next(r, &p, row[shown - 1].id, NULL);
    items = json_array();
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, device_json(&row[i], tiers));
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next), err);
}

/* Catalogue ------------------------------------------------------------------------------------ */

#define CATALOGUE_NUMBERS(X)                                                                       \
    X(ram_mb) X(cores) X(fast_cores) X(clusters) X(max_khz) X(width_px) X(height_px)
enum {
#define X(name) NUMBER_##name,
    CATALOGUE_NUMBERS(X)
#undef X
        NUMBERS
};

struct catalogue {
    const char **manufacturer, **model, **soc;
    int64_t *number[NUMBERS];
    size_t n;
};

static bool read_line(const json_t *line, struct catalogue *c, struct err *err)
{
    static const char *const names[] = {"manufacturer", "model", "soc",
#define X(name) #name,
                                        CATALOGUE_NUMBERS(X)
#undef X
                                            NULL};
    size_t i = c->n++;

    if (!json_is_object(line))
        return err_field(err, ERR_INVALID, "items", "must hold objects");
    if (!json_only(line, names, err) ||
        !json_get_text(line, "manufacturer", NAME_BYTES, NULL, &c->manufacturer[i], err) ||
        !json_get_text(line, "model", NAME_BYTES, NULL, &c->model[i], err) ||
        !json_get_text(line, "soc", NAME_BYTES, "", &c->soc[i], err))
        return false;
    for (int k = 0; k < NUMBERS; k++)
        if (!json_get_i64(line, names[3 + k], (struct range){0, 100000000, 0}, false,
                          &c->number[k][i], err))
            return false;
    return true;
}

static bool read_catalogue(struct req *r, struct catalogue *c, struct err *err)
{
    static const char *const names[] = {"items", NULL};
    static const char *const none[] = {NULL};
    const json_t *items;
    size_t n;

    if (!req_query_only(r, none, err) || !req_json(r, err) || !json_only(r->json, names, err))
        return false;
    items = json_object_get(r->json, "items");
    n = json_array_size(items);
    if (!json_is_array(items) || !n || n > CATALOGUE_LINES)
        return err_field(err, ERR_INVALID, "items", "must be an array of 1 to %d", CATALOGUE_LINES);
    *c = (struct catalogue){.manufacturer = arena_array(r->mem, n, sizeof *c->manufacturer),
                            .model = arena_array(r->mem, n, sizeof *c->model),
                            .soc = arena_array(r->mem, n, sizeof *c->soc)};
    for (int k = 0; k < NUMBERS; k++)
        c->number[k] = arena_array(r->mem, n, sizeof *c->number[k]);
    if (arena_full(r->mem))
        return err_full(err, "a request");
    for (size_t i = 0; i < n; i++)
        if (!read_line(json_array_get(items, i), c, err))
            return false;
    return true;
}

bool tier_catalogue_put(struct req *r, struct err *err)
{
    struct catalogue c = {.n = 0};
    struct db_arg arg[4 + NUMBERS];
    int64_t n = 0;

    if (!read_catalogue(r, &c, err))
        return false;
    arg[0] = db_i64(r->who.app);
    arg[1] = db_texts(c.manufacturer, c.n);
    arg[2] = db_texts(c.model, c.n);
    arg[3] = db_texts(c.soc, c.n);
    for (int k = 0; k < NUMBERS; k++)
        arg[4 + k] = db_i64s(c.number[k], c.n);
    return db_begin(r->db, err) &&
           db_exec_n(r->db, Q_TIER_CATALOGUE_PUT, (struct db_args){4 + NUMBERS, arg}, &n, err) &&
           audit(r, "tiers.catalogue", json_pack("{s:I}", "models", n), err) &&
           schedule_now(r->db, r->who.app, "tiers", err) && db_commit(r->db, err) &&
           reply_json(r, 200, json_pack("{s:I}", "models", n), err);
}
