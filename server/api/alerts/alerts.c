/* GET /v1/alerts and one of them; acknowledge, silence; thresholds. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"
#include "server/api/tiers/tiers_arg.h"

#include "profile/metric.h"
#include "server/http/context.h"
#include "server/jobs/alerts/alert_tell.h"
#include "server/jobs/alerts/alert_threshold.h"
#include "server/jobs/schedule.h"
#include "stats/alert.h"

#include <stdio.h>
#include <string.h>

#define NOTE_BYTES 500
#define SILENCE_DAYS_MAX 90
#define RULES_MAX 500

struct alert_row {
    int64_t id, build_id, baseline_id, tier, sessions, version;
    const char *tier_name, *scene, *metric, *state, *level, *reason, *evidence_json, *opened_at,
        *resolved_at, *looked_at, *acknowledged_by, *note, *silenced_until;
    double change, low, high;
};
static const struct db_col alert_cols[] = {
    DB_COL(alert_row, id),          DB_COL(alert_row, build_id),
    DB_COL(alert_row, baseline_id), DB_COL(alert_row, tier),
    DB_COL(alert_row, sessions),    DB_COL(alert_row, version),
    DB_COL(alert_row, scene),       DB_COL(alert_row, metric),
    DB_COL(alert_row, state),       DB_COL(alert_row, level),
    DB_COL(alert_row, reason),      DB_COL(alert_row, evidence_json),
    DB_COL(alert_row, opened_at),   DB_COL(alert_row, resolved_at),
    DB_COL(alert_row, looked_at),   DB_COL(alert_row, acknowledged_by),
    DB_COL(alert_row, note),        DB_COL(alert_row, silenced_until),
    DB_COL(alert_row, change),      DB_COL(alert_row, low),
    DB_COL(alert_row, high),
};
static const struct db_map alert_map = DB_MAP(alert_row, alert_cols);

static json_t *alert_json(const struct alert_row *row, int64_t tiers)
{
    json_t *tree = row_to_json(&alert_map, row);

    tier_name_put(tree, tiers);
    return tree;
}

/* What is asked for: by default what is or was an alert; `watch` adds slices that are surely worse,
 * but by less than the threshold, or surely better. */
bool alert_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"state", "build", "tier",   "scene", "metric",
                                        "watch", "limit", "cursor", NULL};
    static const char *const states[] = {"live",     "open",     "updated", "acknowledged",
                                         "silenced", "resolved", NULL};
    struct db_arg state, build, scene, metric;
    struct list_page p;
    struct db_rows rows;
    bool one_tier, watch;
    int64_t tier = 0, tiers;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_choice(r, "state", states, &state, err) ||
        !arg_i64(r, "build", 1, INT32_MAX, &build, err) ||
        !arg_tier(r, "tier", &one_tier, &tier, err) || !arg_scene(r, "scene", &scene, err) ||
        !arg_text(r, "metric", 64, &metric, err) ||
        !req_query_bool(r, "watch", false, &watch, err) || !tier_count(r, &tiers, err) ||
        !db_all(r->db, Q_ALERT_LIST,
                DB_ARGS(db_i64(r->who.app), state, build, one_tier ? db_i64(tier) : db_null(),
                        scene, metric, db_bool(watch), p.key, db_i64(p.limit + 1)),
                &alert_map, r->mem, &rows, err))
        return false;

    const struct alert_row *row = rows.at;
    size_t shown = rows.n > (size_t)p.limit ? (size_t)p.limit : rows.n;
    json_t *items = json_array();

    if (shown < rows.n)
        next = list_page_next(r, &p, row[shown - 1].id, NULL);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, alert_json(&row[i], tiers));
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next), err);
}

static bool reply_alert(struct req *r, int64_t id, struct err *err)
{
    struct alert_row row;
    int64_t tiers;

    if (!tier_count(r, &tiers, err))
        return false;
    if (!db_one(r->db, Q_ALERT_GET, DB_ARGS(db_i64(r->who.app), db_i64(id)), &alert_map, r->mem,
                &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such alert") : false;
    return reply_json(r, 200, alert_json(&row, tiers), err);
}

bool alert_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    int64_t id;

    return req_query_only(r, names, err) && param_i64(r, 0, "id", INT64_MAX, &id, err) &&
           reply_alert(r, id, err);
}

/* Changes the row, tells of it and notes who did it, in one transaction. */
static bool change(struct req *r, enum query q, struct db_args args, int64_t id, const char *action,
                   struct err *err)
{
    int64_t n;

    if (!db_begin(r->db, err) || !db_exec_n(r->db, q, args, &n, err))
        return false;
    if (!n)
        return err_set(err, ERR_CONFLICT, "no such alert, or it is over");
    return alert_tell(r->db, r->who.app, id, r->ctx->public_url, r->mem, err) &&
           audit(r, action, json_pack("{s:I}", "alert_id", id), err) && db_commit(r->db, err) &&
           reply_alert(r, id, err);
}

static bool read_note(struct req *r, const char *const *names, const char **note, struct err *err)
{
    static const char *const none[] = {NULL};

    return req_query_only(r, none, err) && req_json(r, err) && json_only(r->json, names, err) &&
           json_get_prose(r->json, "note", NOTE_BYTES, "", note, err);
}

bool alert_acknowledge(struct req *r, struct err *err)
{
    static const char *const names[] = {"note", NULL};
    const char *note;
    int64_t id;

    return param_i64(r, 0, "id", INT64_MAX, &id, err) && read_note(r, names, &note, err) &&
           change(r, Q_ALERT_ACKNOWLEDGE,
                  DB_ARGS(db_i64(r->who.app), db_i64(id), db_text(r->who.hint), db_text(note)), id,
                  "alert.acknowledge", err);
}

bool alert_silence(struct req *r, struct err *err)
{
    static const char *const names[] = {"note", "days", NULL};
    const char *note;
    int64_t id, days;

    return param_i64(r, 0, "id", INT64_MAX, &id, err) && read_note(r, names, &note, err) &&
           json_get_i64(r->json, "days", (struct range){0, SILENCE_DAYS_MAX, 0}, true, &days,
                        err) &&
           change(r, Q_ALERT_SILENCE,
                  DB_ARGS(db_i64(r->who.app), db_i64(id), db_text(r->who.hint), db_text(note),
                          db_i64(days)),
                  id, "alert.silence", err);
}

/* Thresholds ----------------------------------------------------------------------------------- */

static bool reply_rules(struct req *r, struct err *err)
{
    struct db_rows rows;
    json_t *items = json_array();

    if (!alert_thresholds_read(r->db, r->who.app, r->mem, &rows, err)) {
        json_decref(items);
        return false;
    }
    for (size_t i = 0; i < rows.n; i++)
        json_array_append_new(
            items, row_to_json(&alert_threshold_map, (const struct alert_threshold *)rows.at + i));
    return reply_json(r, 200, json_pack("{s:f, s:o}", "default_theta", ALERT_THETA, "items", items),
                      err);
}

bool alert_rules_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};

    return req_query_only(r, names, err) && reply_rules(r, err);
}

