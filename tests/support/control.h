/*
 * control: what the simulations need beside the statistics of the server: sums of made-up sessions,
 * and the expectation shrunken by kappa, which releases were measured against before decision 100
 * and which the simulation still compares with.
 *
 *   x = mu + kappa (mean y of the install - mu),  kappa = n_i s_i^2 / (n_i s_i^2 + s_s^2)
 * s_i^2: variance between installs of one model; s_s^2: between sessions of one install.
 */
#pragma once
#include "stats/expectation.h"

void moments_add(struct moments *m, int64_t y_e6);
/* x with Phi(x) = p, 0 < p < 1; -inf at 0, +inf at 1. */
double normal_quantile(double p);

/* Variance components, from one call an install of the baseline build (mu is its model's). */
struct variance_sums {
    double within;  /* sum over installs of sum (y - mean)^2 */
    double between; /* sum over installs of n (mean - mu)^2 */
    int64_t installs, sessions;
};
struct variances {
    double install; /* s_i^2 >= 0 */
    double session; /* s_s^2 > 0 */
};
void variance_add(struct variance_sums *s, const struct moments *install, int64_t mu_e6);
/* s_s^2 = within / (sessions - installs); s_i^2 = (between - installs s_s^2) / sessions, at least
 * 0. With fewer than 30 sessions beyond each install's first: s_s^2 = 0.04, s_i^2 = 0.02. */
struct variances variance_components(const struct variance_sums *s);

/* x in 1e-6, of an install with n baseline sessions that sum to sum_e6 (none: x = mu). */
int64_t expectation_install(int64_t mu_e6, int64_t n, int64_t sum_e6, const struct variances *v);
