/*
 * strings: each distinct string once, by number. Strings are borrowed (they stand in the mapped
 * file) unless added with strings_copy(). Number 0 is the empty string: "none". Not thread-safe.
 */
#pragma once
#include "symbols/hidden_names.h"
#include "symbols/mem.h"

#include <stddef.h>
#include <stdint.h>

#define STRING_BYTES_MAX (64u << 10) /* a longer one is cut: linkage names reach a few 10 KB */

struct strings_entry {
    const char *at;
    uint32_t len, hash;
};

struct strings {
    struct mem *mem;
    struct work *work;
    VEC(struct strings_entry) all;
    uint32_t *slots; /* entry number, 0 = free; a power of two of them */
    size_t n_slots;
    struct strings_block *blocks;      /* of copies */
    const struct hidden_names *hidden; /* or NULL; borrowed */
};

bool strings_init(struct strings *s, struct mem *mem, struct work *work);
void strings_fini(struct strings *s); /* fine on a zeroed one */

/* The number of the string; 0 when it is empty, or when out of memory or work. */
uint32_t strings_add(struct strings *s, const char *at, size_t len);
uint32_t strings_copy(struct strings *s, const char *at, size_t len);

/* The number of a name that ends in NUL, revealed if it is hidden. */
uint32_t strings_add_name(struct strings *s, const char *name);