struct rules {
    int64_t *tier, *enabled;
    const char **metric, **theta;
    size_t n;
};

static bool read_rule(struct req *r, const json_t *rule, struct rules *out, struct err *err)
{
    static const char *const names[] = {"tier", "metric", "theta", "enabled", NULL};
    const json_t *theta = json_object_get(rule, "theta");
    size_t i = out->n;
    char text[32];
    enum metric m;
    bool enabled;

    if (!json_is_object(rule))
        return err_field(err, ERR_INVALID, "items", "must hold objects");
    if (!json_only(rule, names, err) ||
        !json_get_i64(rule, "tier", (struct range){0, 9, 0}, false, &out->tier[i], err) ||
        !json_get_text(rule, "metric", 64, "", &out->metric[i], err) ||
        !json_get_bool(rule, "enabled", true, &enabled, err))
        return false;
    if (*out->metric[i] && (!metric_named(out->metric[i], &m) || !metric_info[m].watched))
        return err_field(err, ERR_INVALID, "metric", "is none that alerts watch");
    if (!json_is_number(theta) || !(json_number_value(theta) >= 0.01) ||
        !(json_number_value(theta) <= 10))
        return err_field(err, ERR_INVALID, "theta", "must be a number 0.01 to 10");
    snprintf(text, sizeof text, "%.9g", json_number_value(theta));
    out->theta[i] = arena_dup(r->mem, text, strlen(text));
    out->enabled[i] = enabled;
    out->n++;
    return out->theta[i] || err_full(err, "a request");
}

static bool read_rules(struct req *r, struct rules *out, struct err *err)
{
    static const char *const names[] = {"items", NULL};
    static const char *const none[] = {NULL};
    const json_t *items;
    size_t n;

    if (!req_query_only(r, none, err) || !req_json(r, err) || !json_only(r->json, names, err))
        return false;
    items = json_object_get(r->json, "items");
    n = json_array_size(items);
    if (!json_is_array(items) || n > RULES_MAX)
        return err_field(err, ERR_INVALID, "items", "must be an array of at most %d", RULES_MAX);
    *out = (struct rules){.tier = arena_array(r->mem, n, sizeof *out->tier),
                          .enabled = arena_array(r->mem, n, sizeof *out->enabled),
                          .metric = arena_array(r->mem, n, sizeof *out->metric),
                          .theta = arena_array(r->mem, n, sizeof *out->theta)};
    if (arena_full(r->mem))
        return err_full(err, "a request");
    for (size_t i = 0; i < n; i++)
        if (!read_rule(r, json_array_get(items, i), out, err))
            return false;
    return true;
}

bool alert_rules_put(struct req *r, struct err *err)
{
    struct rules rules = {.n = 0};
    int64_t n = 0;

    if (!read_rules(r, &rules, err) || !db_begin(r->db, err) ||
        !db_exec(r->db, Q_ALERT_RULES_LOCK, DB_ARGS(db_i64(r->who.app)), err) ||
        !db_exec(r->db, Q_ALERT_RULES_CLEAR, DB_ARGS(db_i64(r->who.app)), err) ||
        !db_exec_n(r->db, Q_ALERT_RULES_PUT,
                   DB_ARGS(db_i64(r->who.app), db_i64s(rules.tier, rules.n),
                           db_texts(rules.metric, rules.n), db_texts(rules.theta, rules.n),
                           db_i64s(rules.enabled, rules.n)),
                   &n, err))
        return false;
    if (n != (int64_t)rules.n)
        return err_field(err, ERR_INVALID, "items", "two rules for the same tier and metric");
    return audit(r, "alert.rules", json_pack("{s:I}", "rules", n), err) &&
           schedule_now(r->db, r->who.app, "alerts", err) && db_commit(r->db, err) &&
           reply_rules(r, err);
}
