/*
 * gl_api: the OpenGL functions that framewatch_gl uses, asked for by name. Values of enumerants are
 * those of Khronos' registry (gl.xml).
 */
#pragma once
#include <framewatch_gl.h>
#include <stdbool.h>

#if defined(_WIN32) && !defined(_WIN64)
#define FW_GL_CALL __stdcall
#else
#define FW_GL_CALL
#endif

#define GL_TRIANGLES 0x0004
#define GL_SRC_ALPHA 0x0302
#define GL_ONE_MINUS_SRC_ALPHA 0x0303
#define GL_CULL_FACE 0x0B44
#define GL_DEPTH_TEST 0x0B71
#define GL_STENCIL_TEST 0x0B90
#define GL_VIEWPORT 0x0BA2
#define GL_BLEND 0x0BE2
#define GL_SCISSOR_TEST 0x0C11
#define GL_COLOR_WRITEMASK 0x0C23
#define GL_UNSIGNED_BYTE 0x1401
#define GL_FLOAT 0x1406
#define GL_EXTENSIONS 0x1F03
#define GL_VERSION 0x1F02
#define GL_NUM_EXTENSIONS 0x821D
#define GL_FUNC_ADD 0x8006
#define GL_BLEND_EQUATION_RGB 0x8009
#define GL_BLEND_DST_RGB 0x80C8
#define GL_BLEND_SRC_RGB 0x80C9
#define GL_BLEND_DST_ALPHA 0x80CA
#define GL_BLEND_SRC_ALPHA 0x80CB
#define GL_VERTEX_ARRAY_BINDING 0x85B5
#define GL_VERTEX_ATTRIB_ARRAY_ENABLED 0x8622
#define GL_VERTEX_ATTRIB_ARRAY_SIZE 0x8623
#define GL_VERTEX_ATTRIB_ARRAY_STRIDE 0x8624
#define GL_VERTEX_ATTRIB_ARRAY_TYPE 0x8625
#define GL_VERTEX_ATTRIB_ARRAY_POINTER 0x8645
#define GL_QUERY_COUNTER_BITS 0x8864
#define GL_QUERY_RESULT 0x8866
#define GL_QUERY_RESULT_AVAILABLE 0x8867
#define GL_BLEND_EQUATION_ALPHA 0x883D
#define GL_VERTEX_ATTRIB_ARRAY_NORMALIZED 0x886A
#define GL_ARRAY_BUFFER 0x8892
#define GL_ARRAY_BUFFER_BINDING 0x8894
#define GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING 0x889F
#define GL_STREAM_DRAW 0x88E0
#define GL_FRAGMENT_SHADER 0x8B30
#define GL_VERTEX_SHADER 0x8B31
#define GL_COMPILE_STATUS 0x8B81
#define GL_LINK_STATUS 0x8B82
#define GL_CURRENT_PROGRAM 0x8B8D
#define GL_TIMESTAMP 0x8E28
#define GL_GPU_DISJOINT 0x8FBB

/* X(result, name, arguments): every OpenGL ES 2 and OpenGL 2 has them. */
#define FW_GL_FUNCTIONS(X)                                                                         \
    X(void, GetIntegerv, (unsigned what, int *out))                                                \
    X(void, GetBooleanv, (unsigned what, unsigned char *out))                                      \
    X(unsigned char, IsEnabled, (unsigned what))                                                   \
    X(void, Enable, (unsigned what))                                                               \
    X(void, Disable, (unsigned what))                                                              \
    X(const unsigned char *, GetString, (unsigned what))                                           \
    X(void, Viewport, (int x, int y, int width, int height))                                       \
    X(void, ColorMask, (unsigned char r, unsigned char g, unsigned char b, unsigned char a))       \
    X(void, BlendFuncSeparate, (unsigned s, unsigned d, unsigned sa, unsigned da))                 \
    X(void, BlendEquationSeparate, (unsigned rgb, unsigned alpha))                                 \
    X(unsigned, CreateShader, (unsigned kind))                                                     \
    X(void, ShaderSource, (unsigned s, int n, const char *const *text, const int *len))            \
    X(void, CompileShader, (unsigned s))                                                           \
    X(void, GetShaderiv, (unsigned s, unsigned what, int *out))                                    \
    X(void, DeleteShader, (unsigned s))                                                            \
    X(unsigned, CreateProgram, (void))                                                             \
    X(void, AttachShader, (unsigned p, unsigned s))                                                \
    X(void, BindAttribLocation, (unsigned p, unsigned at, const char *name))                       \
    X(void, LinkProgram, (unsigned p))                                                             \
    X(void, GetProgramiv, (unsigned p, unsigned what, int *out))                                   \
    X(void, DeleteProgram, (unsigned p))                                                           \
    X(void, UseProgram, (unsigned p))                                                              \
    X(int, GetUniformLocation, (unsigned p, const char *name))                                     \
    X(void, Uniform2f, (int at, float x, float y))                                                 \
    X(void, GenBuffers, (int n, unsigned *out))                                                    \
    X(void, DeleteBuffers, (int n, const unsigned *names))                                         \
    X(void, BindBuffer, (unsigned target, unsigned name))                                          \
    X(void, BufferData, (unsigned target, ptrdiff_t size, const void *data, unsigned use))         \
    X(void, EnableVertexAttribArray, (unsigned at))                                                \
    X(void, DisableVertexAttribArray, (unsigned at))                                               \
    X(void, GetVertexAttribiv, (unsigned at, unsigned what, int *out))                             \
    X(void, GetVertexAttribPointerv, (unsigned at, unsigned what, void **out))                     \
    X(void, VertexAttribPointer,                                                                   \
      (unsigned at, int size, unsigned type, unsigned char normalized, int stride,                 \
       const void *pointer))                                                                       \
    X(void, DrawArrays, (unsigned mode, int first, int n))

struct fw_gl_api {
#define X(result, name, arguments) result(FW_GL_CALL *name) arguments;
    FW_GL_FUNCTIONS(X)
#undef X
    /* with vertex array objects; else NULL */
    void(FW_GL_CALL *GenVertexArrays)(int n, unsigned *out);
    void(FW_GL_CALL *DeleteVertexArrays)(int n, const unsigned *names);
    void(FW_GL_CALL *BindVertexArray)(unsigned name);
    /* with timestamps; else NULL */
    const unsigned char *(FW_GL_CALL *GetStringi)(unsigned what, unsigned i);
    void(FW_GL_CALL *GenQueries)(int n, unsigned *out);
    void(FW_GL_CALL *DeleteQueries)(int n, const unsigned *names);
    void(FW_GL_CALL *QueryCounter)(unsigned name, unsigned target);
    void(FW_GL_CALL *GetQueryiv)(unsigned target, unsigned what, int *out);
    void(FW_GL_CALL *GetQueryObjectuiv)(unsigned name, unsigned what, unsigned *out);
    void(FW_GL_CALL *GetQueryObjectui64v)(unsigned name, unsigned what, uint64_t *out);
    bool es, timestamps, disjoint; /* OpenGL ES; has what its name says */
    bool vertex_arrays;
    int major;
};

/* False: a function that every context has is missing. */
bool fw_gl_load(struct fw_gl_api *gl, fw_gl_get_proc get_proc);
