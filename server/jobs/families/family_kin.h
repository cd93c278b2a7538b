/*
 * family_kin: kin of an app's families (analysis/stacks/kin.h) as its stacks read and count at the
 * moment, and the merges that follow. A function of stacks, counts, rules, what people merged and
 * split, and what they undid; not of the merges of kin that are in force.
 */
#pragma once
#include "server/jobs/families/family_group.h"
#include "stacks/kin.h"

#define KIN_STACKS 5000 /* of each kind: those with most events */

struct kin_found {
    const struct kin_join *joins;
    size_t n;
    const struct kin_member *members; /* of the families that were looked at */
    size_t n_members;
};

/* Kin under g's rules; it lives in mem. kind: enum tally_kind. */
bool family_kin_find(struct db *db, int64_t app, int64_t kind, const struct grouping *g,
                     struct arena *mem, struct kin_found *out, struct err *err) MUST_CHECK;

/* Puts the merges that kin come to now in place of those in g: none if its rules want none. */
bool family_kin_apply(struct db *db, int64_t app, struct arena *mem, struct grouping *g,
                      struct err *err) MUST_CHECK;
