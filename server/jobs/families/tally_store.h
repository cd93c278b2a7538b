/*
 * tally_store: hands the change of a session's tally over to the job 'families', which adds it to
 * the counts of stacks. Inside the sessions' transaction, after everything else: rows are only
 * added, so sessions never wait for each other or for that job.
 */
#pragma once
#include "server/db/db.h"

/* A tally, and what it counts under. */
struct tally_at {
    struct bytes tally; /* as stored; empty: counts nothing */
    struct bytes install_hash;
    int64_t build_id, model_id, tier, day; /* day: since 2000-01-01 */
};

struct tally_move {
    const unsigned char *id; /* of the session, 16 bytes */
    struct tally_at was, is;
};

/* Takes `was` out and puts `is` in, of each of some sessions of a shard; equal ones change nothing.
 */
bool tally_store(struct db *db, int64_t app, int64_t shard, const struct tally_move *moves,
                 size_t n, struct arena *mem, struct err *err) MUST_CHECK;
