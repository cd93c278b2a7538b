#include "server/jobs/reports/report_doc.h"

#include "server/jobs/tiers/tier_name.h"

#include <math.h>
#include <string.h>

struct report_build {
    int64_t id, version_code, baseline_id, expected_from;
    bool registered;
    const char *platform, *version_name, *released_at, *frozen_at;
};
static const struct db_col build_cols[] = {
    DB_COL(report_build, id),           DB_COL(report_build, version_code),
    DB_COL(report_build, baseline_id),  DB_COL(report_build, expected_from),
    DB_COL(report_build, registered),   DB_COL(report_build, platform),
    DB_COL(report_build, version_name), DB_COL(report_build, released_at),
    DB_COL(report_build, frozen_at),
};
static const struct db_map build_map = DB_MAP(report_build, build_cols);

struct report_tiers {
    int64_t tiers, version;
    const char *now;
};
static const struct db_col tiers_cols[] = {
    DB_COL(report_tiers, tiers), DB_COL(report_tiers, version), DB_COL(report_tiers, now)};
static const struct db_map tiers_map = DB_MAP(report_tiers, tiers_cols);

/* Six digits that count; null for what is not known. */
static json_t *number(double v)
{
    if (!isfinite(v))
        return json_null();
    if (v == 0)
        return json_real(0);

    double scale = pow(10, 5 - floor(log10(fabs(v))));

    return json_real(round(v * scale) / scale);
}

static json_t *build_json(const struct report_build *b)
{
    return json_pack("{s:I, s:s, s:s, s:I, s:b, s:s?}", "id", b->id, "platform", b->platform,
                     "version_name", b->version_name, "version_code", b->version_code, "registered",
                     b->registered, "released_at", b->released_at);
}

static json_t *metrics_json(void)
{
    json_t *list = json_array();

    for (unsigned m = 0; m < METRICS_N; m++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:b}", "name", metric_info[m].name, "kind",
                                        metric_info[m].kind == METRIC_LN ? "ln" : "count", "unit",
                                        metric_info[m].unit, "watched", metric_info[m].watched));
    return list;
}

static json_t *figure_json(const struct figure *f, bool compared)
{
    json_t *tree = json_pack("{s:I, s:o}", "n", f->n, "value", number(f->value));

    if (!compared)
        return tree;
    json_object_update_new(
        tree, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:s}", "baseline_n", f->n_base, "baseline",
                        number(f->base), "change", number(f->change), "low", number(f->low), "high",
                        number(f->high), "mix", number(f->mix), "basis", basis_text(f->basis)));
    if (f->basis != BASIS_NONE)
        json_object_update_new(tree, json_pack("{s:I, s:I, s:b}", "compared_n", f->sessions_new,
                                               "compared_baseline_n", f->sessions_base, "same_time",
                                               f->beside));
    return tree;
}

/* P90 of one scene on the fastest and on the slowest tier that have sessions enough. */
struct gap {
    int64_t fast_tier, slow_tier; /* 0: none yet */
    double fast, slow;
};

struct making {
    json_t *slices, *gaps;
    struct gap gap;
    const struct report_ask *ask;
    int64_t tiers, sessions;
    bool compared; /* there is a baseline */
    bool frozen;   /* and it is the one of the build's expectation: changes can be told */
};

static json_t *figures_json(const struct comparison_slice *s, const struct making *make,
                            int64_t *sessions)
{
    json_t *tree = json_object();

    for (unsigned m = 0; m < METRICS_N; m++) {
        struct figure f;

        comparison_figure(s, (enum metric)m, BASIS_NONE, &f);
        if (!make->frozen) {
            f.basis = BASIS_NONE;
            f.change = f.low = f.high = f.mix = NAN;
        }
        if (m == METRIC_janks)
            *sessions = f.n;
        if (f.n || f.n_base)
            json_object_set_new(tree, metric_info[m].name, figure_json(&f, make->compared));
    }
    return tree;
}

/* Tiers of a scene come in order, all together last: then the scene is over. */
static void note_gap(struct making *make, const struct comparison_slice *s)
{
    struct figure f;
    struct gap *g = &make->gap;

    comparison_figure(s, METRIC_p90, BASIS_NONE, &f);
    if (s->tier > 0 && f.n >= ALERT_MIN_SESSIONS) {
        if (!g->fast_tier) {
            g->fast_tier = s->tier;
            g->fast = f.value;
        }
        g->slow_tier = s->tier;
        g->slow = f.value;
    }
    if (s->tier != TIER_ALL)
        return;
    if (*s->scene && g->slow_tier > g->fast_tier)
        json_array_append_new(make->gaps,
                              json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "scene", s->scene,
                                        "fast_tier", g->fast_tier, "slow_tier", g->slow_tier,
                                        "fast_p90_ms", number(g->fast), "slow_p90_ms",
                                        number(g->slow), "ratio", number(g->slow / g->fast)));
    *g = (struct gap){.fast_tier = 0};
}

