/*
 * render: the demo game's drawing, OpenGL ES 2 on an EGL pbuffer. Needs no window system and no
 * GPU: Mesa's software renderer will do. Used by the main thread only; one renderer a process.
 */
#ifndef DEMO_RENDER_H
#define DEMO_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct renderer;

/* NULL and a message on stderr when EGL or GLES is not to be had. */
struct renderer *renderer_new(int width, int height);
void renderer_free(struct renderer *r); /* NULL is fine */

const char *renderer_gpu(const struct renderer *r);

/* A function of OpenGL's by its name. */
void *renderer_proc(const char *name);

struct sprite {
    float x, y, size; /* clip space: -1..1 */
    float red, green, blue;
};

void renderer_begin(struct renderer *r, float red, float green, float blue);
/* lights > 0: shaded by that many moving lights, which is what makes a scene dear. */
void renderer_sprites(struct renderer *r, const struct sprite *sprites, size_t n, int lights,
                      float time_s);
/* RGBA, side x side: replaces the texture all sprites use. */
void renderer_texture(struct renderer *r, const uint8_t *rgba, int side);
/* Present. Returns the microseconds that the renderer itself needed to finish the frame. */
uint32_t renderer_present(struct renderer *r);

#endif
