#include "gl/gpu_timer.h"

#include <string.h>

#define MAX_FRAME_NS 5000000000ull

void fw_gpu_timer_init(struct fw_gpu_timer *t, const struct fw_gl_api *gl)
{
    memset(t, 0, sizeof *t);
    t->gl = gl;
    t->counts.timestamps = gl->timestamps;
    if (gl->timestamps)
        gl->GenQueries(2 * FW_GPU_SLOTS, &t->query[0][0]);
}

void fw_gpu_timer_fini(struct fw_gpu_timer *t)
{
    if (t->gl && t->gl->timestamps)
        t->gl->DeleteQueries(2 * FW_GPU_SLOTS, &t->query[0][0]);
    memset(t, 0, sizeof *t);
}

void fw_gpu_timer_begin(struct fw_gpu_timer *t)
{
    t->open = false;
    if (!t->gl->timestamps)
        return;
    t->counts.frames++;
    if (t->begun - t->fetched == FW_GPU_SLOTS) {
        t->counts.skipped++;
        return;
    }
    t->gl->QueryCounter(t->query[t->begun % FW_GPU_SLOTS][0], GL_TIMESTAMP);
    t->open = true;
}

void fw_gpu_timer_end(struct fw_gpu_timer *t)
{
    if (!t->open)
        return;
    t->gl->QueryCounter(t->query[t->begun % FW_GPU_SLOTS][1], GL_TIMESTAMP);
    t->begun++;
    t->open = false;
}

/* Asking resets it: all that is on its way at that moment may be wrong. */
static bool clock_broke(struct fw_gpu_timer *t)
{
    int broke = 0;

    if (t->gl->disjoint)
        t->gl->GetIntegerv(GL_GPU_DISJOINT, &broke);
    return broke != 0;
}

static uint32_t result(struct fw_gpu_timer *t, const unsigned query[2])
{
    uint64_t begin = 0, end = 0;

    t->gl->GetQueryObjectui64v(query[0], GL_QUERY_RESULT, &begin);
    t->gl->GetQueryObjectui64v(query[1], GL_QUERY_RESULT, &end);
    if (end < begin || end - begin > MAX_FRAME_NS) {
        t->counts.implausible++;
        return 0;
    }
    t->counts.measured++;
    return end - begin < 1000 ? 1 : (uint32_t)((end - begin) / 1000);
}

uint32_t fw_gpu_timer_fetch(struct fw_gpu_timer *t)
{
    uint32_t newest = 0;
    uint64_t measured = t->counts.measured, fetched = t->fetched;

    while (t->fetched < t->begun) {
        const unsigned *query = t->query[t->fetched % FW_GPU_SLOTS];
        unsigned there = 0;
        uint32_t us;

        t->gl->GetQueryObjectuiv(query[1], GL_QUERY_RESULT_AVAILABLE, &there);
        if (!there)
            break;
        us = result(t, query);
        if (us)
            newest = us;
        t->fetched++;
    }
    if (t->fetched == fetched || !clock_broke(t))
        return newest;
    t->counts.measured = measured;
    t->counts.disjoint += t->begun - fetched;
    t->fetched = t->begun;
    return 0;
}
