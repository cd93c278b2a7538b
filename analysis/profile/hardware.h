/*
 * hardware: the one table of the values a hardware sample carries. A new metric of this kind is a
 * field in client-stub/wire/session.proto, a line here, and a collector in the SDK: decoding,
 * bounds, timeline, JSON and traces follow from the line.
 *
 * HARDWARE_FIELDS(X): X(name, unit, low, high, group, bound_source)
 *   name   as in session.proto and in every answer; the unit is in it
 *   low, high  physical bounds, inclusive; a value outside is `invalid`: kept out of every
 *          statistic, counted by reason, shown. Raising BOUNDS_VERSION goes with any change here.
 *   group  lane in timelines and traces
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define BOUNDS_VERSION 3

#define HARDWARE_FIELDS(X)                                                                         \
    X(process_cpu_permille, "1/1000 of all cores", 0, 1000, "cpu", "a share")                      \
    X(total_cpu_permille, "1/1000 of all cores", 0, 1000, "cpu", "a share")                        \
    X(battery_millicelsius, "m°C", 1, 90000, "temperature",                                        \
      "0 is an unread node; cells vent by 90")                                                     \
    X(skin_millicelsius, "m°C", 1, 125000, "temperature", "junction limit of phone SoCs")          \
    X(thermal_status, "0..6", 0, 6, "temperature", "Android PowerManager.THERMAL_STATUS_*")        \
    X(pss_kb, "KiB", 1, 33554432, "memory", "32 GiB, above any phone")                             \
    X(native_heap_kb, "KiB", 1, 33554432, "memory", "32 GiB")                                      \
    X(java_heap_kb, "KiB", 1, 33554432, "memory", "32 GiB")                                        \
    X(rss_kb, "KiB", 1, 33554432, "memory", "32 GiB")                                              \
    X(rss_anon_kb, "KiB", 0, 33554432, "memory", "32 GiB")                                         \
    X(swap_kb, "KiB", 0, 33554432, "memory", "32 GiB")                                             \
    X(phys_footprint_kb, "KiB", 1, 33554432, "memory", "32 GiB")                                   \
    X(thread_count, "threads", 1, 32768, "threads", "default pid_max")                             \
    X(main_wait_us, "us since start", 0, INT64_C(31536000000000), "threads", "a year")             \
    X(main_cpu_us, "us since start", 0, INT64_C(31536000000000), "threads", "a year")              \
    X(gpu_time_us, "us", 0, 60000000, "gpu", "a minute for one frame")                             \
    X(battery_permille, "1/1000", 0, 1000, "power", "a share")                                     \
    X(charging, "0 or 1", 0, 1, "power", "a truth value")                                          \
    X(network, "enum Network", 0, 4, "network", "session.proto")                                   \
    X(storage_free_mb, "MiB", 0, 67108864, "storage", "64 TiB, above any phone")                   \
    X(thread_peak, "threads", 1, 32768, "threads", "default pid_max")

enum hardware_field {
#define X(name, unit, low, high, group, source) HW_##name,
    HARDWARE_FIELDS(X)
#undef X
        HW_COUNT
};

#define MAX_CORES 64

/* Bounds outside the hardware table. Frame intervals in us, core frequencies in kHz (0 = off line).
 */
#define FRAME_LOW_US 100
#define FRAME_HIGH_US 60000000
#define CORE_KHZ_LOW 10000
#define CORE_KHZ_HIGH 6000000

struct hardware_info {
    const char *name, *unit, *group, *bound_source;
    int64_t low, high;
};
extern const struct hardware_info hardware_info[HW_COUNT];

struct hardware_sample {
    uint64_t t_us;
    uint32_t present; /* bit f: value[f] arrived and is within bounds */
    uint32_t invalid; /* bit f: value[f] arrived and is not */
    bool burst;
    uint8_t n_cores;
    uint64_t invalid_cores; /* bit c: core_khz[c] out of bounds, stored as 0 */
    int64_t value[HW_COUNT];
    uint32_t core_khz[MAX_CORES];
};

static inline bool hardware_has(const struct hardware_sample *s, enum hardware_field f)
{
    return s->present >> f & 1;
}
