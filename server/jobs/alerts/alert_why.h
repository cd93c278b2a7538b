/*
 * alert_why: what stands behind a finding, for people and as JSON: figures, the scenes worst hit in
 * the tier, other metrics of the slice, jank families whose share moved.
 */
#pragma once
#include "server/jobs/reports/comparison.h"

#define WATCHED_METRICS 5 /* that a session can have: one kind of memory each */

/* One slice and metric as looked at. */
struct alert_look_at {
    int64_t tier;
    const char *scene;
    enum metric metric;
    struct figure figure;
    int64_t installs;                    /* seen in the slice */
    int64_t installs_new, installs_base; /* about, in the comparison */
    double theta;
    bool enabled, has_pairs;
    struct estimate pairs;
    struct alert_latch latch;
    struct alert_finding finding;
};

struct alert_setting {
    int64_t app, build_id, baseline_id;
    const char *build, *baseline;
    int64_t tiers;
};

struct alert_story {
    const char *evidence; /* JSON, with "summary" (one line) and "detail" (a few) for people */
};

bool alert_why(struct db *db, const struct alert_setting *setting, const struct alert_look_at *all,
               size_t n, const struct alert_look_at *look, struct arena *mem,
               struct alert_story *out, struct err *err) MUST_CHECK;
