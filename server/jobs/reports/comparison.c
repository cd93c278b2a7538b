#include "server/jobs/reports/comparison.h"

#include "stats/eprocess.h"
#include "stats/expectation.h"
#include "stats/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 200000
#define ROWS_BYTES ((size_t)512 << 20)
#define LOOK_Z 1.96
#define MIN_EVENTS 20 /* of both sides, overdispersion divided out: fewer tell no ratio */

const char *basis_text(enum basis basis)
{
    static const char *const text[] = {
#define X(name, text) text,
        BASES(X)
#undef X
    };

    return text[basis];
}

/* Figures ------------------------------------------------------------------------------------- */

static int64_t total(const struct group_sums *s, enum metric m, enum metric_sum k)
{
    int64_t sum = 0;

    for (unsigned g = 0; g < COMPARISON_GROUPS; g++)
        sum += s->at[g][m][k];
    return sum;
}

static double value_of(const struct group_sums *s, enum metric m)
{
    int64_t n = total(s, m, SUM_N), exposure = total(s, m, SUM_EXPOSURE);

    if (metric_info[m].kind == METRIC_LN)
        return n > 0 ? exp(1e-6 * (double)total(s, m, SUM_VALUE) / (double)n) : NAN;
    if (exposure <= 0)
        return NAN;
    return (double)total(s, m, SUM_VALUE) / (double)exposure * metric_info[m].scale;
}

/* The sums that a basis compares by: how many sessions, what of them, and by what. */
static const enum metric_sum sums_of[][3] = {
    [BASIS_NONE] = {SUM_N, SUM_VALUE, SUM_EXPOSURE},
    [BASIS_INSTALLS] = {SUM_OWN_N, SUM_OWN_VALUE, SUM_OWN_WEIGHT},
    [BASIS_MODELS] = {SUM_X_N, SUM_X_VALUE, SUM_X_EXPECTED},
};

static void fill_groups(const struct group_sums *s, enum metric m, enum basis basis,
                        struct groups *out)
{
    for (unsigned g = 0; g < COMPARISON_GROUPS; g++) {
        const int64_t *sum = s->at[g][m];

        if (basis == BASIS_INSTALLS)
            groups_add(out, g, sum[SUM_OWN_WEIGHT], sum[SUM_OWN_VALUE]);
        else
            groups_add(out, g, sum[SUM_X_N], sum[SUM_X_VALUE]);
    }
}

static void fill_rates(const struct group_sums *s, enum metric m, enum basis basis,
                       struct rates *out)
{
    const enum metric_sum *k = sums_of[basis];

    for (unsigned g = 0; g < COMPARISON_GROUPS; g++)
        rates_add(out, g, s->at[g][m][k[1]], s->at[g][m][k[2]]);
}

static bool compare_ln(const struct comparison_slice *s, enum metric m, struct figure *f)
{
    struct groups now = {{0}, {0}}, base = {{0}, {0}};

    fill_groups(s->now, m, f->basis, &now);
    fill_groups(s->beside, m, f->basis, &base);
    if (!f->beside)
        fill_groups(s->before, m, f->basis, &base);
    return groups_difference(&now, &base, &f->d);
}

static bool compare_counts(const struct comparison_slice *s, enum metric m, struct figure *f)
{
    struct rates now = {{0}, {0}}, base = {{0}, {0}};
    struct rate_ratio ratio;

    fill_rates(s->now, m, f->basis, &now);
    fill_rates(s->beside, m, f->basis, &base);
    if (!f->beside)
        fill_rates(s->before, m, f->basis, &base);
    if (!rates_compare(&base, &now, LOOK_Z, &ratio) ||
        (double)(ratio.count[0] + ratio.count[1]) < MIN_EVENTS * ratio.phi)
        return false;
    f->d = ratio.ln_ratio;
    f->information = ratio.information;
    return true;
}

