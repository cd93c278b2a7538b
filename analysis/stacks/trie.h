/*
 * trie: many stacks as one tree of calls with counts: the flame graph. Adding is commutative:
 * any order of adds and merges gives the same tree. Counts are signed and wrap, so that what was
 * added can be taken back. `weight` is a second value beside the count, milliseconds say.
 *
 * One owner. 32 bytes a node and its place in a hash table, 16 more once sorted. At most `cap`
 * bytes: past it ERR_TOO_BIG, and the trie stays as it was before the call.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TRIE_DEPTH_MAX 1024 /* frames of a stack; more are ERR_TOO_BIG */
#define TRIE_NONE UINT32_MAX
#define TRIE_ROOT 0u
#define TRIE_OTHER "(other)" /* what pruning took together */

struct trie; /* heap; trie_free() */

struct trie *trie_new(size_t cap); /* NULL: out of memory */
void trie_free(struct trie *t);    /* NULL is fine */

/* A name's number, for trie_add_ids(): a stack of known names costs no look at their text. */
bool trie_name(struct trie *t, const char *name, uint32_t *id, struct err *err) MUST_CHECK;
bool trie_add_ids(struct trie *t, const uint32_t *names, size_t n, int64_t count, int64_t weight,
                  struct err *err) MUST_CHECK;
/* frames: root first. No frames: counted at the root. */
bool trie_add(struct trie *t, const char *const *frames, size_t n, int64_t count, int64_t weight,
              struct err *err) MUST_CHECK;
bool trie_merge(struct trie *into, const struct trie *from, int sign, struct err *err) MUST_CHECK;

/* Reading. Node numbers hold until the next add. */
enum trie_value { TRIE_COUNT, TRIE_WEIGHT };
struct trie_node {
    const char *name;                   /* NULL: the root */
    uint32_t parent, first_child, next; /* TRIE_NONE: none */
    int64_t self[2], total[2];          /* by enum trie_value */
};
size_t trie_nodes(const struct trie *t);
size_t trie_bytes(const struct trie *t);                                        /* memory held */
bool trie_sort(struct trie *t, enum trie_value by, struct err *err) MUST_CHECK; /* left-heavy */
/* Totals are those of the last trie_sort(). */
struct trie_node trie_at(const struct trie *t, uint32_t node);

/* A new trie without the nodes whose total is under share (0..1) of the root's; what was left out
 * stands as TRIE_OTHER under its parent, so totals are kept. */
bool trie_prune(struct trie *t, enum trie_value by, double share, size_t cap, struct trie **out,
                struct err *err) MUST_CHECK;

/* Everything below, and everything above, a function, wherever it is called from. callers: root is
 * the function, then its callers outwards. Recursion counts once, at its outermost. */
bool trie_sandwich(struct trie *t, const char *name, size_t cap, struct trie **callers,
                   struct trie **callees, struct err *err) MUST_CHECK;

/* Two builds: the union of both trees with shares of each one's whole. */
struct trie_diff_node {
    const char *name;
    uint32_t parent, first_child, next; /* children by |change|, then by name */
    double self[2], total[2];           /* shares 0..1 of a and of b */
};
struct trie_diff {
    struct trie_diff_node *nodes; /* [0] the root */
    size_t n;
    struct trie *names; /* keeps the names */
};
bool trie_diff(struct trie *a, struct trie *b, enum trie_value by, size_t cap,
               struct trie_diff *out, struct err *err) MUST_CHECK;
void trie_diff_fini(struct trie_diff *d); /* fine on a zeroed one */
