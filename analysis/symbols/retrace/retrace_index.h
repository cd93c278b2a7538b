/*
 * retrace_index: the tables of an open index, for what is written in terms of them. Numbers passed
 * in must come from the same index.
 */
#pragma once
#include "symbols/retrace/retrace.h"
#include "symbols/retrace/retrace_format.h"

/* The string whose offset stands at `word`. */
static inline const char *retrace_string(const struct retrace *r, const unsigned char *word)
{
    return (const char *)r->strings + load32(word);
}

/* Numbers, or RETRACE_NONE. */
uint32_t retrace_find_class(const struct retrace *r, const char *name, size_t len);
uint32_t retrace_find_method(const struct retrace *r, uint32_t class, const char *name, size_t len);

/* retrace_lookup() with equality as R8 has it when it prints: without `verbose`, alternatives that
 * would look alike are one. */
bool retrace_lookup_as(const struct retrace *r, const struct retrace_query *q, bool verbose,
                       struct retrace_context *context, struct arena *a,
                       struct retrace_result *out) MUST_CHECK;
