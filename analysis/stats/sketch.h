/*
 * sketch: exact integer counts of frame times in 552 logarithmic buckets (layout 1), mergeable by
 * addition in any order. B[k] = floor(1000 (101/99)^k + 1/2) microseconds, k = 0..551, 1 ms .. 61.1
 * s; bucket k holds B[k-1] < t <= B[k] and is 2 % wide: any quantile is within that, and
 * closer where times spread (docs/metrics.md). Integer arithmetic only for adding: the SDK and the
 * server agree bit for bit. Adding wraps, so that what was added can be taken away. A struct has
 * one owner; functions are pure.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define SKETCH_LAYOUT 1
#define SKETCH_BUCKETS 552

struct sketch {
    int64_t count[SKETCH_BUCKETS]; /* may be negative in a difference of two contributions */
};

unsigned sketch_bucket(uint32_t t_us); /* 0..551; past the last bound: 551 */
uint32_t sketch_bound_us(unsigned k);  /* B[k] */
void sketch_add(struct sketch *s, uint32_t t_us);
void sketch_merge(struct sketch *into, const struct sketch *from, int sign); /* sign +1 or -1 */
int64_t sketch_total(const struct sketch *s);
/* Quantile q in 0..1, in us: geometric interpolation within the bucket of rank q (n-1) + 1/2;
 * 0 when empty. Formula: docs/metrics.md. */
double sketch_quantile_us(const struct sketch *s, double q);

/* Sparse form: layout byte, then varint bucket step and zigzag count for each non-zero bucket. */
void sketch_write(const struct sketch *s, struct buf *out);
/* Adds the sparse form (sign +1/-1) to *into; no bytes are an empty sketch. ERR_INVALID on an
 * unknown layout or malformed bytes, *into is then untouched. */
bool sketch_read(const void *bytes, size_t n, int sign, struct sketch *into,
                 struct err *err) MUST_CHECK;
