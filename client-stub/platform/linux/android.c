#if defined(__ANDROID__)
#include "platform/platform.h"

#include <sys/system_properties.h>

#include <malloc.h>
#include <string.h>

const enum fw_platform fw_platform_kind = FW_PLATFORM_ANDROID;
const fw_network fw_platform_network = FW_NETWORK_UNKNOWN;

bool fw_platform_property(const char *name, char *out, size_t size)
{
    char value[PROP_VALUE_MAX];
    int n = __system_property_get(name, value);

    if (n <= 0 || (size_t)n >= size)
        return false;
    memcpy(out, value, (size_t)n + 1);
    return true;
}

/* Its counters are of machine words' width on the 64-bit processors. */
bool fw_platform_native_heap_kb(int64_t *kb)
{
    struct mallinfo m = mallinfo();

    *kb = (int64_t)((uint64_t)m.uordblks / 1024);
    return *kb > 0;
}
#endif
