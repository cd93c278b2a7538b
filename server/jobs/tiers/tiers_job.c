/* 'tiers': fits the capability of device models anew, moves models that surely belong elsewhere,
 * and their sessions after them. Places the first cuts; others come when somebody asks. See
 * stats/tier.h, tier_place.h and docs/tiers.md. */
#include "server/jobs/job_run.h"
#include "server/jobs/rollups/placement.h"
#include "server/jobs/tiers/tier_place.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096 /* some dozens of each shard: what is written once for them */
#define NUMBER_BYTES 32

struct device_row {
    int64_t id, tier, n, sum_e6, sum_sq_e6;
    const char *soc;
    double max_khz, fast_cores, cores, clusters, ram_mb, pixels, median_khz, throttled_khz,
        temperature;
};
static const struct db_col device_cols[] = {DB_COL(device_row, id),
                                            DB_COL(device_row, tier),
                                            DB_COL(device_row, n),
                                            DB_COL(device_row, sum_e6),
                                            DB_COL(device_row, sum_sq_e6),
                                            DB_COL(device_row, soc),
#define X(name, ln, unit) DB_COL(device_row, name),
                                            TIER_FEATURES(X)
#undef X
};
static const struct db_map device_map = DB_MAP(device_row, device_cols);

struct tiering {
    const struct device_row *row;
    struct tier_device *device;
    struct tier_score *score;
    size_t n;
    struct tier_fit fit;
    struct tier_cuts cuts;
    int64_t version; /* 0: none yet */
};

static double known(double v)
{
    return v > 0 ? v : NAN;
}

static bool read_devices(struct job_run *run, struct tiering *t, struct err *err)
{
    struct db_rows rows;

    if (!db_all(run->db, Q_TIER_DEVICES, DB_ARGS(db_i64(run->job.app_id), db_i64(TIER_MAX_DEVICES)),
                &device_map, run->mem, &rows, err))
        return false;
    t->row = rows.at;
    t->n = rows.n;
    t->device = arena_array(run->mem, t->n, sizeof *t->device);
    t->score = arena_array(run->mem, t->n, sizeof *t->score);
    if (!t->device || !t->score)
        return err_full(err, "tiers");
    for (size_t i = 0; i < t->n; i++) {
        const struct device_row *r = &t->row[i];

        t->device[i] =
            (struct tier_device){.id = r->id, .soc = r->soc, .y = {r->n, r->sum_e6, r->sum_sq_e6}};
#define X(name, ln, unit) t->device[i].feature[TIER_##name] = known(r->name);
        TIER_FEATURES(X)
#undef X
    }
    return true;
}

/* Writing -------------------------------------------------------------------------------------- */

static const char *decimal(double v, struct arena *mem)
{
    char text[NUMBER_BYTES];
    int n = snprintf(text, sizeof text, "%.17g", isfinite(v) ? v : 0);

    return arena_dup(mem, text, (size_t)n);
}

/* A JSON text that lives in mem; takes the tree. */
static const char *json_text(json_t *tree, struct arena *mem)
{
    char *text = tree ? json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    const char *copy = text ? arena_dup(mem, text, strlen(text)) : NULL;

    json_decref(tree);
    free(text);
    return copy;
}

static const char *fit_text(const struct tier_fit *f, struct arena *mem)
{
    json_t *features = json_object();

    for (unsigned k = 0; k < TIER_FEATURE_COUNT; k++)
        json_object_set_new(features, tier_feature_name((enum tier_feature)k),
                            json_pack("{s:f, s:f, s:f}", "coefficient", f->coef[k], "mean",
                                      f->mean[k], "scale", f->scale[k]));
    return json_text(json_pack("{s:f, s:o, s:f, s:f, s:f, s:f, s:I, s:I}", "intercept",
                               f->intercept, "features", features, "lambda", f->lambda,
                               "variance_within", f->s2, "variance_between", f->w2, "variance_soc",
                               f->soc_w2, "models", (json_int_t)f->models, "sessions",
                               (json_int_t)f->sessions),
                     mem);
}

static const char *parts_text(const struct tier_score *s, struct arena *mem)
{
    json_t *parts = json_pack("{s:f, s:f}", "soc", s->soc, "sessions", s->data);

    for (unsigned k = 0; k < TIER_FEATURE_COUNT; k++)
        if (s->part[k] != 0)
            json_object_set_new(parts, tier_feature_name((enum tier_feature)k),
                                json_real(s->part[k]));
    return json_text(parts, mem);
}

static bool place_cuts(struct job_run *run, struct tiering *t, bool *placed, struct err *err)
{
    struct err why;

    *placed = tier_place_cuts(t->score, t->n, TIER_DEFAULT_TIERS, run->work, &t->cuts, &why);
    if (!*placed)
        return why.code == ERR_INVALID || (*err = why, false);

    const struct tier_version v = {&t->cuts, fit_text(&t->fit, run->mem), "", ""};

    if (!v.fit)
        return err_full(err, "tiers");
    return tier_version_add(run->db, run->job.app_id, &v, run->mem, &t->version, err);
}

