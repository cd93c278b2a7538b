#include "src/buffer/ring.h"

_Static_assert((FW_RING_FRAMES & (FW_RING_FRAMES - 1)) == 0, "a power of two");

size_t fw_ring_pop(struct fw_ring *r, uint64_t *out, size_t max)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    size_t n = head - tail < max ? (size_t)(head - tail) : max;

    for (size_t i = 0; i < n; i++)
        out[i] = r->slot[(tail + i) % FW_RING_FRAMES];
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
    return n;
}
