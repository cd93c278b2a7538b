/*
 * retrace_build: makes the index of an R8 or ProGuard mapping file; see retrace.h. The text is fed
 * in pieces of any size, so it is never whole in memory; names are kept once each. Not thread-safe;
 * memory is counted against a limit.
 *
 * Lines that are no part of a mapping are skipped and counted, never a reason to refuse the file.
 */
#pragma once
#include "symbols/retrace/retrace.h"

#define RETRACE_MEMORY_BYTES ((size_t)1 << 30)       /* default limits */
#define RETRACE_MAPPING_BYTES ((uint64_t)1 << 30)    /* of text */
#define RETRACE_MAPPING_LINE_BYTES ((size_t)1 << 20) /* a longer line is skipped */

struct retrace_limits {
    size_t memory_bytes;    /* 0: RETRACE_MEMORY_BYTES */
    uint64_t mapping_bytes; /* 0: RETRACE_MAPPING_BYTES */
    size_t fail_at;         /* test hook: the nth allocation fails; 0: off */
};

struct retrace_stats {
    struct retrace_counts counts;
    uint64_t mapping_bytes, lines, bytes; /* bytes: of the index */
    size_t peak_memory_bytes;
};

/* Receives the index's bytes from first to last; false ends the building. */
typedef bool retrace_sink(void *ctx, const void *bytes, size_t n);

struct retrace_builder;

/* NULL: out of memory. limits may be NULL. */
struct retrace_builder *retrace_builder_new(const struct retrace_limits *limits);
void retrace_builder_free(struct retrace_builder *b); /* NULL is fine */

/* The next n bytes of the mapping. ERR_TOO_BIG: past a limit; nothing more can be done then. */
bool retrace_builder_feed(struct retrace_builder *b, const void *bytes, size_t n,
                          struct err *err) MUST_CHECK;

/* Once, after the last byte. ERR_INVALID: no class in it, so it is no mapping. ERR_TOO_BIG: past a
 * limit. ERR_INTERNAL: the sink failed. stats may be NULL. */
bool retrace_builder_finish(struct retrace_builder *b, retrace_sink *sink, void *ctx,
                            struct retrace_stats *stats, struct err *err) MUST_CHECK;

/* All of it at once. */
bool retrace_build(const void *mapping, size_t size, const struct retrace_limits *limits,
                   retrace_sink *sink, void *ctx, struct retrace_stats *stats,
                   struct err *err) MUST_CHECK;

/* Whether the first bytes of a file may be those of a mapping: comments and class lines. */
bool retrace_looks_like_mapping(const void *bytes, size_t size);
