/* glibc's, with the numbers of Apple's clocks and without Linux's. */
#pragma once
#include_next <time.h>
#undef CLOCK_BOOTTIME
#undef CLOCK_MONOTONIC_RAW
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_UPTIME_RAW 8
