#include "stacks/distinct.h"

#include "base/cursor.h"
#include "base/digest.h"

#include <math.h>
#include <string.h>

#define LAYOUT 1
#define BUCKET_BITS 11 /* of DISTINCT_BUCKETS */

_Static_assert(DISTINCT_BUCKETS == 1u << BUCKET_BITS, "buckets are bits of a hash");

void distinct_init(struct distinct *d, struct arena *mem)
{
    *d = (struct distinct){.mem = mem};
}

uint32_t distinct_cell(const void *id, size_t len)
{
    unsigned char sum[SHA256_BYTES];
    uint64_t h = 0;
    unsigned level;

    sha256(id, len, sum);
    for (int i = 0; i < 8; i++)
        h = h << 8 | sum[i];
    level = h >> BUCKET_BITS ? (unsigned)__builtin_ctzll(h >> BUCKET_BITS) : DISTINCT_LEVELS;
    if (level >= DISTINCT_LEVELS)
        level = DISTINCT_LEVELS - 1;
    return level * DISTINCT_BUCKETS + (uint32_t)(h & (DISTINCT_BUCKETS - 1));
}

static int32_t *level_at(struct distinct *d, unsigned level)
{
    if (!d->level[level])
        d->level[level] = arena_array(d->mem, DISTINCT_BUCKETS, sizeof **d->level);
    return d->level[level];
}

static void count(int32_t *at, int32_t by, int sign)
{
    *at = (int32_t)(sign < 0 ? (uint32_t)*at - (uint32_t)by : (uint32_t)*at + (uint32_t)by);
}

bool distinct_add(struct distinct *d, uint32_t cell, int32_t by, struct err *err)
{
    int32_t *level;

    if (cell >= DISTINCT_CELLS)
        return err_set(err, ERR_INVALID, "no such cell of a distinct count: %u", cell);
    level = level_at(d, cell / DISTINCT_BUCKETS);
    if (!level)
        return err_full(err, "a distinct count");
    count(&level[cell % DISTINCT_BUCKETS], by, 1);
    return true;
}

/* Estimate ----------------------------------------------------------------------------------------
 * Cells of level l are met with probability p_l = 2^-(l+1) / m (the last level: twice that), so of
 * n ids, taken as Poisson, a cell stays empty with exp(-n p_l). With c_l of m cells met, n is where
 * d/dn of sum over l of c_l ln(1 - exp(-n p_l)) - (m - c_l) n p_l is 0: it falls in n.
 */

static double chance(unsigned level)
{
    unsigned halvings = level == DISTINCT_LEVELS - 1 ? level : level + 1;

    return ldexp(1.0 / DISTINCT_BUCKETS, -(int)halvings);
}

static double slope(const unsigned met[DISTINCT_LEVELS], double n)
{
    double sum = 0;

    for (unsigned l = 0; l < DISTINCT_LEVELS; l++) {
        double p = chance(l);

        if (met[l])
            sum += met[l] * p / expm1(n * p);
        sum -= (DISTINCT_BUCKETS - met[l]) * p;
    }
    return sum;
}

static unsigned cells_met(const struct distinct *d, unsigned met[DISTINCT_LEVELS])
{
    unsigned all = 0;

    for (unsigned l = 0; l < DISTINCT_LEVELS; l++) {
        met[l] = 0;
        for (unsigned b = 0; d->level[l] && b < DISTINCT_BUCKETS; b++)
            met[l] += d->level[l][b] > 0;
        all += met[l];
    }
    return all;
}

double distinct_estimate(const struct distinct *d)
{
    unsigned met[DISTINCT_LEVELS];
    double low = cells_met(d, met), high = low; /* never fewer than cells met */

    if (low < 2)
        return low;
    while (slope(met, high) > 0 && high < 1e15)
        high *= 2;
    for (int i = 0; i < 100 && high - low > 1e-6 * high; i++) {
        double middle = (low + high) / 2;

        if (slope(met, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Bytes -------------------------------------------------------------------------------------------
 */

void distinct_write(const struct distinct *d, struct buf *out)
{
    uint32_t last = 0;

    buf_byte(out, LAYOUT);
    for (uint32_t cell = 0; cell < DISTINCT_CELLS; cell++) {
        const int32_t *level = d->level[cell / DISTINCT_BUCKETS];

        if (!level) {
            cell += DISTINCT_BUCKETS - 1;
            continue;
        }
        if (level[cell % DISTINCT_BUCKETS]) {
            buf_varint(out, cell - last);
            buf_zigzag(out, level[cell % DISTINCT_BUCKETS]);
            last = cell;
        }
    }
}

static bool next_cell(struct cursor *c, uint64_t *cell, int32_t *value)
{
    uint64_t step = cursor_uleb(c), v = cursor_uleb(c);

    if (c->failed || step >= DISTINCT_CELLS || *cell + step >= DISTINCT_CELLS || v > UINT32_MAX)
        return false;
    *cell += step;
    *value = (int32_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
    return true;
}

static bool read_cells(const void *bytes, size_t n, int sign, struct distinct *into,
                       struct err *err)
{
    struct cursor c = cursor_over(bytes, n, "distinct");
    uint64_t cell = 0;
    int32_t value;

    if (n && cursor_u8(&c) != LAYOUT)
        return err_set(err, ERR_INVALID, "distinct count: unknown layout");
    while (cursor_left(&c)) {
        if (!next_cell(&c, &cell, &value))
            return err_set(err, ERR_INVALID, "distinct count: bad cell at byte %zu",
                           cursor_offset(&c));
        if (sign &&
            !distinct_add(into, (uint32_t)cell,
                          (int32_t)(sign < 0 ? 0u - (uint32_t)value : (uint32_t)value), err))
            return false;
    }
    return true;
}

/* Looked through once before anything is added. */
bool distinct_read(const void *bytes, size_t n, int sign, struct distinct *into, struct err *err)
{
    return read_cells(bytes, n, 0, into, err) && read_cells(bytes, n, sign < 0 ? -1 : 1, into, err);
}
