#include "server/jobs/tiers/tier_place.h"

#include "server/jobs/alerts/alert_tell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 32

struct cut_row {
    int64_t version;
    double ms;
};
static const struct db_col cut_cols[] = {DB_COL(cut_row, version), DB_COL(cut_row, ms)};
static const struct db_map cut_map = DB_MAP(cut_row, cut_cols);

static const char *decimal(double v, struct arena *mem)
{
    char text[NUMBER_BYTES];
    int n = snprintf(text, sizeof text, "%.17g", v);

    return arena_dup(mem, text, (size_t)n);
}

bool tier_cuts_read(struct db *db, int64_t app, struct arena *mem, struct tier_cuts *cuts,
                    int64_t *version, struct err *err)
{
    struct db_rows rows;
    const struct cut_row *cut;

    if (!db_all(db, Q_TIER_CUTS, DB_ARGS(db_i64(app)), &cut_map, mem, &rows, err))
        return false;
    if (rows.n > TIER_MAX_TIERS - 1)
        return err_set(err, ERR_INTERNAL, "tiers: %zu cuts", rows.n);
    cut = rows.at;
    *cuts = (struct tier_cuts){.tiers = (unsigned)rows.n + 1};
    *version = rows.n ? cut[0].version : 0;
    for (size_t i = 0; i < rows.n; i++)
        cuts->ms[i] = cut[i].ms;
    return true;
}

bool tier_version_add(struct db *db, int64_t app, const struct tier_version *v, struct arena *mem,
                      int64_t *version, struct err *err)
{
    struct cut_row row;

    if (!db_one(db, Q_TIER_MODEL_ADD,
                DB_ARGS(db_i64(app), db_i64(v->cuts->tiers), db_text(v->fit), db_text(v->by),
                        db_text(v->note)),
                &cut_map, mem, &row, err))
        return false;
    for (unsigned i = 0; i + 1 < v->cuts->tiers; i++)
        if (!db_exec(db, Q_TIER_CUT_ADD,
                     DB_ARGS(db_i64(app), db_i64(row.version), db_i64(i + 1),
                             db_text(decimal(v->cuts->ms[i], mem))),
                     err))
            return false;
    *version = row.version;
    return true;
}

/* Anew ----------------------------------------------------------------------------------------- */

struct score_row {
    int64_t model_id, sessions;
    double capability, sd;
};
static const struct db_col score_cols[] = {DB_COL(score_row, model_id), DB_COL(score_row, sessions),
                                           DB_COL(score_row, capability), DB_COL(score_row, sd)};
static const struct db_map score_map = DB_MAP(score_row, score_cols);

struct models {
    struct tier_score *score;
    int64_t *model, *tier;
    const char **outside;
    size_t n;
};

static bool read_models(struct db *db, int64_t app, struct arena *mem, struct models *m,
                        struct err *err)
{
    struct db_rows rows;
    const struct score_row *row;

    if (!db_all(db, Q_TIER_SCORES, DB_ARGS(db_i64(app), db_i64(TIER_MAX_DEVICES)), &score_map, mem,
                &rows, err))
        return false;
    *m = (struct models){.score = arena_array(mem, rows.n, sizeof *m->score),
                         .model = arena_array(mem, rows.n, sizeof *m->model),
                         .tier = arena_array(mem, rows.n, sizeof *m->tier),
                         .outside = arena_array(mem, rows.n, sizeof *m->outside),
                         .n = rows.n};
    if (arena_full(mem))
        return err_full(err, "tiers");
    row = rows.at;
    for (size_t i = 0; i < m->n; i++) {
        m->model[i] = row[i].model_id;
        m->score[i] = (struct tier_score){
            .capability = row[i].capability, .sd = row[i].sd, .n = row[i].sessions};
    }
    return true;
}

static bool same_cuts(const struct tier_cuts *a, const struct tier_cuts *b)
{
    for (unsigned i = 0; a->tiers == b->tiers && i + 1 < a->tiers; i++)
        if (fabs(a->ms[i] - b->ms[i]) > 1e-9 * a->ms[i])
            return false;
    return a->tiers == b->tiers;
}

static bool choose_cuts(const struct tier_ask *ask, const struct models *m, struct arena *mem,
                        struct tier_cuts *cuts, struct err *err)
{
    if (ask->given) {
        *cuts = *ask->given;
        return true;
    }
    if (tier_place_cuts(m->score, m->n, ask->tiers, mem, cuts, err))
        return true;
    if (err->code == ERR_INVALID)
        err->code = ERR_CONFLICT; /* the request is right, the models are not enough */
    return false;
}

static bool place_models(struct db *db, const struct tier_ask *ask, const struct tier_cuts *cuts,
                         int64_t version, struct models *m, struct arena *mem, struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        unsigned tier = tier_assign(cuts, &m->score[i], 0);

        m->tier[i] = tier;
        m->outside[i] = decimal(tier ? tier_outside(cuts, &m->score[i], tier) : 0, mem);
    }
    if (arena_full(mem))
        return err_full(err, "tiers");
    return db_exec(db, Q_TIER_REPLACE,
                   DB_ARGS(db_i64(ask->app), db_i64(version), db_i64s(m->model, m->n),
                           db_i64s(m->tier, m->n), db_texts(m->outside, m->n)),
                   err);
}

struct over_row {
    int64_t alert_id;
};
static const struct db_col over_cols[] = {DB_COL(over_row, alert_id)};
static const struct db_map over_map = DB_MAP(over_row, over_cols);

static bool end_alerts(struct db *db, const struct tier_ask *ask, struct arena *mem,
                       struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, Q_ALERT_RETIER, DB_ARGS(db_i64(ask->app)), &over_map, mem, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++)
        if (!alert_tell(db, ask->app, ((const struct over_row *)rows.at + i)->alert_id,
                        ask->public_url, mem, err))
            return false;
    return true;
}

bool tier_place(struct db *db, const struct tier_ask *ask, struct arena *mem, int64_t *version,
                struct err *err)
{
    struct tier_cuts was, cuts;
    struct models m;

    if (!db_exec(db, Q_TIER_LOCK, DB_ARGS(db_i64(ask->app)), err) ||
        !tier_cuts_read(db, ask->app, mem, &was, version, err))
        return false;
    if (!*version)
        return err_set(err, ERR_CONFLICT, "too few device models have sessions as yet");
    if (!read_models(db, ask->app, mem, &m, err) || !choose_cuts(ask, &m, mem, &cuts, err))
        return false;
    if (same_cuts(&was, &cuts))
        return err_set(err, ERR_CONFLICT, "these cuts are in force");

    const struct tier_version v = {&cuts, NULL, ask->by, ask->note};

    return tier_version_add(db, ask->app, &v, mem, version, err) &&
           place_models(db, ask, &cuts, *version, &m, mem, err) && end_alerts(db, ask, mem, err);
}
