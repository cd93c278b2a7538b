/*
 * quantile: what the sketches of a slice say, with intervals by sessions. Frames of a session are
 * correlated, so an interval from the number of frames would be far too narrow; here the install
 * groups vary (Woodruff): the share of frames at or below the quantile has the variance of a ratio
 * of group sums, and the interval of that share is read back from the merged sketch. Pure.
 */
#pragma once
#include "stats/groups.h"
#include "stats/normal.h"
#include "stats/sketch.h"

double sketch_mean_us(const struct sketch *s); /* of bucket values; 0 when empty */
/* Share of frames longer than t_us, 0..1; exact at a bucket's bound, else geometric within it. */
double sketch_share_above(const struct sketch *s, uint32_t t_us);
bool sketch_negative(const struct sketch *s); /* more was taken away than added: a fault */
bool sketch_equal(const struct sketch *a, const struct sketch *b);

struct quantile {
    double us;
    struct interval interval_us;
    double ln_var; /* variance of ln us, from the interval's width */
    int64_t frames;
};
/* Quantile q of all groups together; z: 1.96 gives 95 %. False when fewer than two groups have
 * frames or one is negative. */
bool quantile_of(const struct sketch group[INSTALL_GROUPS], double q, double z,
                 struct quantile *out);

/* Relative change now/base - 1 with its interval at z, both sides independent. */
struct quantile_change {
    double change;
    struct interval interval;
};
struct quantile_change quantile_compare(const struct quantile *now, const struct quantile *base,
                                        double z);

/* A share of sessions (slow, throttled ...) from counts by group, with Clopper-Pearson bounds of
 * the counts divided by the design effect (Korn and Graubard): the variance by groups over the
 * binomial one, at least 1. False when fewer than two groups have sessions, or with[g] is not in
 * 0..all[g]. */
bool share_of(const int64_t with[INSTALL_GROUPS], const int64_t all[INSTALL_GROUPS], double z,
              double *share, struct interval *out);