/* What is left of the raw change once the build's own is taken out. */
static double mix_of(const struct figure *f)
{
    double raw = f->value / f->base;

    return isfinite(raw) && raw > 0 ? raw / exp(f->d.mean) - 1 : NAN;
}

static bool try_basis(const struct comparison_slice *s, enum metric m, enum basis basis,
                      struct figure *f)
{
    enum metric_sum n = sums_of[basis][0];
    int64_t beside = total(s->beside, m, n);
    double tau = metric_info[m].kind == METRIC_LN ? EPROCESS_TAU : EPROCESS_TAU_COUNTS;
    struct interval i;

    f->basis = basis;
    f->beside = beside >= ALERT_MIN_SESSIONS;
    f->sessions_new = total(s->now, m, n);
    f->sessions_base = beside + (f->beside ? 0 : total(s->before, m, n));
    if (f->sessions_new < ALERT_MIN_SESSIONS || f->sessions_base < ALERT_MIN_SESSIONS ||
        !(metric_info[m].kind == METRIC_LN ? compare_ln(s, m, f) : compare_counts(s, m, f)))
        return false;
    i = eprocess_interval(f->d.mean, f->d.var, ALERT_ALPHA, tau);
    f->change = expm1(f->d.mean);
    f->low = expm1(i.low);
    f->high = expm1(i.high);
    f->mix = mix_of(f);
    return true;
}

void comparison_figure(const struct comparison_slice *s, enum metric m, enum basis basis,
                       struct figure *out)
{
    struct figure f = {.n = total(s->now, m, SUM_N),
                       .n_base = total(s->base, m, SUM_N),
                       .value = value_of(s->now, m),
                       .base = value_of(s->base, m),
                       .change = NAN,
                       .low = NAN,
                       .high = NAN,
                       .mix = NAN};
    bool done = basis != BASIS_MODELS && try_basis(s, m, BASIS_INSTALLS, &f);

    if (!done && basis != BASIS_INSTALLS)
        done = try_basis(s, m, BASIS_MODELS, &f);
    if (!done)
        f.basis = BASIS_NONE;
    *out = f;
}

/* Rows ---------------------------------------------------------------------------------------- */

struct sum_row {
    int64_t g, arm, tier, installs;
    const char *scene;
    struct bytes sums;
    bool of_base; /* of the baseline's own sessions */
};
static const struct db_col row_cols[] = {
    DB_COL(sum_row, g),        DB_COL(sum_row, arm),   DB_COL(sum_row, tier),
    DB_COL(sum_row, installs), DB_COL(sum_row, scene), DB_COL(sum_row, sums),
};
static const struct db_map row_map = DB_MAP(sum_row, row_cols);

static bool read_rows(struct db *db, const struct comparison_ask *ask, int64_t build,
                      const int64_t *arms, size_t n_arms, struct arena *mem, struct db_rows *out,
                      struct err *err)
{
    int64_t shards[COMPARISON_GROUPS];

    for (int i = 0; i < COMPARISON_GROUPS; i++)
        shards[i] = ask->app * COMPARISON_GROUPS + i;
    if (!db_all(db, Q_REPORT_ROWS,
                DB_ARGS(db_i64s(shards, COMPARISON_GROUPS), db_i64(build), db_i64s(arms, n_arms),
                        ask->one_tier ? db_i64(ask->tier) : db_null(),
                        ask->one_scene ? db_text(ask->scene) : db_null(), db_i64(MAX_ROWS + 1)),
                &row_map, mem, out, err))
        return false;
    return out->n <= MAX_ROWS ||
           err_field(err, ERR_TOO_BIG, "scene", "the build has too many scenes: name one");
}

static int by_slice(const void *va, const void *vb)
{
    const struct sum_row *const *a = va, *const *b = vb;
    int order = strcmp((*a)->scene, (*b)->scene);

    return order ? order : ((*a)->tier > (*b)->tier) - ((*a)->tier < (*b)->tier);
}

