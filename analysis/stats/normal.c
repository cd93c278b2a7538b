#include "stats/normal.h"

#include <math.h>
#include <stdbool.h>

#define LN_SQRT_2PI 0.91893853320467274178

double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

/* Mills' ratio (1 - Phi(t)) / phi(t) by Laplace's continued fraction 1/(t+ 1/(t+ 2/(t+ ...; full
 * precision from t = 5 on with this many terms. */
#define MILLS_TERMS 80

static double ln_mills(double t)
{
    double tail = t;

    for (int k = MILLS_TERMS; k > 0; k--)
        tail = t + k / tail;
    return -log(tail);
}

double normal_ln_cdf(double x)
{
    if (x > 0)
        return log1p(-0.5 * erfc(x * M_SQRT1_2));
    if (x > -5)
        return log(0.5 * erfc(-x * M_SQRT1_2));
    return -0.5 * x * x - LN_SQRT_2PI + ln_mills(-x);
}

double ln_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

static double away_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Continued fraction of I_x(a, b), DLMF 8.17.22, by Lentz's method; for x < (a+1)/(a+b+2) it needs
 * about sqrt(max(a, b)) terms. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;

    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        f *= c * d;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        f *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return f;
}

double beta_cdf(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;

    double front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * log(x) + b * log1p(-x));

    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* x with I_x(a, b) = p. */
static double beta_quantile(double a, double b, double p)
{
    double low = 0, high = 1;

    for (int i = 0; i < 1100; i++) { /* halving 1 comes to the smallest double in 1,074 steps */
        double mid = 0.5 * (low + high);

        if (mid <= low || mid >= high)
            break;
        if (beta_cdf(a, b, mid) < p)
            low = mid;
        else
            high = mid;
    }
    return 0.5 * (low + high);
}

struct interval clopper_pearson(double x, double n, double z)
{
    struct interval out = {0, 1};

    if (x > 0)
        out.low = beta_quantile(x, n - x + 1, normal_cdf(-z));
    if (x < n)
        out.high = beta_quantile(x + 1, n - x, normal_cdf(z));
    return out;
}
