/*
 * retrace_tables: an index in the making, as arrays. Filled by retrace_build.c line by line, laid
 * out by retrace_write.c. Names are numbers of `strings`.
 */
#pragma once
#include "symbols/retrace/retrace_build.h"
#include "symbols/strings.h"

enum { RETRACE_HEADER_NAMES = 6 }; /* in the order of struct retrace */

struct retrace_class_row {
    uint32_t name, original, file, first_method;
};

struct retrace_method_row {
    uint32_t name, first_group;
};

struct retrace_group_row {
    uint32_t first_range, flags;
};

/* from or original_from RETRACE_NONE: no such range. */
struct retrace_range_row {
    uint32_t signature, from, to, original_from, original_to;
    bool infos;
};

struct retrace_signature_row {
    uint32_t class, name, return_type, arguments;
};

struct retrace_info_row {
    uint32_t range, kind, first, n;
};

struct retrace_tables {
    struct mem mem;
    struct work work;
    struct strings strings;
    uint32_t names[RETRACE_HEADER_NAMES];
    uint32_t flags;
    struct retrace_counts counts;
    VEC(struct retrace_class_row) classes;
    VEC(struct retrace_method_row) methods;
    VEC(struct retrace_group_row) groups;
    VEC(struct retrace_range_row) ranges;
    VEC(struct retrace_signature_row) signatures;
    VEC(struct retrace_info_row) infos;
    VEC(uint32_t) words; /* conditions are numbers of strings until they are laid out */
};

/* False: the sink failed, or memory ran out (mem.failed). *bytes receives the index's size. */
bool retrace_write(struct retrace_tables *t, retrace_sink *sink, void *ctx, uint64_t *bytes,
                   struct err *err) MUST_CHECK;
