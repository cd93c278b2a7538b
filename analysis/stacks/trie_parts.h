/*
 * trie_parts: the inside of a trie, for the files that work on it.
 */
#pragma once
#include "stacks/trie.h"

struct node {
    uint32_t name, parent, first_child, next;
    int64_t self[2];
};

struct totals {
    int64_t of[2];
};

struct trie {
    size_t cap, bytes;
    uint64_t seed;
    struct node *nodes; /* a child's number is higher than its parent's */
    size_t n, room;
    struct totals *totals; /* of each node; of the last sort */
    size_t n_totals;
    uint32_t *children; /* hash table: node + 1 by (parent, name) */
    size_t n_children;  /* places: a power of two */
    char *text;         /* names, each ended by a NUL */
    size_t text_len, text_room;
    uint32_t *name_at; /* of each name: where in text */
    size_t n_names, names_room;
    uint32_t *names; /* hash table: name + 1 by text */
    size_t n_name_places;
};

/* Room for so many more: what is added then cannot fail. */
bool trie_reserve(struct trie *t, size_t nodes, struct err *err) MUST_CHECK;
uint32_t trie_find_child(const struct trie *t, uint32_t parent, uint32_t name); /* or TRIE_NONE */
uint32_t trie_make_child(struct trie *t, uint32_t parent, uint32_t name);       /* reserved */
const char *trie_text(const struct trie *t, uint32_t name);
/* The next node in order (parents first, children in their order) within `top`; TRIE_NONE: done. */
uint32_t trie_next(const struct trie *t, uint32_t node, uint32_t top);
/* Past a node's own subtree. */
uint32_t trie_skip(const struct trie *t, uint32_t node, uint32_t top);
/* Adds `from` to `into`; node_of (from->n of them, NULL: not wanted) tells where each node went. */
bool trie_merge_into(struct trie *into, const struct trie *from, int sign, uint32_t *node_of,
                     struct err *err) MUST_CHECK;

/* Counts wrap. */
static inline void trie_count(struct trie *t, uint32_t node, unsigned value, int64_t by)
{
    int64_t *at = &t->nodes[node].self[value];

    *at = (int64_t)((uint64_t)*at + (uint64_t)by);
}
