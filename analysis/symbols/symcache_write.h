/*
 * symcache_write: lays a symcache out as symcache.h says.
 */
#pragma once
#include "symbols/strings.h"
#include "symbols/symcache_build.h"

struct symcache_location {
    uint32_t file, line, function, outer, column; /* file and function: string numbers */
};

struct symcache_range {
    uint32_t start, location; /* SYMCACHE_NONE marks a gap */
};

/* All borrowed. Ranges ascend; there is one at least. */
struct symcache_content {
    const struct debug_image *image;
    const struct strings *strings;
    const struct symcache_location *locations;
    const struct symcache_range *ranges;
    size_t n_locations, n_ranges;
    bool columns;
};

/* Sends the bytes to the sink and counts them in stats->bytes; the rest of *stats must be filled.
 * ERR_TOO_BIG: strings past 4 GB, or no memory. ERR_INTERNAL: the sink failed. */
bool symcache_write(struct mem *m, const struct symcache_content *c, symcache_sink *sink, void *ctx,
                    struct symcache_stats *stats, struct err *err) MUST_CHECK;
