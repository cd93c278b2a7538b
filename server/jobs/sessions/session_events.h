/*
 * session_events: the rows of a session's janks, crashes and feedback. Part of session_store.
 */
#pragma once
#include "server/jobs/sessions/session_store.h"

/* In place of those the session had. */
bool session_events_store(struct db *db, const struct session_change *c, int64_t day,
                          int64_t build_id, struct arena *mem, struct err *err) MUST_CHECK;
