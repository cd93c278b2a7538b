#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* libiberty refuses names beyond half of this many characters unless told to recurse freely. */
#define LIBIBERTY_EASY_MAX (DEMANGLE_RECURSION_LIMIT / 2)
#define PUNYCODE_BACKREFS_MAX 8

struct sink {
    struct buf *out;
    size_t begin;
    jmp_buf give_up;
};

/* libiberty cannot be stopped by a return value. It holds no heap memory while it prints (C++ and
 * Rust without punycode), so leaving by longjmp loses nothing. */
static void take(const char *text, size_t n, void *ctx)
{
    struct sink *s = ctx;

    if (s->out->len - s->begin + n > DEMANGLE_TEXT_MAX)
        longjmp(s->give_up, 1);
    buf_put(s->out, text, n);
}

/* Rust identifiers in punycode are unpacked on the heap while printing: with few back references
 * such a name cannot grow past the limit, and longjmp is not needed. */
static bool risky_punycode(const char *name)
{
    bool punycode = false;
    int backrefs = 0;

    for (const char *p = name; *p; p++) {
        punycode = punycode || (*p == 'u' && p[1] >= '0' && p[1] <= '9');
        backrefs += *p == 'B';
    }
    return punycode && (backrefs > PUNYCODE_BACKREFS_MAX || strlen(name) > 512);
}

static int attempt(const char *name, struct sink *s)
{
    int options = DMGL_PARAMS | DMGL_ANSI;
    bool v0 = name[1] == 'R';
    int done;

    if (v0 && risky_punycode(name))
        return 0;
    if (strlen(name) > LIBIBERTY_EASY_MAX)
        options |= DMGL_NO_RECURSE_LIMIT;
    done = rust_demangle_callback(name, options, take, s);
    if (done || v0)
        return done;
    s->out->len = s->begin;
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
