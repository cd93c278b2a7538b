/*
 * family_why: why a stack is in its family, as answers tell it: what became of each frame and by
 * which rule, the fingerprints at all depths, and the merges and splits that it went through.
 */
#pragma once
#include "server/http/req.h"
#include "server/jobs/families/family_group.h"

/* Groups the stack again and tells how. NULL and err on failure. */
json_t *family_why(const struct grouping *g, const struct group_stack *s, struct arena *mem,
                   struct err *err);
