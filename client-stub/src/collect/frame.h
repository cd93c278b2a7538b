/*
 * frame: what happens on the game's thread once a frame.
 *
 * fw_hook_present() belongs to the game's thread; it stores one time into the ring and publishes it
 * for the watchdog. No lock, no allocation, no system call. Any thread may block and unblock.
 */
#pragma once
#include "src/buffer/ring.h"

enum fw_block { /* bits: frames are not recorded while one is set */
                FW_BLOCK_CONFIG = 1,
                FW_BLOCK_BACKGROUND = 2,
                FW_BLOCK_CONSENT = 4
};

struct fw_hook {
    _Atomic uint32_t blocked;
    _Atomic uint64_t present_ns; /* of the last frame: the one that runs now began then; 0 none */
    _Atomic uintptr_t producer;  /* the thread whose frames were taken, by fw_thread_id(); 0 none */
    struct fw_ring ring;
};

static inline void fw_hook_present(struct fw_hook *h, uint64_t present_ns)
{
    fw_ring_push(&h->ring, present_ns & ~FW_RING_ROW_START);
    atomic_store_explicit(&h->present_ns, present_ns, memory_order_release);
}

static inline bool fw_hook_is_blocked(const struct fw_hook *h)
{
    return atomic_load_explicit(&h->blocked, memory_order_relaxed) != 0;
}

static inline bool fw_hook_is_blocked_by(const struct fw_hook *h, enum fw_block reason)
{
    return atomic_load_explicit(&h->blocked, memory_order_relaxed) & (uint32_t)reason;
}

void fw_hook_block(struct fw_hook *h, enum fw_block reason);
void fw_hook_unblock(struct fw_hook *h, enum fw_block reason);

/* How long the running frame has lasted; 0 while none runs. *began: when it began. */
uint64_t fw_hook_running_ns(const struct fw_hook *h, uint64_t now_ns, uint64_t *began);
