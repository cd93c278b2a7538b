#include "render.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct renderer {
    EGLDisplay display;
    EGLSurface surface;
    EGLContext context;
    GLuint program, texture;
    GLint place, color, lights, time;
};

static const char vertex_text[] = "attribute vec2 corner;\n"
                                  "uniform vec4 place;\n"
                                  "varying vec2 at;\n"
                                  "varying vec2 uv;\n"
                                  "void main() {\n"
                                  "    uv = corner * 0.5 + 0.5;\n"
                                  "    at = place.xy + corner * place.z;\n"
                                  "    gl_Position = vec4(at, 0.0, 1.0);\n"
                                  "}\n";

static const char fragment_text[] =
    "precision mediump float;\n"
    "uniform sampler2D image;\n"
    "uniform vec3 color;\n"
    "uniform int lights;\n"
    "uniform float time;\n"
    "varying vec2 at;\n"
    "varying vec2 uv;\n"
    "void main() {\n"
    "    vec3 c = color * (0.5 + texture2D(image, uv).rgb);\n"
    "    for (int i = 0; i < 16; i++) {\n"
    "        if (i >= lights) break;\n"
    "        float k = float(i) * 0.39;\n"
    "        vec2 d = at - vec2(sin(time + k), cos(time * 0.7 + k * 2.0));\n"
    "        c += vec3(0.02, 0.015, 0.01) / (0.05 + dot(d, d));\n"
    "    }\n"
    "    gl_FragColor = vec4(c, 0.8);\n"
    "}\n";

static GLuint compile(GLenum kind, const char *text)
{
    GLuint shader = glCreateShader(kind);
    GLint good = 0;

    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        char log[512] = "";

        glGetShaderInfoLog(shader, sizeof log, NULL, log);
        fprintf(stderr, "demo_game: shader: %s\n", log);
        glDeleteShader(shader);
        return 0;
    }
    return shader;
}

static bool make_program(struct renderer *r)
{
    static const GLfloat square[] = {-1, -1, 1, -1, -1, 1, 1, 1};
    GLuint vertex = compile(GL_VERTEX_SHADER, vertex_text);
    GLuint fragment = compile(GL_FRAGMENT_SHADER, fragment_text);
    GLuint buffer = 0;
    GLint good = 0;

    if (!vertex || !fragment)
        return false;
    r->program = glCreateProgram();
    glAttachShader(r->program, vertex);
    glAttachShader(r->program, fragment);
    glBindAttribLocation(r->program, 0, "corner");
    glLinkProgram(r->program);
    glGetProgramiv(r->program, GL_LINK_STATUS, &good);
    if (!good)
        return false;
    glUseProgram(r->program);
    r->place = glGetUniformLocation(r->program, "place");
    r->color = glGetUniformLocation(r->program, "color");
    r->lights = glGetUniformLocation(r->program, "lights");
    r->time = glGetUniformLocation(r->program, "time");
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, sizeof square, square, GL_STATIC_DRAW);
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    return true;
}

static EGLDisplay open_display(void)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");

    if (get) {
        EGLDisplay d = get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);

        if (d != EGL_NO_DISPLAY)
            return d;
    }
    return eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

static bool make_context(struct renderer *r, int width, int height)
{
    static const EGLint want[] = {
        EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8,
        EGL_NONE};
    static const EGLint es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
    EGLConfig config;
    EGLint n = 0;

    r->display = open_display();
    if (r->display == EGL_NO_DISPLAY || !eglInitialize(r->display, NULL, NULL) ||
        !eglBindAPI(EGL_OPENGL_ES_API) || !eglChooseConfig(r->display, want, &config, 1, &n) ||
        n < 1)
        return false;
    r->surface = eglCreatePbufferSurface(r->display, config, size);
    r->context = eglCreateContext(r->display, config, EGL_NO_CONTEXT, es2);
    return r->surface != EGL_NO_SURFACE && r->context != EGL_NO_CONTEXT &&
           eglMakeCurrent(r->display, r->surface, r->surface, r->context);
}

struct renderer *renderer_new(int width, int height)
{
    static const uint8_t white[4] = {255, 255, 255, 255};
    struct renderer *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    if (!make_context(r, width, height) || !make_program(r)) {
        fprintf(stderr, "demo_game: no OpenGL ES 2 through EGL (error 0x%x)\n",
                (unsigned)eglGetError());
        renderer_free(r);
        return NULL;
    }
    glViewport(0, 0, width, height);
    glGenTextures(1, &r->texture);
    glBindTexture(GL_TEXTURE_2D, r->texture);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    renderer_texture(r, white, 1);
    return r;
}

void renderer_free(struct renderer *r)
{
    if (!r)
        return;
    if (r->display != EGL_NO_DISPLAY) {
        eglMakeCurrent(r->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        eglTerminate(r->display);
    }
    free(r);
}

const char *renderer_gpu(const struct renderer *r)
{
    const GLubyte *name = glGetString(GL_RENDERER);

    (void)r;
    return name ? (const char *)name : "";
}

void renderer_begin(struct renderer *r, float red, float green, float blue)
{
    (void)r;
    glClearColor(red, green, blue, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}

void renderer_sprites(struct renderer *r, const struct sprite *sprites, size_t n, int lights,
                      float time_s)
{
    glUniform1i(r->lights, lights);
    glUniform1f(r->time, time_s);
    for (size_t i = 0; i < n; i++) {
        const struct sprite *s = &sprites[i];

        glUniform4f(r->place, s->x, s->y, s->size, 0);
        glUniform3f(r->color, s->red, s->green, s->blue);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
}

void renderer_texture(struct renderer *r, const uint8_t *rgba, int side)
{
    (void)r;
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, side, side, 0, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
}

uint32_t renderer_present(struct renderer *r)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    glFinish();
    eglSwapBuffers(r->display, r->surface);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (uint32_t)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
}

void *renderer_proc(const char *name)
{
    void (*function)(void) = eglGetProcAddress(name);
    void *p;

    memcpy(&p, &function, sizeof p);
    return p;
}
