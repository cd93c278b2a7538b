/*
 * expectation: what a session's metric should have been, given its device model and its install,
 * had the build not changed anything. Frozen when a build first appears, from the sessions of its
 * baseline build; comparing residuals instead of raw values takes the mix of devices and players
 * out of the comparison. Values are y = ln(metric), in integers of 1e-6. Pure.
 *
 *   mu = (sum y of the model + 20 x mean of its tier) / (n of the model + 20)
 *   x  = mu + kappa (mean y of the install - mu),  kappa = n_i s_i^2 / (n_i s_i^2 + s_s^2)
 *   r  = y - x
 * s_i^2: variance between installs of one model; s_s^2: between sessions of one install.
 *
 * x is the best guess for one session. To compare builds it is not enough: where fast installs
 * update first, what kappa leaves of their speed (1 - kappa) passes for a change of the build.
 * There the install's own mean is taken whole and few sessions are given less weight instead
 * (expectation_own); docs/statistics.md has the figures.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Sums of values: exact, so they add and subtract in any order. */
struct moments {
    int64_t n;
    int64_t sum_e6;    /* sum of y */
    int64_t sum_sq_e6; /* sum of y^2, each rounded to 1e-6 */
};
/* |ln| <= 30 (1e-13 .. 1e13 of any unit), so no sum overflows below 1e10 sessions. */
#define LN_LIMIT_E6 30000000

/* round(1e6 ln value), within +-LN_LIMIT_E6; false unless value is finite and positive. */
bool ln_e6(double value, int64_t *out);
void moments_add(struct moments *m, int64_t y_e6);
double moments_mean(const struct moments *m); /* in ln units; 0 when empty */

#define EXPECTATION_PRIOR_SESSIONS 20
/* mu in 1e-6. Of the tier the sum over all its sessions; if it has none, the mean over everything
 * (`all`) stands in. False if there is nothing at all to expect. */
bool expectation_model(const struct moments *model, const struct moments *tier,
                       const struct moments *all, int64_t *mu_e6);

/* Variance components, from one call an install of the baseline build (mu is its model's). Floating
 * point sums: feed installs in a fixed order where equal results matter to the last bit. */
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
 * 0. With fewer than 30 sessions beyond each install's first: s_s^2 = 0.04, s_i^2 = 0.02 (frame
 * times of the simulation in docs/statistics.md). */
struct variances variance_components(const struct variance_sums *s);

/* x in 1e-6, of an install with n baseline sessions that sum to sum_e6 (none: x = mu). */
int64_t expectation_install(int64_t mu_e6, int64_t n, int64_t sum_e6, const struct variances *v);

/* What a session is measured against when builds are compared. */
#define EXPECTATION_WEIGHT 1000
struct expected {
    int64_t x_e6;
    int64_t weight; /* 0 .. EXPECTATION_WEIGHT */
};
/* x = the mean of the install's own n sessions on the baseline build before the new one appeared,
 * weight = 1000 n / (n + 2); none: x = mu, weight 0 (the session has no control and proves
 * nothing). Sum weight and weight x r by group: groups_add(s, g, weight, weight * r). */
#define EXPECTATION_OWN_SESSIONS 2
struct expected expectation_own(int64_t mu_e6, int64_t n, int64_t sum_e6);

/* r in 1e-6, cut off at +-RESIDUAL_LIMIT_E6 so that one broken device cannot carry a slice. */
#define RESIDUAL_LIMIT_E6 2000000 /* a factor of 7.4 */
int64_t expectation_residual(int64_t y_e6, int64_t x_e6);

/*
 * What part of a raw change is mix shift. y = x + r, so the raw change of mean y is the change of
 * mean r (the build's own) plus the change of mean x (other devices, other players): exact.
 * Sums in 1e-6 over the sessions of one slice. Results are ln units; false without sessions.
 */
struct mix_sums {
    int64_t n, sum_y_e6, sum_r_e6;
};
struct mix_split {
    double raw, own, mix; /* raw = own + mix */
};
bool mix_split(const struct mix_sums *now, const struct mix_sums *base, struct mix_split *out);
