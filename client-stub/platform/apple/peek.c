#if defined(__APPLE__)
#include "platform/peek.h"

#include <mach/mach.h>

bool fw_peek(uint64_t address, void *out, size_t n)
{
    vm_size_t got = 0;

    return vm_read_overwrite(mach_task_self(), (vm_address_t)address, n,
                             (vm_address_t)(uintptr_t)out, &got) == KERN_SUCCESS &&
           got == n;
}
#endif
