/*
 * clock: the monotonic clock, for durations and deadlines only; never a date.
 */
#pragma once
#include <pthread.h>
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

/* Deadline for pthread_cond_timedwait on a condition of monotonic_cond_init. */
static inline struct timespec monotonic_in(int64_t ms)
{
    int64_t at = now_us() + ms * 1000;

    return (struct timespec){.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
}

static inline void monotonic_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}
