/*
 * stack_read: a stored stack as the analysis of stacks takes it. Texts live in `mem`.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stacks/frame.h"

/* symbols: how the stack reads with symbols (symbolicate.h), NULL if nobody has looked yet; frames:
 * as it came, read then. Both JSON texts of ours; ERR_INTERNAL if they are none. */
bool stack_read(const char *symbols, const char *frames, struct arena *mem,
                struct stack_frame **out, size_t *n, struct err *err) MUST_CHECK;
