/*
 * alert: is a build worse than its baseline in one slice (tier x scene) by one metric? Called at
 * each look, as often as wanted; what must be remembered between looks is struct alert_latch. Pure.
 *
 *   WARN      e >= A once, H0: D <= ln 1.03, A = slices x metrics / 0.05
 *   ALERT     WARN, and e^D - 1 >= 0.75 theta, and the paired-install e (d0 = 0) >= 20 once
 *   IMPROVED  e of -D >= A once, and not WARN
 * First look at 50 sessions and about 30 installs on both sides. Never for the slice of all tiers:
 * callers do not ask for it.
 */
#pragma once
#include "stats/eprocess.h"
#include "stats/groups.h"
#include "stats/rate.h"

#define ALERT_MIN_SESSIONS 50
#define ALERT_MIN_INSTALLS 30
#define ALERT_MIN_INFORMATION 20
#define ALERT_D0 0.029558802241544403 /* ln 1.03 */
#define ALERT_ALPHA 0.05
#define ALERT_THETA 0.20 /* default threshold of a tier: +20 % */
#define ALERT_THETA_SHARE 0.75
#define ALERT_PAIRED_LN_E 2.995732273553991 /* ln 20 */

/* Why a slice stands where it stands. */
#define ALERT_REASONS(X)                                                                           \
    X(TOO_FEW, "too_few_sessions")          /* before the first look */                            \
    X(NO_EVIDENCE, "no_evidence")           /* e < A in both directions */                         \
    X(BETTER, "better")                     /* IMPROVED */                                         \
    X(BELOW_THRESHOLD, "below_threshold")   /* WARN: surely worse, by less than 0.75 theta */      \
    X(NOT_PAIRED, "not_confirmed_by_pairs") /* WARN: not seen on installs that have both builds */ \
    X(WORSE, "worse")                       /* ALERT */
enum alert_reason {
#define X(name, text) ALERT_REASON_##name,
    ALERT_REASONS(X)
#undef X
};
const char *alert_reason_text(enum alert_reason reason);

enum alert_level { ALERT_NONE, ALERT_IMPROVED, ALERT_WARN, ALERT_ALERT };

struct alert_rule {
    double theta; /* e.g. 0.20 */
    double ln_a;  /* eprocess_ln_threshold(slices, metrics, ALERT_ALPHA) */
    double tau;   /* EPROCESS_TAU; of counted metrics EPROCESS_TAU_COUNTS */
};

/* One look. Continuous metrics: change = groups_difference of r against expectation_own, new build
 * and concurrent sessions of the baseline. Counted ones: rate_ratio.ln_ratio of exposures from
 * rate_expected_own. Sessions and installs: those that entered it (weight > 0), installs as
 * groups_installs tells them. */
struct alert_look {
    struct estimate change;
    int64_t sessions_new, sessions_base, installs_new, installs_base;
    bool counted; /* then rate_ratio.information must be ALERT_MIN_INFORMATION too */
    double information;
    bool has_pairs;
    struct estimate pairs; /* paired_mean; n = installs */
};

/* Highest evidence at any look so far. Starts as ALERT_LATCH_NEW; kept by the caller per (build,
 * baseline, tier, scene, metric), monotone. */
struct alert_latch {
    double ln_e_worse, ln_e_better, ln_e_pairs;
};
#define ALERT_LATCH_NEW ((struct alert_latch){-1e300, -1e300, -1e300})

struct alert_finding {
    enum alert_level level;
    enum alert_reason reason;
    double change;            /* e^D - 1 */
    struct interval interval; /* of the relative change, at every look together, 95 % */
    double ln_e_worse, ln_e_better, ln_e_pairs; /* of this look; -1e300 before the first */
};
/* Raises *latch by this look and tells where the slice stands. */
void alert_judge(const struct alert_rule *rule, const struct alert_look *look,
                 struct alert_latch *latch, struct alert_finding *out);
