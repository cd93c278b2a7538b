/*
 * cause: why a jank happened, from the hardware 2 s before to 1 s after it, the session's lifecycle
 * and its stacks. Rules, thresholds and their order: docs/metrics.md. Private to profile. Pure.
 */
#pragma once
#include "profile/analyse.h"

struct causes;

/* Looks over the session once. NULL when the arena is full. */
const struct causes *causes_new(const struct session *s, struct arena *mem);

/* Sets cause and evidence of an event whose times, samples and hardware window are set. */
void causes_find(const struct causes *c, struct arena *mem, struct jank_event *e);

/* The fastest running core of the biggest cluster, kHz; 0 = unknown. */
uint32_t big_core_khz(const struct session *s, const struct hardware_sample *h);
