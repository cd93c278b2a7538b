/*
 * arch: what differs between processors for taking and walking a stack. One file each; DWARF
 * register numbers as in their psABIs.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FW_MAX_REGS 33

struct fw_arch {
    const char *name; /* of Module.arch */
    unsigned regs, sp, fp,
        ra;             /* number of registers; DWARF numbers; ra: the return address's column */
    uint64_t code_mask; /* of an address: drops pointer authentication */
    bool link;          /* a call puts the return address into ra (link_register.h) */
};
extern const struct fw_arch fw_arch; /* regs 0: stacks cannot be taken here */

struct fw_regs {
    uint64_t r[FW_MAX_REGS];
    uint64_t known; /* bit i: r[i] is known */
    uint64_t pc;
};

/* From a signal handler's third argument; async-signal-safe. */
void fw_arch_regs(const void *ucontext, struct fw_regs *out);
