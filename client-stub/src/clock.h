/* clock: the two clocks a session is told by. The one of frames stands still while the device
 * sleeps: CLOCK_MONOTONIC; on Apple's systems that goes on, and CLOCK_UPTIME_RAW does not. */
#pragma once
#include <stdint.h>
#include <time.h>

#if defined(__APPLE__)
#define FW_AWAKE_CLOCK CLOCK_UPTIME_RAW
#define FW_STEADY_CLOCK CLOCK_MONOTONIC_RAW
#else
#define FW_AWAKE_CLOCK CLOCK_MONOTONIC
#define FW_STEADY_CLOCK CLOCK_BOOTTIME
#endif

static inline uint64_t fw_clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t fw_now_ns(void)
{
    return fw_clock_ns(FW_AWAKE_CLOCK);
}

/* How long the device has slept since it was started. */
static inline uint64_t fw_asleep_ns(void)
{
    uint64_t awake = fw_now_ns(), all = fw_clock_ns(FW_STEADY_CLOCK);

    return all > awake ? all - awake : 0;
}

static inline int64_t fw_wall_ms(void)
{
    return (int64_t)(fw_clock_ns(CLOCK_REALTIME) / 1000000u);
}
