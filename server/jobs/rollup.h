/*
 * rollup: adds a session's change to frame_rollup, model_rollup, install_build, metric_rollup and
 * scene_cell. Inside the session's transaction, as its last writes: tables in this order, rows in
 * key order, so two sessions never wait for each other in a circle.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"

/* Where a contribution is counted. */
struct rollup_key {
    int64_t build_id, model_id, tier, day; /* day: since 2000-01-01 */
    struct bytes install;                  /* its hash; none: of no known install */
};

/* Takes `before` out at `was` and adds `now` at `is`; where the keys are equal only the difference
 * is written. No change at all writes nothing. */
bool rollup_apply(struct db *db, int64_t shard, const struct rollup_key *was,
                  const struct contribution *before, const struct rollup_key *is,
                  const struct contribution *now, struct arena *mem, struct err *err) MUST_CHECK;

/* The last three tables of it; called by rollup_apply(). */
bool rollup_metrics_apply(struct db *db, int64_t shard, const struct rollup_key *was,
                          const struct contribution *before, const struct rollup_key *is,
                          const struct contribution *now, struct arena *mem,
                          struct err *err) MUST_CHECK;
