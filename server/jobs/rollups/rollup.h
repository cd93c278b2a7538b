/*
 * rollup: adds the changes of sessions to frame_rollup, model_rollup, install_build, metric_rollup
 * and scene_cell. Inside the sessions' transaction, as its last writes to rows that sessions share:
 * tables in this order, rows in key order, so two transactions never wait for each other in a
 * circle.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"

/* Where a contribution is counted. */
struct rollup_key {
    int64_t build_id, model_id, tier, day; /* day: since 2000-01-01 */
    struct bytes install;                  /* its hash; none: of no known install */
};

/* What becomes of one session. */
struct rollup_move {
    struct rollup_key was, is;
    struct contribution before, now;
};

/* Takes each `before` out at its `was` and adds `now` at `is`; where the keys are equal only the
 * difference is written. All of one shard; summed before anything is written, each row once. No
 * change at all writes nothing. */
bool rollup_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                  struct arena *mem, struct err *err) MUST_CHECK;
