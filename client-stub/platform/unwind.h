/*
 * unwind: from the registers and a copy of the stack to a row of addresses, while the thread that
 * they were taken from runs on. By DWARF call frame information (.eh_frame) where a module has it,
 * else along frame pointers. Every read is bounded and of the copy or through fw_peek(), so neither
 * hostile nor vanishing memory can crash it. Takes no lock and allocates nothing.
 */
#pragma once
#include "platform/arch.h"
#include "platform/modules.h"

#define FW_UNWIND_MAX 128

struct fw_stack_copy {
    uint64_t base; /* address that bytes[0] was copied from */
    const unsigned char *bytes;
    size_t n;
};

struct fw_unwound {
    uint64_t address;               /* first: where it ran; then return addresses, as they are */
    const struct fw_module *module; /* NULL: in none */
};

/* Innermost first; the number of frames, at most FW_UNWIND_MAX. *missed (may be NULL): it met an
 * address outside of all known modules. */
size_t fw_unwind(const struct fw_modules *modules, const struct fw_regs *regs,
                 const struct fw_stack_copy *stack, struct fw_unwound out[FW_UNWIND_MAX],
                 bool *missed);

/* One step by the module's .eh_frame. exact: regs->pc is where it ran, not a return address.
 * *regs becomes the caller's, *signal_frame whether that was interrupted there. False, *regs
 * untouched: no information, or it leads nowhere. *end: the information says that this is the
 * outermost frame. */
bool fw_unwind_eh(const struct fw_module *module, const struct fw_stack_copy *stack, bool exact,
                  struct fw_regs *regs, bool *signal_frame, bool *end);

/* A word of the copy. */
bool fw_stack_word(const struct fw_stack_copy *stack, uint64_t address, uint64_t *out);
