/*
 * framewatch_gl: GPU time and an on-screen display for games that draw with OpenGL ES 2 or later,
 * or OpenGL 3.3 or later. Optional: a library of its own, framewatch_gl, which links no OpenGL but
 * asks for its functions by name. Compiles as C99 and as C++98 or later.
 *
 * Threads. All calls belong to the thread that draws, with the same context current as at
 * fw_gl_new(). fw_gl_overlay() reads frames of the main thread's row: call it where fw_frame() is
 * called, as most games draw on that thread.
 *
 * GPU time. Two timestamps a frame (EXT_disjoint_timer_query, ARB_timer_query), never a query that
 * is begun and ended: so a timer query of the game's own goes on undisturbed. Results are fetched
 * when they are there, some frames later; nothing ever waits. Frames during which the GPU's clock
 * broke (disjoint) are discarded. Each result goes to fw_gpu_time().
 *
 * The display. Drawn into the framebuffer that is bound; all state it touches is put back.
 */
#ifndef FRAMEWATCH_GL_H
#define FRAMEWATCH_GL_H

#include "framewatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fw_gl fw_gl;

/* eglGetProcAddress, or the engine's own. May be called with names that do not exist. */
typedef void *(*fw_gl_get_proc)(const char *name);

/* NULL: out of memory, or the context lacks what is needed. A context that cannot take timestamps
 * still shows the display. */
FW_API fw_gl *fw_gl_new(fw_context *fw, fw_gl_get_proc get_proc);
/* The same with memory of the game's, as fw_options has it; called here and in fw_gl_free(), on the
 * thread that draws. */
FW_API fw_gl *fw_gl_new_in(fw_context *fw, fw_gl_get_proc get_proc,
                           void *(*allocate)(void *user, size_t bytes),
                           void (*release)(void *user, void *memory), void *user);
FW_API void fw_gl_free(fw_gl *gl); /* its queries and buffers too */

/* Around all drawing of a frame: after the last present, before the next. */
FW_API void fw_gl_frame_begin(fw_gl *gl);
FW_API void fw_gl_frame_end(fw_gl *gl);

typedef struct fw_gl_counts {
    size_t size;
    uint64_t frames, measured; /* begun; with a result */
    uint64_t skipped;          /* all queries were still on their way */
    uint64_t disjoint;         /* discarded: the GPU's clock broke */
    uint64_t implausible;      /* discarded: backwards, or over 5 s */
    int timestamps;            /* 0: this context has none */
} fw_gl_counts;
FW_API void fw_gl_read_counts(const fw_gl *gl, fw_gl_counts *out); /* set out->size first */

/* Draws fps, the last frames as a graph, CPU, memory, GPU time and temperature at (x, y), in pixels
 * from the top left, of a drawable of width x height pixels. scale: pixels a dot, 1 to 8. */
FW_API void fw_gl_overlay(fw_gl *gl, int x, int y, int width, int height, int scale);

#ifdef __cplusplus
}
#endif

#endif
