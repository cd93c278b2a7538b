/*
 * distinct: how many different sessions (or installs) there are among things counted apart: the
 * stacks of a family share sessions, so their numbers cannot be summed. Probabilistic counting
 * with counters in place of bits (Flajolet and Martin's PCSA; estimate by maximum likelihood): an
 * id falls into one cell, DISTINCT_BUCKETS wide, level l with probability 2^-(l+1), and its counter
 * goes up. Sketches add up to that of the union, and subtract again exactly; order does not matter.
 *
 * Error: see docs/families.md for what was measured. A struct has one owner.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define DISTINCT_BUCKETS 2048u
#define DISTINCT_LEVELS 40u
#define DISTINCT_CELLS (DISTINCT_BUCKETS * DISTINCT_LEVELS)

struct distinct {
    struct arena *mem;
    int32_t *level[DISTINCT_LEVELS]; /* counters, NULL: all 0 */
};

void distinct_init(struct distinct *d, struct arena *mem);
/* The cell of an id (a session's or an install's 16 bytes): < DISTINCT_CELLS. A session's own
 * contribution is this number: store it, add it, take it back. */
uint32_t distinct_cell(const void *id, size_t len);
bool distinct_add(struct distinct *d, uint32_t cell, int32_t by, struct err *err) MUST_CHECK;
/* Cells above 0 count. Exact for 0 and 1. */
double distinct_estimate(const struct distinct *d);

/* Sparse: layout byte, then varint step and zigzag count of each cell that is not 0. */
void distinct_write(const struct distinct *d, struct buf *out);
bool distinct_read(const void *bytes, size_t n, int sign, struct distinct *into,
                   struct err *err) MUST_CHECK; /* adds; untouched on ERR_INVALID */
