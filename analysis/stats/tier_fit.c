#include "stats/tier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tier_feature_name(enum tier_feature f)
{
    static const char *const name[] = {
#define X(name, ln, unit) #name,
        TIER_FEATURES(X)
#undef X
    };

    return name[f];
}

#define ABSURD 1e12 /* no feature has such a value in its unit */

/* A feature as the regression takes it; NAN if unknown. */
static double taken(const struct tier_device *d, unsigned f)
{
    static const bool as_ln[] = {
#define X(name, ln, unit) ln,
        TIER_FEATURES(X)
#undef X
    };
    double v = d->feature[f];

    if (!(fabs(v) < ABSURD))
        return NAN;
    return !as_ln[f] ? v : v > 0 ? log(v) : NAN;
}

/* In standard deviations from the mean; unknown values stand at the mean. */
static double standard(const struct tier_fit *fit, const struct tier_device *d, unsigned f)
{
    double v = taken(d, f);

    return isnan(v) || !(fit->scale[f] > 0) ? 0 : (v - fit->mean[f]) / fit->scale[f];
}

/* One model with sessions. */
struct row {
    double z[TIER_FEATURE_COUNT];
    double n, mean; /* sessions, mean y */
    double weight;  /* 1 / (w^2 + s^2/n) */
    double fitted;  /* intercept + features */
    size_t soc;     /* index into fit->soc, or NO_SOC */
};
#define NO_SOC SIZE_MAX

struct table {
    struct row *row;
    size_t n;
    double freedom; /* of the features and SoCs in the fit so far */
};

static int by_id(const void *a, const void *b)
{
    int64_t x = (*(const struct tier_device *const *)a)->id;
    int64_t y = (*(const struct tier_device *const *)b)->id;

    return (x > y) - (x < y);
}

/* Models with sessions, in the order of their ids. */
static bool sorted_models(const struct tier_device devices[], size_t n, struct arena *mem,
                          const struct tier_device ***out, size_t *n_out, struct err *err)
{
    const struct tier_device **list = arena_array(mem, n ? n : 1, sizeof *list);
    size_t found = 0;

    if (!list)
        return err_full(err, "a fit of tiers");
    for (size_t i = 0; i < n; i++)
        if (devices[i].y.n > 0)
            list[found++] = &devices[i];
    qsort(list, found, sizeof(struct tier_device *), by_id);
    for (size_t i = 1; i < found; i++)
        if (list[i]->id == list[i - 1]->id)
            return err_set(err, ERR_INVALID, "tiers: model %lld is given twice",
                           (long long)list[i]->id);
    if (found < TIER_MIN_MODELS)
        return err_set(err, ERR_INVALID, "tiers: %zu models with sessions, at least %d are needed",
                       found, TIER_MIN_MODELS);
    *out = list;
    *n_out = found;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tier_soc *)a)->name, ((const struct tier_soc *)b)->name);
}

static bool list_socs(const struct tier_device *const list[], size_t n, struct arena *mem,
                      struct tier_fit *fit, struct err *err)
{
    size_t kept = 0;

    fit->soc = arena_array(mem, n, sizeof *fit->soc);
    if (!fit->soc)
        return err_full(err, "a fit of tiers");
    for (size_t i = 0; i < n; i++)
        if (list[i]->soc && *list[i]->soc)
            fit->soc[fit->n_soc++].name = list[i]->soc;
    qsort(fit->soc, fit->n_soc, sizeof *fit->soc, by_name);
    for (size_t i = 0; i < fit->n_soc; i++)
        if (!kept || strcmp(fit->soc[kept - 1].name, fit->soc[i].name) != 0)
            fit->soc[kept++].name = fit->soc[i].name;
    fit->n_soc = kept;
    return true;
}

static size_t soc_index(const struct tier_fit *fit, const char *name)
{
    const struct tier_soc key = {.name = name ? name : ""};
    const struct tier_soc *found =
        fit->n_soc ? bsearch(&key, fit->soc, fit->n_soc, sizeof key, by_name) : NULL;

    return found ? (size_t)(found - fit->soc) : NO_SOC;
}

static void standardise(const struct tier_device *const list[], size_t n, struct tier_fit *fit)
{
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++) {
        double known = 0, sum = 0, squares = 0;

        for (size_t i = 0; i < n; i++) {
            double v = taken(list[i], f);

            if (isnan(v))
                continue;
            known++;
            sum += v;
        }
        fit->mean[f] = known > 0 ? sum / known : 0;
        for (size_t i = 0; i < n; i++) {
            double v = taken(list[i], f);

            if (!isnan(v))
                squares += (v - fit->mean[f]) * (v - fit->mean[f]);
        }

        double sd = known > 1 ? sqrt(squares / (known - 1)) : 0;

        fit->scale[f] = sd > 1e-9 * (1 + fabs(fit->mean[f])) ? sd : 0;
    }
}

#define DEFAULT_S2 0.04
#define LEAST_VARIANCE 1e-4

