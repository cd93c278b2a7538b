/* Main threads that signals interrupt deep in their stack. */
#pragma once

#include <stddef.h>

#define STACK_ROOM_BYTES (256 * 1024)

/* Touches so much of the stack below the caller, downwards, and leaves no frame. valgrind maps a
 * main thread's stack as it grows, and fails to when it is a signal's frame that makes it grow,
 * which depends on how much the environment has moved the stack. */
__attribute__((noinline, unused)) static void stack_room(void)
{
    volatile char room[STACK_ROOM_BYTES];

    for (size_t i = sizeof room; i >= 1024; i -= 1024)
        room[i - 1] = 0;
}
