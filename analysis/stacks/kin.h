/*
 * kin: families that are one, but for frames that a compiler or an unwinder lost. Fingerprints are
 * exact: where one architecture calls a function in tail position, or a library has no records of
 * what was inlined, callers are missing and the stack falls into a family of its own. Pure, and
 * independent of the order of the input; O(n log n).
 *
 * Of two in-app stacks of one kind, one may have the names of the other but for some frames:
 *   KIN_LOST: KIN_COMMON of their names (the depth, if that is more, up to one less than
 *             RULES_DEPTH_MAX) are the same in a row, once up to two are left out of each and three
 *             of both;
 *   KIN_CUT:  it ends before its thread began, with fewer names than the depth, and the other's
 *             begin with all of them;
 *   KIN_NAMED: a mapping allows several names for one of its places ("a|b"), and the other has one
 *             of them there, and else the same names.
 * Family B joins A if that holds for half of B's weight, A is heavier than B, and no other such
 * family that lacks as few frames is more than a quarter as heavy as A: a doubtful guess is none.
 * Where A joins C, so does B. A compiler loses a frame wherever it made the same code, and only
 * there, so for KIN_LOST, going by the image that the outermost of the names in common is in,
 *   - no more than a tenth of B comes from images that A comes from too: else both ways are taken;
 *   - A was to be expected at least five times in the images of B, and is not there;
 *   - half of B comes from builds that A comes from too: else the program may have changed;
 *   - if more than one frame is lost, B too was to be expected (three times) where A is, and their
 *     rates, each in its own images, differ by less than three times: what one image lacks, the
 *     other makes up for.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "stacks/family.h"

#define KIN_COMMON 3

enum kin_reason { KIN_LOST, KIN_CUT, KIN_NAMED };
extern const char *const kin_reason_name[]; /* "lost", "cut", "named" */

/* A stack of a build, or all of equal names, images and build. */
struct kin_member {
    const struct family *family; /* class, depth, names, cut and fingerprints are read */
    enum stack_kind kind;
    const char *image[RULES_DEPTH_MAX]; /* debug ids of the modules its names are in; NULL: not
                                           known, as one image */
    int64_t build;                      /* any number that tells builds apart */
    int64_t count;
    bool stays; /* its family may be joined, but joins none */
};

/* Families, by fingerprint at the rules' depth, that are never to be one. */
struct kin_apart {
    uint8_t one[FINGERPRINT_BYTES], other[FINGERPRINT_BYTES];
};

struct kin_join {
    uint8_t from[FINGERPRINT_BYTES], into[FINGERPRINT_BYTES]; /* at the rules' depth */
    enum kin_reason reason;
    /* KIN_LOST: the names that `from` lacks, and those that its kin lacks, with ", " between; NULL:
     * none. Where kin joins other kin in turn, `into` is the end of it. */
    const char *lost, *lost_into;
    const char *named; /* KIN_NAMED: the name of several that is met elsewhere, else NULL */
    int64_t from_count, into_count; /* of the families as fingerprints make them */
};

/* Joins by `from`; all members of one depth. */
bool kin_find(const struct kin_member *members, size_t n, const struct kin_apart *apart,
              size_t n_apart, struct arena *mem, struct kin_join **joins, size_t *n_joins,
              struct err *err) MUST_CHECK;
