#include "server/jobs/reports/health.h"

#include "server/jobs/reports/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_SESSIONS 2000
#define MIN_SESSIONS 20 /* fewer say nothing of a share */

struct build_row {
    int64_t id, version_code, began_day, days, baseline_id, baseline_day;
    const char *platform, *version_name, *began_at;
};
static const struct db_col build_cols[] = {
    DB_COL(build_row, id),       DB_COL(build_row, version_code), DB_COL(build_row, began_day),
    DB_COL(build_row, days),     DB_COL(build_row, baseline_id),  DB_COL(build_row, baseline_day),
    DB_COL(build_row, platform), DB_COL(build_row, version_name), DB_COL(build_row, began_at),
};
static const struct db_map build_map = DB_MAP(build_row, build_cols);

struct volume_row {
    int64_t sessions, excluded;
};
static const struct db_col volume_cols[] = {DB_COL(volume_row, sessions),
                                            DB_COL(volume_row, excluded)};
static const struct db_map volume_map = DB_MAP(volume_row, volume_cols);

struct sample_row {
    int64_t sessions, invalid, clock_skew, flagged, crashed;
};
static const struct db_col sample_cols[] = {
    DB_COL(sample_row, sessions), DB_COL(sample_row, invalid), DB_COL(sample_row, clock_skew),
    DB_COL(sample_row, flagged),  DB_COL(sample_row, crashed),
};
static const struct db_map sample_map = DB_MAP(sample_row, sample_cols);

struct symbols_row {
    int64_t events, unread;
};
static const struct db_col symbols_cols[] = {DB_COL(symbols_row, events),
                                             DB_COL(symbols_row, unread)};
static const struct db_map symbols_map = DB_MAP(symbols_row, symbols_cols);

struct models_row {
    int64_t models;
};
static const struct db_col models_cols[] = {DB_COL(models_row, models)};
static const struct db_map models_map = DB_MAP(models_row, models_cols);

/* What the checks look at, of the build and of its baseline. */
struct facts {
    struct build_row build;
    int64_t days; /* whole ones, that volume is told of */
    struct volume_row volume, base_volume;
    struct sample_row sample, base_sample;
    struct symbols_row symbols;
    int64_t untiered_models;
    int64_t sessions, base_sessions; /* counted */
    int64_t untiered_sessions;
    int64_t with[METRICS_N], base_with[METRICS_N];
};

static bool count_slice(void *user, const struct comparison_slice *s, struct err *err)
{
    struct facts *f = user;

    (void)err;
    for (unsigned g = 0; g < COMPARISON_GROUPS; g++) {
        if (s->tier == 0)
            f->untiered_sessions += s->now->at[g][METRIC_janks][SUM_N];
        for (unsigned m = 0; s->tier == TIER_ALL && m < METRICS_N; m++) {
            f->with[m] += s->now->at[g][m][SUM_N];
            f->base_with[m] += s->base->at[g][m][SUM_N];
        }
    }
    f->sessions = f->with[METRIC_janks];
    f->base_sessions = f->base_with[METRIC_janks];
    return true;
}

static bool gather(struct db *db, int64_t app, struct facts *f, struct arena *mem, struct err *err)
{
    const struct build_row *b = &f->build;
    const struct comparison_ask ask = {
        .app = app, .build = b->id, .baseline = b->baseline_id, .one_scene = true, .scene = ""};
    struct models_row models;

    if (!comparison_run(db, &ask, count_slice, f, NULL, err) ||
        !db_one(db, Q_HEALTH_VOLUME,
                DB_ARGS(db_i64(app), db_i64(b->id), db_i64(b->began_day), db_i64(f->days)),
                &volume_map, mem, &f->volume, err) ||
        !db_one(
            db, Q_HEALTH_VOLUME,
            DB_ARGS(db_i64(app), db_i64(b->baseline_id), db_i64(b->baseline_day), db_i64(f->days)),
            &volume_map, mem, &f->base_volume, err) ||
        !db_one(db, Q_HEALTH_SAMPLE, DB_ARGS(db_i64(b->id), db_i64(SAMPLE_SESSIONS)), &sample_map,
                mem, &f->sample, err) ||
        !db_one(db, Q_HEALTH_SAMPLE, DB_ARGS(db_i64(b->baseline_id), db_i64(SAMPLE_SESSIONS)),
                &sample_map, mem, &f->base_sample, err) ||
        !db_one(db, Q_HEALTH_SYMBOLS, DB_ARGS(db_i64(app), db_i64(b->id)), &symbols_map, mem,
                &f->symbols, err) ||
        !db_one(db, Q_HEALTH_UNTIERED, DB_ARGS(db_i64(app)), &models_map, mem, &models, err))
        return false;
    f->untiered_models = models.models;
    return true;
}

