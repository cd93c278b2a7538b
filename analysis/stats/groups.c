#include "stats/groups.h"

#include <math.h>

#define LEAST_VARIANCE 1e-12 /* equal values prove nothing beyond their rounding */

void groups_add(struct groups *s, unsigned group, int64_t n, int64_t sum_e6)
{
    s->n[group % INSTALL_GROUPS] += n;
    s->sum_e6[group % INSTALL_GROUPS] += sum_e6;
}

unsigned groups_filled(const struct groups *s)
{
    unsigned filled = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++)
        filled += s->n[g] > 0;
    return filled;
}

int64_t groups_installs(unsigned filled)
{
    double taken = filled < INSTALL_GROUPS ? filled : INSTALL_GROUPS - 0.5;

    return (int64_t)(log1p(-taken / INSTALL_GROUPS) / log1p(-1.0 / INSTALL_GROUPS));
}

/* Deviations of a slice's group sums from its mean, as shares of its sessions: off[g] = (S_g - mean
 * n_g) / n. Groups with sessions; 0 when fewer than two have any or one is negative. */
static unsigned deviations(const struct groups *s, struct estimate *mean,
                           double off[INSTALL_GROUPS])
{
    int64_t n = 0, sum = 0;
    unsigned filled = 0;

    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        if (s->n[g] < 0)
            return 0;
        n += s->n[g];
        sum += s->sum_e6[g];
        filled += s->n[g] > 0;
    }
    if (filled < 2)
        return 0;
    *mean = (struct estimate){1e-6 * (double)sum / (double)n, 0, n, filled};
    for (unsigned g = 0; g < INSTALL_GROUPS; g++)
        off[g] = (1e-6 * (double)s->sum_e6[g] - mean->mean * (double)s->n[g]) / (double)n;
    return filled;
}

static double variance_of(const double off[INSTALL_GROUPS], unsigned g)
{
    double squares = 0;

    for (unsigned k = 0; k < INSTALL_GROUPS; k++)
        squares += off[k] * off[k];
    squares *= g / (g - 1.0);
    return squares > LEAST_VARIANCE ? squares : LEAST_VARIANCE;
}

bool groups_mean(const struct groups *s, struct estimate *out)
{
    double off[INSTALL_GROUPS];
    struct estimate e;
    unsigned g = deviations(s, &e, off);

    if (!g)
        return false;
    e.var = variance_of(off, g);
    *out = e;
    return true;
}

bool groups_difference(const struct groups *now, const struct groups *base, struct estimate *out)
{
    double off[INSTALL_GROUPS], off_base[INSTALL_GROUPS];
    struct estimate a, b;
    unsigned g = 0;

    if (!deviations(now, &a, off) || !deviations(base, &b, off_base))
        return false;
    for (unsigned k = 0; k < INSTALL_GROUPS; k++) {
        off[k] -= off_base[k];
        g += now->n[k] > 0 || base->n[k] > 0;
    }
    *out = (struct estimate){a.mean - b.mean, variance_of(off, g), a.n < b.n ? a.n : b.n, g};
    return true;
}

static int64_t rounded(double x)
{
    return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

void paired_add(struct paired *p, unsigned group, int64_t n_new, int64_t sum_new_e6, int64_t n_base,
                int64_t sum_base_e6)
{
    if (n_new <= 0 || n_base <= 0)
        return;

    double a = (double)(n_new < PAIRED_SESSIONS ? n_new : PAIRED_SESSIONS);
    double b = (double)(n_base < PAIRED_SESSIONS ? n_base : PAIRED_SESSIONS);
    int64_t weight = rounded(1000 * a * b / (a + b));
    double d = (double)sum_new_e6 / (double)n_new - (double)sum_base_e6 / (double)n_base;

    groups_add(&p->d, group, weight, rounded((double)weight * d));
    p->installs++;
}

bool paired_mean(const struct paired *p, struct estimate *out)
{
    struct estimate e;

    if (!groups_mean(&p->d, &e))
        return false;
    e.n = p->installs;
    *out = e;
    return true;
}
