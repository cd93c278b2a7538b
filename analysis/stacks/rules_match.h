/*
 * rules_match: holds one frame against lists of rules. Pure; case is that of ASCII.
 */
#pragma once
#include "stacks/rules.h"

#include <stdbool.h>
#include <stdint.h>

struct rule_target {
    const char *module, *file; /* never NULL */
    const char *name;          /* normalised; NULL: the frame has none */
};

bool rule_matches(const struct rule *r, const struct rule_target *t);
/* The first that matches, NULL if none. */
const struct rule *rules_find(const struct rule *list, size_t n, const struct rule_target *t);
/* Whether a frame without a name could match once it has one. */
bool rules_need_name(const struct rule *list, size_t n);
const char *rule_module_base(const char *module); /* last part of the path */
const struct rule *rules_list(const struct rules *r, enum rule_list list);
size_t rules_count(const struct rules *r, enum rule_list list);
/* '*' stands for any text; fold: whatever the case. Adds the bytes it looked at to *steps. */
bool rule_glob(const char *pattern, const char *text, bool fold, uint64_t *steps);
