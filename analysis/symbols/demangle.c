#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* libiberty refuses longer C++ names unless told to recurse freely. */
#define LIBIBERTY_EASY_MAX (DEMANGLE_RECURSION_LIMIT / 2)

struct sink {
    struct buf *out;
    size_t begin;
    jmp_buf give_up;
};

static bool is_ascii(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

/* libiberty cannot be stopped by a return value, so too long a text is left by longjmp. Nothing is
 * lost by that: libiberty holds heap memory only while it prints a Rust identifier it unpacked from
 * punycode, and that is text with letters beyond ASCII; the next text is not. */
static void take(const char *text, size_t n, void *ctx)
{
    struct sink *s = ctx;

    if (s->out->len - s->begin + n <= DEMANGLE_TEXT_MAX)
        buf_put(s->out, text, n);
    else if (is_ascii(text, n))
        longjmp(s->give_up, 1);
}

/* Rust's back references can lead in a circle: its limit of recursion must stay. */
static int attempt(const char *name, struct sink *s)
{
    int options = DMGL_PARAMS | DMGL_ANSI;
    int done = rust_demangle_callback(name, options, take, s);

    if (done || name[1] == 'R')
        return done;
    s->out->len = s->begin;
    if (strlen(name) > LIBIBERTY_EASY_MAX)
        options |= DMGL_NO_RECURSE_LIMIT;
    return cplus_demangle_v3_callback(name, options, take, s);
}

static int run(const char *name, struct sink *s)
{
    return setjmp(s->give_up) == 0 ? attempt(name, s) : 0;
}

static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

bool demangle(const char *name, struct buf *out)
{
    const char *bare = name[0] == '_' && is_mangled(name + 1) ? name + 1 : name;
    struct sink s = {.out = out, .begin = out->len};

    if (is_mangled(bare) && strnlen(bare, DEMANGLE_NAME_MAX + 1) <= DEMANGLE_NAME_MAX &&
        run(bare, &s) && out->len > s.begin)
        return true;
    if (!out->failed)
        out->len = s.begin;
    buf_text(out, name);
    return false;
}
