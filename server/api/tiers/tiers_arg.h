/*
 * tiers_arg: tiers in questions, and their names in answers; other arguments that name a slice.
 */
#pragma once
#include "server/http/req.h"

/* A tier by number or name ("low", "untiered", "all" = -1); *given = false if absent. */
bool arg_tier(struct req *r, const char *name, bool *given, int64_t *tier,
              struct err *err) MUST_CHECK;
/* A scene; given but empty: whole sessions. SQL NULL when absent. */
bool arg_scene(struct req *r, const char *name, struct db_arg *out, struct err *err) MUST_CHECK;
/* How many tiers the app has, 0 before the first placing of cuts. */
bool tier_count(struct req *r, int64_t *tiers, struct err *err) MUST_CHECK;
/* Gives the object a "tier_name" beside its "tier": null where that is. */
void tier_name_put(json_t *object, int64_t tiers);
