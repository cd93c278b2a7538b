/*
 * rollup: adds a session's change to frame_rollup and model_rollup. Inside the session's
 * transaction, as its last writes: rows are locked in key order, so two sessions never wait for
 * each other in a circle.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"

/* Where a contribution is counted. */
struct rollup_key {
    int64_t build_id, model_id, tier, day; /* day: since 2000-01-01 */
};

/* Takes `before` out at `was` and adds `now` at `is`; where the keys are equal only the difference
 * is written. No change at all writes nothing. */
bool rollup_apply(struct db *db, int64_t shard, const struct rollup_key *was,
                  const struct contribution *before, const struct rollup_key *is,
                  const struct contribution *now, struct arena *mem, struct err *err) MUST_CHECK;
