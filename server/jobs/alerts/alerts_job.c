/* 'alerts': looks at the builds that spread, slice by slice, and keeps the state of each alert.
 * What is told goes to notify_alert() in the same transaction. Rules: docs/alerts.md. */
#include "server/jobs/alerts/alert_pairs.h"
#include "server/jobs/alerts/alert_tell.h"
#include "server/jobs/alerts/alert_threshold.h"
#include "server/jobs/alerts/alert_why.h"
#include "server/jobs/job_run.h"
#include "server/jobs/reports/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_DAYS 30
#define MAX_LOOKS 20000
#define NUMBER_BYTES 32
#define TOLD_STEP 0.05    /* a change that moved by so much is told again */
#define RESOLVE_SHARE 0.5 /* of theta: an alert is over below it */

/* What is known beforehand ----------------------------------------------------------------------
 */

struct watched {
    int64_t build_id, baseline_id;
    const char *build, *baseline;
};
static const struct db_col watched_cols[] = {DB_COL(watched, build_id),
                                             DB_COL(watched, baseline_id), DB_COL(watched, build),
                                             DB_COL(watched, baseline)};
static const struct db_map watched_map = DB_MAP(watched, watched_cols);

struct stored_alert {
    int64_t alert_id, tier, version, opened_us;
    const char *scene, *metric, *state;
    double ln_e_worse, ln_e_better, ln_e_pairs, told_change;
    bool silent;
};
static const struct db_col stored_cols[] = {
    DB_COL(stored_alert, alert_id),    DB_COL(stored_alert, tier),
    DB_COL(stored_alert, version),     DB_COL(stored_alert, opened_us),
    DB_COL(stored_alert, scene),       DB_COL(stored_alert, metric),
    DB_COL(stored_alert, state),       DB_COL(stored_alert, ln_e_worse),
    DB_COL(stored_alert, ln_e_better), DB_COL(stored_alert, ln_e_pairs),
    DB_COL(stored_alert, told_change), DB_COL(stored_alert, silent),
};
static const struct db_map stored_map = DB_MAP(stored_alert, stored_cols);

struct tiers_row {
    int64_t tiers;
};
static const struct db_col tiers_cols[] = {DB_COL(tiers_row, tiers)};
static const struct db_map tiers_map = DB_MAP(tiers_row, tiers_cols);

/* The most particular rule counts: of tier and metric, of the tier, of the metric, of all. */
static double theta_of(const struct db_rows *rules, int64_t tier, const char *metric, bool *enabled)
{
    double theta = ALERT_THETA;
    int best = -1;

    *enabled = true;
    for (size_t i = 0; i < rules->n; i++) {
        const struct alert_threshold *r = (const struct alert_threshold *)rules->at + i;
        int weight = 2 * (r->tier != 0) + (r->metric[0] != 0);

        if ((r->tier && r->tier != tier) || (*r->metric && strcmp(r->metric, metric) != 0) ||
            weight < best)
            continue;
        best = weight;
        theta = r->theta;
        *enabled = r->enabled;
    }
    return theta;
}

/* Looks ---------------------------------------------------------------------------------------- */

struct looking {
    struct job_run *run;
    const struct watched *build;
    struct db_rows rules, stored;
    struct alert_look_at *look;
    size_t n;
    unsigned slices;
    int64_t tiers;
    struct alert_pairs pairs;
};

/* About so many installs have sessions that entered the comparison: rows tell groups alone. */
static int64_t installs_of(const struct group_sums *a, const struct group_sums *b, enum metric m)
{
    unsigned filled = 0;

    for (unsigned g = 0; g < COMPARISON_GROUPS; g++)
        filled += a->at[g][m][SUM_OWN_N] > 0 || (b && b->at[g][m][SUM_OWN_N] > 0);
    return groups_installs(filled);
}

static bool collect(void *user, const struct comparison_slice *s, struct err *err)
{
    struct looking *l = user;
    bool any = false;

    if (s->tier <= 0)
        return true;
    for (unsigned m = 0; m < METRICS_N; m++) {
        struct alert_look_at *look = &l->look[l->n];

        if (!metric_info[m].watched)
            continue;
        if (l->n == MAX_LOOKS)
            return err_set(err, ERR_TOO_BIG, "more than %d slices to look at", MAX_LOOKS);
        comparison_figure(s, (enum metric)m, BASIS_INSTALLS, &look->figure);
        any |= look->figure.n > 0;
        if (look->figure.basis == BASIS_NONE)
            continue;
        look->tier = s->tier;
        look->scene = arena_dup(l->run->mem, s->scene, strlen(s->scene));
        look->metric = (enum metric)m;
        look->installs = s->installs;
        look->installs_new = installs_of(s->now, NULL, (enum metric)m);
        look->installs_base =
            installs_of(s->beside, look->figure.beside ? NULL : s->before, (enum metric)m);
        if (!look->scene)
            return err_full(err, "alerts");
        l->n++;
    }
    l->slices += any;
    return true;
}

