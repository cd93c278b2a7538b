/*
 * managed: the main thread's managed stack (Java, C#, Lua), as the game tells it while a frame is
 * long.
 *
 * Belongs to the watchdog thread, which makes the call: it cannot be cut short, so a stack that
 * came later than FW_MANAGED_SLOW_MS is not used, and after FW_MANAGED_MAX_SLOW such calls in a row
 * the game is not asked any more. Texts are scrubbed and cut as they come; frames past the limits
 * are left out, the outermost first.
 */
#pragma once
#include "src/control/desk.h"
#include "src/log.h"
#include "wire/alloc.h"

#include <stdatomic.h>

#include <framewatch.h>

#define FW_MANAGED_SLOW_MS 200
#define FW_MANAGED_MAX_SLOW 3

struct fw_managed_stack { /* what fw_managed_frame() adds to, while the game is asked */
    struct fw_desk_texts texts;
    bool full;
};

struct fw_managed {
    /* set by the owner before the start */
    void (*call)(void *user, fw_managed_stack *out); /* NULL: nobody tells one */
    void *user;

    /* own */
    struct fw_managed_stack *stack;
    unsigned slow_in_a_row;
    const char *_Atomic off_reason;
    _Atomic uint64_t looks, ns, max_ns, slow; /* read by the sampler */
};

/* False: no memory. */
bool fw_managed_start(struct fw_managed *m, const struct fw_allocator *memory);
void fw_managed_stop(struct fw_managed *m, const struct fw_allocator *memory);
bool fw_managed_wanted(const struct fw_managed *m);
/* One call. NULL: it was slow, or told nothing. Good until the next one. */
const struct fw_desk_texts *fw_managed_ask(struct fw_managed *m, const struct fw_log *log);
