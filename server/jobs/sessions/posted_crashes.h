/*
 * posted_crashes: what crashes that another tool posted to a session add to its tally. Under the
 * session's lock; to the order of writes (session_store.h) they are stacks.
 */
#pragma once
#include "profile/tally.h"
#include "server/db/db.h"

struct posted_crashes {
    struct tally_crash *at;
    size_t n;
};

/* Those with a stack. Stacks with managed frames become stacks of the build `build_id`, whichever
 * was known when they were posted. */
bool posted_crashes_of(struct db *db, int64_t app, int64_t shard, const unsigned char id[16],
                       int64_t build_id, struct arena *mem, struct posted_crashes *out,
                       struct err *err) MUST_CHECK;
