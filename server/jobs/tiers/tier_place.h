/*
 * tier_place: versions of the cuts between tiers. The first one is placed by the job `tiers`;
 * another one only when somebody asks for it. A version that is placed is never changed; the latest
 * is in force (docs/tiers.md, decision 144).
 */
#pragma once
#include "server/db/db.h"
#include "stats/tier.h"

#define TIER_NOTE_BYTES 500

/* The cuts in force; *version 0: none yet, then cuts->tiers is 1. */
bool tier_cuts_read(struct db *db, int64_t app, struct arena *mem, struct tier_cuts *cuts,
                    int64_t *version, struct err *err) MUST_CHECK;

/* Stores a version inside the caller's transaction, which holds tier_lock. fit: JSON, NULL for that
 * of the version in force; by: "" or who asked for it. */
struct tier_version {
    const struct tier_cuts *cuts;
    const char *fit, *by, *note;
};
bool tier_version_add(struct db *db, int64_t app, const struct tier_version *v, struct arena *mem,
                      int64_t *version, struct err *err) MUST_CHECK;

/* Another version, asked for: in so many tiers, by what the latest fit says of the models, or with
 * these cuts. */
struct tier_ask {
    int64_t app;
    unsigned tiers;
    const struct tier_cuts *given; /* NULL: places them */
    const char *by, *note;
    const char *public_url; /* for alerts that are over now */
};
/* Inside the caller's transaction: stores it, puts every model that has sessions where it belongs
 * by it, whatever tier it had, and ends the alerts of the tiers before. The models' sessions are
 * moved by the job `tiers`. ERR_CONFLICT: nothing is known of the models yet, or too little for so
 * many tiers, or these cuts are in force. */
bool tier_place(struct db *db, const struct tier_ask *ask, struct arena *mem, int64_t *version,
                struct err *err) MUST_CHECK;
