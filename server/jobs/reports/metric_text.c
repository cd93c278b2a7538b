#include "server/jobs/reports/metric_text.h"

#define MEMORY " PSS, footprint and RSS are three quantities: compare within a platform."

const struct metric_text metric_text[METRICS_N] = {
    [METRIC_p50] = {"P50 frame time", "Half of the valid foreground frames took at most so long, "
                                      "from present to present."},
    [METRIC_p90] = {"P90 frame time", "Nine of ten valid foreground frames took at most so long. "
                                      "Within 2 %: values come from a sketch of logarithmic "
                                      "buckets."},
    [METRIC_p95] = {"P95 frame time", "95 of 100 valid foreground frames took at most so long."},
    [METRIC_p99] = {"P99 frame time", "99 of 100 valid foreground frames took at most so long."},
    [METRIC_mean] = {"Mean frame time", "Sum of the valid foreground frame times by their number."},
    [METRIC_memory_pss] = {"Peak memory (Android PSS)",
                           "Highest PSS in the foreground: the game’s own memory and its part of "
                           "what it shares." MEMORY},
    [METRIC_memory_footprint] = {"Peak memory (iOS footprint)",
                                 "Highest physical footprint in the foreground: what iOS counts "
                                 "against the game’s limit." MEMORY},
    [METRIC_memory_rss] = {"Peak memory (RSS)", "Highest resident memory in the foreground, shared "
                                                "pages counted whole." MEMORY},
    [METRIC_temperature] = {"Battery temperature",
                            "Mean temperature of the battery in the foreground."},
    [METRIC_janks] = {"Janks", "Frames longer than 100 ms (minor), 250 ms (normal) or 500 ms "
                               "(severe)."},
    [METRIC_janks_minor] = {"Minor janks", "Frames longer than 100 ms, up to 250 ms."},
    [METRIC_janks_normal] = {"Normal janks", "Frames longer than 250 ms, up to 500 ms."},
    [METRIC_janks_severe] = {"Severe janks", "Frames longer than 500 ms."},
    [METRIC_jank_ms] = {"Jank time", "Milliseconds spent in janks a minute of foreground time: how "
                                     "much, not only how often."},
    [METRIC_perfdog_janks] = {"PerfDog janks",
                              "By PerfDog’s definition: longer than twice the mean of the previous "
                              "three frames, and than 84 ms."},
    [METRIC_perfdog_big_janks] = {"PerfDog big janks",
                                  "By PerfDog’s definition: longer than three times the mean of "
                                  "the previous three frames, and than 125 ms."},
    [METRIC_stutter] = {"Stutter", "Part of the foreground time that PerfDog janks took."},
    [METRIC_missed_frames] = {"Missed frames", "Frames of two target intervals or more. Depends on "
                                               "the rate aimed at, so 120 Hz is not judged as "
                                               "60 Hz."},
    [METRIC_throttled] = {"Throttled time", "Time with a thermal status of severe or above, by "
                                            "sessions that tell a status."},
    [METRIC_slow_sessions] = {"Slow sessions", "More than a quarter of the frames above 50 ms, "
                                               "from the second minute on (Google Play’s "
                                               "definition)."},
};

const char *const metric_kind_says[2] = {
    [METRIC_LN] = "Of a build: the geometric mean over its sessions, each counted once.",
    [METRIC_COUNT] = "Of a build: all that its sessions counted, by all of their time, frames or "
                     "number.",
};
