/*
 * timeline: a session's rows for a given window and zoom, minimum and maximum kept per bucket so
 * that no spike is lost. Pure; writes JSON straight into a buffer (36,000 frames in one answer).
 */
#pragma once
#include "profile/analyse.h"

#define TIMELINE_MAX_BUCKETS 50000

/* Window [from_us, to_us); to_us 0 = end. buckets 0 or >= frames in the window: every frame as it
 * is ("frames": {"start_us": [...], "interval_us": [...], "state": [...]}), else equal time
 * buckets with {"t_us", "n", "min_us", "max_us", "mean_us"}. Hardware series, one array of
 * [t_us...] and one [value...] a field (null where invalid); scenes, lifecycle, steps, positions,
 * janks, crashes and feedback in the window. ERR_INVALID names the bad argument in err->field. */
bool timeline_write(const struct session *s, const struct session_result *r, uint64_t from_us,
                    uint64_t to_us, unsigned buckets, struct buf *out, struct err *err) MUST_CHECK;

/* Janks with stacks (module, debug id, offset or text), cause, evidence and hardware window. */
void janks_write(const struct session *s, const struct session_result *r, struct buf *out);
