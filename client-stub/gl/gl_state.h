/* gl_state: what the display changes of a context, remembered and put back. */
#pragma once
#include "gl/gl_api.h"

#define FW_GL_ATTRIBUTES 2

struct fw_gl_attribute {
    int enabled, size, stride, type, normalized, buffer;
    void *pointer;
};

struct fw_gl_state {
    int program, array_buffer, vertex_array, viewport[4];
    int source_rgb, source_alpha, target_rgb, target_alpha, equation_rgb, equation_alpha;
    unsigned char blend, depth, cull, stencil, scissor, mask[4];
    struct fw_gl_attribute attribute[FW_GL_ATTRIBUTES]; /* without vertex arrays */
};

void fw_gl_state_save(struct fw_gl_state *s, const struct fw_gl_api *gl);
void fw_gl_state_restore(const struct fw_gl_state *s, const struct fw_gl_api *gl);
