#include "gl/gl_state.h"
#include "gl/gpu_timer.h"
#include "gl/quads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 4.0F      /* dots around and between */
#define LETTER 6.0F   /* dots from letter to letter */
#define LINE 9.0F     /* dots from line to line */
#define COLUMNS 22.0F /* letters a line */
#define GRAPH_ROWS 24.0F
#define GRAPH_FULL_US 50000.0F /* the top of the graph */
#define SLOW_US 33400          /* bars above are amber, above JANK_US red */
#define JANK_US 100000
#define MAX_SCALE 8

struct fw_gl {
    fw_context *fw;
    struct fw_gl_api api;
    struct fw_gpu_timer timer;
    unsigned program, buffer, vertex_array;
    int size_at; /* uniform: the drawable's, in pixels */
    struct fw_quads quads;
    void (*release)(void *user, void *memory);
    void *user;
};

static const struct fw_color panel = {12, 14, 18, 190}, ink = {236, 240, 244, 255},
                             soft = {150, 160, 172, 255}, fine = {86, 180, 233, 255},
                             slow = {230, 159, 0, 255}, jank = {213, 94, 0, 255};

/* Program ----------------------------------------------------------------------------------------
 */

static const char vertex_body[] =
    "uniform vec2 size;\n"
    "void main() {\n"
    "    color = tint;\n"
    "    gl_Position = vec4(place.x / size.x * 2.0 - 1.0,\n"
    "                       1.0 - place.y / size.y * 2.0, 0.0, 1.0);\n"
    "}\n";

static unsigned compile(const struct fw_gl_api *gl, unsigned kind, const char *head,
                        const char *body)
{
    const char *const text[] = {head, body};
    unsigned shader = gl->CreateShader(kind);
    int good = 0;

    gl->ShaderSource(shader, 2, text, NULL);
    gl->CompileShader(shader);
    gl->GetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (good)
        return shader;
    gl->DeleteShader(shader);
    return 0;
}

/* Desktop contexts of today know in and out alone, older ones attribute and varying. */
static unsigned vertex_shader(const struct fw_gl_api *gl)
{
    return !gl->es && gl->major >= 3
               ? compile(gl, GL_VERTEX_SHADER,
                         "#version 150\nin vec2 place; in vec4 tint; out vec4 color;\n",
                         vertex_body)
               : compile(gl, GL_VERTEX_SHADER,
                         "attribute vec2 place; attribute vec4 tint; varying vec4 color;\n",
                         vertex_body);
}

static unsigned fragment_shader(const struct fw_gl_api *gl)
{
    if (!gl->es && gl->major >= 3)
        return compile(gl, GL_FRAGMENT_SHADER, "#version 150\nin vec4 color; out vec4 pixel;\n",
                       "void main() { pixel = color; }\n");
    return compile(gl, GL_FRAGMENT_SHADER, gl->es ? "precision mediump float;\n" : "",
                   "varying vec4 color;\nvoid main() { gl_FragColor = color; }\n");
}

static bool link_program(struct fw_gl *g, unsigned vertex, unsigned fragment)
{
    const struct fw_gl_api *gl = &g->api;
    int good = 0;

    g->program = gl->CreateProgram();
    gl->AttachShader(g->program, vertex);
    gl->AttachShader(g->program, fragment);
    gl->BindAttribLocation(g->program, 0, "place");
    gl->BindAttribLocation(g->program, 1, "tint");
    gl->LinkProgram(g->program);
    gl->GetProgramiv(g->program, GL_LINK_STATUS, &good);
    g->size_at = good ? gl->GetUniformLocation(g->program, "size") : -1;
    return good;
}

static bool make_program(struct fw_gl *g)
{
    const struct fw_gl_api *gl = &g->api;
    unsigned vertex = vertex_shader(gl), fragment = fragment_shader(gl);
    bool ok = vertex && fragment && link_program(g, vertex, fragment);

    if (vertex)
        gl->DeleteShader(vertex);
    if (fragment)
        gl->DeleteShader(fragment);
    return ok;
}

