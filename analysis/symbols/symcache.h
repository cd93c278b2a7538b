/*
 * symcache: reads the lookup table of one image (debug id, architecture): address to function, file
 * and line with all inlined calls. Made by symcache_build; lies in memory or in a mapped file.
 *
 * The bytes are borrowed and must not change. symcache_open() checks every index once, in O(n);
 * from then on a lookup is a binary search, allocates nothing and cannot leave the bytes, whoever
 * wrote them. A symcache is immutable: any number of threads may read it.
 *
 * Layout, version 1: little-endian words of 32 bits, in this order.
 *   header     SYMCACHE_HEADER bytes, see symcache_format.h
 *   buckets    n_buckets words: for each 2^shift addresses, and one more at the end, the last range
 *              that begins at or before the first of them; so that a search touches few cache lines
 *   ranges     n_ranges times {start, location}: first address, relative to the image base,
 *              ascending; a range ends where the next begins; location 0xffffffff: nothing is
 *              known (a gap)
 *   locations  n_locations times {file, line, function, inlined_into, column}; file and function
 * are offsets into strings, 0: none; inlined_into is a smaller location number, or 0xffffffff for
 * the outermost strings    NUL-terminated; the first is empty
 */
#pragma once
#include "base/err.h"
#include "symbols/debug_file.h"

#include <stddef.h>
#include <stdint.h>

#define SYMCACHE_VERSION 1
#define SYMCACHE_NONE UINT32_MAX
#define SYMCACHE_FRAMES 256 /* at most, of one address */

/* What the reading of the debug file met; kept in the symcache. */
#define SYMCACHE_COUNTS(X)                                                                         \
    X(units, "compilation units")                                                                  \
    X(bad_units, "units skipped in whole or in part")                                              \
    X(split_units, "units whose functions are in a .dwo file")                                     \
    X(functions, "functions with code")                                                            \
    X(inlined, "inlined calls with code")                                                          \
    X(bad_functions, "functions skipped")                                                          \
    X(dead_functions, "functions the linker dropped")                                              \
    X(deep_inlines, "calls inlined too deep, counted as their caller")                             \
    X(bad_lines, "line tables skipped in whole or in part")                                        \
    X(dead_sequences, "line sequences the linker dropped")                                         \
    X(symbols, "symbols at code")                                                                  \
    X(bad_symbols, "symbols skipped")                                                              \
    X(bad_sections, "sections skipped")

struct symcache_counts {
#define X(name, help) uint32_t name;
    SYMCACHE_COUNTS(X)
#undef X
};

struct symcache {
    enum debug_format format;
    enum debug_arch arch;
    struct debug_id id;
    uint64_t base; /* what relative addresses count from */
    bool columns, dwarf, mini_symbols;
    bool incomplete; /* the work limit was met; what is there is right */
    uint32_t n_ranges, n_locations, n_buckets, shift;
    uint64_t strings_bytes;
    struct symcache_counts counts;
    const unsigned char *buckets, *ranges, *locations, *strings; /* private */
};

/* ERR_INVALID: not a symcache, damaged, or of another version (then it is to be made again). */
bool symcache_open(struct symcache *c, const void *bytes, size_t size, struct err *err) MUST_CHECK;

/* Whether the bytes begin like a symcache of any version. */
bool symcache_looks_like(const void *bytes, size_t size);

struct symcache_frame {
    const char *function;  /* linkage name as stored (see demangle.h), or NULL */
    const char *file;      /* or NULL */
    uint32_t line, column; /* 0: unknown */
    uint32_t function_key; /* equal for equal functions of this symcache; 0: none */
    bool inlined;          /* into the next frame */
};

/* The location of an address relative to the base, or SYMCACHE_NONE. Look up the return address
 * minus one in all frames but the innermost: it may belong to the next line. */
uint32_t symcache_find(const struct symcache *c, uint64_t relative);

/* Asks for the location's bytes ahead of symcache_frame(), where many addresses are looked up. */
void symcache_prefetch(const struct symcache *c, uint32_t location);

/* Fills *frame and returns the location it is inlined into, or SYMCACHE_NONE. `location` must come
 * from this symcache. */
uint32_t symcache_frame(const struct symcache *c, uint32_t location, struct symcache_frame *frame);

/* The frames of an address, innermost first; at most `max`. 0: nothing is known. */
size_t symcache_lookup(const struct symcache *c, uint64_t relative, struct symcache_frame *frames,
                       size_t max);
