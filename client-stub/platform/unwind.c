#include "platform/unwind.h"

#include "platform/link_register.h"

#include <string.h>

bool fw_stack_word(const struct fw_stack_copy *stack, uint64_t address, uint64_t *out)
{
    uint64_t offset = address - stack->base;

    if (address < stack->base || stack->n < sizeof *out || offset > stack->n - sizeof *out)
        return false;
    memcpy(out, stack->bytes + offset, sizeof *out);
    return true;
}

/* {caller's frame pointer, return address} lies where the frame pointer points. */
static bool step_by_frame_pointer(const struct fw_stack_copy *stack, struct fw_regs *regs)
{
    uint64_t fp = regs->r[fw_arch.fp], caller_fp, pc;

    if (!(regs->known >> fw_arch.fp & 1) || fp % sizeof fp || fp < regs->r[fw_arch.sp] ||
        !fw_stack_word(stack, fp, &caller_fp) || !fw_stack_word(stack, fp + 8, &pc))
        return false;
    regs->r[fw_arch.sp] = fp + 16;
    regs->r[fw_arch.fp] = caller_fp;
    regs->pc = pc & fw_arch.code_mask;
    regs->known = 1ull << fw_arch.sp | 1ull << fw_arch.fp;
    return true;
}

/* To whoever called a function that has no frame, when the link register still says who. The
 * caller's sp is not known: what is told by it would be wrong. */
static bool step_by_link_register(const struct fw_modules *modules, struct fw_regs *regs)
{
    uint64_t back = regs->r[fw_arch.ra] & fw_arch.code_mask;

    if (!fw_arch.link || !(regs->known >> fw_arch.ra & 1) || !fw_modules_find(modules, back - 1) ||
        !fw_link_register_holds(regs->pc))
        return false;
    regs->pc = back;
    regs->known &= 1ull << fw_arch.fp;
    return true;
}

size_t fw_unwind(const struct fw_modules *modules, const struct fw_regs *regs,
                 const struct fw_stack_copy *stack, struct fw_unwound out[FW_UNWIND_MAX],
                 bool *missed)
{
    struct fw_regs r = *regs;
    bool exact = true, end = false;
    size_t n = 0;

    if (missed)
        *missed = false;
    while (fw_arch.regs && n < FW_UNWIND_MAX && r.pc && !end) {
        const struct fw_module *module = fw_modules_find(modules, exact ? r.pc : r.pc - 1);
        uint64_t sp = r.r[fw_arch.sp];
        bool ran = exact, signal_frame = false;

        if (missed && !module)
            *missed = true;
        if (n && !module)
            break; /* a return address outside every image is a guess gone wrong */
        out[n].address = r.pc;
        out[n++].module = module;
        if (module && fw_unwind_eh(module, stack, exact, &r, &signal_frame, &end))
            exact = signal_frame;
        else if (!end &&
                 ((ran && step_by_link_register(modules, &r)) || step_by_frame_pointer(stack, &r)))
            exact = false;
        else
            break;
        /* A leaf without a frame (arm64) returns with the same sp; nothing else may. */
        if (r.r[fw_arch.sp] < sp || (r.r[fw_arch.sp] == sp && !ran))
            break;
    }
    return n;
}
