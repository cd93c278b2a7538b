#if defined(__APPLE__)
#include "platform/platform.h"

#include <TargetConditionals.h>
#include <malloc/malloc.h>
#include <pthread/qos.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <mach-o/dyld.h>
#include <mach/mach.h>

#if TARGET_OS_SIMULATOR
#define SIMULATOR "1"
#else
#define SIMULATOR ""
#endif

const enum fw_platform fw_platform_kind = FW_PLATFORM_IOS;
const fw_network fw_platform_network = FW_NETWORK_UNKNOWN;

/* Apple's Technical Q&A QA1361. */
static bool is_traced(char *out, size_t size)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
    struct kinfo_proc p;
    size_t n = sizeof p;

    if (size < 2 || sysctl(name, 4, &p, &n, NULL, 0) != 0 || n != sizeof p ||
        !(p.kp_proc.p_flag & P_TRACED))
        return false;
    memcpy(out, "1", 2);
    return true;
}

static bool executable(char *out, size_t size)
{
    uint32_t n = (uint32_t)size;

    return _NSGetExecutablePath(out, &n) == 0;
}

/* Android's name, sysctl's; or the value itself; or who tells it. */
static const struct {
    const char *name, *sysctl, *value;
    bool (*ask)(char *out, size_t size);
} property[] = {
    {"ro.product.manufacturer", NULL, "Apple", NULL},
    {"ro.product.model", "hw.machine", NULL, NULL},
    {"ro.soc.model", "machdep.cpu.brand_string", NULL, NULL},
    {"ro.board.platform", "hw.model", NULL, NULL},
    {"ro.build.version.release", "kern.osproductversion", NULL, NULL},
    {"fw.simulator", NULL, SIMULATOR, NULL},
    {"fw.traced", NULL, NULL, is_traced},
    {"fw.executable", NULL, NULL, executable},
};

bool fw_platform_property(const char *name, char *out, size_t size)
{
    for (size_t i = 0; i < sizeof property / sizeof *property; i++) {
        size_t n = size - 1;

        if (strcmp(name, property[i].name) != 0)
            continue;
        if (property[i].ask)
            return property[i].ask(out, size);
        if (property[i].value) {
            n = strlen(property[i].value);
            if (n >= size)
                return false;
            memcpy(out, property[i].value, n);
        } else if (sysctlbyname(property[i].sysctl, out, &n, NULL, 0) != 0 || n >= size) {
            return false;
        }
        out[n] = 0;
        return *out;
    }
    return false;
}

uint64_t fw_platform_ram_bytes(void)
{
    uint64_t bytes = 0;
    size_t n = sizeof bytes;

    return sysctlbyname("hw.memsize", &bytes, &n, NULL, 0) == 0 && n == sizeof bytes ? bytes : 0;
}

bool fw_platform_native_heap_kb(int64_t *kb)
{
    malloc_statistics_t all;

    malloc_zone_statistics(NULL, &all);
    *kb = (int64_t)(all.size_in_use / 1024);
    return *kb > 0;
}

bool fw_platform_random(void *out, size_t n)
{
    arc4random_buf(out, n);
    return true;
}

int fw_platform_tid(void)
{
    return (int)pthread_mach_thread_np(pthread_self());
}

void fw_platform_thread_name(char out[FW_THREAD_NAME_BYTES])
{
    if (pthread_getname_np(pthread_self(), out, FW_THREAD_NAME_BYTES) != 0)
        out[0] = 0;
}

void fw_platform_name_thread(pthread_t thread, const char *name)
{
    (void)thread, (void)name;
}

/* The watchdog (5) must be on time, the others (10, 15) need not. */
void fw_platform_lower_priority(int nice)
{
    pthread_set_qos_class_self_np(nice < 10 ? QOS_CLASS_DEFAULT : QOS_CLASS_UTILITY, 0);
}

void fw_platform_signal_self(int signal, siginfo_t *info)
{
    (void)info; /* only the kernel can say where a signal came from */
    pthread_kill(pthread_self(), signal);
}
#endif
