#include "src/collect/frame.h"

void fw_hook_block(struct fw_hook *h, enum fw_block reason)
{
    atomic_fetch_or(&h->blocked, (uint32_t)reason);
    atomic_store(&h->present_ns, 0);
}

void fw_hook_unblock(struct fw_hook *h, enum fw_block reason)
{
    atomic_fetch_and(&h->blocked, ~(uint32_t)reason);
}

uint64_t fw_hook_running_ns(const struct fw_hook *h, uint64_t now_ns, uint64_t *began)
{
    *began = atomic_load_explicit(&h->present_ns, memory_order_acquire);
    return *began && now_ns > *began && !fw_hook_is_blocked(h) ? now_ns - *began : 0;
}
