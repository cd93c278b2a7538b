/*
 * placement: measures a session against expectations: that of its build, and those of the builds
 * whose baseline its build is. A pure function of the session, its model and tier, the time it was
 * received and the expectations there are; those are frozen, so only a new one or another tier
 * changes it. Inside the session's transaction.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"

struct placement_key {
    int64_t build_id, model_id, tier;
    int64_t received_us; /* first part, since 1970 */
    int64_t shard;
    struct bytes install; /* its hash; none: has no past */
};

/* Replaces what *c holds of expectations. c->rows move to a new array in mem. */
bool placement_set(struct db *db, const struct placement_key *key, struct contribution *c,
                   struct arena *mem, struct err *err) MUST_CHECK;

/* A counted session as its model's tier and today's expectations have it; nothing if it is gone or
 * not counted. In one transaction of its own. */
bool placement_renew(struct db *db, int64_t shard, const unsigned char id[16], struct arena *mem,
                     struct err *err) MUST_CHECK;

/* Frozen sums of one scene: of everything, a tier, a model, and the install's past. */
struct placement_sums {
    int64_t all[METRICS_N][METRIC_SUMS], tier[METRICS_N][METRIC_SUMS],
        model[METRICS_N][METRIC_SUMS], past[METRICS_N][METRIC_SUMS];
};
/* Sets the sums with X and OWN of `to` from the others of `own`. */
void placement_measure(const struct placement_sums *sums, const int64_t own[METRICS_N][METRIC_SUMS],
                       int64_t to[METRICS_N][METRIC_SUMS]);
