/*
 * contribution: what one session adds to the rollups, as integers that add and subtract. A session
 * that changes adds new - old, so nothing counts twice. Excluded sessions contribute nothing but
 * their count. Pure.
 */
#pragma once
#include "profile/analyse.h"

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
    X(missed_frames)

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

struct contribution {
#define X(name) int64_t name;
    struct {
        MODEL_COLUMNS(X)
    } model;
#undef X
    struct rollup_delta *slices; /* by scene */
    size_t n_slices;
};

bool contribution_of(const struct session_result *r, struct arena *mem, struct contribution *out,
                     struct err *err) MUST_CHECK;

/* Stored form: versioned bytes. contribution_read(…, 0 bytes) is the empty contribution. */
void contribution_write(const struct contribution *c, struct buf *out);
bool contribution_read(const void *bytes, size_t n, struct arena *mem, struct contribution *out,
                       struct err *err) MUST_CHECK;

/* now - before, slices without any change left out. */
bool contribution_diff(const struct contribution *now, const struct contribution *before,
                       struct arena *mem, struct contribution *out, struct err *err) MUST_CHECK;
