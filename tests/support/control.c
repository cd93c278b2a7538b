#include "support/control.h"

#include "stats/normal.h"

#include <math.h>

#define LN_SQRT_2PI 0.91893853320467274178

void moments_add(struct moments *m, int64_t y_e6)
{
    m->n++;
    m->sum_e6 += y_e6;
    m->sum_sq_e6 += llround(1e-6 * (double)y_e6 * (double)y_e6);
}

/* Newton on ln Phi, which is concave: from the left it climbs to the root and never passes it. */
static double lower_quantile(double p)
{
    double ln_p = log(p), x = -sqrt(-2 * ln_p);

    for (int i = 0; i < 100; i++) {
        double ln_cdf = normal_ln_cdf(x);
        double step = (ln_p - ln_cdf) / exp(-0.5 * x * x - LN_SQRT_2PI - ln_cdf);

        x += step;
        if (fabs(step) <= 1e-15 * fabs(x))
            break;
    }
    return x;
}

double normal_quantile(double p)
{
    if (!(p > 0))
        return -INFINITY;
    if (p >= 1)
        return INFINITY;
    if (p == 0.5)
        return 0;
    return p < 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
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
