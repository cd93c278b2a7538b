/*
 * alert_pairs: installs seen on a build and on its baseline; each is its own control. Read once a
 * tier, asked for as many slices as wanted.
 */
#pragma once
#include "profile/contribution.h"
#include "server/db/db.h"
#include "stats/groups.h"

struct alert_pairs {
    int64_t build, baseline, tier; /* that it holds; tier 0: none yet */
    struct db_rows rows;
};

/* Of one slice and metric; *found = false without enough of them. */
bool alert_pairs_of(struct db *db, int64_t app, struct alert_pairs *pairs, int64_t build,
                    int64_t baseline, int64_t tier, const char *scene, enum metric m,
                    struct arena *mem, struct arena *work, struct estimate *out, bool *found,
                    struct err *err) MUST_CHECK;
