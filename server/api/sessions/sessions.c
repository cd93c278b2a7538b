/* GET /v1/sessions and GET /v1/sessions/{id}: rows of table session. */
#include "server/api/args.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"
#include "server/api/sessions/session_rows.h"
#include "server/api/tiers/tiers_arg.h"

#include "base/digest.h"
#include "server/jobs/sessions/session_load.h"

#include <string.h>

#define MAX_NAME 128
#define MAX_MATCHES 1000 /* builds or models that one filter may mean */

#define SHOWN_COLUMNS(X)                                                                           \
    X(struct bytes, id)                                                                            \
    X(const char *, state)                                                                         \
    X(const char *, received_at)                                                                   \
    X(const char *, last_part_at)                                                                  \
    X(int64_t, build_id)                                                                           \
    X(const char *, platform)                                                                      \
    X(const char *, version_name)                                                                  \
    X(int64_t, version_code)                                                                       \
    X(const char *, manufacturer)                                                                  \
    X(const char *, model)                                                                         \
    X(int64_t, tier)                                                                               \
    X(const char *, scenes_json)                                                                   \
    X(int64_t, parts)                                                                              \
    X(bool, ended)                                                                                 \
    X(int64_t, duration_us)                                                                        \
    X(int64_t, foreground_us)                                                                      \
    X(int64_t, frames)                                                                             \
    X(int64_t, p50_us)                                                                             \
    X(int64_t, p90_us)                                                                             \
    X(int64_t, p95_us)                                                                             \
    X(int64_t, p99_us)                                                                             \
    X(int64_t, max_us)                                                                             \
    X(int64_t, mean_us)                                                                            \
    X(int64_t, janks_minor)                                                                        \
    X(int64_t, janks_normal)                                                                       \
    X(int64_t, janks_severe)                                                                       \
    X(int64_t, jank_us)                                                                            \
    X(int64_t, perfdog_janks)                                                                      \
    X(int64_t, perfdog_big_janks)                                                                  \
    X(int64_t, missed_frames)                                                                      \
    X(bool, slow_session)                                                                          \
    X(int64_t, peak_memory_kb)                                                                     \
    X(int64_t, peak_battery_millicelsius)                                                          \
    X(int64_t, throttled_us)                                                                       \
    X(bool, has_crash)                                                                             \
    X(bool, has_feedback)                                                                          \
    X(int64_t, environment)                                                                        \
    X(bool, excluded)                                                                              \
    X(bool, from_summary)

#define SUMMARY_COLUMNS(X)                                                                         \
    X(const char *, app)                                                                           \
    X(const char *, day)                                                                           \
    X(int64_t, wall_start_ms)                                                                      \
    X(const char *, install)                                                                       \
    X(const char *, os_version)                                                                    \
    X(const char *, sdk_version)                                                                   \
    X(int64_t, analysis_version)                                                                   \
    X(int64_t, bounds_version)                                                                     \
    X(const char *, invalid_json)                                                                  \
    X(const char *, build_json)                                                                    \
    X(const char *, device_json)                                                                   \
    X(const char *, detail_json)

#define FIELD(type, name) type name;

struct list_row {
    SHOWN_COLUMNS(FIELD)
    int64_t received_us; /* the sort key; last, so that answers leave it out */
};

struct summary_row {
    SHOWN_COLUMNS(FIELD)
    SUMMARY_COLUMNS(FIELD)
};

#define LIST_COL(type, name) DB_COL(list_row, name),
#define SUMMARY_COL(type, name) DB_COL(summary_row, name),

static const struct db_col list_cols[] = {SHOWN_COLUMNS(LIST_COL) DB_COL(list_row, received_us)};
static const struct db_map list_map = DB_MAP(list_row, list_cols);
static const struct db_map list_shown = {list_cols, sizeof list_cols / sizeof *list_cols - 1,
                                         sizeof(struct list_row)};

static const struct db_col summary_cols[] = {SHOWN_COLUMNS(SUMMARY_COL)
                                                 SUMMARY_COLUMNS(SUMMARY_COL)};
static const struct db_map summary_map = DB_MAP(summary_row, summary_cols);

