/*
 * The insides of retrace_build, shared by retrace_build.c (lines), retrace_class.c (what a class
 * comes to when it ends) and retrace_comment.c (what comments tell).
 */
#pragma once
#include "base/digest.h"
#include "symbols/retrace/retrace_build.h"
#include "symbols/retrace/retrace_json.h"
#include "symbols/retrace/retrace_span.h"
#include "symbols/retrace/retrace_tables.h"

#define NO_ITEM UINT32_MAX

/* A line of a class that maps a method, as it is read; sorted by name when the class ends. */
struct item {
    uint32_t name;
    struct retrace_range_row range;
    uint32_t flags;                 /* RETRACE_SYNTHESIZED, RETRACE_OUTLINE */
    uint32_t first_info, last_info; /* of `pending`, + 1; 0: none */
};

struct pending {
    struct retrace_info_row row;
    uint32_t next; /* + 1 */
};

/* Open addressing; a power of two of slots, number + 1 or 0. */
struct slots {
    uint32_t *at;
    size_t n, used;
};

struct retrace_builder {
    struct retrace_tables t;
    uint64_t most_bytes, bytes, lines;
    VEC(char) line; /* the beginning of a line whose end is yet to come */
    bool skipping;  /* the rest of a line that is too long */
    uint32_t version;
    struct slots class_slots, signature_slots;
    /* pg_map_hash covers what follows its line */
    struct digest *digest;
    bool hash_next;
    /* the class at hand */
    bool in_class, skip_class;
    bool member;   /* a line of a member was read: comments are no longer the class's */
    uint32_t last; /* the item that comments belong to, or NO_ITEM */
    VEC(struct item) items;
    VEC(struct pending) pending;
    VEC(uint32_t) order;
    VEC(uint8_t) signature_flags; /* by signature; zero between methods */
    struct retrace_json json;
};

static inline uint32_t retrace_add_string(struct retrace_builder *b, struct span s)
{
    return strings_copy(&b->t.strings, s.at, span_length(s));
}

/* The number of an equal signature, or of a new one; RETRACE_NONE: out of memory. */
uint32_t retrace_signature_add(struct retrace_builder *b, struct retrace_signature_row row);

/* Classes whose obfuscated name is taken are skipped: the first has it. */
void retrace_class_begin(struct retrace_builder *b, struct span original, struct span name);
/* Its lines become methods, groups and ranges. Out of memory: the tables' memory says so. */
void retrace_class_end(struct retrace_builder *b);

/* What stands behind a line's '#'. */
void retrace_comment_read(struct retrace_builder *b, struct span s);
