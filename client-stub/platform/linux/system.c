#if defined(__linux__)
#include "platform/platform.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* GRND_NONBLOCK. getrandom() and its header are younger than Android 7. */
#define NONBLOCK 1u

bool fw_platform_random(void *out, size_t n)
{
    return syscall(SYS_getrandom, out, n, NONBLOCK) == (long)n;
}

uint64_t fw_platform_ram_bytes(void)
{
    return 0;
}

int fw_platform_tid(void)
{
    return (int)syscall(SYS_gettid);
}

void fw_platform_thread_name(char out[FW_THREAD_NAME_BYTES])
{
    prctl(PR_GET_NAME, out);
}

void fw_platform_name_thread(pthread_t thread, const char *name)
{
    pthread_setname_np(thread, name);
}

void fw_platform_lower_priority(int nice)
{
    /* Linux gives each thread its own nice value. Never a better one than the game's. */
    if (getpriority(PRIO_PROCESS, (id_t)fw_platform_tid()) < nice)
        setpriority(PRIO_PROCESS, (id_t)fw_platform_tid(), nice);
}

void fw_platform_signal_self(int signal, siginfo_t *info)
{
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), fw_platform_tid(), signal, info) != 0)
        syscall(SYS_tgkill, getpid(), fw_platform_tid(), signal);
}
#endif
