/*
 * metric: what a session says about each figure that builds are compared by, as integers that add
 * up. Definitions: docs/reports.md. Pure.
 *
 * Two kinds. LN: one positive figure a session (a percentile, a peak), taken as its logarithm in
 * 1e-6, so that a difference is a relative change and no session outweighs another. COUNT: so many
 * of something in so much exposure.
 */
#pragma once
#include "profile/analyse.h"

enum metric_kind { METRIC_LN, METRIC_COUNT };

/* name, kind, alerts watch it, scale, unit. Each is told of whole sessions and of scenes. A LN
 * figure is e^mean in the unit; a COUNT is shown as count / exposure x scale. */
#define METRICS(X)                                                                                 \
    X(p50, LN, true, 1, "ms")                                                                      \
    X(p90, LN, true, 1, "ms")                                                                      \
    X(p95, LN, false, 1, "ms")                                                                     \
    X(p99, LN, false, 1, "ms")                                                                     \
    X(mean, LN, true, 1, "ms")                                                                     \
    X(memory_pss, LN, true, 1, "MB")       /* Android */                                           \
    X(memory_footprint, LN, true, 1, "MB") /* iOS: another quantity, never one axis */             \
    X(memory_rss, LN, true, 1, "MB")       /* Linux */                                             \
    X(temperature, LN, false, 1, "°C")     /* mean of the battery in play */                       \
    X(janks, COUNT, true, 6e5, "per 10 min")                                                       \
    X(janks_minor, COUNT, false, 6e5, "per 10 min")                                                \
    X(janks_normal, COUNT, false, 6e5, "per 10 min")                                               \
    X(janks_severe, COUNT, false, 6e5, "per 10 min")                                               \
    X(jank_ms, COUNT, false, 6e4, "ms per min")                                                    \
    X(perfdog_janks, COUNT, false, 6e5, "per 10 min")                                              \
    X(perfdog_big_janks, COUNT, false, 6e5, "per 10 min")                                          \
    X(stutter, COUNT, false, 100, "% of time")                                                     \
    X(missed_frames, COUNT, false, 100, "% of frames")                                             \
    X(throttled, COUNT, false, 100, "% of time")                                                   \
    X(slow_sessions, COUNT, false, 100, "% of sessions")

enum metric {
#define X(name, kind, watched, scale, unit) METRIC_##name,
    METRICS(X)
#undef X
        METRICS_N
};

struct metric_info {
    const char *name;
    enum metric_kind kind;
    bool watched;
    double scale;
    const char *unit;
};
extern const struct metric_info metric_info[METRICS_N];
bool metric_named(const char *name, enum metric *out) MUST_CHECK;

/* Sums over sessions. Those with X: against the session's model, over sessions that have such an
 * expectation. Those with OWN: against what the same install showed on the baseline before, over
 * sessions that have such a past; only of watched metrics. See stats/expectation.h, stats/rate.h.
 */
enum metric_sum {
    SUM_N,        /* sessions that have the metric */
    SUM_VALUE,    /* LN: of y in 1e-6; COUNT: of counts */
    SUM_EXPOSURE, /* COUNT: of exposures (ms of foreground, frames or sessions) */
    SUM_X_N,
    SUM_X_VALUE,    /* LN: of residuals r = y - x in 1e-6; COUNT: of counts */
    SUM_X_EXPECTED, /* LN: of x in 1e-6; COUNT: of expected events in 1e-6 */
    SUM_OWN_N,
    SUM_OWN_VALUE,  /* LN: of weight x r; COUNT: of counts */
    SUM_OWN_WEIGHT, /* LN: of weights; COUNT: of expected events in 1e-6 */
    METRIC_SUMS
};

/* A slice with fewer frames says nothing about its percentiles. */
#define METRIC_MIN_FRAMES 60

/* Sums without X and OWN of slice i of a session. */
void metric_of_slice(const struct session_result *r, size_t i, int64_t out[METRICS_N][METRIC_SUMS]);
