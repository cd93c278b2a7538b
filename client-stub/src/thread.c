#include "src/thread.h"

#include "src/clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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
        pthread_setname_np(*out, name);
    return !failed;
}

void fw_thread_yield_priority(int nice)
{
    /* Linux gives each thread its own nice value. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
}

uint64_t fw_thread_cpu_us(void)
{
    return fw_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000u;
}
