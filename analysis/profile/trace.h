/*
 * trace: a session as files other tools open. Pure.
 *   Chrome   JSON trace event format ("traceEvents"; X, i, C, M phases; ts in us)
 *   Perfetto protobuf Trace: TrackDescriptor, TrackEvent slices, instants and counters, with the
 *            field numbers of Perfetto's published schema
 */
#pragma once
#include "profile/analyse.h"

void trace_chrome(const struct session *s, const struct session_result *r, struct buf *out);
void trace_perfetto(const struct session *s, const struct session_result *r, struct buf *out);
