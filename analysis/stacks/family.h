/*
 * family: what a stack is and which family it belongs to, with the reason for every frame. A pure
 * function of the stack, the rules and FAMILY_VERSION; definitions in docs/families.md.
 *
 * Results live in the caller's arena. Linear in the frames (cycles up to FAMILY_PERIOD_MAX frames).
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stacks/frame.h"
#include "stacks/name.h"
#include "stacks/rules.h"

#define FAMILY_VERSION 1     /* of the definitions; part of every fingerprint */
#define FINGERPRINT_BYTES 16 /* first bytes of a SHA-256 */
#define FAMILY_PERIOD_MAX 4  /* frames of a recursion through several functions */

/* X(name, text in the API) */
#define STACK_CLASSES                                                                              \
    X(IN_APP, "in_app")                 /* has frames of the app: may be paged, filed */           \
    X(SYSTEM_ONLY, "system_only")       /* named, but nothing of the app's */                      \
    X(SUSPENDED, "suspended")           /* the thread was held: where says nothing of the cause */ \
    X(MOSTLY_UNKNOWN, "mostly_unknown") /* too little is named */

enum stack_class {
#define X(name, text) STACK_CLASS_##name,
    STACK_CLASSES
#undef X
        STACK_CLASS_COUNT
};
extern const char *const stack_class_name[STACK_CLASS_COUNT];

/* What became of a frame. X(name, text in the API, for people) */
#define FRAME_USES                                                                                 \
    X(COUNTED, "counted", "in-app, part of the fingerprint")                                       \
    X(BEYOND, "beyond", "in-app, outside the depth")                                               \
    X(SYSTEM, "system", "operating system or language runtime")                                    \
    X(EXCLUDED, "excluded", "not the app's: an exclude rule matches")                              \
    X(OTHER, "other", "not the app's: no include rule matches")                                    \
    X(UNNAMED, "unnamed", "no symbols: nothing to compare")                                        \
    X(RECURSION, "recursion", "repeats calls that are there already")                              \
    X(GLUE, "glue", "thunk, accessor or invoker of a closure")                                     \
    X(BASE, "base", "start of the thread or the event loop")                                       \
    X(PAUSE, "pause", "holds a thread that was told to stop")

enum frame_use {
#define X(name, text, human) FRAME_##name,
    FRAME_USES
#undef X
        FRAME_USE_COUNT
};
extern const char *const frame_use_name[FRAME_USE_COUNT];
extern const char *const frame_use_text[FRAME_USE_COUNT];

struct frame_note {
    enum frame_use use; /* at the rules' depth */
    enum name_role role;
    const char *name;        /* normalised; "libgame.so+?" where unnamed */
    const struct rule *rule; /* that decided include or exclude; NULL: built-in */
    uint8_t position; /* 1 … RULES_DEPTH_MAX in what fingerprints are made of, 0: not there */
};

struct family {
    enum stack_class class;
    /* [d - 1]: of depth d. Equal at d + 1 implies equal at d. Every class has fingerprints: of
     * in-app stacks from in-app frames, of others from what there is; the class is part of it, and
     * so is jank or crash. */
    uint8_t fingerprint[RULES_DEPTH_MAX][FINGERPRINT_BYTES];
    unsigned depth;                     /* the rules' */
    const char *names[RULES_DEPTH_MAX]; /* the frames that counted, innermost first */
    unsigned n_names;                   /* fewer than the depth: the stack has no more */
    const struct frame_note *notes;     /* of each frame of the input */
    size_t n_notes;
    size_t culprit;    /* number of the frame to look at first; n_notes: none */
    const char *title; /* "Level::load < World::enter" or "system: nativePollOnce" */
    const char *owner; /* NULL: nobody's */
    const struct rule *owner_rule, *ignore_rule; /* NULL: none */
    bool ignored;
    bool cut;                /* the outermost frame starts no thread: unwinding stopped early */
    bool provisional;        /* symbols that are still missing could change it */
    unsigned named, unnamed; /* frames, thread bases and glue left out: what the class went by */
};

/* False: ERR_TOO_BIG, the arena is full; ERR_WORK, the steps of the rules' index are used up. rules
 * as rules_check() wants them, their index, if there is one, of their lists. No frames at all are
 * mostly unknown. */
bool family_of(const struct stack_input *in, const struct rules *rules, struct arena *mem,
               struct family *out, struct err *err) MUST_CHECK;

/* The stack as a flame graph shows it: normalised names, root first, recursion and glue taken out,
 * unnamed frames by their module ("libgame.so+?"), thread bases left in. */
bool family_folded(const struct family *f, struct arena *mem, const char *const **names,
                   size_t *n) MUST_CHECK;
