/* What the tests of analysis/stacks share: frames as literals, and families of them. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stacks/family.h"

#include <stdio.h>
#include <string.h>

#define NATIVE(name, lib, at)                                                                      \
    {                                                                                              \
        .status = STACK_STATUS_SYMBOLICATED, .function = (name), .module = (lib), .line = (at),    \
        .file = "game.cpp"                                                                         \
    }
#define MANAGED_FRAME(name)                                                                        \
    {                                                                                              \
        .status = STACK_STATUS_MANAGED, .function = (name)                                         \
    }
#define SYSTEM_FRAME(lib)                                                                          \
    {                                                                                              \
        .status = STACK_STATUS_SYSTEM, .module = (lib), .offset = 0x1234                           \
    }
#define RAW_FRAME(lib, at)                                                                         \
    {                                                                                              \
        .status = STACK_STATUS_MISSING, .module = (lib), .offset = (at), .debug_id = "aa00"        \
    }

struct fixture {
    struct arena *mem;
    struct family family;
};

static inline struct fixture family_of_input(const struct stack_input *in,
                                             const struct rules *rules)
{
    static const struct rules none = {0};
    struct fixture x = {.mem = arena_new((size_t)64 << 20)};
    struct err err;

    assert_non_null(x.mem);
    if (!family_of(in, rules ? rules : &none, x.mem, &x.family, &err))
        fail_msg("%s", err.text);
    return x;
}

static inline struct fixture family_from(const struct stack_frame *frames, size_t n,
                                         const struct rules *rules)
{
    struct stack_input in = {.frames = frames, .n = n};

    return family_of_input(&in, rules);
}

static inline void fixture_free(struct fixture *x)
{
    arena_free(x->mem);
    *x = (struct fixture){0};
}

/* expected: the uses of all frames, separated by blanks */
static inline void assert_uses(const struct fixture *x, const char *expected)
{
    char text[1024] = "";

    for (size_t i = 0; i < x->family.n_notes; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "",
                 frame_use_name[x->family.notes[i].use]);
    }
    assert_string_equal(text, expected);
}
