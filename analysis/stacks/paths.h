/*
 * paths: which ways through the game lead to janks. A window is the last PATH_WINDOW steps of a
 * session up to a moment in a scene. Windows that end in a jank are compared with windows of
 * sessions without janks, ended in the same scene at a step that path_pick() chose. Within a window
 * an n-gram counts once, so counts are windows, in any order.
 *
 * One window a session and scene, else windows are no longer independent: of a session with several
 * janks in a scene the first counts (docs/families.md says why).
 *
 * lift = ((x + 1/2) / (X + 1)) / q, where x of the X windows before janks have the n-gram and
 * q = sum over scenes of X_s q_s / X, q_s = (y_s + 1/2) / (Y_s + 1): what the share would be if
 * janks did not matter, y_s of the scene's Y_s other windows having it. The halves keep a rare
 * n-gram from looking certain. Ranked by lift, then support x, then longer first, then by text.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define PATH_WINDOW 10
#define PATH_NGRAM_MAX 5
#define PATH_SUPPORT_MIN 5
#define PATH_STEP_MAX 128        /* bytes of a step's name; longer are cut */
#define PATH_NGRAMS_MAX 1000000u /* of one table; further new ones are left out */

struct paths; /* heap; paths_free() */
struct paths *paths_new(size_t cap);
void paths_free(struct paths *p); /* NULL is fine */

enum path_end { PATH_JANK, PATH_CLEAN };
/* steps: in order of time, the last one nearest the moment; more than PATH_WINDOW: the last count.
 * sign +1 adds, -1 takes back. */
bool paths_add(struct paths *p, enum path_end end, const char *scene, const char *const *steps,
               size_t n, int sign, struct err *err) MUST_CHECK;
/* Which of n steps ends the window of a session without janks: even over them, from its id alone.
 */
size_t path_pick(const void *session_id, size_t len, const char *scene, size_t n);

struct path_rank {
    const char *const *steps; /* in order of time */
    unsigned n;
    int64_t support, windows;             /* x, X */
    int64_t clean_support, clean_windows; /* y, Y: of the scene, or summed over scenes */
    double share, clean_share, lift;      /* x / X, q, the lift */
};
/* scene NULL: across scenes. An n-gram within a longer one that has the same counts is left out: it
 * says nothing more. At most max. */
bool paths_rank(const struct paths *p, const char *scene, size_t max, struct arena *mem,
                struct path_rank **out, size_t *n, struct err *err) MUST_CHECK;
