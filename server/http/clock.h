/*
 * clock: monotonic milliseconds and microseconds, for durations and deadlines only.
 */
#pragma once
#include <stdint.h>
#include <time.h>

static inline int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t now_ms(void)
{
    return now_us() / 1000;
}

/* Deadline for pthread_cond_timedwait on a condition made with CLOCK_MONOTONIC. */
static inline struct timespec monotonic_in(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}
