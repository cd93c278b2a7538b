#include "stats/eprocess.h"

#include <math.h>

double eprocess_ln_e(double d, double v, double d0, double tau)
{
    if (!(v > 0) || !(tau > 0) || !isfinite(d) || !isfinite(v))
        return -INFINITY;

    double t2 = tau * tau, m = (d - d0) * tau / sqrt(v * (v + t2));

    return M_LN2 + 0.5 * log(v / (v + t2)) + 0.5 * m * m + normal_ln_cdf(m);
}

double eprocess_ln_threshold(unsigned slices, unsigned metrics, double alpha)
{
    return log(slices > 1 ? slices : 1) + log(metrics > 1 ? metrics : 1) - log(alpha);
}

struct interval eprocess_interval(double d, double v, double alpha, double tau)
{
    double t2 = tau * tau;
    double half = sqrt(v * (v + t2) / t2 * (-2 * log(alpha) + log((v + t2) / v)));

    return (struct interval){d - half, d + half};
}
