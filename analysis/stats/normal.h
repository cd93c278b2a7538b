/*
 * normal: the distributions that the other files of this folder need. Pure; safe on any thread.
 * Sources are named in docs/statistics.md.
 */
#pragma once

struct interval {
    double low, high; /* low <= high; may be infinite */
};

double normal_cdf(double x);    /* Phi(x) */
double normal_ln_cdf(double x); /* ln Phi(x), finite for every finite x > -1e154 */

double ln_gamma(double x); /* ln of the gamma function, x > 0 */
/* Regularised incomplete beta I_x(a, b), a and b > 0, x in 0..1. */
double beta_cdf(double a, double b, double x);

/* Clopper-Pearson bounds of a share, x successes out of n, each side missing it with Phi(-z).
 * x and n may be fractions: counts divided by an overdispersion. 0 <= x <= n; n = 0 gives 0..1. */
struct interval clopper_pearson(double x, double n, double z);
