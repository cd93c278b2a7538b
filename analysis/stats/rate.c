#include "stats/rate.h"

#include <math.h>

void rates_add(struct rates *s, unsigned group, int64_t count, int64_t exposure)
{
    s->count[group % INSTALL_GROUPS] += count;
    s->exposure[group % INSTALL_GROUPS] += exposure;
}

/* Groups with exposure; 0 if any sum is negative. */
static unsigned sum_up(const struct rates *s, int64_t *count, int64_t *exposure)
{
    unsigned filled = 0;

    *count = *exposure = 0;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        if (s->count[g] < 0 || s->exposure[g] < 0)
            return 0;
        *count += s->count[g];
        *exposure += s->exposure[g];
        filled += s->exposure[g] > 0;
    }
    return filled;
}

bool rates_totals(const struct rates *s, struct rate_totals *out)
{
    int64_t count, exposure;
    unsigned filled = sum_up(s, &count, &exposure);

    if (!filled)
        return false;

    double rate = (double)count / (double)exposure, squares = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        double off = (double)s->count[g] - rate * (double)s->exposure[g];

        squares += off * off;
    }

    double phi = count > 0 && filled > 1 ? filled / (filled - 1.0) * squares / (double)count : 1;

    *out = (struct rate_totals){count, exposure, rate, phi > 1 ? phi : 1, filled};
    return true;
}

/* Odds of arm 1 turned into a ratio of rates. */
static double ratio_of(double pi, double exposure_ratio)
{
    return pi >= 1 ? INFINITY : pi / (1 - pi) * exposure_ratio;
}

static struct estimate ln_ratio_of(const struct rates *old_arm, const struct rates *new_arm,
                                   const struct rate_totals t[2], double information)
{
    double x0 = (double)t[0].count + 0.5, x1 = (double)t[1].count + 0.5;
    double d = log(x1 / x0) + log((double)t[0].exposure / (double)t[1].exposure), squares = 0;
    unsigned filled = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        double off1 = (double)new_arm->count[g] - t[1].rate * (double)new_arm->exposure[g];
        double off0 = (double)old_arm->count[g] - t[0].rate * (double)old_arm->exposure[g];

        squares += (off1 / x1 - off0 / x0) * (off1 / x1 - off0 / x0);
        filled += new_arm->exposure[g] > 0 || old_arm->exposure[g] > 0;
    }

    double least = 1 / x1 + 1 / x0, var = filled > 1 ? filled / (filled - 1.0) * squares : least;

    return (struct estimate){d, var > least ? var : least, (int64_t)information, filled};
}

bool rates_compare(const struct rates *old_arm, const struct rates *new_arm, double z,
                   struct rate_ratio *out)
{
    struct rate_totals t[2];

    if (!rates_totals(old_arm, &t[0]) || !rates_totals(new_arm, &t[1]))
        return false;

    double e = (double)t[0].exposure / (double)t[1].exposure;
    double phi = t[0].phi > t[1].phi ? t[0].phi : t[1].phi;
    double x0 = (double)t[0].count / phi, x1 = (double)t[1].count / phi;
    struct interval pi = clopper_pearson(x1, x0 + x1, z);

    *out = (struct rate_ratio){
        .ratio = t[0].count   ? t[1].rate / t[0].rate
                 : t[1].count ? INFINITY
                              : 1,
        .bounds = {ratio_of(pi.low, e), ratio_of(pi.high, e)},
        .phi = phi,
        .expected = t[0].rate * (double)t[1].exposure,
        .information = t[0].rate * (double)t[1].exposure / phi,
        .count = {t[0].count, t[1].count},
        .exposure = {t[0].exposure, t[1].exposure},
    };
    out->ln_ratio = ln_ratio_of(old_arm, new_arm, t, out->information);
    return true;
}

int64_t rate_expected(int64_t exposure, int64_t model_count, int64_t model_exposure,
                      int64_t tier_count, int64_t tier_exposure)
{
    if (exposure <= 0 || tier_count <= 0 || tier_exposure <= 0)
        return 0;

    double prior = RATE_PRIOR_EVENTS * (double)tier_exposure / (double)tier_count;
    double rate = (RATE_PRIOR_EVENTS + (double)model_count) / (prior + (double)model_exposure);

    return llround(1e6 * (double)exposure * rate);
}

int64_t rate_expected_own(int64_t exposure, int64_t own_count, int64_t own_exposure)
{
    if (exposure <= 0 || own_count < 0 || own_exposure < (exposure + 3) / 4)
        return -1;
    return llround(1e6 * (double)exposure * (double)own_count / (double)own_exposure);
}

bool rates_own_change(const struct rates *s, struct estimate *out)
{
    struct rate_totals t;
    double squares = 0;

    if (!rates_totals(s, &t))
        return false;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        double off = (double)s->count[g] - t.rate * (double)s->exposure[g];

        squares += off * off;
    }

    double x = (double)t.count + 0.5, e = 1e-6 * (double)t.exposure + 0.5, least = 1 / x + 1 / e;
    double var = t.g > 1 ? t.g / (t.g - 1.0) * squares / (x * x) : least;

    *out = (struct estimate){log(x / e), var > least ? var : least, t.count, t.g};
    return true;
}