static const struct stored_alert *find_stored(const struct looking *l,
                                              const struct alert_look_at *look)
{
    for (size_t i = 0; i < l->stored.n; i++) {
        const struct stored_alert *a = (const struct stored_alert *)l->stored.at + i;

        if (a->tier == look->tier && strcmp(a->scene, look->scene) == 0 &&
            strcmp(a->metric, metric_info[look->metric].name) == 0)
            return a;
    }
    return NULL;
}

static bool judge(struct looking *l, struct alert_look_at *look, struct err *err)
{
    const struct figure *f = &look->figure;
    bool counted = metric_info[look->metric].kind == METRIC_COUNT;
    struct alert_rule rule = {.theta = look->theta,
                              .ln_a =
                                  eprocess_ln_threshold(l->slices, WATCHED_METRICS, ALERT_ALPHA),
                              .tau = counted ? EPROCESS_TAU_COUNTS : EPROCESS_TAU};
    struct alert_look at = {.change = f->d,
                            .sessions_new = f->sessions_new,
                            .sessions_base = f->sessions_base,
                            .installs_new = look->installs_new,
                            .installs_base = look->installs_base,
                            .counted = counted,
                            .information = f->information};

    alert_judge(&rule, &at, &look->latch, &look->finding);
    if (look->finding.reason != ALERT_REASON_NOT_PAIRED &&
        look->finding.reason != ALERT_REASON_WORSE)
        return true;
    if (!alert_pairs_of(l->run->db, l->run->job.app_id, &l->pairs, l->build->build_id,
                        l->build->baseline_id, look->tier, look->scene, look->metric, l->run->mem,
                        l->run->work, &at.pairs, &at.has_pairs, err))
        return false;
    look->has_pairs = at.has_pairs;
    look->pairs = at.pairs;
    alert_judge(&rule, &at, &look->latch, &look->finding);
    return true;
}

/* Of the frame times of one slice one speaks for all: P90, else the mean, else P50. */
static bool leads(const struct looking *l, const struct alert_look_at *look)
{
    static const enum metric order[] = {METRIC_p90, METRIC_mean, METRIC_p50};
    const size_t n = sizeof order / sizeof *order;
    size_t mine = 0;

    while (mine < n && order[mine] != look->metric)
        mine++;
    if (mine == n)
        return true;
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < mine; k++)
            if (l->look[i].metric == order[k] && l->look[i].tier == look->tier &&
                strcmp(l->look[i].scene, look->scene) == 0 &&
                l->look[i].finding.level == ALERT_ALERT)
                return false;
    return true;
}

/* State ---------------------------------------------------------------------------------------- */

