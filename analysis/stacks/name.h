/*
 * name: one name for one function, whatever the compiler made of it: without parameters, template
 * arguments, return type, clone suffixes (".cold", ".part.1", ".isra.0", ".constprop.2",
 * ".llvm.123"), Rust's hash, numbers of lambdas, closures, anonymous classes and display classes. A
 * closure has the name of the function it stands in. C++, Rust, Objective-C, Swift, Java, Kotlin,
 * C#, Lua. Pure; idempotent: the name of a name is itself.
 *
 * Names are hostile: any bytes, any nesting; longer ones than NAME_TEXT_MAX are cut.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

#define NAME_TEXT_MAX 4096u /* bytes looked at */

/* What a function is beside its name. */
enum name_role {
    NAME_PLAIN,
    NAME_CLOSURE, /* lambda, block, anonymous class, coroutine: named after where it stands */
    NAME_GLUE,    /* thunk, accessor, invoker of closures: the compiler's, nobody wrote it */
    NAME_BASE,    /* starts a thread, a process or an event loop */
    NAME_RUNTIME, /* the language's own: std::, java., System. … */
    NAME_PAUSE,   /* holds a thread that was told to stop: garbage collector, freezer, debugger */
    NAME_EMPTY    /* says nothing: "", "Unknown", "??", "0x1234" */
};
extern const char *const name_role_name[];

struct name {
    const char *text; /* normalised */
    enum name_role role;
};

/* managed: a frame named by its runtime (Java, C#, Lua), else of native code. Mangled names are
 * read first. False: out of memory. */
bool name_of(const char *function, bool managed, struct arena *mem, struct name *out) MUST_CHECK;
