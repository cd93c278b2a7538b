#include "gl/quads.h"

void fw_quads_rectangle(struct fw_quads *q, float x, float y, float width, float height,
                        struct fw_color color)
{
    static const float corner[FW_QUAD_VERTICES][2] = {{0, 0}, {1, 0}, {0, 1},
                                                      {0, 1}, {1, 0}, {1, 1}};

    if (q->n + FW_QUAD_VERTICES > sizeof q->at / sizeof *q->at)
        return;
    for (size_t i = 0; i < FW_QUAD_VERTICES; i++)
        q->at[q->n++] = (struct fw_vertex){x + corner[i][0] * width,
                                           y + corner[i][1] * height,
                                           {color.r, color.g, color.b, color.a}};
}

/* A column's dots that touch are one rectangle. */
static void column(struct fw_quads *q, uint8_t bits, float x, float y, float dot,
                   struct fw_color color)
{
    for (unsigned row = 0; row < FW_FONT_ROWS; row++) {
        unsigned run = 0;

        while (row + run < FW_FONT_ROWS && (bits >> (row + run) & 1))
            run++;
        if (run)
            fw_quads_rectangle(q, x, y + (float)row * dot, dot, (float)run * dot, color);
        row += run;
    }
}

float fw_quads_text(struct fw_quads *q, float x, float y, float dot, struct fw_color color,
                    const char *text)
{
    for (; *text; text++) {
        const uint8_t *letter = fw_font_letter(*text);

        for (unsigned i = 0; letter && i < FW_FONT_COLUMNS; i++)
            column(q, letter[i], x + (float)i * dot, y, dot, color);
        x += (FW_FONT_COLUMNS + 1) * dot;
    }
    return x;
}