struct step { /* what a look makes of an alert */
    const char *state;
    int64_t version;
    bool told;
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static struct step next_step(const struct stored_alert *was, const struct alert_look_at *look,
                             bool worse)
{
    const char *state = was ? was->state : "quiet";
    int64_t version = was ? was->version : 0;
    bool live = is(state, "open") || is(state, "updated") || is(state, "acknowledged");
    bool over = !worse && !(look->finding.change >= RESOLVE_SHARE * look->theta);

    if (was && was->silent)
        return (struct step){"silenced", version, false};
    if (is(state, "silenced"))
        return (struct step){worse ? "open" : "resolved", version + 1, true};
    if (!live)
        return worse ? (struct step){"open", version + 1, true}
                     : (struct step){state, version, false};
    if (over)
        return (struct step){"resolved", version + 1, true};
    if (fabs(look->finding.change - was->told_change) >= TOLD_STEP)
        return (struct step){is(state, "acknowledged") ? state : "updated", version + 1, true};
    return (struct step){state, version, false};
}

struct put_row {
    int64_t alert_id;
};
static const struct db_col put_cols[] = {DB_COL(put_row, alert_id)};
static const struct db_map put_map = DB_MAP(put_row, put_cols);

static const char *decimal(double v, struct arena *mem)
{
    char text[NUMBER_BYTES];
    int n = snprintf(text, sizeof text, "%.17g", v);

    return isfinite(v) ? arena_dup(mem, text, (size_t)n) : NULL;
}

static bool put(struct looking *l, const struct alert_look_at *look, const struct step *step,
                const char *evidence, struct put_row *out, struct err *err)
{
    static const char *const levels[] = {"none", "improved", "warn", "alert"};
    const struct alert_finding *f = &look->finding;
    struct arena *mem = l->run->mem;

    return db_one(
        l->run->db, Q_ALERT_PUT,
        DB_ARGS(db_i64(l->run->job.app_id), db_i64(l->build->build_id),
                db_i64(l->build->baseline_id), db_i64(look->tier), db_text(look->scene),
                db_text(levels[f->level]), db_text(alert_reason_text(f->reason)),
                db_text(step->state), db_i64(step->version),
                db_text(decimal(look->latch.ln_e_worse, mem)),
                db_text(decimal(look->latch.ln_e_better, mem)),
                db_text(decimal(look->latch.ln_e_pairs, mem)), db_text(decimal(f->change, mem)),
                db_text(decimal(f->interval.low, mem)), db_text(decimal(f->interval.high, mem)),
                db_text(step->told ? decimal(f->change, mem) : NULL), db_i64(look->figure.n),
                db_text(evidence), db_i64(l->run->config->clock_offset_ms),
                db_text(metric_info[look->metric].name)),
        &put_map, mem, out, err);
}

/* Slices that say nothing and never did need no row. */
static bool worth_a_row(const struct stored_alert *was, const struct alert_look_at *look)
{
    return was || look->finding.reason != ALERT_REASON_TOO_FEW;
}

static bool settle(struct looking *l, struct alert_look_at *look, struct err *err)
{
    const struct stored_alert *was = find_stored(l, look);
    bool worse = look->finding.level == ALERT_ALERT && look->enabled && leads(l, look);
    struct step step = next_step(was, look, worse);
    struct alert_story story = {.evidence = "{}"};
    const struct alert_setting setting = {l->run->job.app_id,    l->build->build_id,
                                          l->build->baseline_id, l->build->build,
                                          l->build->baseline,    l->tiers};
    struct put_row row;

    if (!worth_a_row(was, look))
        return true;
    if (look->finding.level >= ALERT_WARN &&
        !alert_why(l->run->db, &setting, l->look, l->n, look, l->run->mem, &story, err))
        return false;
    return put(l, look, &step, story.evidence, &row, err) &&
           (!step.told || alert_tell(l->run->db, l->run->job.app_id, row.alert_id,
                                     l->run->config->public_url, l->run->mem, err));
}

static bool read_state(struct looking *l, struct err *err)
{
    struct tiers_row tiers;
    struct db_args app = DB_ARGS(db_i64(l->run->job.app_id));

    if (!alert_thresholds_read(l->run->db, l->run->job.app_id, l->run->mem, &l->rules, err) ||
        !db_one(l->run->db, Q_TIER_COUNT, app, &tiers_map, l->run->mem, &tiers, err) ||
        !db_all(l->run->db, Q_ALERT_OF_BUILD,
                DB_ARGS(db_i64(l->build->build_id), db_i64(l->run->config->clock_offset_ms)),
                &stored_map, l->run->mem, &l->stored, err))
        return false;
    l->tiers = tiers.tiers;
    return true;
}

static bool look_at_build(struct job_run *run, const struct watched *build, struct err *err)
{
    const struct comparison_ask ask = {
        .app = run->job.app_id, .build = build->build_id, .baseline = build->baseline_id};
    struct looking l = {.run = run, .build = build};

    arena_reset(run->mem);
    l.look = arena_array(run->mem, MAX_LOOKS, sizeof *l.look);
    if (!l.look)
        return err_full(err, "alerts");
    if (!job_extend(run, err) || !db_begin(run->db, err) ||
        !db_exec(run->db, Q_TIER_LOCK_SHARED, DB_ARGS(db_i64(run->job.app_id)), err) ||
        !read_state(&l, err) || !comparison_run(run->db, &ask, collect, &l, NULL, err))
        return false;
    for (size_t i = 0; i < l.n; i++) {
        struct alert_look_at *look = &l.look[i];
        const struct stored_alert *was = find_stored(&l, look);

        look->latch = was ? (struct alert_latch){was->ln_e_worse, was->ln_e_better, was->ln_e_pairs}
                          : ALERT_LATCH_NEW;
        look->theta =
            theta_of(&l.rules, look->tier, metric_info[look->metric].name, &look->enabled);
        if (!judge(&l, look, err))
            return false;
    }
    for (size_t i = 0; i < l.n; i++)
        if (!settle(&l, &l.look[i], err))
            return false;
    return db_commit(run->db, err);
}

/* Nobody looks at these builds any more, so nothing would ever end their alerts. */
static bool expire(struct job_run *run, struct err *err)
{
    struct db_rows rows;

    arena_reset(run->mem);
    if (!db_begin(run->db, err) || !db_all(run->db, Q_ALERT_EXPIRE,
                                           DB_ARGS(db_i64(run->job.app_id), db_i64(WATCH_DAYS),
                                                   db_i64(run->config->clock_offset_ms)),
                                           &put_map, run->mem, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++)
        if (!alert_tell(run->db, run->job.app_id, ((const struct put_row *)rows.at + i)->alert_id,
                        run->config->public_url, run->mem, err))
            return false;
    return db_commit(run->db, err);
}

bool alerts_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct arena *mem = arena_new(1 << 20); /* over the builds, which use the run's */
    struct db_rows rows = {0};
    bool ok = mem || err_memory(err);

    *out = JOB_DONE;
    ok = ok && db_all(run->db, Q_ALERT_BUILDS,
                      DB_ARGS(db_i64(run->job.app_id), db_i64(WATCH_DAYS),
                              db_i64(run->config->clock_offset_ms)),
                      &watched_map, mem, &rows, err);
    for (size_t i = 0; ok && i < rows.n; i++)
        ok = look_at_build(run, (const struct watched *)rows.at + i, err);
    arena_free(mem);
    return ok && expire(run, err) && db_begin(run->db, err) &&
           queue_done(run->db, &run->job, err) && db_commit(run->db, err);
}
