/*
 * rules_index: an app's four lists of rules made ready to be held against many frames. A text of a
 * frame is walked once for all rules of all lists (Aho and Corasick's automaton over the patterns,
 * of one with '*' over its longest piece); only a pattern with '*' is tried by itself, and only
 * where that piece stands. Tells what rules_find() tells of each list.
 *
 * Memory of its own: some 50 bytes for each byte of the patterns. One thread at a time: it counts
 * its steps, so that whoever answers a request can bound them. The rules must outlive it.
 */
#pragma once
#include "stacks/rules_match.h"

#include <stdint.h>

#define RULES_NO_LIMIT UINT64_MAX
#define RULE_NONE UINT16_MAX

/* The number of the first rule of each list that matches, or RULE_NONE. */
struct rule_hits {
    uint16_t first[RULE_LISTS];
};

/* steps: bytes walked, states and rules looked at, bytes that patterns are tried against; those of
 * all frames together. Rules as rules_check() wants them. */
bool rules_index_new(const struct rules *rules, uint64_t steps, struct rules_index **out,
                     struct err *err) MUST_CHECK;
void rules_index_free(struct rules_index *x); /* NULL is fine */

/* Once the steps are used up, some that match may be missing: rules_index_check() tells. */
void rules_index_find(struct rules_index *x, const struct rule_target *t, struct rule_hits *out);
uint64_t rules_index_steps(const struct rules_index *x); /* taken so far */
/* False: ERR_WORK, the steps are used up. */
bool rules_index_check(const struct rules_index *x, struct err *err) MUST_CHECK;
