/*
 * family_stack: the stacks of a family as Q_FAMILY_STACKS gives them, those with most events first.
 */
#pragma once
#include "server/db/db.h"

struct family_stack {
    struct bytes hash;
    int64_t kind;
    const char *platform;
    int64_t events;
    const char *title, *class, *state, *symbols, *frames;
};
extern const struct db_map family_stack_map;

/* NULL in *out: there is no such family. */
bool family_stack_largest(struct db *db, int64_t app, struct bytes family, struct arena *mem,
                          const struct family_stack **out, struct err *err) MUST_CHECK;
