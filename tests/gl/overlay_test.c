/* The display and GPU times on a real OpenGL ES: Mesa's software renderer, without a screen. */
#include "gl/font.h"

#include <GLES3/gl3.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2ext.h>
#include <framewatch.h>
#include <framewatch_gl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WIDTH 640
#define HEIGHT 360
#define LEFT 16
#define TOP 24
#define SCALE 2
#define PATIENCE_S 120

struct scene {
    EGLDisplay display;
    EGLSurface surface;
    EGLContext context;
    fw_context *fw;
    fw_gl *gl;
    char folder[64];
    unsigned char pixel[HEIGHT][WIDTH][4]; /* from the top */
};

static void *get_proc(const char *name)
{
    void *out = NULL;
    void (*found)(void) = eglGetProcAddress(name);

    memcpy(&out, &found, sizeof found);
    return out;
}

static EGLDisplay open_display(void)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get = NULL;
    void (*found)(void) = eglGetProcAddress("eglGetPlatformDisplayEXT");

    memcpy(&get, &found, sizeof found);
    return get ? get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL)
               : eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

static void open_context(struct scene *s, EGLint version)
{
    static const EGLint want[] = {EGL_SURFACE_TYPE,
                                  EGL_PBUFFER_BIT,
                                  EGL_RENDERABLE_TYPE,
                                  EGL_OPENGL_ES2_BIT,
                                  EGL_RED_SIZE,
                                  8,
                                  EGL_ALPHA_SIZE,
                                  8,
                                  EGL_NONE};
    const EGLint es[] = {EGL_CONTEXT_CLIENT_VERSION, version, EGL_NONE};
    const EGLint size[] = {EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE};
    EGLConfig config;
    EGLint n = 0;

    s->display = open_display();
    assert_true(eglInitialize(s->display, NULL, NULL));
    assert_true(eglBindAPI(EGL_OPENGL_ES_API));
    assert_true(eglChooseConfig(s->display, want, &config, 1, &n) && n == 1);
    s->surface = eglCreatePbufferSurface(s->display, config, size);
    s->context = eglCreateContext(s->display, config, EGL_NO_CONTEXT, es);
    assert_true(eglMakeCurrent(s->display, s->surface, s->surface, s->context));
}

