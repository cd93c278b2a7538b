/*
 * metric_text: what a metric is called by people and what it means, in English. The page says the
 * same (server/web/src/lib/terms.ts; tests/web/statistics_test.mjs holds the two together).
 */
#pragma once
#include "profile/metric.h"

struct metric_text {
    const char *name, *says;
};
extern const struct metric_text metric_text[METRICS_N];
/* How figures of sessions become a build's, by kind. */
extern const char *const metric_kind_says[2];
