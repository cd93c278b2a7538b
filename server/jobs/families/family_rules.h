/*
 * family_rules: an app's rules of families as a JSON document, as they are stored and as the API
 * takes and shows them:
 *   {"include": [{"field": "package", "pattern": "com.studio"} …], "exclude": […], "ignore": […],
 *    "owners": [{"field": "module", "pattern": "librender*", "owner": "render"} …],
 *    "depth": 3, "unknown_percent": 50, "min_rate_ppm": 1000,
 *    "kin": {"enabled": true}, "tickets": {"enabled": true, "top": 50}}
 * What is left out has its default. What rules mean: analysis/stacks/rules.h.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stacks/rules.h"

#include <jansson.h>

#define TICKETS_TOP_DEFAULT 50
#define TICKETS_TOP_MAX 1000

struct family_rules {
    struct rules rules; /* depth, unknown_percent, min_rate_ppm as in force, never 0 for default */
    bool kin;           /* merge them by itself */
    bool tickets;       /* file them at all */
    int64_t tickets_top;
};

/* doc NULL: the defaults. ERR_INVALID names the member at fault. Texts are copied into mem. */
bool family_rules_read(const json_t *doc, struct arena *mem, struct family_rules *out,
                       struct err *err) MUST_CHECK;
bool family_rules_parse(const char *text, struct arena *mem, struct family_rules *out,
                        struct err *err) MUST_CHECK;
/* The whole document, defaults filled in, members always in the same order. */
json_t *family_rules_json(const struct family_rules *r);
