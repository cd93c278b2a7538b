/*
 * retrace_json: the JSON in a mapping's comments, as leniently as R8's own reader takes it: quotes
 * may be single, keys and words may go without. Not thread-safe; the text is decoded in place.
 */
#pragma once
#include "symbols/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retrace_text {
    const char *at;
    size_t len;
};

struct retrace_texts {
    struct retrace_text *at;
    size_t n, size;
};

struct retrace_position {
    uint32_t from, to;
};

/* Fields nobody knows are skipped. Vectors keep their room from one comment to the next. */
struct retrace_json {
    struct retrace_text id, version, file_name, signature;
    struct retrace_texts conditions, actions;
    VEC(struct retrace_position) positions;
    bool bad_position; /* one that is no number */
};

/* False: it is no JSON object, or memory ran out (mem->failed). */
bool retrace_json_read(struct retrace_json *j, struct mem *mem, char *text, size_t len);
void retrace_json_fini(struct retrace_json *j, struct mem *mem);
