#include "gl/gl_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64

/* ISO C has no conversion from void * to a function's; the bytes are the same where OpenGL is. */
static bool take(fw_gl_get_proc get_proc, const char *prefix, const char *name, const char *suffix,
                 void *function)
{
    char whole[NAME_BYTES];
    void *found;

    snprintf(whole, sizeof whole, "%s%s%s", prefix, name, suffix);
    found = get_proc(whole);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* By its core name, else as an extension. */
static bool take_either(fw_gl_get_proc get_proc, const char *name, const char *suffix,
                        void *function)
{
    return take(get_proc, "gl", name, "", function) || take(get_proc, "gl", name, suffix, function);
}

static bool in_list(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static bool has_extension(const struct fw_gl_api *gl, const char *name)
{
    const char *list;
    int n = 0;

    if (gl->major < 3 || !gl->GetStringi) {
        list = (const char *)gl->GetString(GL_EXTENSIONS);
        return list && in_list(list, name);
    }
    gl->GetIntegerv(GL_NUM_EXTENSIONS, &n);
    for (int i = 0; i < n; i++) {
        const char *one = (const char *)gl->GetStringi(GL_EXTENSIONS, (unsigned)i);

        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

/* "OpenGL ES 3.2 Mesa …" or "4.5 (Core Profile) …" */
static void read_version(struct fw_gl_api *gl)
{
    static const char es[] = "OpenGL ES ";
    const char *text = (const char *)gl->GetString(GL_VERSION);

    if (!text)
        return;
    gl->es = strncmp(text, es, sizeof es - 1) == 0;
    gl->major = (int)strtol(gl->es ? text + sizeof es - 1 : text, NULL, 10);
}

static void load_vertex_arrays(struct fw_gl_api *gl, fw_gl_get_proc get_proc)
{
    if (gl->major < 3 && !has_extension(gl, "GL_OES_vertex_array_object") &&
        !has_extension(gl, "GL_ARB_vertex_array_object"))
        return;
    gl->vertex_arrays =
        take_either(get_proc, "GenVertexArrays", "OES", &gl->GenVertexArrays) &&
        take_either(get_proc, "DeleteVertexArrays", "OES", &gl->DeleteVertexArrays) &&
        take_either(get_proc, "BindVertexArray", "OES", &gl->BindVertexArray);
}

static void load_queries(struct fw_gl_api *gl, fw_gl_get_proc get_proc)
{
    int bits = 0;

    gl->disjoint = has_extension(gl, "GL_EXT_disjoint_timer_query");
    if (!gl->disjoint && (gl->es || !has_extension(gl, "GL_ARB_timer_query")))
        return;
    if (!take_either(get_proc, "GenQueries", "EXT", &gl->GenQueries) ||
        !take_either(get_proc, "DeleteQueries", "EXT", &gl->DeleteQueries) ||
        !take_either(get_proc, "QueryCounter", "EXT", &gl->QueryCounter) ||
        !take_either(get_proc, "GetQueryiv", "EXT", &gl->GetQueryiv) ||
        !take_either(get_proc, "GetQueryObjectuiv", "EXT", &gl->GetQueryObjectuiv) ||
        !take_either(get_proc, "GetQueryObjectui64v", "EXT", &gl->GetQueryObjectui64v))
        return;
    gl->GetQueryiv(GL_TIMESTAMP, GL_QUERY_COUNTER_BITS, &bits);
    gl->timestamps = bits > 0;
}

bool fw_gl_load(struct fw_gl_api *gl, fw_gl_get_proc get_proc)
{
    bool all = true;

    memset(gl, 0, sizeof *gl);
#define X(result, name, arguments) all &= take(get_proc, "gl", #name, "", &gl->name);
    FW_GL_FUNCTIONS(X)
#undef X
    if (!all)
        return false;
    read_version(gl);
    if (gl->major < 2)
        return false;
    take(get_proc, "gl", "GetStringi", "", &gl->GetStringi);
    load_vertex_arrays(gl, get_proc);
    load_queries(gl, get_proc);
    return true;
}
