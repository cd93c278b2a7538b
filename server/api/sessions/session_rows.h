/*
 * session_rows: what the resources below /v1/sessions share. Everything is of the key's app only.
 */
#pragma once
#include "server/http/req.h"

#define SESSION_EVENTS_MAX 200 /* crashes, and feedback, that one answer shows */

/* Names of enum environment_flag bits: ["rooted", "emulator"]. */
json_t *environment_names(int64_t environment);

/* Crashes and feedback kept of a session, as arrays. */
bool session_crashes(struct req *r, const unsigned char id[16], json_t **out,
                     struct err *err) MUST_CHECK;
bool session_feedback(struct req *r, const unsigned char id[16], json_t **out,
                      struct err *err) MUST_CHECK;
