#include "src/thread.h"

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

bool fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *user)
{
    pthread_attr_t attr;
    sigset_t blocked, before;

    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    block_others(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* inherited by the new thread */
    int failed = pthread_create(out, &attr, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!failed)
        fw_platform_name_thread(*out, name);
    return !failed;
}

void fw_thread_yield_priority(int nice)
{
    fw_platform_lower_priority(nice);
}

uint64_t fw_thread_cpu_us(void)
{
    return fw_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000u;
}
