#if defined(__linux__) && !defined(__ANDROID__)
#include "platform/platform.h"

#include <malloc.h>

const enum fw_platform fw_platform_kind = FW_PLATFORM_LINUX;
const fw_network fw_platform_network = FW_NETWORK_WIFI;

bool fw_platform_property(const char *name, char *out, size_t size)
{
    (void)name, (void)out, (void)size;
    return false;
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
bool fw_platform_native_heap_kb(int64_t *kb)
{
    struct mallinfo2 m = mallinfo2();

    *kb = (int64_t)((m.uordblks + m.hblkhd) / 1024);
    return *kb > 0;
}
#else
bool fw_platform_native_heap_kb(int64_t *kb)
{
    (void)kb;
    return false;
}
#endif
#endif