struct slice_sums { /* one slice in the making */
    struct group_sums now, base, before, beside;
    int64_t installs, installs_base;
};

static bool add_row(struct slice_sums *s, const struct sum_row *r, struct err *err)
{
    struct group_sums *to = r->of_base             ? &s->base
                            : r->arm == ARM_OWN    ? &s->now
                            : r->arm == ARM_BEFORE ? &s->before
                                                   : &s->beside;

    if (r->of_base)
        s->installs_base += r->installs;
    else if (r->arm == ARM_OWN)
        s->installs += r->installs;
    return metric_sums_add(r->sums.at, r->sums.len, to->at[r->g], err);
}

struct run {
    struct slice_sums *tier, *all;
    bool (*slice)(void *user, const struct comparison_slice *s, struct err *err);
    void *user;
};

static bool tell(const struct run *run, const struct slice_sums *s, int64_t tier, const char *scene,
                 struct err *err)
{
    const struct comparison_slice slice = {tier,    scene,    s->installs, s->installs_base,
                                           &s->now, &s->base, &s->before,  &s->beside};

    return run->slice(run->user, &slice, err);
}

static bool go_through(const struct run *run, const struct sum_row **row, size_t n, struct err *err)
{
    for (size_t i = 0; i < n;) {
        const char *scene = row[i]->scene;

        memset(run->all, 0, sizeof *run->all);
        while (i < n && strcmp(row[i]->scene, scene) == 0) {
            int64_t tier = row[i]->tier;

            memset(run->tier, 0, sizeof *run->tier);
            for (; i < n && strcmp(row[i]->scene, scene) == 0 && row[i]->tier == tier; i++)
                if (!add_row(run->tier, row[i], err) || !add_row(run->all, row[i], err))
                    return false;
            if (!tell(run, run->tier, tier, scene, err))
                return false;
        }
        if (!tell(run, run->all, TIER_ALL, scene, err))
            return false;
    }
    return true;
}

static bool gather(struct db *db, const struct comparison_ask *ask, struct arena *mem,
                   const struct sum_row ***out, size_t *n, struct err *err)
{
    static const int64_t arms[] = {ARM_OWN, ARM_BEFORE, ARM_BESIDE};
    struct db_rows own, base = {0};

    if (!read_rows(db, ask, ask->build, arms, ask->baseline ? 3 : 1, mem, &own, err) ||
        (ask->baseline && !read_rows(db, ask, ask->baseline, arms, 1, mem, &base, err)))
        return false;

    const struct sum_row **row = arena_array(mem, own.n + base.n, sizeof *row);

    if (!row)
        return err_set(err, ERR_TOO_BIG, "the build's slices need more memory than they may take");
    *n = 0;
    for (size_t i = 0; i < own.n; i++)
        row[(*n)++] = (struct sum_row *)own.at + i;
    for (size_t i = 0; i < base.n; i++) {
        struct sum_row *r = (struct sum_row *)base.at + i;

        r->of_base = true;
        row[(*n)++] = r;
    }
    qsort(row, *n, sizeof *row, by_slice);
    *out = row;
    return true;
}

bool comparison_run(struct db *db, const struct comparison_ask *ask,
                    bool (*slice)(void *user, const struct comparison_slice *s, struct err *err),
                    void *user, int64_t *rows, struct err *err)
{
    struct arena *mem = arena_new(ROWS_BYTES);
    struct run run = {calloc(1, sizeof *run.tier), calloc(1, sizeof *run.all), slice, user};
    const struct sum_row **row = NULL;
    size_t n = 0;
    bool ok = (mem && run.tier && run.all) || err_memory(err);

    ok = ok && gather(db, ask, mem, &row, &n, err) && go_through(&run, row, n, err);
    if (ok && rows)
        *rows = (int64_t)n;
    free(run.tier);
    free(run.all);
    arena_free(mem);
    return ok;
}