/* Variance of sessions within models, pooled. */
static double pooled_variance(const struct tier_device *const list[], size_t n)
{
    double squares = 0, freedom = 0;

    for (size_t i = 0; i < n; i++) {
        double mean = moments_mean(&list[i]->y), count = (double)list[i]->y.n;

        squares += 1e-6 * (double)list[i]->y.sum_sq_e6 - count * mean * mean;
        freedom += count - 1;
    }
    if (freedom < 30)
        return DEFAULT_S2;
    return squares / freedom > LEAST_VARIANCE ? squares / freedom : LEAST_VARIANCE;
}

/* Weighted sums of the regression of y - SoC residual on the features, both centred. */
struct normal_equations {
    double s[TIER_FEATURE_COUNT][TIER_FEATURE_COUNT], t[TIER_FEATURE_COUNT];
    double z_mean[TIER_FEATURE_COUNT], y_mean, y_squares, weight;
};

static double target(const struct tier_fit *fit, const struct row *r)
{
    return r->mean - (r->soc == NO_SOC ? 0 : fit->soc[r->soc].effect);
}

static void gather(const struct tier_fit *fit, const struct table *t, struct normal_equations *q)
{
    memset(q, 0, sizeof *q);
    for (size_t i = 0; i < t->n; i++) {
        const struct row *r = &t->row[i];

        q->weight += r->weight;
        q->y_mean += r->weight * target(fit, r);
        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            q->z_mean[f] += r->weight * r->z[f];
    }
    q->y_mean /= q->weight;
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
        q->z_mean[f] /= q->weight;
    for (size_t i = 0; i < t->n; i++) {
        const struct row *r = &t->row[i];
        double w = r->weight / q->weight, y = target(fit, r) - q->y_mean;

        q->y_squares += w * y * y;
        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++) {
            double z = r->z[f] - q->z_mean[f];

            q->t[f] += w * z * y;
            for (unsigned g = 0; g <= f; g++)
                q->s[f][g] += w * z * (r->z[g] - q->z_mean[g]);
        }
    }
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
        for (unsigned g = 0; g < f; g++)
            q->s[g][f] = q->s[f][g];
}

