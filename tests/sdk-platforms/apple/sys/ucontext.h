/* Apple's: the state of the thread that a signal interrupted. */
#pragma once
#include <mach/mach.h>
#include <signal.h>
struct fw_apple_mcontext {
    struct {
        uint64_t far;
        uint32_t esr, exception;
    } __es;
#if defined(__aarch64__)
    arm_thread_state64_t __ss;
#else
    x86_thread_state64_t __ss;
#endif
};
typedef struct {
    int uc_onstack;
    sigset_t uc_sigmask;
    stack_t uc_stack;
    void *uc_link;
    size_t uc_mcsize;
    struct fw_apple_mcontext *uc_mcontext;
} ucontext_t;
