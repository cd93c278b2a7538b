/*
 * quarantine: what was refused of uploads, parts and sessions, and why, for people to see.
 */
#pragma once
#include "server/db/db.h"

#define QUARANTINE_REASONS 64 /* at once, of one thing */

/* One line of quarantine. */
struct refusal {
    const char *reason, *detail;
    int64_t count;
};
/* Sets what holds for one thing; every reason it may have is in `all`. */
bool quarantine_set(struct db *db, int64_t app, const char *source, const unsigned char ref[16],
                    int64_t day, const char *const *all, size_t n_all, const struct refusal *now,
                    size_t n_now, struct err *err) MUST_CHECK;
