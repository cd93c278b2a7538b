/* Encodings: Arm Architecture Reference Manual, C4.1. */
#include "platform/link_register.h"

#include "platform/peek.h"

#define MAX_STEPS 128
#define FP 29u
#define LR 30u
#define SP 31u

enum fate { KEPT, HOLDS, HOLDS_NOT };

static uint32_t field(uint32_t w, unsigned low)
{
    return w >> low & 31;
}

/* stp with x30 beside x29 or before the sp that it moves, str before the sp that it moves: a frame
 * begins. Elsewhere x30 is stored as any other register. */
static bool saves(uint32_t w)
{
    bool pair = (w & 0xfe400000) == 0xa8000000, moves = pair && (w & 0x01800000) == 0x01800000;

    if (field(w, 5) != SP)
        return false;
    return (pair && field(w, 0) == FP && field(w, 10) == LR) || moves ||
           (w & 0xffe00c00) == 0xf8000c00;
}

static enum fate memory_fate(uint32_t w)
{
    bool pair = (w & 0xfe000000) == 0xa8000000;

    if (field(w, 0) != LR && !(pair && field(w, 10) == LR))
        return KEPT;
    return saves(w) ? HOLDS : HOLDS_NOT;
}

static enum fate branch_fate(uint32_t w)
{
    if (w == 0xd65f03c0 || w == 0xd65f0bff || w == 0xd65f0fff) /* ret, retaa, retab */
        return HOLDS;
    if ((w & 0xfc000000) == 0x94000000 || (w & 0xfe000000) == 0xd6000000) /* bl, blr, br */
        return HOLDS_NOT;
    return (w & 0xff000000) == 0xd4000000 && (w & 0x1f) != 1 ? HOLDS_NOT : KEPT; /* brk */
}

static enum fate fate(uint32_t w)
{
    if ((w & 0xffc003ff) == (0x91000000 | SP << 5 | FP)) /* add x29, sp, #…: the frame, made */
        return HOLDS;
    if ((w & 0x1c000000) == 0x14000000)
        return branch_fate(w);
    if ((w & 0x0e000000) == 0x08000000)
        return memory_fate(w);
    if ((w & 0x0e000000) == 0x0c000000 || (w & 0x0e000000) == 0x0e000000) /* of vectors */
        return KEPT;
    if (w < 0x10000 || field(w, 0) == LR) /* udf; any other write of x30 */
        return HOLDS_NOT;
    return KEPT;
}

/* Of an unconditional branch; else the next instruction. */
static uint64_t next(uint64_t pc, uint32_t w)
{
    if ((w & 0xfc000000) != 0x14000000)
        return pc + 4;
    return pc + (uint64_t)((int64_t)(int32_t)(w << 6) >> 4);
}

bool fw_link_register_holds(uint64_t pc)
{
    struct fw_peeker p;

    if (pc % 4)
        return false;
    fw_peeker_init(&p, pc, UINT64_MAX);
    for (unsigned i = 0; i < MAX_STEPS; i++) {
        uint32_t w = (uint32_t)fw_peek_le(&p, 4);
        enum fate f = p.failed ? HOLDS_NOT : fate(w);

        if (f != KEPT)
            return f == HOLDS;
        if (next(pc, w) != pc + 4)
            fw_peeker_init(&p, next(pc, w), UINT64_MAX);
        pc = next(pc, w);
    }
    return false;
}
