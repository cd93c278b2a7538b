/* arch: the kernel's state of a thread on Apple's systems, as registers by their DWARF numbers. */
#pragma once
#if defined(__APPLE__)
#include "platform/arch.h"

#include <mach/mach.h>

#if defined(__aarch64__)
typedef arm_thread_state64_t fw_thread_state;
#define FW_THREAD_STATE ARM_THREAD_STATE64
#define FW_THREAD_STATE_COUNT ARM_THREAD_STATE64_COUNT
#else
typedef x86_thread_state64_t fw_thread_state;
#define FW_THREAD_STATE x86_THREAD_STATE64
#define FW_THREAD_STATE_COUNT x86_THREAD_STATE64_COUNT
#endif

void fw_arch_thread_regs(const fw_thread_state *state, struct fw_regs *out);
#endif
