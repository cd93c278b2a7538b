/*
 * session_store: writes what a session's parts say, in place of what stood there. Inside the
 * transaction that holds the session's lock. The order of writes is the same for all sessions
 * (names, stacks, session, events, quarantine, queue, rollups, tally), and so is the order in each:
 * workers wait for each other, never in a circle.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"
#include "server/jobs/rollups/rollup.h"
#include "server/jobs/sessions/session_parts.h"
#include "server/jobs/sessions/stack_rows.h"

struct session_before { /* the session's row before this change */
    bool exists, final;
    int64_t day, build_id, model_id, tier, analysis_version, bounds_version;
    struct bytes contribution, tally, install_hash;
    int64_t files; /* that were in it */
};

struct session_change {
    int64_t shard, app, idle_us;
    const unsigned char *id;
    struct session_before before;
    struct stored_parts parts;
    int64_t first_us, first_day; /* of its files before this change */
    size_t used;                 /* the first so many of parts are in the session */
    bool final;                  /* from now on */
    struct session session;
    struct session_result result;
};

/* The session's row, locked; .exists = false if there is none. */
bool session_read_before(struct db *db, int64_t shard, const unsigned char id[16],
                         struct arena *mem, struct session_before *out, struct err *err) MUST_CHECK;

/* More files were registered, all of them left out: only that is noted. */
bool session_store_beyond(struct db *db, const struct session_change *c,
                          struct err *err) MUST_CHECK;

bool session_store(struct db *db, const struct session_change *c, const struct stack_rows *stacks,
                   struct arena *mem, struct err *err) MUST_CHECK;
