/*
 * family_preview: what other rules would do to an app's families, told before they are saved.
 * Reads only.
 */
#pragma once
#include "server/http/req.h"
#include "server/jobs/families/family_group.h"

#define PREVIEW_STACKS 10000                   /* those with most events */
#define PREVIEW_TEXT_BYTES ((size_t)128 << 20) /* of their frames; what is past it is left out */

/* NULL and err on failure. */
json_t *family_preview(struct req *r, const struct grouping *now, const struct family_rules *then,
                       struct err *err);