/* Cholesky factor of S + lambda I. */
static void factor(const struct normal_equations *q, double lambda,
                   double l[TIER_FEATURE_COUNT][TIER_FEATURE_COUNT])
{
    for (unsigned i = 0; i < TIER_FEATURE_COUNT; i++)
        for (unsigned j = 0; j <= i; j++) {
            double sum = q->s[i][j] + (i == j ? lambda : 0);

            for (unsigned k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / l[j][j];
        }
}

static void solve(const double l[TIER_FEATURE_COUNT][TIER_FEATURE_COUNT],
                  const double b[TIER_FEATURE_COUNT], double x[TIER_FEATURE_COUNT])
{
    for (unsigned i = 0; i < TIER_FEATURE_COUNT; i++) {
        x[i] = b[i];
        for (unsigned k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
    for (unsigned i = TIER_FEATURE_COUNT; i-- > 0;) {
        for (unsigned k = i + 1; k < TIER_FEATURE_COUNT; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
}

/* Coefficients at one lambda; their generalised cross-validation score is returned. */
static double ridge(const struct normal_equations *q, size_t n, double lambda,
                    double coef[TIER_FEATURE_COUNT], double *freedom)
{
    double l[TIER_FEATURE_COUNT][TIER_FEATURE_COUNT] = {{0}}, column[TIER_FEATURE_COUNT];
    double left = q->y_squares;

    factor(q, lambda, l);
    solve((const double(*)[TIER_FEATURE_COUNT])l, q->t, coef);
    *freedom = 0;
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++) {
        solve((const double(*)[TIER_FEATURE_COUNT])l, q->s[f], column);
        *freedom += column[f];
        left -= coef[f] * q->t[f] + lambda * coef[f] * coef[f];
    }

    double share = 1 - (1 + *freedom) / (double)n;

    return share > 0.01 ? fmax(left, 0) / (share * share) : INFINITY;
}

static void fit_features(struct tier_fit *fit, struct table *t)
{
    static const double grid[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};
    struct normal_equations q;
    double best = INFINITY;

    gather(fit, t, &q);
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        double coef[TIER_FEATURE_COUNT], freedom;
        double score = ridge(&q, t->n, grid[i], coef, &freedom);

        if (i && !(score < best))
            continue;
        best = score;
        fit->lambda = grid[i];
        t->freedom = 1 + freedom;
        memcpy(fit->coef, coef, sizeof coef);
    }
    fit->intercept = q.y_mean;
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
        fit->intercept -= fit->coef[f] * q.z_mean[f];
    for (size_t i = 0; i < t->n; i++) {
        t->row[i].fitted = fit->intercept;
        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            t->row[i].fitted += fit->coef[f] * t->row[i].z[f];
    }
}

/* Residuals summed by SoC. */
struct soc_sums {
    double weight, sum;
};

/* Variance of SoCs by moments: the squares of their mean residuals beyond what the models' own
 * spread explains; then each effect shrunken by it. */
static void fit_socs(struct tier_fit *fit, struct table *t, struct soc_sums *sums)
{
    double beyond = 0, weight = 0;

    memset(sums, 0, fit->n_soc * sizeof *sums);
    for (size_t k = 0; k < fit->n_soc; k++)
        fit->soc[k].models = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct row *r = &t->row[i];

        if (r->soc == NO_SOC)
            continue;
        sums[r->soc].weight += r->weight;
        sums[r->soc].sum += r->weight * (r->mean - r->fitted);
        fit->soc[r->soc].models++;
    }
    for (size_t k = 0; k < fit->n_soc; k++) {
        beyond += sums[k].sum * sums[k].sum / sums[k].weight - 1;
        weight += sums[k].weight;
    }
    fit->soc_w2 = beyond > 0 ? beyond / weight : 0;
    for (size_t k = 0; k < fit->n_soc; k++) {
        double shrunken = fit->soc_w2 * sums[k].weight / (1 + fit->soc_w2 * sums[k].weight);

        fit->soc[k].effect = shrunken * sums[k].sum / sums[k].weight;
        t->freedom += shrunken;
    }
}

/* Variance of models around their prior, by moments: squares of the residuals beyond those of their
 * sessions. */
static void fit_spread(struct tier_fit *fit, struct table *t)
{
    double squares = 0, sessions = 0, n = (double)t->n;
    double freedom = t->freedom < n / 2 ? t->freedom : n / 2;

    for (size_t i = 0; i < t->n; i++) {
        struct row *r = &t->row[i];
        double off = target(fit, r) - r->fitted;

        squares += off * off;
        sessions += fit->s2 / r->n;
    }
    fit->w2 = squares / (n - freedom) - sessions / n;
    if (!(fit->w2 > LEAST_VARIANCE))
        fit->w2 = LEAST_VARIANCE;
    for (size_t i = 0; i < t->n; i++)
        t->row[i].weight = 1 / (fit->w2 + fit->s2 / t->row[i].n);
}

/* Variances, coefficients and SoC effects depend on each other: a fixed number of rounds, by which
 * the coefficients move less than 1e-3. */
#define ROUNDS 20

static bool fit_rows(const struct tier_device *const list[], struct table *t, struct arena *mem,
                     struct tier_fit *fit, struct err *err)
{
    struct soc_sums *sums = arena_array(mem, fit->n_soc + 1, sizeof *sums);

    t->row = arena_array(mem, t->n, sizeof *t->row);
    if (!t->row || !sums)
        return err_full(err, "a fit of tiers");
    for (size_t i = 0; i < t->n; i++) {
        struct row *r = &t->row[i];

        r->n = (double)list[i]->y.n;
        r->mean = moments_mean(&list[i]->y);
        r->soc = soc_index(fit, list[i]->soc);
        r->weight = 1 / (DEFAULT_S2 + fit->s2 / r->n);
        for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++)
            r->z[f] = standard(fit, list[i], f);
        fit->sessions += list[i]->y.n;
    }
    for (int round = 0; round < ROUNDS; round++) {
        fit_features(fit, t);
        fit_socs(fit, t, sums);
        fit_spread(fit, t);
    }
    return true;
}

bool tier_fit(const struct tier_device devices[], size_t n, struct arena *mem, struct tier_fit *out,
              struct err *err)
{
    const struct tier_device **list = NULL;
    struct tier_fit fit = {0};
    struct table t = {0};

    if (n > TIER_MAX_DEVICES)
        return err_set(err, ERR_TOO_BIG, "tiers: %zu models, at most %d", n, TIER_MAX_DEVICES);
    if (!sorted_models(devices, n, mem, &list, &t.n, err) || !list_socs(list, t.n, mem, &fit, err))
        return false;
    standardise(list, t.n, &fit);
    fit.s2 = pooled_variance(list, t.n);
    fit.models = (unsigned)t.n;
    if (!fit_rows(list, &t, mem, &fit, err))
        return false;
    *out = fit;
    return true;
}

void tier_score(const struct tier_fit *fit, const struct tier_device *device,
                struct tier_score *out)
{
    size_t soc = soc_index(fit, device->soc);
    double n = device->y.n > 0 ? (double)device->y.n : 0;

    *out = (struct tier_score){.prior = fit->intercept, .n = (int64_t)n};
    for (unsigned f = 0; f < TIER_FEATURE_COUNT; f++) {
        out->part[f] = fit->coef[f] * standard(fit, device, f);
        out->prior += out->part[f];
    }
    if (soc != NO_SOC)
        out->soc = fit->soc[soc].effect;
    out->prior += out->soc;
    out->weight = n / (n + fit->s2 / fit->w2);
    out->data = n > 0 ? out->weight * (moments_mean(&device->y) - out->prior) : 0;
    out->capability = out->prior + out->data;
    out->sd = sqrt(fit->w2 * fit->s2 / (n * fit->w2 + fit->s2));
}
