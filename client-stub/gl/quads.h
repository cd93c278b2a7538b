/* quads: what the display consists of, coloured rectangles in pixels from the top left. */
#pragma once
#include "gl/font.h"

#include <stddef.h>

#define FW_QUADS 1600 /* the fullest display has about 900 */
#define FW_QUAD_VERTICES 6

struct fw_vertex {
    float x, y;
    uint8_t color[4];
};

struct fw_quads {
    struct fw_vertex at[FW_QUADS * FW_QUAD_VERTICES];
    size_t n; /* vertices; what does not fit is left out */
};

struct fw_color {
    uint8_t r, g, b, a;
};

void fw_quads_rectangle(struct fw_quads *q, float x, float y, float width, float height,
                        struct fw_color color);
/* Letters of `dot` pixels a dot; returns where the next letter would stand. */
float fw_quads_text(struct fw_quads *q, float x, float y, float dot, struct fw_color color,
                    const char *text);
