#if !defined(__ANDROID__)
#include "platform/platform.h"

const enum fw_platform fw_platform_kind = FW_PLATFORM_LINUX;

bool fw_platform_property(const char *name, char *out, size_t size)
{
    (void)name, (void)out, (void)size;
    return false;
}
#endif