/* Checks --------------------------------------------------------------------------------------- */

enum gravity { FINE, UNKNOWN, NOTE, WARNING, SERIOUS };
static const char *const gravity_name[] = {"ok", "unknown", "note", "warning", "serious"};

struct check {
    const char *name;
    enum gravity gravity;
    double value, expected; /* NAN: none */
    const char *metric;     /* NULL: none; what the text tells beside the two */
    int64_t days, excluded, models;
    char text[240];
};

static double share(int64_t part, int64_t whole)
{
    return whole >= MIN_SESSIONS ? (double)part / (double)whole : NAN;
}

/* A share that should not be much above the baseline's, nor above a limit of its own. */
static void check_share(struct check *c, const char *what, double now, double base, double limit)
{
    c->value = now;
    c->expected = base;
    if (isnan(now)) {
        c->gravity = UNKNOWN;
        snprintf(c->text, sizeof c->text, "%s: too few sessions to tell", what);
        return;
    }
    double usual = isnan(base) ? 0 : base;

    c->gravity = now > limit && now > 2 * usual && now > usual + 0.02 ? WARNING : FINE;
    if (c->gravity == WARNING && now > 4 * limit)
        c->gravity = SERIOUS;
    if (isnan(base))
        snprintf(c->text, sizeof c->text, "%s: %.1f %%", what, 100 * now);
    else
        snprintf(c->text, sizeof c->text, "%s: %.1f %%, on the baseline %.1f %%", what, 100 * now,
                 100 * base);
}

static void check_volume(const struct facts *f, struct check *c)
{
    int64_t now = f->volume.sessions + f->volume.excluded;
    int64_t base = f->base_volume.sessions + f->base_volume.excluded;
    double ratio = base > 0 ? (double)now / (double)base : NAN;

    c->name = "volume";
    c->days = f->days;
    c->excluded = f->volume.excluded;
    c->value = (double)now;
    c->expected = base > 0 ? (double)base : NAN;
    c->gravity = isnan(ratio) ? UNKNOWN : ratio < 0.2 ? SERIOUS : ratio < 0.5 ? WARNING : FINE;
    if (f->days == 0) {
        c->gravity = UNKNOWN;
        snprintf(c->text, sizeof c->text, "volume: not a whole day old yet");
        return;
    }
    if (!f->sessions && !now) /* nothing has come at all */
        c->gravity = SERIOUS;
    snprintf(c->text, sizeof c->text,
             "%lld sessions in the first %lld days, %lld of them kept out of statistics; the "
             "baseline had %lld in as many",
             (long long)now, (long long)f->days, (long long)f->volume.excluded, (long long)base);
}

/* A figure that sessions used to tell and now do not: a collector that fails. */
static void check_channel(const struct facts *f, enum metric m, struct check *c)
{
    double now = share(f->with[m], f->sessions), base = share(f->base_with[m], f->base_sessions);

    c->name = "channel";
    c->metric = metric_info[m].name;
    c->value = now;
    c->expected = base;
    if (isnan(now) || isnan(base)) {
        c->gravity = UNKNOWN;
        snprintf(c->text, sizeof c->text, "%s: too few sessions to tell", metric_info[m].name);
        return;
    }
    c->gravity = now < 0.25 * base && base > 0.1 ? SERIOUS : now < base - 0.2 ? WARNING : FINE;
    snprintf(c->text, sizeof c->text, "%s: told by %.0f %% of sessions, on the baseline by %.0f %%",
             metric_info[m].name, 100 * now, 100 * base);
}

static void check_untiered(const struct facts *f, struct check *c)
{
    double now = share(f->untiered_sessions, f->sessions);

    c->name = "untiered";
    c->models = f->untiered_models;
    c->value = now;
    c->expected = NAN;
    c->gravity = isnan(now) ? UNKNOWN : now > 0.2 ? WARNING : now > 0.05 ? NOTE : FINE;
    snprintf(c->text, sizeof c->text,
             "%.1f %% of sessions are from device models without a tier; %lld models in all",
             isnan(now) ? 0 : 100 * now, (long long)f->untiered_models);
}

static void check_symbols(const struct facts *f, struct check *c)
{
    double now = share(f->symbols.unread, f->symbols.events);

    c->name = "symbols";
    c->value = now;
    c->expected = NAN;
    c->gravity = isnan(now) ? UNKNOWN : now > 0.5 ? SERIOUS : now > 0.1 ? WARNING : FINE;
    snprintf(c->text, sizeof c->text, "%.1f %% of jank samples have frames without a name",
             isnan(now) ? 0 : 100 * now);
}

