#include "src/thread.h"

#include "platform/crash.h"
#include "platform/platform.h"
#include "src/clock.h"

#include <signal.h>

/* What a thread must take: faults, and the signals by which garbage collectors stop a thread. A
 * callback may run managed code, on this thread and on threads that inherit its mask, and a
 * collector waits for all of them: Boehm's (Unity) by SIGPWR and SIGXCPU, Mono's by a real-time
 * signal. */
static void block_others(sigset_t *blocked)
{
    static const int taken[] = {
        SIGSEGV,
        SIGBUS,
        SIGFPE,
        SIGILL,
        SIGTRAP,
        SIGABRT,
        SIGSYS,
        SIGXCPU,
#if defined(SIGPWR)
        SIGPWR,
#endif
    };

    sigfillset(blocked);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigdelset(blocked, taken[i]);
#if defined(SIGRTMIN)
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        sigdelset(blocked, i);
#endif
}

#define TAKEN 1u /* no thread's id */

_Alignas(64) _Atomic uintptr_t fw_own_thread[FW_OWN_THREADS];

/* What the thread of that place runs; written before it is created. */
static struct start {
    void *(*run)(void *);
    void *user;
} start[FW_OWN_THREADS];

static struct start *take_place(void *(*run)(void *), void *user)
{
    for (size_t i = 0; i < FW_OWN_THREADS; i++) {
        uintptr_t none = 0;

        if (atomic_compare_exchange_strong(&fw_own_thread[i], &none, TAKEN)) {
            start[i] = (struct start){run, user};
            return &start[i];
        }
    }
    return NULL;
}

static void give_place(const struct start *s)
{
    atomic_store(&fw_own_thread[s - start], 0);
}

static void *begin(void *place)
{
    struct start *s = place;
    void *result;

    atomic_store(&fw_own_thread[s - start], fw_thread_id());
    result = s->run(s->user);
    fw_crash_drop_stack(); /* of a fw_thread_begin in a callback */
    give_place(s);
    return result;
}

static bool create(pthread_t *out, size_t stack_bytes, struct start *place)
{
    pthread_attr_t attr;
    sigset_t blocked, before;

    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    block_others(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* inherited by the new thread */
    int failed = pthread_create(out, &attr, begin, place);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return !failed;
}

bool fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *user)
{
    struct start *place = take_place(run, user);

    if (!place)
        return false;
    if (!create(out, stack_bytes, place)) {
        give_place(place);
        return false;
    }
    fw_platform_name_thread(*out, name);
    return true;
}

void fw_thread_yield_priority(int nice)
{
    fw_platform_lower_priority(nice);
}

uint64_t fw_thread_cpu_us(void)
{
    return fw_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000u;
}
