/*
 * symcache_build: makes the symcache of an open image: DWARF first, the symbol table's names for
 * outermost functions and for what DWARF does not cover. Not thread-safe; memory is the image's,
 * within its limits.
 *
 * What is malformed inside (functions, units, line tables) is skipped and counted.
 */
#pragma once
#include "symbols/hidden_names.h"
#include "symbols/symcache.h"

struct symcache_options {
    bool no_columns;                   /* a tenth smaller; columns read as 0 */
    const struct hidden_names *hidden; /* of a dSYM built with bitcode; or NULL */
};

/* Receives the symcache's bytes from first to last; false ends the building. */
typedef bool symcache_sink(void *ctx, const void *bytes, size_t n);

struct symcache_stats {
    struct symcache_counts counts;
    uint32_t versions[6]; /* units by DWARF version */
    uint32_t ranges, locations;
    uint64_t bytes; /* of the symcache */
    size_t peak_memory_bytes;
    bool incomplete;
};

/* ERR_INVALID: the image says nothing about its code (stripped). ERR_TOO_BIG: past the memory
 * limit. ERR_INTERNAL: the sink failed. options and stats may be NULL. */
bool symcache_build(struct debug_image *image, const struct symcache_options *options,
                    symcache_sink *sink, void *ctx, struct symcache_stats *stats,
                    struct err *err) MUST_CHECK;
