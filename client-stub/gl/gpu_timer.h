/* gpu_timer: GPU time of frames by pairs of timestamps. One thread, its context current. */
#pragma once
#include "gl/gl_api.h"

#define FW_GPU_SLOTS 6 /* frames on their way at once; GPUs run two or three behind */

struct fw_gpu_timer {
    const struct fw_gl_api *gl;
    unsigned query[FW_GPU_SLOTS][2]; /* begin, end */
    uint64_t begun, fetched;         /* frames; their difference is on its way */
    bool open;                       /* a frame has begun and not ended */
    fw_gl_counts counts;
};

void fw_gpu_timer_init(struct fw_gpu_timer *t, const struct fw_gl_api *gl);
void fw_gpu_timer_fini(struct fw_gpu_timer *t);
void fw_gpu_timer_begin(struct fw_gpu_timer *t);
void fw_gpu_timer_end(struct fw_gpu_timer *t);
/* The newest result that has come since the last call, in us; 0: none. Never waits. */
uint32_t fw_gpu_timer_fetch(struct fw_gpu_timer *t);
