#if defined(__linux__) && !defined(__x86_64__) && !defined(__aarch64__)
#include "platform/arch.h"

const struct fw_arch fw_arch = {.name = "unknown"};

void fw_arch_regs(const void *ucontext, struct fw_regs *out)
{
    (void)ucontext;
    *out = (struct fw_regs){0};
}
#endif
