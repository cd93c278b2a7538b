/*
 * heavy: answers that group thousands of stacks while somebody waits. A read key may ask for them,
 * so what one takes is bounded, and how many are made at once: the other threads answer the rest.
 * Process-wide.
 */
#pragma once
#include "base/err.h"

#include <stdint.h>

#define HEAVY_AT_ONCE 2
#define HEAVY_STEPS UINT64_C(400000000) /* of holding rules against stacks, in one answer */

/* False: ERR_CROWDED. Else heavy_leave() when the answer is made. */
bool heavy_enter(struct err *err) MUST_CHECK;
void heavy_leave(void);
