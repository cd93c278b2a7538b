/*
 * verdict: did a fix work? For one jank family (or any counted event) before and after a build.
 * Exposure in foreground time; counts by install group; overdispersion phi; Clopper-Pearson for
 * x1/phi out of (x1 + x0)/phi at z = 2.8 gives bounds of pi, RR = pi/(1-pi) E0/E1 the bounds L,
 * U. Pure.
 */
#pragma once
#include "stats/rate.h"

/* One look at 2.576 errs in 1 %, five at doublings in 4 % (2.4 % simulated, target 2 %); five
 * at 2.8 in 2.1 % at most. */
#define VERDICT_Z 2.8

/* In the order in which they are tried. */
#define VERDICTS(X)                                                                                \
    X(REGRESSED, "regressed") /* L > 1 */                                                          \
    X(FIXED, "fixed")         /* U < 0.2 */                                                        \
    X(IMPROVED, "improved")   /* U < 1 */                                                          \
    X(NOT_FIXED, "not_fixed") /* L > 0.5 */                                                        \
    X(TOO_LITTLE, "too_little_data")
enum verdict_label {
#define X(name, text) VERDICT_##name,
    VERDICTS(X)
#undef X
};
const char *verdict_text(enum verdict_label label);

/* Looks: the first at rate_0 E_1 >= 20 phi, then at doublings up to 320 phi. */
#define VERDICT_FIRST_LOOK 20
#define VERDICT_LOOKS 5
/* Looks that `information` (struct rate_ratio) has come to: 0 (none yet) .. 5. A verdict is given
 * anew only when this number has grown; between looks the last one stands. */
unsigned verdict_looks(double information);

struct verdict {
    enum verdict_label label;
    unsigned looks;
    struct rate_ratio rr; /* bounds at VERDICT_Z */
};
/* The verdict as of now, were this a look; before the first look TOO_LITTLE. False as
 * rates_compare, *out then says TOO_LITTLE with no looks. */
bool verdict_judge(const struct rates *old_arm, const struct rates *new_arm, struct verdict *out);
