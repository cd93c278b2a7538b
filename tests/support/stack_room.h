/* Main threads that signals interrupt deep in their stack. */
#pragma once

#include <stddef.h>

#define STACK_ROOM_BYTES (256 * 1024)

/* Touches so much of the caller's stack. valgrind maps a main thread's stack as it grows, and at
 * times fails to when it is a signal's frame that makes it grow. */
static inline void stack_room(void)
{
    volatile char room[STACK_ROOM_BYTES];

    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = 0;
}
