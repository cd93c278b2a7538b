/*
 * scene_hardware: what the hardware samples of a session say, and of each of its scenes. Private to
 * profile. Only samples in the foreground count. Definitions: docs/metrics.md.
 */
#pragma once
#include "profile/analyse.h"

#define SEVERE_STATUS 3 /* Android THERMAL_STATUS_SEVERE */

enum hardware_field hardware_memory(enum memory_kind kind);

/* Calls `see` for each sample in the foreground, by time. held_us: how long it speaks, which is to
 * the next one, the end of its span, or ten seconds. */
void hardware_each(const struct session *s,
                   void (*see)(void *user, const struct hardware_sample *h, uint64_t held_us),
                   void *user);

/* Sets what slices[i] tells of its hardware for each scene i; slices[0] is time in no scene. False:
 * out of memory. */
bool scene_hardware(const struct session *s, enum memory_kind memory, struct arena *mem,
                    struct slice *slices);
