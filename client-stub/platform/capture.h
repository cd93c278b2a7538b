/*
 * capture: registers and stack of the main thread while it works: by a signal; on Apple's systems
 * the thread is stopped for the time of the copy instead, and the fields of signals stay 0.
 *
 * fw_capture_start() runs on the main thread; fw_capture_take() on one other thread (the watchdog).
 * The handler is async-signal-safe: it copies at most FW_STACK_BYTES from the stack pointer, within
 * the thread's stack, into memory allocated at the start, and wakes the taker through a futex. It
 * takes no lock and allocates nothing. A signal that is not the taker's goes to the handler that
 * was there before. One capture at a time in a process.
 */
#pragma once
#include "platform/arch.h"
#include "wire/alloc.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define FW_STACK_BYTES 65536u

enum fw_capture_state { FW_CAPTURE_IDLE, FW_CAPTURE_ASKED, FW_CAPTURE_COPYING, FW_CAPTURE_DONE };

struct fw_capture {
    /* what was taken: valid for the taker after fw_capture_take() returned true */
    struct fw_regs regs;
    uint64_t taken_ns;   /* CLOCK_MONOTONIC */
    uint64_t stack_base; /* address of stack[0] */
    size_t stack_n;      /* 0: it ran on another stack (a coroutine's, a signal's) */
    unsigned char *stack;

    /* own */
    _Atomic uint32_t state; /* enum fw_capture_state; the futex */
    _Atomic uint32_t sent, handled;
    uint64_t stack_low, stack_high; /* low <= sp < high */
    int tid, signal;                /* Apple: tid is the Mach port */
    struct sigaction before;
    bool was_blocked;
    const struct fw_allocator *memory;
};

/* NULL on success, else why stacks cannot be taken (a constant text). */
const char *fw_capture_start(struct fw_capture *c, const struct fw_allocator *memory);
/* On the main thread, after the taker's last call. */
void fw_capture_stop(struct fw_capture *c);
/* A signal is on its way that the main thread has not answered yet. */
bool fw_capture_pending(struct fw_capture *c);
/* False: the main thread did not answer in time. Waits with no lock held. */
bool fw_capture_take(struct fw_capture *c, unsigned timeout_ms);