struct id_row {
    int64_t id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

/* Builds or models by name: one id is told apart from several, because an index gives the sessions
 * of one in order. */
struct choice {
    struct db_arg one, several;
    bool nothing; /* named, but nobody has that name */
};

static bool match(struct req *r, enum query q, struct db_args args, const char *field,
                  struct choice *out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(r->db, q, args, &id_map, r->mem, &rows, err))
        return false;
    if (rows.n > MAX_MATCHES)
        return err_field(err, ERR_INVALID, field, "means more than %d of them; name more",
                         MAX_MATCHES);
    out->nothing = rows.n == 0;
    if (rows.n == 1)
        out->one = db_i64(((const struct id_row *)rows.at)->id);
    if (rows.n > 1)
        out->several = db_i64s((const int64_t *)rows.at, rows.n);
    return true;
}
_Static_assert(sizeof(struct id_row) == sizeof(int64_t), "rows of ids are an array of ids");

static const char *const platforms[] = {"android", "ios", "linux", "unknown", NULL};

static bool read_builds(struct req *r, struct choice *out, struct err *err)
{
    struct db_arg platform, version, code;

    *out = (struct choice){db_null(), db_null(), false};
    if (!arg_i64(r, "build", 1, INT32_MAX, &out->one, err) ||
        !arg_choice(r, "platform", platforms, &platform, err) ||
        !arg_text(r, "version", MAX_NAME, &version, err) ||
        !arg_i64(r, "version_code", 0, INT64_MAX, &code, err))
        return false;
    if (platform.type == ARG_NULL && version.type == ARG_NULL && code.type == ARG_NULL)
        return true;
    if (out->one.type != ARG_NULL)
        return err_field(err, ERR_INVALID, "build",
                         "names the build already: leave platform and version out");
    return match(r, Q_BUILD_MATCH,
                 DB_ARGS(db_i64(r->who.app), platform, version, code, db_i64(MAX_MATCHES + 1)),
                 "platform", out, err);
}

static bool read_models(struct req *r, struct choice *out, struct err *err)
{
    struct db_arg manufacturer, model;

    *out = (struct choice){db_null(), db_null(), false};
    if (!arg_text(r, "manufacturer", MAX_NAME, &manufacturer, err) ||
        !arg_text(r, "model", MAX_NAME, &model, err))
        return false;
    if (manufacturer.type == ARG_NULL && model.type == ARG_NULL)
        return true;
    return match(r, Q_MODEL_MATCH,
                 DB_ARGS(db_i64(r->who.app), manufacturer, model, db_i64(MAX_MATCHES + 1)),
                 "manufacturer", out, err);
}

struct filter {
    struct choice build, model;
    struct db_arg scene, from, to, has_jank, has_crash, has_feedback, flagged, excluded, state,
        install, min_p90;
};

static bool read_flags(struct req *r, struct filter *f, struct err *err)
{
    static const char *const states[] = {"open", "final", NULL};

    return arg_bool(r, "has_jank", &f->has_jank, err) &&
           arg_bool(r, "has_crash", &f->has_crash, err) &&
           arg_bool(r, "has_feedback", &f->has_feedback, err) &&
           arg_bool(r, "flagged", &f->flagged, err) && arg_bool(r, "excluded", &f->excluded, err) &&
           arg_choice(r, "state", states, &f->state, err);
}

static bool read_filter(struct req *r, struct filter *f, struct err *err)
{
    if (!read_builds(r, &f->build, err) || !read_models(r, &f->model, err) ||
        !arg_text(r, "scene", 2 * MAX_NAME, &f->scene, err) ||
        !arg_time(r, "from", &f->from, err) || !arg_time(r, "to", &f->to, err) ||
        !read_flags(r, f, err) || !arg_hex(r, "install", SHA256_BYTES, &f->install, err) ||
        !arg_i64(r, "min_p90_ms", 0, 3600000, &f->min_p90, err))
        return false;
    f->min_p90.i64 *= 1000;
    if (f->from.type != ARG_NULL && f->to.type != ARG_NULL && f->from.i64 > f->to.i64)
        return err_field(err, ERR_INVALID, "from", "is later than `to`");
    return true;
}

static bool fetch(struct req *r, const struct filter *f, const struct list_page *p,
                  struct db_rows *out, struct err *err)
{
    if (!db_begin(r->db, err))
        return false;

