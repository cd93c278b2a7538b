/*
 * session_detail: the JSON kept with a session's row: `detail` and `invalid`. Pure writers into a
 * buffer, which latches failure.
 */
#pragma once
#include "base/buf.h"
#include "profile/analyse.h"

/* {"slices": [{"scene", "frames", "foreground_us", "p50_us" …}], "device": {…}, "evidence": […],
 *  "frames_by_state": {…}, "files": {…}, "hardware": {…}, "self_report": {…} or null,
 *  "end_reason", "events_dropped", "dropped_frames"} */
void session_detail_write(const struct session *s, const struct session_result *r, size_t left_out,
                          struct buf *out);

/* {reason: count} of those above 0. */
void session_invalid_write(const struct session *s, struct buf *out);

/* Big to little, as device_model.clusters keeps it: [{"cores", "max_khz"} …]. */
void session_clusters_write(const struct part_header *h, struct buf *out);

/* Quantile q of a slice in whole microseconds. */
int64_t slice_quantile_us(const struct slice *s, double q);
