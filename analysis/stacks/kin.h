/*
 * kin: families that are one, but for a frame that a compiler or an unwinder lost. Fingerprints are
 * exact: where one architecture calls a function in tail position, or a library has no records of
 * what was inlined, a caller is missing and the stack falls into a family of its own. Pure, and
 * independent of the order of the input; O(n log n).
 *
 * Of two in-app stacks of one kind, one may have the names of the other but for a frame:
 *   KIN_LOST: the first KIN_COMMON of its names (the depth, if that is more, up to one less than
 *             RULES_DEPTH_MAX) are the other's without one;
 *   KIN_CUT:  it ends before its thread began, with fewer names than the depth, and the other's
 *             begin with all of them.
 * Family B joins A if that holds for half of B's weight, A is heavier than B, and no other such
 * family is more than a quarter as heavy as A: a doubtful guess is none. Where A joins C, so does
 * B. A compiler loses a frame wherever it made the same code, and only there, so for KIN_LOST
 *   - no more than a tenth of B comes from images that A comes from too: else both ways are taken;
 *   - half of B comes from builds that A comes from too: else the program may have changed.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stacks/family.h"

#define KIN_COMMON 3

enum kin_reason { KIN_LOST, KIN_CUT };
extern const char *const kin_reason_name[]; /* "lost", "cut" */

/* A stack of a build, or all of equal names, image and build. */
struct kin_member {
    const struct family *family; /* class, depth, names, cut and fingerprints are read */
    enum stack_kind kind;
    const char *image; /* debug id of the module its culprit is in; NULL: not known, as one image */
    int64_t build;     /* any number that tells builds apart */
    int64_t count;
};

struct kin_join {
    uint8_t from[FINGERPRINT_BYTES], into[FINGERPRINT_BYTES]; /* at the rules' depth */
    enum kin_reason reason;
    const char *lost;               /* KIN_LOST: the name missing in `from`, else NULL */
    int64_t from_count, into_count; /* of the families as fingerprints make them */
};

/* Joins by `from`; all members of one depth. */
bool kin_find(const struct kin_member *members, size_t n, struct arena *mem,
              struct kin_join **joins, size_t *n_joins, struct err *err) MUST_CHECK;
