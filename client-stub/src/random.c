#include "src/random.h"

#include "platform/platform.h"
#include "src/clock.h"

#include <stdint.h>
#include <unistd.h>

/* Names need uniqueness, not secrecy: where the system gives nothing, clocks and the process do. */
static void from_clocks(unsigned char *out, size_t n)
{
    uint64_t x = fw_clock_ns(CLOCK_REALTIME) ^ fw_now_ns() << 20 ^ (uint64_t)getpid() << 48;

    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        out[i] = (unsigned char)(x >> 56);
    }
}

void fw_random(void *out, size_t n)
{
    if (!fw_platform_random(out, n))
        from_clocks(out, n);
}
