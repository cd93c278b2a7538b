/*
 * paths_parts: the inside of a table of paths.
 */
#pragma once
#include "stacks/paths.h"
#include "stacks/trie_parts.h"

/* The trie's levels: scene, then steps. self[PATH_JANK] and self[PATH_CLEAN] count windows; a
 * scene's own are all its windows. */
struct paths {
    struct trie *table;
    size_t cap;
};