static void *from_heap(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void to_heap(void *user, void *memory)
{
    (void)user;
    free(memory);
}

fw_gl *fw_gl_new(fw_context *fw, fw_gl_get_proc get_proc)
{
    return fw_gl_new_in(fw, get_proc, from_heap, to_heap, NULL);
}

fw_gl *fw_gl_new_in(fw_context *fw, fw_gl_get_proc get_proc,
                    void *(*allocate)(void *user, size_t bytes),
                    void (*release)(void *user, void *memory), void *user)
{
    struct fw_gl *g = get_proc && allocate && release ? allocate(user, sizeof *g) : NULL;

    if (!g)
        return NULL;
    *g = (struct fw_gl){.fw = fw, .release = release, .user = user};
    if (!fw_gl_load(&g->api, get_proc) || !make_program(g)) {
        if (g->program)
            g->api.DeleteProgram(g->program);
        release(user, g);
        return NULL;
    }
    g->api.GenBuffers(1, &g->buffer);
    if (g->api.vertex_arrays)
        g->api.GenVertexArrays(1, &g->vertex_array);
    fw_gpu_timer_init(&g->timer, &g->api);
    return g;
}

void fw_gl_free(fw_gl *g)
{
    if (!g)
        return;
    fw_gpu_timer_fini(&g->timer);
    g->api.DeleteProgram(g->program);
    g->api.DeleteBuffers(1, &g->buffer);
    if (g->vertex_array)
        g->api.DeleteVertexArrays(1, &g->vertex_array);
    g->release(g->user, g);
}

/* GPU time ---------------------------------------------------------------------------------------
 */

void fw_gl_frame_begin(fw_gl *g)
{
    uint32_t us;

    if (!g)
        return;
    us = fw_gpu_timer_fetch(&g->timer);
    if (us)
        fw_gpu_time(g->fw, us);
    fw_gpu_timer_begin(&g->timer);
}

void fw_gl_frame_end(fw_gl *g)
{
    if (g)
        fw_gpu_timer_end(&g->timer);
}

void fw_gl_read_counts(const fw_gl *g, fw_gl_counts *out)
{
    fw_gl_counts counts = {0};
    size_t size = out->size < sizeof counts ? out->size : sizeof counts;

    if (g)
        counts = g->timer.counts;
    counts.size = size;
    memcpy(out, &counts, size);
}

/* The display ------------------------------------------------------------------------------------
 */

/* "GPU  4.2 MS", or "GPU  -" where it is not known. */
static void figure(char *out, size_t size, const char *name, double value, int digits,
                   const char *unit)
{
    if (value < 0)
        snprintf(out, size, "%-5s-", name);
    else
        snprintf(out, size, "%-5s%.*f%s", name, digits, value, unit);
}

static float lines(struct fw_quads *q, const fw_hud_figures *f, float x, float y, float dot)
{
    char text[6][32];
    uint32_t last = f->n_frames ? f->frame_us[f->n_frames - 1] : 0;

    figure(text[0], sizeof text[0], "FPS", f->fps_milli / 1000.0, 1, "");
    if (last)
        snprintf(text[0] + strlen(text[0]), sizeof text[0] - strlen(text[0]), "  %.1f MS",
                 (double)last / 1000);
    figure(text[1], sizeof text[1], "CPU", f->process_cpu_permille / 10.0, 0, "%");
    if (f->total_cpu_permille >= 0)
        snprintf(text[1] + strlen(text[1]), sizeof text[1] - strlen(text[1]), " OF %.0f%%",
                 f->total_cpu_permille / 10.0);
    figure(text[2], sizeof text[2], "MEM", (double)f->memory_kb / 1024, 0, " MB");
    figure(text[3], sizeof text[3], "GPU", f->gpu_time_us / 1000.0, 1, " MS");
    figure(text[4], sizeof text[4], "TEMP", f->temperature_millicelsius / 1000.0, 1, " C");
    figure(text[5], sizeof text[5], "JANK", (double)f->janks, 0, "");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        fw_quads_text(q, x, y, dot, i ? soft : ink, text[i]);
        y += LINE * dot;
    }
    return y;
}

static void graph(struct fw_quads *q, const fw_hud_figures *f, float x, float y, float dot)
{
    float height = GRAPH_ROWS * dot;

    for (size_t i = 0; i < f->n_frames; i++) {
        uint32_t us = f->frame_us[f->n_frames - 1 - i];
        float share = (float)us / GRAPH_FULL_US;
        float bar = (share > 1 ? 1 : share) * height;

        fw_quads_rectangle(q, x + (float)(FW_HUD_FRAMES - 1 - i) * dot, y + height - bar, dot, bar,
                           us > JANK_US   ? jank
                           : us > SLOW_US ? slow
                                          : fine);
    }
}

static void draw(struct fw_gl *g, int width, int height)
{
    const struct fw_gl_api *gl = &g->api;

    gl->UseProgram(g->program);
    gl->Uniform2f(g->size_at, (float)width, (float)height);
    if (g->vertex_array)
        gl->BindVertexArray(g->vertex_array);
    gl->BindBuffer(GL_ARRAY_BUFFER, g->buffer);
    gl->BufferData(GL_ARRAY_BUFFER, (ptrdiff_t)(g->quads.n * sizeof *g->quads.at), g->quads.at,
                   GL_STREAM_DRAW);
    gl->EnableVertexAttribArray(0);
    gl->EnableVertexAttribArray(1);
    gl->VertexAttribPointer(0, 2, GL_FLOAT, 0, sizeof *g->quads.at, NULL);
    gl->VertexAttribPointer(1, 4, GL_UNSIGNED_BYTE, 1, sizeof *g->quads.at,
                            (const void *)offsetof(struct fw_vertex, color));
    gl->Viewport(0, 0, width, height);
    gl->Disable(GL_DEPTH_TEST);
    gl->Disable(GL_CULL_FACE);
    gl->Disable(GL_STENCIL_TEST);
    gl->Disable(GL_SCISSOR_TEST);
    gl->Enable(GL_BLEND);
    gl->BlendEquationSeparate(GL_FUNC_ADD, GL_FUNC_ADD);
    gl->BlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_SRC_ALPHA,
                          GL_ONE_MINUS_SRC_ALPHA);
    gl->ColorMask(1, 1, 1, 1);
    gl->DrawArrays(GL_TRIANGLES, 0, (int)g->quads.n);
}

void fw_gl_overlay(fw_gl *g, int x, int y, int width, int height, int scale)
{
    fw_hud_figures f = {.size = sizeof f};
    struct fw_gl_state state;
    float dot = (float)(scale < 1 ? 1 : scale > MAX_SCALE ? MAX_SCALE : scale);
    float left = (float)x, top = (float)y, inner;

    if (!g || width <= 0 || height <= 0)
        return;
    fw_hud(g->fw, &f);
    g->quads.n = 0;
    inner = COLUMNS * LETTER > FW_HUD_FRAMES ? COLUMNS * LETTER : FW_HUD_FRAMES;
    fw_quads_rectangle(&g->quads, left, top, (inner + 2 * GAP) * dot,
                       (6 * LINE + GRAPH_ROWS + 3 * GAP) * dot, panel);
    top = lines(&g->quads, &f, left + GAP * dot, top + GAP * dot, dot);
    graph(&g->quads, &f, left + GAP * dot, top, dot);
    fw_gl_state_save(&state, &g->api);
    draw(g, width, height);
    fw_gl_state_restore(&state, &g->api);
}
