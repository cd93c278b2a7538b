/*
 * watchdog: notices while a frame is long, and takes the main thread's stack then.
 *
 * One thread. While frames flow it wakes about once in jank_stack_ms: it sleeps until the running
 * frame would be long, and by then another one usually runs. While nothing runs (background,
 * paused) it wakes once a second. It unwinds after the main thread has gone on; it never waits with
 * a lock held, and a main thread that does not answer in 200 ms is left alone: on a busy machine it
 * may answer later, and only one that never does ends the stacks. Then the game is asked for its
 * managed stack, if it tells one.
 */
#pragma once
#include "platform/capture.h"
#include "platform/modules.h"
#include "src/collect/frame.h"
#include "src/control/desk.h"
#include "src/control/managed.h"
#include "src/log.h"
#include "src/waker.h"

struct fw_watchdog {
    /* set by the owner before the start */
    struct fw_hook *hook;
    struct fw_desk *desk;
    struct fw_waker *sampler; /* woken when a jank begins */
    const struct fw_log *log;
    const struct fw_allocator *memory; /* NULL: malloc */
    struct fw_managed managed;         /* its call and user */
    _Atomic uint32_t jank_stack_ms;
    _Atomic bool stacks;      /* wanted */
    _Atomic uint64_t jank_ns; /* begin of the last long frame seen; read by the sampler */

    /* own */
    struct fw_waker waker;
    struct fw_modules modules;
    uint64_t modules_ns; /* when their list was read; 0 never */
    struct fw_capture capture;
    bool can_capture;
    const char *_Atomic off_reason; /* why stacks are not taken; NULL: they are */
    uint64_t silent_since_ns;       /* when the oldest unanswered signal was sent */
    _Atomic uint64_t failures;
    _Atomic bool stop;
    _Atomic uint64_t wakeups, cpu_us;
    pthread_t thread;
    bool running;
};

/* On the main thread. Without `stacks` nothing is signalled, but janks are still noticed, and the
 * game is asked. False: no thread, or no memory for managed stacks. */
bool fw_watchdog_start(struct fw_watchdog *w, bool stacks);
void fw_watchdog_stop(struct fw_watchdog *w); /* on the main thread; also after a failed start */
void fw_watchdog_fini(struct fw_watchdog *w); /* last: when nobody can wake it any more */
size_t fw_watchdog_memory(const struct fw_watchdog *w);
