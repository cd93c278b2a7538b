/*
 * sorting: order and overlap of address ranges. Keys are `start << 32 | index`, so that equal
 * starts keep the order of their indexes and an array of any element type is sorted by its keys
 * alone.
 */
#pragma once
#include "symbols/mem.h"

#include <stdint.h>

static inline uint64_t sort_key(uint32_t start, size_t index)
{
    return (uint64_t)start << 32 | (uint32_t)index;
}

static inline uint32_t key_index(uint64_t key)
{
    return (uint32_t)key;
}

/* Ascending; O(n). The low halves must ascend already where the high halves are equal, which they
 * do when keys were made in index order. False: out of memory. */
bool sort_keys(struct mem *m, uint64_t *keys, size_t n);

/*
 * Ranges that overlap, painted flat. `rank` decides who is seen: the highest wins.
 * Visits pieces in ascending order; pieces do not overlap, gaps are not visited.
 */
struct sweep_range {
    uint32_t start, end; /* start < end */
    uint32_t rank;       /* of equals either may be seen */
    uint32_t tag;        /* the caller's */
};

typedef bool sweep_visit(void *ctx, uint32_t start, uint32_t end, uint32_t tag);

/* Sorts `ranges` into painting order as a side effect. False when out of memory or when `visit`
 * returned false. O(n log n). */
bool sweep(struct mem *m, struct sweep_range *ranges, size_t n, sweep_visit *visit, void *ctx);
