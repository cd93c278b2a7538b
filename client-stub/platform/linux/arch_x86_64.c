#if defined(__linux__) && defined(__x86_64__)
#include "platform/arch.h"

#include <ucontext.h>

/* rax rdx rcx rbx rsi rdi rbp rsp r8-r15, return address */
const struct fw_arch fw_arch = {
    .name = "x86_64", .regs = 17, .sp = 7, .fp = 6, .ra = 16, .code_mask = UINT64_MAX};

void fw_arch_regs(const void *ucontext, struct fw_regs *out)
{
    static const unsigned char dwarf[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *u = ucontext;

    for (unsigned i = 0; i < 16; i++)
        out->r[i] = (uint64_t)u->uc_mcontext.gregs[dwarf[i]];
    out->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    out->r[16] = out->pc;
    out->known = 0xffff;
}
#endif
