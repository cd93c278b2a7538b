/*
 * alert_threshold: the thresholds of alerts that an app has set; what is not set has ALERT_THETA.
 */
#pragma once
#include "server/db/db.h"

struct alert_threshold {
    int64_t tier;       /* 0: of all */
    const char *metric; /* "": of all */
    double theta;
    bool enabled;
};
extern const struct db_map alert_threshold_map;

bool alert_thresholds_read(struct db *db, int64_t app, struct arena *mem, struct db_rows *out,
                           struct err *err) MUST_CHECK;
