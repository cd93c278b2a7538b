/*
 * frame: a stack as the analysis of stacks takes it: frames as they read with symbols, innermost
 * first, inlined calls with frames of their own (see the symbolicator's list of frames). Plain
 * data, owned by the caller; texts are UTF-8, NULL or "" where nothing is known.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_FRAMES_MAX 1024 /* frames beyond, at the outer end, are left out and told */

/* X(name, text as the symbolicator writes it) */
#define STACK_STATUSES                                                                             \
    X(SYMBOLICATED, "symbolicated")                                                                \
    X(AMBIGUOUS, "ambiguous")                                                                      \
    X(SYSTEM, "system")                                                                            \
    X(MISSING, "missing")                                                                          \
    X(NOT_FOUND, "not_found")                                                                      \
    X(NO_DEBUG_ID, "no_debug_id")                                                                  \
    X(MANAGED, "managed")                                                                          \
    X(UNKNOWN, "unknown")

enum stack_status {
#define X(name, text) STACK_STATUS_##name,
    STACK_STATUSES
#undef X
        STACK_STATUS_COUNT
};
extern const char *const stack_status_name[STACK_STATUS_COUNT];

/* STACK_STATUS_UNKNOWN for a text that is none of them. */
enum stack_status stack_status_of(const char *text);

struct stack_frame {
    enum stack_status status;
    bool inlined;         /* into the next frame */
    uint32_t raw;         /* number of the raw frame it came from */
    uint32_t line;        /* 0: not known. Never part of a fingerprint */
    const char *function; /* as the symbols or the runtime name it */
    const char *file;
    const char *module; /* native: path or name; NULL or "": managed */
    const char *debug_id;
    uint64_t offset;                 /* of a native frame, from the module's base */
    const char *const *alternatives; /* of an ambiguous frame */
    size_t n_alternatives;
};

/* What the stack was taken for. Managed and native frames tell themselves apart by `module`. */
enum stack_kind { STACK_JANK, STACK_CRASH };

struct stack_input {
    enum stack_kind kind;
    const char *platform; /* "android", "ios", "linux"; NULL: not known */
    bool suspended;       /* whoever took it knows that the process was not running */
    const struct stack_frame *frames;
    size_t n;
};
