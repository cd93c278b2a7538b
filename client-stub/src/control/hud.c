#include "src/control/hud.h"

#include <string.h>

#define SECOND_NS 1000000000ull
#define MAX_FRAME_US 5000000ull /* longer: the game was away */

void fw_board_init(struct fw_board *b)
{
    atomic_init(&b->process_cpu_permille, -1);
    atomic_init(&b->total_cpu_permille, -1);
    atomic_init(&b->memory_kb, -1);
    atomic_init(&b->temperature_millicelsius, -1);
    atomic_init(&b->gpu_time_us, -1);
    atomic_init(&b->janks, 0);
}

/* Light looks leave out what did not change: the value before stays. */
static void put(_Atomic int64_t *to, int64_t value)
{
    if (value != FW_ABSENT)
        atomic_store_explicit(to, value, memory_order_relaxed);
}

void fw_board_hardware(struct fw_board *b, const struct fw_wire_hardware *h)
{
    put(&b->process_cpu_permille, h->process_cpu_permille);
    put(&b->total_cpu_permille, h->total_cpu_permille);
    put(&b->memory_kb, h->pss_kb != FW_ABSENT ? h->pss_kb : h->rss_kb);
    put(&b->temperature_millicelsius,
        h->skin_millicelsius != FW_ABSENT ? h->skin_millicelsius : h->battery_millicelsius);
}

void fw_board_gpu_time(struct fw_board *b, uint32_t gpu_us)
{
    put(&b->gpu_time_us, gpu_us ? gpu_us : FW_ABSENT);
}

void fw_board_jank(struct fw_board *b)
{
    atomic_fetch_add_explicit(&b->janks, 1, memory_order_relaxed);
}

static int64_t get(const _Atomic int64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void fw_board_read(const struct fw_board *b, fw_hud_figures *out)
{
    out->process_cpu_permille = (int32_t)get(&b->process_cpu_permille);
    out->total_cpu_permille = (int32_t)get(&b->total_cpu_permille);
    out->memory_kb = get(&b->memory_kb);
    out->temperature_millicelsius = (int32_t)get(&b->temperature_millicelsius);
    out->gpu_time_us = (int32_t)get(&b->gpu_time_us);
    out->janks = get(&b->janks);
}

static uint64_t present_of(uint64_t slot)
{
    return slot & ~FW_RING_ROW_START;
}

/* The newest first, until a hole; then turned round. */
void fw_ring_figures(const struct fw_ring *r, fw_hud_figures *out)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed), second_ns = 0;
    size_t n = 0, in_second = 0;

    for (; n < FW_HUD_FRAMES && n + 1 < head; n++) {
        uint64_t slot = r->slot[(head - 1 - n) % FW_RING_FRAMES];
        uint64_t before = present_of(r->slot[(head - 2 - n) % FW_RING_FRAMES]);
        uint64_t us = (present_of(slot) - before) / 1000;

        if (slot & FW_RING_ROW_START || us > MAX_FRAME_US)
            break;
        out->frame_us[n] = (uint32_t)us;
        if (second_ns < SECOND_NS) {
            second_ns += present_of(slot) - before;
            in_second++;
        }
    }
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t swapped = out->frame_us[i];

        out->frame_us[i] = out->frame_us[n - 1 - i];
        out->frame_us[n - 1 - i] = swapped;
    }
    out->n_frames = n;
    if (second_ns)
        out->fps_milli = (int32_t)((uint64_t)in_second * 1000 * SECOND_NS / second_ns);
}
