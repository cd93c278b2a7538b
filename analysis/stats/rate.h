/*
 * rate: events by counts (janks, jank families, slow sessions) over exposure, by install group, for
 * two arms: 0 the old or baseline build, 1 the new one. Exposure is any integer that both arms
 * measure alike: foreground microseconds, or events expected of these devices in 1e-6
 * (rate_expected), which takes the mix of devices out. Pure.
 */
#pragma once
#include "stats/groups.h"
#include "stats/normal.h"

struct rates {
    int64_t count[INSTALL_GROUPS];
    int64_t exposure[INSTALL_GROUPS];
};
void rates_add(struct rates *s, unsigned group, int64_t count, int64_t exposure);

struct rate_totals {
    int64_t count, exposure;
    double rate; /* per unit of exposure; 0 without any */
    double phi;  /* overdispersion, >= 1 */
    unsigned g;  /* install groups with exposure */
};
/* phi = max(1, G/(G-1) sum (x_g - rate E_g)^2 / x) over the G groups with exposure; 1 without
 * events. False on a negative sum or without exposure. */
bool rates_totals(const struct rates *s, struct rate_totals *out);

/* Both arms in one comparison. */
struct rate_ratio {
    double ratio;           /* rate_1 / rate_0; infinite if only arm 0 has no events */
    struct interval bounds; /* Clopper-Pearson at z, counts divided by phi */
    double phi;             /* the larger of both arms */
    double expected;        /* rate_0 E_1: events arm 1 should have shown */
    double information;     /* expected / phi: what a look depends on */
    int64_t count[2];
    int64_t exposure[2];
    struct estimate ln_ratio; /* for the e-process, see below; n = information */
};
/* ln_ratio: D = ln ratio with 1/2 added to both counts x; V by the groups' influence on it, as
 * groups_difference: G/(G-1) sum (off_1g / x_1 - off_0g / x_0)^2 with off_g = x_g - rate E_g, and
 * at least that of independent events, 1/x_1 + 1/x_0. False when an arm has no exposure or a sum is
 * negative. */
bool rates_compare(const struct rates *old_arm, const struct rates *new_arm, double z,
                   struct rate_ratio *out);

/* Events expected of one session, in 1e-6: its exposure times the rate of its model, shrunk to its
 * tier's: (x_model + prior rate_tier) / (E_model + prior), prior = the exposure in which the tier
 * shows 20 events. Without any event in the tier the expected number is 0. */
#define RATE_PRIOR_EVENTS 20
int64_t rate_expected(int64_t exposure, int64_t model_count, int64_t model_exposure,
                      int64_t tier_count, int64_t tier_exposure);

/* The same from the install's own past on the baseline build, in 1e-6: exposure x own_count /
 * own_exposure. Whole, not shrunken: single installs may expect 0, their sum is right whoever
 * updates first. -1 if the past is too short to tell (under a quarter of the session): leave the
 * session out, its events too. */
int64_t rate_expected_own(int64_t exposure, int64_t own_count, int64_t own_exposure);

/* The paired check of counts: the new build's events against what its installs' own past expects
 * (exposure: rate_expected_own, in 1e-6), each install being its own control. Sums before
 * logarithms: a mean of ln rates of single installs would depend on how long each played. D = ln((x
 * + 1/2) / (E + 1/2)), V = G/(G-1) sum (x_g - x/E E_g)^2 / (x + 1/2)^2 and at least 1/(x + 1/2) +
 * 1/(E + 1/2). n is x; False without exposure or on a negative sum. */
bool rates_own_change(const struct rates *s, struct estimate *out);