struct score_arrays {
    int64_t *model, *tier, *sessions;
    const char **capability, **sd, **prior, **weight, **outside, **parts;
};

static bool fill_scores(struct job_run *run, const struct tiering *t, struct score_arrays *a)
{
    struct arena *mem = run->mem;

    *a = (struct score_arrays){
        .model = arena_array(mem, t->n, sizeof *a->model),
        .tier = arena_array(mem, t->n, sizeof *a->tier),
        .sessions = arena_array(mem, t->n, sizeof *a->sessions),
        .capability = arena_array(mem, t->n, sizeof *a->capability),
        .sd = arena_array(mem, t->n, sizeof *a->sd),
        .prior = arena_array(mem, t->n, sizeof *a->prior),
        .weight = arena_array(mem, t->n, sizeof *a->weight),
        .outside = arena_array(mem, t->n, sizeof *a->outside),
        .parts = arena_array(mem, t->n, sizeof *a->parts),
    };
    for (size_t i = 0; i < t->n && !arena_full(mem); i++) {
        const struct tier_score *s = &t->score[i];
        unsigned tier = tier_assign(&t->cuts, s, (unsigned)t->row[i].tier);

        a->model[i] = t->row[i].id;
        a->tier[i] = tier;
        a->sessions[i] = s->n;
        a->capability[i] = decimal(s->capability, mem);
        a->sd[i] = decimal(s->sd, mem);
        a->prior[i] = decimal(s->prior, mem);
        a->weight[i] = decimal(s->weight, mem);
        a->outside[i] = decimal(tier ? tier_outside(&t->cuts, s, tier) : 0, mem);
        a->parts[i] = parts_text(s, mem);
    }
    return !arena_full(mem);
}

static bool store_scores(struct job_run *run, const struct tiering *t, struct err *err)
{
    struct score_arrays a;
    size_t n = t->n;

    if (!fill_scores(run, t, &a))
        return err_full(err, "tiers");
    return db_exec(run->db, Q_TIER_SCORES_SET,
                   DB_ARGS(db_i64(run->job.app_id), db_i64(t->version), db_i64s(a.model, n),
                           db_i64s(a.tier, n), db_texts(a.capability, n), db_texts(a.sd, n),
                           db_texts(a.prior, n), db_texts(a.weight, n), db_i64s(a.sessions, n),
                           db_texts(a.outside, n), db_texts(a.parts, n)),
                   err) &&
           db_exec(run->db, Q_TIER_FITTED,
                   DB_ARGS(db_i64(run->job.app_id), db_i64(t->version),
                           db_text(fit_text(&t->fit, run->mem))),
                   err);
}

/* Models --------------------------------------------------------------------------------------- */

/* *known = false: too little is known of the app's devices yet. */
static bool fit(struct job_run *run, struct tiering *t, bool *known_enough, struct err *err)
{
    struct err why;

    *known_enough = tier_fit(t->device, t->n, run->mem, &t->fit, &why);
    if (!*known_enough)
        return why.code == ERR_INVALID || (*err = why, false);
    for (size_t i = 0; i < t->n; i++)
        tier_score(&t->fit, &t->device[i], &t->score[i]);
    return t->version || place_cuts(run, t, known_enough, err);
}

static bool tier_models(struct job_run *run, struct err *err)
{
    struct tiering t = {0};
    bool enough;

    return db_begin(run->db, err) &&
           db_exec(run->db, Q_TIER_LOCK, DB_ARGS(db_i64(run->job.app_id)), err) &&
           read_devices(run, &t, err) &&
           tier_cuts_read(run->db, run->job.app_id, run->mem, &t.cuts, &t.version, err) &&
           fit(run, &t, &enough, err) && (!enough || store_scores(run, &t, err)) &&
           db_commit(run->db, err);
}

/* Sessions ------------------------------------------------------------------------------------- */

static const struct db_col misplaced_cols[] = {DB_COL(placement_session, shard),
                                               DB_COL(placement_session, id)};
static const struct db_map misplaced_map = DB_MAP(placement_session, misplaced_cols);

static bool move_sessions(struct job_run *run, struct err *err)
{
    struct db_rows rows;

    do {
        arena_reset(run->mem);
        if (!job_extend(run, err) ||
            !db_all(run->db, Q_TIER_MISPLACED, DB_ARGS(db_i64(run->job.app_id), db_i64(PAGE)),
                    &misplaced_map, run->mem, &rows, err) ||
            !placement_renew(run, rows.at, rows.n, err))
            return false;
    } while (rows.n);
    return true;
}

bool tiers_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    *out = JOB_DONE;
    return tier_models(run, err) && move_sessions(run, err) && db_begin(run->db, err) &&
           queue_done(run->db, &run->job, err) && db_commit(run->db, err);
}