static const enum metric channels[] = {
    METRIC_p90,        METRIC_memory_pss,  METRIC_memory_footprint,
    METRIC_memory_rss, METRIC_temperature, METRIC_throttled};
#define CHANNELS (sizeof channels / sizeof *channels)
#define CHECKS_MAX (CHANNELS + 8)

static size_t run_checks(const struct facts *f, struct check *c)
{
    const struct sample_row *s = &f->sample, *b = &f->base_sample;
    size_t n = 0;

    check_volume(f, &c[n++]);
    for (size_t i = 0; i < CHANNELS; i++)
        if (f->with[channels[i]] || f->base_with[channels[i]])
            check_channel(f, channels[i], &c[n++]);
    check_untiered(f, &c[n++]);
    check_symbols(f, &c[n++]);
    c[n].name = "invalid";
    check_share(&c[n++], "sessions with values out of bounds", share(s->invalid, s->sessions),
                share(b->invalid, b->sessions), 0.1);
    c[n].name = "flagged";
    check_share(&c[n++], "sessions from flagged environments", share(s->flagged, s->sessions),
                share(b->flagged, b->sessions), 0.1);
    c[n].name = "clock_skew";
    check_share(&c[n++], "sessions whose clock was wrong", share(s->clock_skew, s->sessions),
                share(b->clock_skew, b->sessions), 0.05);
    c[n].name = "crashes";
    check_share(&c[n++], "sessions with a crash", share(s->crashed, s->sessions),
                share(b->crashed, b->sessions), 0.02);
    return n;
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(round(v * 1e6) / 1e6) : json_null();
}

/* Whatever the text says is there as numbers too, for who says it in another language. */
static json_t *check_json(const struct check *c)
{
    json_t *tree =
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "check", c->name, "status", gravity_name[c->gravity],
                  "text", c->text, "value", number(c->value), "expected", number(c->expected));

    if (c->metric)
        json_object_set_new(tree, "metric", json_string(c->metric));
    if (strcmp(c->name, "volume") == 0) {
        json_object_set_new(tree, "days", json_integer(c->days));
        json_object_set_new(tree, "excluded", json_integer(c->excluded));
    }
    if (strcmp(c->name, "untiered") == 0)
        json_object_set_new(tree, "models", json_integer(c->models));
    return tree;
}

/* The gravest first; findings are those from notes on. */
static void put_checks(const struct check *c, size_t n, json_t *findings, json_t *checks)
{
    for (int g = SERIOUS; g >= FINE; g--)
        for (size_t i = 0; i < n; i++)
            if ((int)c[i].gravity == g)
                json_array_append_new(g >= NOTE ? findings : checks, check_json(&c[i]));
}

json_t *health_doc(struct db *db, int64_t app, int64_t build, int64_t day, int64_t clock_offset_ms,
                   struct arena *mem, struct err *err)
{
    struct facts *f = arena_alloc(mem, sizeof *f);
    struct check check[CHECKS_MAX] = {{0}};
    json_t *findings, *checks;
    bool grave = false;
    size_t n;

    if (!f) {
        err_full(err, "the health check");
        return NULL;
    }
    if (!db_one(db, Q_HEALTH_BUILD,
                DB_ARGS(db_i64(app), build ? db_i64(build) : db_null(), db_i64(clock_offset_ms)),
                &build_map, mem, &f->build, err)) {
        if (err->code == ERR_NOT_FOUND)
            err_set(err, ERR_NOT_FOUND, build ? "no such build" : "no build has sessions yet");
        return NULL;
    }
    f->days = day && day < f->build.days ? day : f->build.days; /* whole days, of both builds */
    if (!gather(db, app, f, mem, err))
        return NULL;
    n = run_checks(f, check);
    for (size_t i = 0; i < n; i++)
        grave |= check[i].gravity >= WARNING;
    findings = json_array();
    checks = json_array();
    put_checks(check, n, findings, checks);
    return json_pack("{s:{s:I, s:s, s:s, s:I}, s:o, s:I, s:I, s:s, s:I, s:b, s:o, s:o}", "build",
                     "id", f->build.id, "platform", f->build.platform, "version_name",
                     f->build.version_name, "version_code", f->build.version_code, "baseline_id",
                     f->build.baseline_id ? json_integer(f->build.baseline_id) : json_null(), "day",
                     f->days, "age_days", f->build.days, "began_at", f->build.began_at, "sessions",
                     f->sessions, "nothing_to_do", !grave, "findings", findings, "checks", checks);
}