    bool ok = db_exec(r->db, Q_PLAN_CUSTOM, DB_NO_ARGS, err) &&
              db_all(r->db, Q_SESSION_LIST,
                     DB_ARGS(db_i64(r->who.app), f->build.one, f->build.several, f->model.one,
                             f->model.several, f->scene, f->from, f->to, f->has_jank, f->has_crash,
                             f->has_feedback, f->flagged, f->excluded, f->state, f->install,
                             f->min_p90, p->key, p->id, db_i64(p->limit + 1)),
                     &list_map, r->mem, out, err) &&
              db_commit(r->db, err);

    if (!ok)
        db_rollback(r->db);
    return ok;
}

/* What a summary packet does not tell is null: the session's and each of its scenes'. */
static void untell(json_t *object)
{
    static const char *const names[] = {"perfdog_janks",  "perfdog_big_janks", "perfdog_stutter_us",
                                        "missed_frames",  "slow_session",      "slow_frames",
                                        "slow_frame_base"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(object, names[i]))
            json_object_set_new(object, names[i], json_null());
}

static json_t *list_item(const struct list_row *row, int64_t tiers)
{
    json_t *item = row_to_json(&list_shown, row);

    tier_name_put(item, tiers);
    json_object_set_new(item, "environment", environment_names(row->environment));
    if (row->from_summary)
        untell(item);
    return item;
}

bool session_list(struct req *r, struct err *err)
{
    static const char *const names[] = {
        "build", "platform", "version",    "version_code", "manufacturer", "model",   "scene",
        "from",  "to",       "has_jank",   "has_crash",    "has_feedback", "flagged", "excluded",
        "state", "install",  "min_p90_ms", "limit",        "cursor",       NULL};
    struct filter f;
    struct list_page p;
    struct db_rows rows = {.map = &list_map};
    int64_t tiers;

    if (!list_page_read(r, names, &p, err) || !read_filter(r, &f, err) ||
        !tier_count(r, &tiers, err))
        return false;
    if (!f.build.nothing && !f.model.nothing && !fetch(r, &f, &p, &rows, err))
        return false;

    const struct list_row *row = rows.at;
    size_t shown = rows.n > (size_t)p.limit ? (size_t)p.limit : rows.n;
    const char *next = NULL;
    json_t *items = json_array();

    if (shown < rows.n)
        next = list_page_next(r, &p, row[shown - 1].received_us, row[shown - 1].id.at);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, list_item(&row[i], tiers));
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next), err);
}

static json_t *links(const char *id)
{
    static const char *const below[] = {"timeline", "janks", "trace", "raw"};
    json_t *tree = json_pack("{s:s+}", "self", "/v1/sessions/", id);

    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        json_object_set_new(tree, below[i], json_pack("s+++", "/v1/sessions/", id, "/", below[i]));
    return tree;
}

static void untell_all(json_t *tree)
{
    json_t *slices = json_object_get(json_object_get(tree, "detail"), "slices"), *slice;
    size_t i;

    untell(tree);
    json_array_foreach(slices, i, slice) untell(slice);
}

static json_t *summary_json(const struct summary_row *row, int64_t tiers)
{
    json_t *tree = row_to_json(&summary_map, row);
    char id[33];

    to_hex(row->id.at, row->id.len, id);
    json_object_set_new(tree, "environment", environment_names(row->environment));
    json_object_set_new(tree, "links", links(id));
    tier_name_put(tree, tiers);
    tier_name_put(json_object_get(tree, "device"), tiers);
    if (row->from_summary)
        untell_all(tree);
    return tree;
}

bool session_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    unsigned char id[16];
    struct summary_row row;
    json_t *crashes = NULL, *feedback = NULL;
    int64_t tiers;

    if (!req_query_only(r, names, err) || !req_param_id(r, 0, id, err) ||
        !tier_count(r, &tiers, err))
        return false;
    if (!db_one(r->db, Q_SESSION_GET,
                DB_ARGS(db_i64(shard_of(r->who.app, id)), db_uuid(id), db_i64(r->who.app)),
                &summary_map, r->mem, &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such session") : false;
    if (!session_crashes(r, id, &crashes, err) || !session_feedback(r, id, &feedback, err)) {
        json_decref(crashes);
        return false;
    }

    json_t *tree = summary_json(&row, tiers);

    json_object_set_new(tree, "crashes", crashes);
    json_object_set_new(tree, "feedback", feedback);
    return reply_json(r, 200, tree, err);
}
