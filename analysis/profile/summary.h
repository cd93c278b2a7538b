/*
 * summary: a session's slices from its Summary packet, where no frames came. Private to profile.
 */
#pragma once
#include "profile/analyse.h"

/* Fills slices, and the hardware peaks that no sample told. False when the arena is full. */
bool summary_slices(const struct session *s, struct arena *mem, struct session_result *out);
