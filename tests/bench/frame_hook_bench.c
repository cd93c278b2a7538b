/*
 * What fw_frame() costs the game's thread, in a running session (its sampling thread and watchdog
 * at work). Median over groups of calls timed together; p99.9 over calls timed one by one, less
 * what reading the clock twice costs. The ring is let run empty between rounds, so that the usual
 * path is measured and not the one that drops.
 */
#include "src/clock.h"
#include "src/control/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 100
#define CALLS 8000 /* a round; fits the ring */
#define GROUP 16

static uint32_t single[ROUNDS * CALLS / 2];
static double group[ROUNDS * CALLS / 2 / GROUP];

static int by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void let_drain(fw_context *fw)
{
    struct fw_ring *r = &fw->hook.ring;

    fw_recorder_wake(&fw->recorder);
    while (atomic_load(&r->tail) != atomic_load(&r->head))
        usleep(500);
}

/* The clock's own share of a single timing: the median of timings of nothing. */
static uint32_t clock_ns(void)
{
    static uint32_t nothing[20001];

    for (size_t i = 0; i < 20001; i++) {
        uint64_t begin = fw_now_ns();
        nothing[i] = (uint32_t)(fw_now_ns() - begin);
    }
    qsort(nothing, 20001, sizeof *nothing, by_u32);
    return nothing[10000];
}

static void measure(fw_context *fw)
{
    size_t n_single = 0, n_group = 0;

    for (int round = 0; round < ROUNDS; round++) {
        let_drain(fw);
        for (int i = 0; i < CALLS / 2; i++) {
            uint64_t begin = fw_now_ns();

            fw_frame(fw);
            single[n_single++] = (uint32_t)(fw_now_ns() - begin);
        }
        for (int i = 0; i < CALLS / 2 / GROUP; i++) {
            uint64_t begin = fw_now_ns();

            for (int k = 0; k < GROUP; k++)
                fw_frame(fw);
            group[n_group++] = (double)(fw_now_ns() - begin) / GROUP;
        }
    }

    uint32_t clock = clock_ns();
    qsort(single, n_single, sizeof *single, by_u32);
    qsort(group, n_group, sizeof *group, by_double);
    uint32_t tail = single[n_single - n_single / 1000];
    uint32_t own_tail = tail > clock ? tail - clock : 0;

    printf("%zu calls, median %.1f ns (groups of %d), %d ns (single)\n", n_single + n_group * GROUP,
           group[n_group / 2], GROUP, (int)single[n_single / 2] - (int)clock);
    printf("p99.9 %u ns (single; reading the clock takes %u)\n", own_tail, clock);
    printf("dropped %llu frames\n", (unsigned long long)atomic_load(&fw->hook.ring.dropped));
    printf("RATIO frame_hook_ns %.1f <= 100\n", group[n_group / 2]);
    printf("RATIO frame_hook_p99.9_ns %u <= 1000\n", own_tail);
}

int main(void)
{
    char path[] = "/tmp/frame_hook_XXXXXX", command[64];
    fw_options options;
    fw_context *fw;

    fw_options_init(&options);
    options.storage_path = mkdtemp(path);
    options.flags = FW_NO_UPLOAD;
    fw = options.storage_path ? fw_start(&options) : NULL;
    if (!fw) {
        fprintf(stderr, "frame_hook_bench: no session\n");
        return 1;
    }
    measure(fw);
    fw_stop(fw);
    snprintf(command, sizeof command, "rm -r %s", path);
    return system(command) != 0;
}
