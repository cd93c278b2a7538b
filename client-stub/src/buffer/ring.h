/*
 * ring: present times from the game's thread to the sampling thread.
 *
 * One producer, one consumer, no lock. A full ring drops the newest frame, counts it, and marks the
 * next one that fits as the beginning of a new row, so a hole never looks like a long frame.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_RING_FRAMES 16384u /* power of two; 2 s of 8000 frames a second */
#define FW_RING_ROW_START (1ull << 63)
#define FW_CACHE_LINE 64

struct fw_ring {
    /* producer's */
    _Alignas(FW_CACHE_LINE) _Atomic uint64_t head; /* frames ever pushed */
    uint64_t known_tail;
    uint64_t mark; /* FW_RING_ROW_START after a drop */
    _Atomic uint64_t dropped;
    /* consumer's */
    _Alignas(FW_CACHE_LINE) _Atomic uint64_t tail;
    uint64_t slot[FW_RING_FRAMES];
};

static inline void fw_ring_push(struct fw_ring *r, uint64_t present_ns)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

    if (head - r->known_tail == FW_RING_FRAMES) {
        r->known_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head - r->known_tail == FW_RING_FRAMES) {
            uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);

            atomic_store_explicit(&r->dropped, dropped + 1, memory_order_relaxed);
            r->mark = FW_RING_ROW_START;
            return;
        }
    }
    r->slot[head % FW_RING_FRAMES] = present_ns | r->mark;
    r->mark = 0;
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/* The oldest frames, at most max; FW_RING_ROW_START is set in those that begin a row. */
size_t fw_ring_pop(struct fw_ring *r, uint64_t *out, size_t max);
