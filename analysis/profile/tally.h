/*
 * tally: what one session adds to the counts of stacks, as integers that add and subtract. A
 * session that changes adds new - old, so nothing counts twice. Sessions kept out of statistics
 * have an empty one. Pure: a function of the session alone, never of rules or symbols.
 *
 * A jank counts under one of its samples' stacks, its representative: the sample that shares most
 * with the others, measured in frames from the root on that are equal; of equals the earliest. A
 * crash counts under its own stack; so does one that another tool told of, of unknown time as at
 * the session's beginning, without steps. Janks and crashes without a stack count under none.
 *
 * The session itself counts too, with its time in the foreground, whole and by scene: what rates
 * are of. One that is known by its Summary alone does not, as it could show no stack.
 *
 * Beside the counts stand examples: of each line its longest jank, and the last steps before
 * moments in a scene (paths.h says which): before the session's first jank with a stack there, or,
 * if the session has no jank at all, up to one step that is drawn by the session's id.
 */
#pragma once
#include "profile/analyse.h"

#define TALLY_HASH_BYTES 16
#define TALLY_STEPS 10       /* of a window; the last ones */
#define TALLY_STEP_BYTES 128 /* of a step's name; longer are cut */
#define TALLY_SAMPLES 32     /* of a jank that are compared, evenly spread if there are more */

enum tally_kind { TALLY_JANK, TALLY_CRASH };

struct tally_steps { /* in order of time */
    const char *at[TALLY_STEPS];
    size_t n;
};

struct tally_line {
    enum tally_kind kind;
    unsigned char hash[TALLY_HASH_BYTES]; /* of the stack */
    const char *scene, *cause;            /* cause: name; "" of a crash */
    int64_t events, jank_us;              /* jank_us: 0 of a crash */
    int64_t start_us, duration_us;        /* of the longest event, of equals the first */
    bool first;               /* holds the session's first jank with a stack in the scene … */
    struct tally_steps steps; /* … and then the steps before it */
};

struct tally_scene {
    const char *scene;
    int64_t foreground_us;
};

struct tally_clean { /* a window of a session without janks */
    const char *scene;
    struct tally_steps steps;
};

struct tally {
    const char *os;
    bool counts; /* as a session */
    int64_t foreground_us;
    struct tally_scene *scenes; /* by scene */
    size_t n_scenes;
    struct tally_line *lines; /* by kind, hash, scene, cause */
    size_t n_lines;
    struct tally_clean *clean; /* by scene */
    size_t n_clean;
};

/* Number of the sample whose stack stands for the jank; n_samples: none has a stack. */
size_t tally_representative(const struct jank_event *e);

struct tally_crash { /* told of by another tool than the SDK */
    unsigned char hash[TALLY_HASH_BYTES];
    bool timed;
    uint64_t t_us; /* from session start, if timed */
};

/* Which of n steps ends the window of a session without janks: path_pick() of paths.h. */
typedef size_t tally_pick_fn(const void *session_id, size_t len, const char *scene, size_t n);

/* Of the crashes, the session's own and then the posted ones, MAX_JANK_EVENTS count. */
bool tally_of(const struct session *s, const struct session_result *r,
              const struct tally_crash *posted, size_t n_posted, tally_pick_fn *pick,
              struct arena *mem, struct tally *out, struct err *err) MUST_CHECK;

/* Stored form: versioned bytes, equal ones for equal tallies; nothing at all for an empty one. */
void tally_write(const struct tally *t, struct buf *out);
bool tally_read(const void *bytes, size_t n, struct arena *mem, struct tally *out,
                struct err *err) MUST_CHECK;