static bool add_slice(void *user, const struct comparison_slice *s, struct err *err)
{
    struct making *make = user;
    char name[TIER_NAME_BYTES];
    int64_t sessions = 0;
    json_t *slice, *figures;

    note_gap(make, s);
    if (make->ask->one_tier && make->ask->tier != s->tier)
        return true;
    figures = figures_json(s, make, &sessions);
    if (!json_object_size(figures)) { /* rows whose sessions have all moved to other tiers */
        json_decref(figures);
        return true;
    }
    tier_name(s->tier, make->tiers, name);
    slice = json_pack("{s:o, s:s, s:s, s:I, s:I, s:o}", "tier",
                      s->tier < 0 ? json_null() : json_integer(s->tier), "tier_name", name, "scene",
                      s->scene, "sessions", sessions, "installs", s->installs, "figures", figures);
    if (make->compared)
        json_object_set_new(slice, "baseline_installs", json_integer(s->installs_base));
    if (s->tier < 0 && !*s->scene)
        make->sessions = sessions;
    return json_array_append_new(make->slices, slice) == 0 || err_memory(err);
}

static json_t *tiers_json(int64_t tiers)
{
    json_t *list = json_array();

    for (int64_t t = 1; t <= tiers; t++) {
        char name[TIER_NAME_BYTES];

        tier_name(t, tiers, name);
        json_array_append_new(list, json_pack("{s:I, s:s}", "tier", t, "name", name));
    }
    return list;
}

static bool find_build(struct db *db, int64_t app, int64_t id, struct arena *mem,
                       struct report_build *out, struct err *err)
{
    if (db_one(db, Q_REPORT_BUILD, DB_ARGS(db_i64(app), db_i64(id)), &build_map, mem, out, err))
        return true;
    return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such build") : false;
}

static json_t *head(const struct report_build *build, const struct report_build *base, bool frozen,
                    const struct report_tiers *tiers)
{
    json_t *tree = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "made_at", tiers->now, "build",
                             build_json(build), "baseline", base ? build_json(base) : json_null(),
                             "expectation", json_null(), "tiers", tiers_json(tiers->tiers),
                             "metrics", metrics_json());

    json_object_set_new(tree, "tier_version",
                        tiers->version ? json_integer(tiers->version) : json_null());

    if (frozen)
        json_object_set_new(tree, "expectation",
                            json_pack("{s:s, s:I}", "frozen_at", build->frozen_at, "sessions",
                                      build->expected_from));
    return tree;
}

json_t *report_doc(struct db *db, const struct report_ask *ask, struct arena *mem,
                   int64_t *sessions, struct err *err)
{
    struct report_build build, base;
    struct report_tiers tiers;
    struct making make = {.ask = ask};
    int64_t rows = 0;

    if (!find_build(db, ask->app, ask->build, mem, &build, err) ||
        !db_one(db, Q_TIER_CURRENT, DB_ARGS(db_i64(ask->app)), &tiers_map, mem, &tiers, err))
        return NULL;

    int64_t baseline = ask->baseline ? ask->baseline : build.baseline_id;
    /* changes are against the frozen baseline alone; another one gives figures side by side */
    const struct comparison_ask what = {
        ask->app,       ask->build, baseline,  ask->one_tier && ask->tier >= 0,
        ask->one_scene, ask->tier,  ask->scene};

    if (baseline && !find_build(db, ask->app, baseline, mem, &base, err))
        return NULL;
    make.slices = json_array();
    make.gaps = json_array();
    make.tiers = tiers.tiers;
    make.compared = baseline != 0;
    make.frozen = build.frozen_at && baseline == build.baseline_id;
    if (!comparison_run(db, &what, add_slice, &make, &rows, err)) {
        json_decref(make.slices);
        json_decref(make.gaps);
        return NULL;
    }

    json_t *tree = head(&build, baseline ? &base : NULL, make.frozen, &tiers);

    json_object_set_new(tree, "slices", make.slices);
    json_object_set_new(tree, "gaps", make.gaps);
    json_object_set_new(tree, "rows", json_integer(rows));
    if (sessions)
        *sessions = make.sessions;
    return tree;
}
