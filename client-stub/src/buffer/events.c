#include "src/buffer/events.h"

#include <string.h>

/*
 * A record is a head word (kind << 32 | payload bytes), a time word and the payload in words. A
 * head of 0 is not committed yet: the consumer zeroes what it took before it gives the room back.
 * Words are atomic (relaxed: plain moves), because the head of one round lies where a payload lay
 * before.
 */
#define WORDS (FW_EVENTS_BYTES / 8u)
#define HEAD_WORDS 2u
#define KIND_PAD 0xffffu /* the rest up to the end of the ring; payload bytes tell how much */

_Static_assert((WORDS & (WORDS - 1)) == 0, "a power of two");

static uint64_t words_of(size_t n)
{
    return HEAD_WORDS + (n + 7) / 8;
}

static _Atomic uint64_t *at(struct fw_events *e, uint64_t position)
{
    return &e->word[position % WORDS];
}

/* Reserves `need` words in one piece; *position is where they begin. */
static bool reserve(struct fw_events *e, uint64_t need, uint64_t *position)
{
    uint64_t from = atomic_load_explicit(&e->reserved, memory_order_relaxed), pad;

    do {
        uint64_t to_end = WORDS - from % WORDS;

        pad = need > to_end ? to_end : 0;
        /* Signed: `from` may be older than the tail; the exchange then fails and tells the new. */
        if ((int64_t)(from + pad + need - atomic_load_explicit(&e->tail, memory_order_acquire)) >
            (int64_t)WORDS)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&e->reserved, &from, from + pad + need,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (pad)
        atomic_store_explicit(at(e, from), (uint64_t)KIND_PAD << 32 | pad, memory_order_release);
    *position = from + pad;
    return true;
}

bool fw_events_push(struct fw_events *e, enum fw_event_kind kind, uint64_t t_ns,
                    const void *payload, size_t n)
{
    const unsigned char *bytes = payload;
    uint64_t position;

    if (n > FW_EVENT_MAX_PAYLOAD || !reserve(e, words_of(n), &position)) {
        atomic_fetch_add_explicit(&e->dropped, 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(at(e, position + 1), t_ns, memory_order_relaxed);
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;

        memcpy(&word, bytes + i, n - i < 8 ? n - i : 8);
        atomic_store_explicit(at(e, position + HEAD_WORDS + i / 8), word, memory_order_relaxed);
    }
    atomic_store_explicit(at(e, position), (uint64_t)kind << 32 | n, memory_order_release);
    return true;
}

static void give_back(struct fw_events *e, uint64_t tail, uint64_t words)
{
    for (uint64_t i = 0; i < words; i++)
        atomic_store_explicit(at(e, tail + i), 0, memory_order_relaxed);
    atomic_store_explicit(&e->tail, tail + words, memory_order_release);
}

bool fw_events_pop(struct fw_events *e, struct fw_event *out)
{
    for (;;) {
        uint64_t tail = atomic_load_explicit(&e->tail, memory_order_relaxed);
        uint64_t head = atomic_load_explicit(at(e, tail), memory_order_acquire);
        uint32_t n = (uint32_t)head;

        if (!head)
            return false;
        if (head >> 32 == KIND_PAD) {
            give_back(e, tail, n);
            continue;
        }
        out->kind = (enum fw_event_kind)(head >> 32);
        out->t_ns = atomic_load_explicit(at(e, tail + 1), memory_order_relaxed);
        out->n = n;
        for (size_t i = 0; i < n; i += 8) {
            uint64_t word =
                atomic_load_explicit(at(e, tail + HEAD_WORDS + i / 8), memory_order_relaxed);

            memcpy(out->payload + i, &word, n - i < 8 ? n - i : 8);
        }
        give_back(e, tail, words_of(n));
        return true;
    }
}
