/*
 * placement: measures sessions against expectations: that of their build, and those of the builds
 * whose baseline their build is. A pure function of the session, its model and tier, the time it
 * was received and the expectations there are; those are frozen, so only a new one or another tier
 * changes it. Inside the sessions' transaction.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"
#include "server/jobs/job_run.h"

struct placement_key {
    int64_t build_id, model_id, tier;
    int64_t received_us; /* first part, since 1970 */
    int64_t shard;
    struct bytes install; /* its hash; none: has no past */
};

/* Replaces what each of c[n] holds of expectations; key[i] is that of c[i], all of one shard.
 * c->rows move to a new array in mem. */
bool placement_set(struct db *db, const struct placement_key *key, struct contribution *c, size_t n,
                   struct arena *mem, struct err *err) MUST_CHECK;

struct placement_session {
    int64_t shard;
    struct bytes id;
};

/* Counted sessions as their models' tiers and today's expectations have them; those that are gone
 * or not counted are left out. In transactions of their own, each of some sessions of one shard,
 * whose rollup rows are written once: a crash leaves those before it done, and to do one again
 * changes nothing. Sorts s; resets run->work; renews the lease. */
bool placement_renew(struct job_run *run, struct placement_session *s, size_t n,
                     struct err *err) MUST_CHECK;

/* Frozen sums of one scene: of everything, a tier, a model, and the install's past. */
struct placement_sums {
    int64_t all[METRICS_N][METRIC_SUMS], tier[METRICS_N][METRIC_SUMS],
        model[METRICS_N][METRIC_SUMS], past[METRICS_N][METRIC_SUMS];
};
/* Sets the sums with X and OWN of `to` from the others of `own`. */
void placement_measure(const struct placement_sums *sums, const int64_t own[METRICS_N][METRIC_SUMS],
                       int64_t to[METRICS_N][METRIC_SUMS]);
