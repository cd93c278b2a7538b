#if defined(__linux__) && defined(__aarch64__)
#include "platform/arch.h"

#include <ucontext.h>

/* x0-x30, sp. The return address is x30; its upper bits may be signed. */
const struct fw_arch fw_arch = {.name = "arm64",
                                .regs = 32,
                                .sp = 31,
                                .fp = 29,
                                .ra = 30,
                                .code_mask = (1ull << 48) - 1,
                                .link = true};

void fw_arch_regs(const void *ucontext, struct fw_regs *out)
{
    const ucontext_t *u = ucontext;

    for (unsigned i = 0; i < 31; i++)
        out->r[i] = u->uc_mcontext.regs[i];
    out->r[31] = u->uc_mcontext.sp;
    out->pc = u->uc_mcontext.pc;
    out->known = 0xffffffff;
}
#endif
