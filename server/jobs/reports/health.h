/*
 * health: is a release well observed? Checks of docs/reports.md as a JSON document: findings, the
 * gravest first, or that there is nothing to do. Bounded reads, whatever sessions there are.
 */
#pragma once
#include "server/db/db.h"

#include <jansson.h>

/* build 0: the latest with sessions. day: volume of the first so many whole days, of those that
 * have passed at most; 0: of all that have. Everything else is as of now. NULL and err on failure.
 */
json_t *health_doc(struct db *db, int64_t app, int64_t build, int64_t day, int64_t clock_offset_ms,
                   struct arena *mem, struct err *err) MUST_CHECK;
