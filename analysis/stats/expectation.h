/*
 * expectation: what a session's metric should have been, had the build not changed anything. Frozen
 * when a build first appears, from the sessions of its baseline build; comparing residuals instead
 * of raw values takes the mix of devices and players out of the comparison. Values are y =
 * ln(metric), in integers of 1e-6. Pure.
 *
 *   mu = (sum y of the model + 20 x mean of its tier) / (n of the model + 20)
 *   r  = y - x
 * x = mu says what is expected of the device model. To compare builds that is not enough: where
 * fast installs update first, their speed passes for a change of the build. There x is the
 * install's own mean (expectation_own); docs/statistics.md has the figures.
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
double moments_mean(const struct moments *m); /* in ln units; 0 when empty */

#define EXPECTATION_PRIOR_SESSIONS 20
/* mu in 1e-6. Of the tier the sum over all its sessions; if it has none, the mean over everything
 * (`all`) stands in. False if there is nothing at all to expect. */
bool expectation_model(const struct moments *model, const struct moments *tier,
                       const struct moments *all, int64_t *mu_e6);

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
