/*
 * family_examples: the samples of sessions kept for each stack, and of windows of steps. What is
 * kept of the same sessions is the same in whatever order they come, but for sessions that change:
 * these give their places up first, and who lost against them does not come back.
 */
#pragma once
#include "profile/tally.h"
#include "server/db/db.h"

#define EXAMPLE_SLOTS 64 /* of a stack and build */
#define CLEAN_SLOTS 256  /* of a build and scene */

struct example_session {
    int64_t shard, build_id, day;
    struct bytes id;
    bool changed;              /* may have given examples before */
    const struct tally *tally; /* NULL: gives none any more */
};

/* Each session once. Inside the caller's transaction, which holds families_lock. */
bool examples_store(struct db *db, int64_t app, const struct example_session *sessions, size_t n,
                    struct arena *mem, struct err *err) MUST_CHECK;
