#include "src/thread.h"

#include "platform/platform.h"
#include "src/clock.h"

#include <signal.h>

static void faults_only(sigset_t *blocked)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

    sigfillset(blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(blocked, faults[i]);
}

bool fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *user)
{
    pthread_attr_t attr;
    sigset_t blocked, before;

    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    faults_only(&blocked);
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
