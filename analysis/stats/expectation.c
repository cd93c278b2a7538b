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

void moments_add(struct moments *m, int64_t y_e6)
{
    m->n++;
    m->sum_e6 += y_e6;
    m->sum_sq_e6 += llround(1e-6 * (double)y_e6 * (double)y_e6);
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

void variance_add(struct variance_sums *s, const struct moments *install, int64_t mu_e6)
{
    if (install->n <= 0)
        return;

    double n = (double)install->n, mean = moments_mean(install);
    double squares = 1e-6 * (double)install->sum_sq_e6 - n * mean * mean;
    double off = mean - 1e-6 * (double)mu_e6;

    s->within += squares > 0 ? squares : 0;
    s->between += n * off * off;
    s->installs++;
    s->sessions += install->n;
}

#define LEAST_FREEDOM 30
#define LEAST_SESSION_VARIANCE 1e-6

struct variances variance_components(const struct variance_sums *s)
{
    int64_t freedom = s->sessions - s->installs;

    if (freedom < LEAST_FREEDOM)
        return (struct variances){0.02, 0.04};

    double session = s->within / (double)freedom;

    if (session < LEAST_SESSION_VARIANCE)
        session = LEAST_SESSION_VARIANCE;

    double install = (s->between - (double)s->installs * session) / (double)s->sessions;

    return (struct variances){install > 0 ? install : 0, session};
}

int64_t expectation_install(int64_t mu_e6, int64_t n, int64_t sum_e6, const struct variances *v)
{
    if (n <= 0)
        return mu_e6;

    double kappa = (double)n * v->install / ((double)n * v->install + v->session);

    return mu_e6 + llround(kappa * ((double)sum_e6 / (double)n - (double)mu_e6));
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

bool mix_split(const struct mix_sums *now, const struct mix_sums *base, struct mix_split *out)
{
    if (now->n <= 0 || base->n <= 0)
        return false;

    double n = 1e6 * (double)now->n, b = 1e6 * (double)base->n;
    double raw = (double)now->sum_y_e6 / n - (double)base->sum_y_e6 / b;
    double own = (double)now->sum_r_e6 / n - (double)base->sum_r_e6 / b;

    *out = (struct mix_split){raw, own, raw - own};
    return true;
}
