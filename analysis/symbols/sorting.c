#include "symbols/sorting.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define SMALL 48

static bool is_sorted(const uint64_t *keys, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return true;
}

static void insertion_sort(uint64_t *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        size_t j = i;

        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* One stable pass over the digit at `shift`. */
static void radix_pass(const uint64_t *in, uint64_t *out, size_t n, unsigned shift)
{
    size_t place[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        place[in[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t count = place[d];

        place[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        out[place[in[i] >> shift & (DIGITS - 1)]++] = in[i];
}

bool sort_keys(struct mem *m, uint64_t *keys, size_t n)
{
    if (n < 2 || is_sorted(keys, n))
        return true;
    if (n <= SMALL) {
        insertion_sort(keys, n);
        return true;
    }

    uint64_t *other = mem_alloc(m, n, sizeof *other);

    if (!other)
        return false;
    radix_pass(keys, other, n, 32);
    radix_pass(other, keys, n, 32 + DIGIT_BITS);
    radix_pass(keys, other, n, 32 + 2 * DIGIT_BITS);
    memcpy(keys, other, n * sizeof *keys);
    mem_free(m, other);
    return true;
}

/* Ranges that cover the current position, and some that ended: those leave when they reach the top.
 */
struct heap {
    VEC(const struct sweep_range *) all;
};

static bool heap_push(struct mem *m, struct heap *h, const struct sweep_range *r)
{
    if (!VEC_ROOM(m, &h->all, 1))
        return false;

    size_t i = h->all.n++;

    for (; i > 0 && h->all.at[(i - 1) / 2]->rank < r->rank; i = (i - 1) / 2)
        h->all.at[i] = h->all.at[(i - 1) / 2];
    h->all.at[i] = r;
    return true;
}

static void heap_pop(struct heap *h)
{
    const struct sweep_range *last = h->all.at[--h->all.n];
    size_t n = h->all.n, i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < n && h->all.at[child + 1]->rank > h->all.at[child]->rank)
            child++;
        if (child >= n || h->all.at[child]->rank <= last->rank)
            break;
        h->all.at[i] = h->all.at[child];
        i = child;
    }
    if (n)
        h->all.at[i] = last;
}

static bool order_ranges(struct mem *m, struct sweep_range *ranges, size_t n)
{
    uint64_t *keys = mem_alloc(m, n, sizeof *keys);
    struct sweep_range *sorted = NULL;
    bool ok = false;

    if (!keys)
        return false;
    for (size_t i = 0; i < n; i++)
        keys[i] = sort_key(ranges[i].start, i);
    ok = is_sorted(keys, n);
    if (!ok && sort_keys(m, keys, n) && (sorted = mem_alloc(m, n, sizeof *sorted))) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = ranges[key_index(keys[i])];
        memcpy(ranges, sorted, n * sizeof *ranges);
        ok = true;
    }
    mem_free(m, sorted);
    mem_free(m, keys);
    return ok;
}

/* Visits what the ranges begun so far show from *at up to `limit`. */
static bool visit_until(struct heap *h, uint32_t *at, uint32_t limit, sweep_visit *visit, void *ctx)
{
    while (h->all.n && *at < limit) {
        const struct sweep_range *top = h->all.at[0];

        if (top->end <= *at) {
            heap_pop(h);
            continue;
        }

        uint32_t end = top->end < limit ? top->end : limit;

        if (!visit(ctx, *at, end, top->tag))
            return false;
        *at = end;
    }
    return true;
}

bool sweep(struct mem *m, struct sweep_range *ranges, size_t n, sweep_visit *visit, void *ctx)
{
    struct heap heap = {0};
    uint32_t at = 0;
    bool ok = n == 0 || order_ranges(m, ranges, n);

    for (size_t i = 0; ok && i < n; i++) {
        ok = visit_until(&heap, &at, ranges[i].start, visit, ctx);
        at = ranges[i].start;
        ok = ok && heap_push(m, &heap, &ranges[i]);
    }
    ok = ok && visit_until(&heap, &at, UINT32_MAX, visit, ctx);
    VEC_FREE(m, &heap.all);
    return ok;
}
