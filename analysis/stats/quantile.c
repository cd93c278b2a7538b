#include "stats/quantile.h"

#include <math.h>
#include <string.h>

static double bound_below(unsigned k)
{
    return k ? sketch_bound_us(k - 1) : 1000.0 * 99 / 101;
}

double sketch_mean_us(const struct sketch *s)
{
    double n = 0, sum = 0;

    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        double low = bound_below(k), high = sketch_bound_us(k), c = (double)s->count[k];

        n += c;
        sum += c * 2 * low * high / (low + high);
    }
    return n > 0 ? sum / n : 0;
}

/* Part of bucket k that lies above t, geometrically. */
static double part_above(unsigned k, double t)
{
    double low = bound_below(k), high = sketch_bound_us(k);

    return t <= low ? 1 : t >= high ? 0 : log(high / t) / log(high / low);
}

static double share_above(const struct sketch *s, double t_us)
{
    unsigned cut = sketch_bucket((uint32_t)ceil(t_us));
    double n = 0, above = 0;

    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        n += (double)s->count[k];
        if (k > cut)
            above += (double)s->count[k];
        else if (k == cut)
            above += (double)s->count[k] * part_above(k, t_us);
    }
    return n > 0 ? above / n : 0;
}

double sketch_share_above(const struct sketch *s, uint32_t t_us)
{
    return share_above(s, t_us);
}

bool sketch_negative(const struct sketch *s)
{
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++)
        if (s->count[k] < 0)
            return true;
    return false;
}

bool sketch_equal(const struct sketch *a, const struct sketch *b)
{
    return !memcmp(a->count, b->count, sizeof a->count);
}

/* Variance of the ratio sum with_g / sum all_g over G groups with any: G/(G-1) sum (with_g - share
 * all_g)^2 / n^2. False when fewer than two have any. */
static bool ratio_of(const double with[INSTALL_GROUPS], const double all[INSTALL_GROUPS],
                     double *share, double *var)
{
    double n = 0, sum = 0, squares = 0;
    unsigned filled = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        n += all[g];
        sum += with[g];
        filled += all[g] > 0;
    }
    if (filled < 2)
        return false;
    *share = sum / n;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        double off = with[g] - *share * all[g];

        squares += off * off;
    }
    *var = filled / (filled - 1.0) * squares / (n * n);
    return true;
}

static double within(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

bool quantile_of(const struct sketch group[INSTALL_GROUPS], double q, double z,
                 struct quantile *out)
{
    struct sketch merged = {0};
    double below[INSTALL_GROUPS], all[INSTALL_GROUPS], share, var;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        if (sketch_negative(&group[g]))
            return false;
        sketch_merge(&merged, &group[g], 1);
    }

    double us = sketch_quantile_us(&merged, q);

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        all[g] = (double)sketch_total(&group[g]);
        below[g] = all[g] * (1 - share_above(&group[g], us));
    }
    if (!ratio_of(below, all, &share, &var))
        return false;

    double half = z * sqrt(var);
    double low = sketch_quantile_us(&merged, within(q - half, 0, 1));
    double high = sketch_quantile_us(&merged, within(q + half, 0, 1));
    double se = log(high / low) / (2 * z);

    *out = (struct quantile){us, {low, high}, se * se, sketch_total(&merged)};
    return true;
}

struct quantile_change quantile_compare(const struct quantile *now, const struct quantile *base,
                                        double z)
{
    double d = log(now->us / base->us), half = z * sqrt(now->ln_var + base->ln_var);

    return (struct quantile_change){expm1(d), {expm1(d - half), expm1(d + half)}};
}

bool share_of(const int64_t with[INSTALL_GROUPS], const int64_t all[INSTALL_GROUPS], double z,
              double *share, struct interval *out)
{
    double w[INSTALL_GROUPS], a[INSTALL_GROUPS], n = 0, var;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        if (with[g] < 0 || with[g] > all[g])
            return false;
        w[g] = (double)with[g];
        a[g] = (double)all[g];
        n += a[g];
    }
    if (!ratio_of(w, a, share, &var))
        return false;

    double binomial = *share * (1 - *share) / n, effect = binomial > 0 ? var / binomial : 1;

    n /= effect > 1 ? effect : 1;
    *out = clopper_pearson(*share * n, n, z);
    return true;
}
