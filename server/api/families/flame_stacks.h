/*
 * flame_stacks: the stacks of a build or family as a tree of calls.
 */
#pragma once
#include "server/http/req.h"
#include "stacks/trie.h"

#define FLAME_STACKS 5000 /* of one tree: those with most events */
#define FLAME_TREE_BYTES ((size_t)128 << 20)

struct flame_ask {
    int64_t build; /* 0: all */
    int64_t kind;
    const unsigned char *family; /* NULL: all */
};

struct flame {
    struct trie *tree;               /* trie_free() */
    int64_t stacks, events, jank_us; /* in the tree */
    int64_t of_events, of_jank_us;   /* of what was asked for */
};

/* counts are events, weights milliseconds. */
bool flame_read(struct req *r, const struct flame_ask *ask, struct flame *out,
                struct err *err) MUST_CHECK;
