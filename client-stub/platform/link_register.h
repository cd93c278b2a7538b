/*
 * link_register: where an arm64 function's return address is, told by the code that it has still to
 * run. For code without .eh_frame. Reads through fw_peek(); any thread, no lock, no allocation.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Whether x30 holds the return address of the function that is about to run the instruction at pc:
 * it is a leaf, has not made its frame yet, or has given it up. Followed are at most 128
 * instructions, the way on that takes no conditional branch: as compilers keep x30 at one place
 * whichever way led there, any way shows it. False also where that way does not tell. */
bool fw_link_register_holds(uint64_t pc);
