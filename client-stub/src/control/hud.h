/*
 * hud: the figures a display shows. Frame times are read back from the ring by the thread that
 * pushes them; the rest was left by the sampling thread, one value at a time.
 */
#pragma once
#include "src/buffer/ring.h"
#include "wire/session_writer.h"

#include <framewatch.h>

struct fw_board { /* written by the sampling thread, read by any; -1 unknown */
    _Atomic int64_t process_cpu_permille, total_cpu_permille, memory_kb, temperature_millicelsius;
    _Atomic int64_t gpu_time_us; /* the last that was told before a look */
    _Atomic int64_t janks;
};

void fw_board_init(struct fw_board *b);
void fw_board_hardware(struct fw_board *b, const struct fw_wire_hardware *h);
void fw_board_gpu_time(struct fw_board *b, uint32_t gpu_us); /* 0: none */
void fw_board_jank(struct fw_board *b);
void fw_board_read(const struct fw_board *b, fw_hud_figures *out);

/* Frame times and fps; on the ring's producer's thread. */
void fw_ring_figures(const struct fw_ring *r, fw_hud_figures *out);
