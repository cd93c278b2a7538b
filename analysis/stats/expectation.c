#include "stats/expectation.h"

#include <math.h>

static int64_t limited(int64_t x, int64_t limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

bool ln_e6(double value, int64_t *out)
{
    if (!(value > 0) || isinf(value))
        return false;
    *out = limited(llround(1e6 * log(value)), LN_LIMIT_E6);
    return true;
}

double moments_mean(const struct moments *m)
{
    return m->n > 0 ? 1e-6 * (double)m->sum_e6 / (double)m->n : 0;
}

bool expectation_model(const struct moments *model, const struct moments *tier,
                       const struct moments *all, int64_t *mu_e6)
{
    const struct moments *prior = tier->n > 0 ? tier : all;

    if (prior->n <= 0)
        return false;

    double mean_e6 = (double)prior->sum_e6 / (double)prior->n;

    *mu_e6 = llround(((double)model->sum_e6 + EXPECTATION_PRIOR_SESSIONS * mean_e6) /
                     (double)(model->n + EXPECTATION_PRIOR_SESSIONS));
    return true;
}

struct expected expectation_own(int64_t mu_e6, int64_t n, int64_t sum_e6)
{
    if (n <= 0)
        return (struct expected){mu_e6, 0};
    return (struct expected){
        llround((double)sum_e6 / (double)n),
        llround(EXPECTATION_WEIGHT * (double)n / (double)(n + EXPECTATION_OWN_SESSIONS))};
}

int64_t expectation_residual(int64_t y_e6, int64_t x_e6)
{
    return limited(y_e6 - x_e6, RESIDUAL_LIMIT_E6);
}
