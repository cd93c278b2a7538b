#if defined(__APPLE__)
#include "platform/apple/arch.h"

#include <sys/ucontext.h>

#if defined(__aarch64__)
/* x0-x28, fp, lr, sp. */
const struct fw_arch fw_arch = {.name = "arm64",
                                .regs = 32,
                                .sp = 31,
                                .fp = 29,
                                .ra = 30,
                                .code_mask = (1ull << 47) - 1,
                                .link = true};

void fw_arch_thread_regs(const fw_thread_state *s, struct fw_regs *out)
{
    for (unsigned i = 0; i < 29; i++)
        out->r[i] = s->__x[i];
    out->r[29] = s->__fp;
    out->r[30] = s->__lr;
    out->r[31] = s->__sp;
    out->pc = s->__pc;
    out->known = 0xffffffff;
}
#else
const struct fw_arch fw_arch = {
    .name = "x86_64", .regs = 17, .sp = 7, .fp = 6, .ra = 16, .code_mask = UINT64_MAX};

void fw_arch_thread_regs(const fw_thread_state *s, struct fw_regs *out)
{
    const uint64_t r[17] = {s->__rax, s->__rdx, s->__rcx, s->__rbx, s->__rsi, s->__rdi,
                            s->__rbp, s->__rsp, s->__r8,  s->__r9,  s->__r10, s->__r11,
                            s->__r12, s->__r13, s->__r14, s->__r15, s->__rip};

    for (unsigned i = 0; i < 17; i++)
        out->r[i] = r[i];
    out->pc = s->__rip;
    out->known = 0xffff;
}
#endif

void fw_arch_regs(const void *ucontext, struct fw_regs *out)
{
    const ucontext_t *u = ucontext;

    fw_arch_thread_regs(&u->uc_mcontext->__ss, out);
}
#endif
