/*
 * session_store: writes what a session's parts say, in place of what stood there. Inside the
 * transaction that holds the session's lock. The order of writes is the same for all sessions
 * (names, stacks, session, events, quarantine, queue, rollups), and so is the order within each:
 * workers wait for each other, never in a circle.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"
#include "server/jobs/rollup.h"
#include "server/jobs/session_parts.h"

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

/* Stacks of a part as they are kept, made ready before the part's memory goes. */
struct stack_rows {
    struct bytes *hash;
    const char **json;
    int64_t *managed; /* 1: has managed frames, which belong to the part's build */
    size_t n;
    const char *platform, *version_name, *build_uid; /* of that build */
    uint64_t version_code;
    /* modules the stacks name, by debug id in hexadecimal, sorted */
    const char **debug_id, **module;
    int64_t *system;
    size_t n_modules;
};
bool stack_rows_of(const struct part *part, struct arena *mem, struct stack_rows *out,
                   struct err *err) MUST_CHECK;

/* One list of several; all alike. Empty if n is 0. */
bool stack_rows_join(const struct stack_rows *const *rows, size_t n, struct arena *mem,
                     struct stack_rows *out, struct err *err) MUST_CHECK;
/* They belong to one build, so they may be joined. */
bool stack_rows_alike(const struct stack_rows *a, const struct stack_rows *b);

/* More files were registered, all of them left out: only that is noted. */
bool session_store_beyond(struct db *db, const struct session_change *c,
                          struct err *err) MUST_CHECK;

bool session_store(struct db *db, const struct session_change *c, const struct stack_rows *stacks,
                   struct arena *mem, struct err *err) MUST_CHECK;

/* One line of quarantine. */
struct refusal {
    const char *reason, *detail;
    int64_t count;
};
/* Sets what holds for one thing; every reason it may have is in `all`. */
bool quarantine_set(struct db *db, int64_t app, const char *source, const unsigned char ref[16],
                    int64_t day, const char *const *all, size_t n_all, const struct refusal *now,
                    size_t n_now, struct err *err) MUST_CHECK;
