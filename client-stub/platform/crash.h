/*
 * crash: the handler of SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL.
 *
 * It runs on the thread that died, on its alternate stack where it has one, and writes a crash
 * record (src/buffer/crash_record.h) to a file that is open already: what happened, what the owner
 * has to add (`last_words`), then the stack, unwound on the spot through reads that cannot fault.
 * All of it is async-signal-safe: no lock, no allocation, no stdio. Then the handlers that were
 * there before are put back and the fault happens again, so they see it as if we had not been.
 *
 * The first thread to die writes; others that die meanwhile wait until it is done. A fault inside
 * the handler ends the record where it stands. A forked child's faults are not ours. One at a time
 * in a process; start and stop belong to the main thread.
 */
#pragma once
#include "platform/modules.h"
#include "src/buffer/crash_record.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define FW_CRASH_SIGNALS 5

struct fw_crash {
    /* set by the owner before the start */
    uint64_t start_ns;                                  /* of the session */
    bool after_others;                                  /* the handlers of before come first */
    void (*last_words)(void *user, struct fw_crash *c); /* in the handler; calls fw_crash_put */
    void *user;
    const struct fw_allocator *memory; /* NULL: malloc */

    _Atomic int fd; /* where the record goes, with its header in it; -1: nowhere yet */

    /* own */
    struct sigaction before[FW_CRASH_SIGNALS];
    struct fw_modules modules;
    unsigned char *stack; /* room for a copy of the thread's */
    struct fw_crash_module *module_list;
    _Atomic int dying;        /* the thread that writes; 0 none */
    _Atomic uint64_t died_ns; /* when it was done; 0 not yet */
    int pid, main_tid;
    bool started, own_stack; /* the main thread's alternate stack is ours */
};

/* False: no memory, or another session has it; then nothing is changed. */
bool fw_crash_start(struct fw_crash *c);
/* Also when not started. True: the process is dying this very moment, on another thread, and what
 * was recorded should stay. A death of long ago was none: an older handler had mended it. */
bool fw_crash_stop(struct fw_crash *c);
size_t fw_crash_memory(const struct fw_crash *c);

/* One section of the record, in two pieces. In the handler, or before anything can have died. */
bool fw_crash_put(int fd, enum fw_crash_kind kind, const void *head, size_t head_n,
                  const void *body, size_t body_n);

/* An alternate signal stack for the calling thread, unless it has one; false: it had, or there is
 * no memory. _drop only takes back what _give gave. */
/* What one takes of the address space, on pages of that size: a guard page below room for the
 * handler. */
size_t fw_crash_stack_bytes(size_t page_bytes);
bool fw_crash_give_stack(void);
void fw_crash_drop_stack(void);
