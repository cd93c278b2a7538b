/*
 * contribution: what one session adds to the rollups, as integers that add and subtract. A session
 * that changes adds new - old, so nothing counts twice. Excluded sessions contribute nothing but
 * their count. Pure.
 *
 * Of the session alone come the slices, the model's sums, the cells and the metric rows of ARM_OWN.
 * The rest of the metric rows, and what the own ones hold of expectations, is added by whoever
 * knows the expectations (server/jobs/rollups/placement.h), and is part of the stored form: so it
 * can be taken back exactly, whatever was known when it was added.
 */
#pragma once
#include "profile/analyse.h"
#include "profile/metric.h"

/* The columns of frame_rollup, all sums. One list: SQL, struct and arithmetic follow it. */
#define ROLLUP_COLUMNS(X)                                                                          \
    X(sessions)                                                                                    \
    X(excluded_sessions)                                                                           \
    X(slow_sessions)                                                                               \
    X(frames)                                                                                      \
    X(frame_sum_us)                                                                                \
    X(foreground_us)                                                                               \
    X(janks_minor)                                                                                 \
    X(janks_normal)                                                                                \
    X(janks_severe)                                                                                \
    X(jank_us)                                                                                     \
    X(perfdog_janks)                                                                               \
    X(perfdog_big_janks)                                                                           \
    X(perfdog_stutter_us)                                                                          \
    X(missed_frames)                                                                               \
    X(summary_sessions)      /* of those above, what is known by a summary alone, */               \
    X(summary_frames)        /* which does not tell the four before nor slow sessions: */          \
    X(summary_foreground_us) /* no base of their rates */

struct rollup_delta {
    const char *scene; /* "" = whole session */
#define X(name) int64_t name;
    ROLLUP_COLUMNS(X)
#undef X
    struct sketch sketch;
};

/* model_rollup: sums over sessions of ln(P90 in ms), its square, and features. */
#define MODEL_COLUMNS(X)                                                                           \
    X(sessions)                                                                                    \
    X(ln_p90_e6)    /* round(1e6 ln P90ms) */                                                      \
    X(ln_p90_sq_e6) /* round(1e6 (ln P90ms)^2) */                                                  \
    X(median_mhz)                                                                                  \
    X(median_mhz_sessions)                                                                         \
    X(throttled_mhz)                                                                               \
    X(throttled_mhz_sessions)                                                                      \
    X(mean_battery_decicelsius)                                                                    \
    X(mean_battery_sessions)

/* Whose sessions a metric row sums: of the build itself, or of its baseline build, received before
 * the build's expectation was frozen or since then, at the same time as its own. */
enum arm { ARM_OWN, ARM_BEFORE, ARM_BESIDE, ARMS };

struct metric_row {
    int64_t build; /* whose expectation it is measured against; 0: the session's own build */
    int64_t arm;
    const char *scene; /* "" = whole session */
    int64_t sum[METRICS_N][METRIC_SUMS];
};

struct contribution {
#define X(name) int64_t name;
    struct {
        MODEL_COLUMNS(X)
    } model;
#undef X
    struct rollup_delta *slices; /* by scene */
    size_t n_slices;
    struct metric_row *rows; /* by build, arm, scene */
    size_t n_rows;
    struct map_cell *cells; /* by scene, level, x, y */
    size_t n_cells;
};

int metric_row_order(const struct metric_row *a, const struct metric_row *b);
int map_cell_order(const struct map_cell *a, const struct map_cell *b);
/* The sums as bytes, and read back and added: what rollup rows of metrics hold. */
void metric_sums_write(const int64_t sum[METRICS_N][METRIC_SUMS], struct buf *out);
bool metric_sums_add(const void *bytes, size_t n, int64_t sum[METRICS_N][METRIC_SUMS],
                     struct err *err) MUST_CHECK;

bool contribution_of(const struct session_result *r, struct arena *mem, struct contribution *out,
                     struct err *err) MUST_CHECK;

/* Stored form: versioned bytes. contribution_read(…, 0 bytes) is the empty contribution. The forms
 * before this one, without what summaries told, and without rows and cells, are read too. */
void contribution_write(const struct contribution *c, struct buf *out);
bool contribution_read(const void *bytes, size_t n, struct arena *mem, struct contribution *out,
                       struct err *err) MUST_CHECK;

/* now - before; slices, rows and cells without any change left out. */
bool contribution_diff(const struct contribution *now, const struct contribution *before,
                       struct arena *mem, struct contribution *out, struct err *err) MUST_CHECK;