static int open_scene(void **state, EGLint version)
{
    struct scene *s = calloc(1, sizeof *s);
    fw_options o;

    open_context(s, version);
    snprintf(s->folder, sizeof s->folder, "/tmp/framewatch-gl-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    fw_options_init(&o);
    o.server_url = "http://127.0.0.1:1";
    o.api_key = "none";
    o.storage_path = s->folder;
    o.app = "display";
    o.version_name = "1";
    o.flags = FW_NO_UPLOAD | FW_NO_CRASHES | FW_NO_STACKS;
    s->fw = fw_start(&o);
    assert_non_null(s->fw);
    s->gl = fw_gl_new(s->fw, get_proc);
    assert_non_null(s->gl);
    *state = s;
    return 0;
}

static int setup_es2(void **state)
{
    return open_scene(state, 2);
}

static int setup_es3(void **state)
{
    return open_scene(state, 3);
}

static int teardown(void **state)
{
    struct scene *s = *state;
    char command[128];

    fw_gl_free(s->gl);
    fw_stop(s->fw);
    assert_int_equal(glGetError(), GL_NO_ERROR);
    eglMakeCurrent(s->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglTerminate(s->display);
    snprintf(command, sizeof command, "rm -rf '%s'", s->folder);
    if (system(command) != 0)
        fail();
    free(s);
    return 0;
}

static void take_picture(struct scene *s)
{
    static unsigned char rows[HEIGHT][WIDTH][4];

    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, rows);
    for (int y = 0; y < HEIGHT; y++)
        memcpy(s->pixel[y], rows[HEIGHT - 1 - y], sizeof rows[0]);
}

/* Kept for people to look at, if they name a file. */
static void keep_picture(const struct scene *s)
{
    const char *path = getenv("FW_PICTURE");
    FILE *f = path ? fopen(path, "wb") : NULL;

    if (!f)
        return;
    fprintf(f, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            fwrite(s->pixel[y][x], 1, 3, f);
    fclose(f);
}

/* 120 frames of 20 ms, the last of 150 ms. */
static void play(struct scene *s)
{
    struct timespec now;
    uint64_t t;

    clock_gettime(CLOCK_MONOTONIC, &now);
    t = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - 3000000000;
    for (int i = 0; i < 120; i++)
        fw_frame_at(s->fw, t += 20000000);
    fw_frame_at(s->fw, t + 150000000);
}

/* Reading ----------------------------------------------------------------------------------------
 */

/* Letters are bright and grey. */
static bool is_ink(const unsigned char *p)
{
    return p[0] > 120 && p[1] > 120 && p[2] > 120;
}

static char letter_at(const struct scene *s, int x, int y)
{
    static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.%-/:+";
    uint8_t seen[FW_FONT_COLUMNS] = {0};
    bool any = false;

    for (int i = 0; i < FW_FONT_COLUMNS; i++)
        for (int k = 0; k < FW_FONT_ROWS; k++)
            if (is_ink(s->pixel[y + k * SCALE + SCALE / 2][x + i * SCALE + SCALE / 2])) {
                seen[i] |= (uint8_t)(1u << k);
                any = true;
            }
    if (!any)
        return ' ';
    for (const char *c = all; *c; c++)
        if (memcmp(fw_font_letter(*c), seen, sizeof seen) == 0)
            return *c;
    return '?';
}

static void read_line(const struct scene *s, int line, char out[23])
{
    for (int i = 0; i < 22; i++)
        out[i] = letter_at(s, LEFT + (4 + 6 * i) * SCALE, TOP + (4 + 9 * line) * SCALE);
    out[22] = '\0';
    for (int n = 22; n && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
}

static void draw_background(void)
{
    glDisable(GL_SCISSOR_TEST);
    glClearColor(0.1F, 0.3F, 0.2F, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}

/* Tests ------------------------------------------------------------------------------------------
 */

static void the_display_reads_as_the_figures_say(void **state)
{
    struct scene *s = *state;
    char line[23];
    int red = 0, blue = 0;

    play(s);
    fw_gpu_time(s->fw, 4200);
    draw_background();
    fw_gl_overlay(s->gl, LEFT, TOP, WIDTH, HEIGHT, SCALE);
    take_picture(s);
    keep_picture(s);
    read_line(s, 0, line);
    assert_string_equal(line, "FPS  43.6  150.0 MS"); /* 44 frames in 1.01 s */
    read_line(s, 3, line);
    assert_string_equal(line, "GPU  4.2 MS");
    read_line(s, 5, line);
    assert_memory_equal(line, "JANK ", 5);

    /* the graph's foot: 119 bars of an ordinary frame, the last one a jank's */
    int y = TOP + (4 + 9 * 6 + 24) * SCALE - 1;

    for (int i = 0; i < FW_HUD_FRAMES; i++) {
        const unsigned char *p = s->pixel[y][LEFT + (4 + i) * SCALE];

        red += p[0] > 180 && p[1] < 120 && p[2] < 60;
        blue += p[0] < 120 && p[1] > 150 && p[2] > 200;
    }
    assert_int_equal(red, 1);
    assert_int_equal(blue, FW_HUD_FRAMES - 1);
}

static void nothing_outside_the_panel_changes(void **state)
{
    struct scene *s = *state;
    int width = 140 * SCALE, height = (6 * 9 + 24 + 3 * 4) * SCALE;

    draw_background();
    fw_gl_overlay(s->gl, LEFT, TOP, WIDTH, HEIGHT, SCALE);
    take_picture(s);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            if (x < LEFT || x >= LEFT + width || y < TOP || y >= TOP + height)
                assert_memory_equal(s->pixel[y][x], s->pixel[0][0], 4);
    assert_memory_not_equal(s->pixel[TOP + 1][LEFT + 1], s->pixel[0][0], 4);
}

struct remembered {
    GLint program, buffer, viewport[4], blend[6], enabled[2], stride;
    GLboolean mask[4], on[5];
};

static void remember(struct remembered *r)
{
    static const GLenum switches[] = {GL_BLEND, GL_DEPTH_TEST, GL_CULL_FACE, GL_STENCIL_TEST,
                                      GL_SCISSOR_TEST};
    static const GLenum blends[] = {GL_BLEND_SRC_RGB,      GL_BLEND_DST_RGB,
                                    GL_BLEND_SRC_ALPHA,    GL_BLEND_DST_ALPHA,
                                    GL_BLEND_EQUATION_RGB, GL_BLEND_EQUATION_ALPHA};

    memset(r, 0, sizeof *r);
    glGetIntegerv(GL_CURRENT_PROGRAM, &r->program);
    glGetIntegerv(GL_ARRAY_BUFFER_BINDING, &r->buffer);
    glGetIntegerv(GL_VIEWPORT, r->viewport);
    glGetBooleanv(GL_COLOR_WRITEMASK, r->mask);
    for (size_t i = 0; i < 6; i++)
        glGetIntegerv(blends[i], &r->blend[i]);
    for (size_t i = 0; i < 5; i++)
        r->on[i] = glIsEnabled(switches[i]);
    for (GLuint i = 0; i < 2; i++)
        glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &r->enabled[i]);
    glGetVertexAttribiv(0, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &r->stride);
}

static void the_games_state_is_put_back(void **state)
{
    struct scene *s = *state;
    struct remembered before, after;
    GLuint buffer;

    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, 64, NULL, GL_STATIC_DRAW);
    glVertexAttribPointer(0, 3, GL_SHORT, GL_TRUE, 12, NULL);
    glEnableVertexAttribArray(0);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_CULL_FACE);
    glEnable(GL_SCISSOR_TEST);
    glScissor(1, 2, 3, 4);
    glViewport(5, 6, 70, 80);
    glColorMask(GL_TRUE, GL_FALSE, GL_TRUE, GL_FALSE);
    glBlendFuncSeparate(GL_ONE, GL_ZERO, GL_DST_COLOR, GL_ONE_MINUS_DST_ALPHA);
    glBlendEquationSeparate(GL_FUNC_SUBTRACT, GL_FUNC_REVERSE_SUBTRACT);
    remember(&before);
    fw_gl_overlay(s->gl, 0, 0, WIDTH, HEIGHT, 1);
    remember(&after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(glGetError(), GL_NO_ERROR);
    glDeleteBuffers(1, &buffer);
}

static bool has(const char *extension)
{
    const char *all = (const char *)glGetString(GL_EXTENSIONS);

    return all && strstr(all, extension);
}

static void work(int n)
{
    for (int i = 0; i < n; i++) {
        draw_background();
        glFlush();
    }
}

/* A timer query of the game's own is in progress all the while. */
static void gpu_times_are_measured_beside_the_games_own(void **state)
{
    struct scene *s = *state;
    PFNGLGENQUERIESEXTPROC gen;
    PFNGLBEGINQUERYEXTPROC begin;
    PFNGLENDQUERYEXTPROC end;
    PFNGLGETQUERYOBJECTUIVEXTPROC result;
    fw_gl_counts counts = {.size = sizeof counts};
    fw_hud_figures f = {.size = sizeof f};
    time_t until = time(NULL) + PATIENCE_S;
    GLuint own = 0, there = 0;

    assert_true(has("GL_EXT_disjoint_timer_query"));
    gen = (PFNGLGENQUERIESEXTPROC)eglGetProcAddress("glGenQueriesEXT");
    begin = (PFNGLBEGINQUERYEXTPROC)eglGetProcAddress("glBeginQueryEXT");
    end = (PFNGLENDQUERYEXTPROC)eglGetProcAddress("glEndQueryEXT");
    result = (PFNGLGETQUERYOBJECTUIVEXTPROC)eglGetProcAddress("glGetQueryObjectuivEXT");
    gen(1, &own);
    begin(GL_TIME_ELAPSED_EXT, own);
    while (counts.measured < 5 && time(NULL) < until) {
        fw_gl_frame_begin(s->gl);
        work(3);
        fw_gl_frame_end(s->gl);
        eglSwapBuffers(s->display, s->surface);
        fw_frame(s->fw);
        fw_gl_read_counts(s->gl, &counts);
    }
    end(GL_TIME_ELAPSED_EXT);
    while (!there && time(NULL) < until)
        result(own, GL_QUERY_RESULT_AVAILABLE_EXT, &there);
    assert_true(there);
    assert_int_equal(glGetError(), GL_NO_ERROR);
    assert_true(counts.measured >= 5);
    assert_int_equal(counts.implausible, 0);
    assert_true(fw_hud(s->fw, &f));
    assert_in_range(f.gpu_time_us, 1, 5000000);
}

int main(void)
{
#define ES2(f)                                                                                     \
    {                                                                                              \
#f " (ES 2)", f, setup_es2, teardown, NULL                                                 \
    }
#define ES3(f)                                                                                     \
    {                                                                                              \
#f " (ES 3)", f, setup_es3, teardown, NULL                                                 \
    }
    const struct CMUnitTest tests[] = {
        ES2(the_display_reads_as_the_figures_say),
        ES3(the_display_reads_as_the_figures_say),
        ES2(nothing_outside_the_panel_changes),
        ES3(nothing_outside_the_panel_changes),
        ES2(the_games_state_is_put_back),
        ES3(the_games_state_is_put_back),
        ES2(gpu_times_are_measured_beside_the_games_own),
        ES3(gpu_times_are_measured_beside_the_games_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
