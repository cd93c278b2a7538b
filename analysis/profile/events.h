/*
 * events: the janks of a session, one by one. Private to profile.
 */
#pragma once
#include "profile/analyse.h"

/* Fills events, n_events and n_events_dropped. False when the arena is full. */
bool events_find(const struct session *s, struct arena *mem, struct session_result *out);
