/*
 * retrace: turns the obfuscated names of an R8 or ProGuard build back into the original ones, from
 * the index of its mapping file (made by retrace_build).
 *
 * The bytes of the index are borrowed and must not change. retrace_open() checks every offset once,
 * in O(n); from then on a lookup is a binary search and cannot leave the bytes, whoever wrote them.
 * An index is immutable: any number of threads may read it. Results lie in the caller's arena;
 * names in them point into the index (or into the arena) and live as long as both.
 *
 * Semantics are those of R8's own retrace with map version 2.2; see docs/retrace.md.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define RETRACE_VERSION 1
#define RETRACE_FRAMES_MAX 512       /* of one obfuscated frame, all alternatives together */
#define RETRACE_LINE_BYTES_MAX 65536 /* a longer line of a stack is passed on as it is */

/* What the reading of the mapping met; kept in the index. */
#define RETRACE_COUNTS(X)                                                                          \
    X(classes, "classes")                                                                          \
    X(fields, "fields")                                                                            \
    X(ranges, "lines that map a method or a range of its lines")                                   \
    X(infos, "comments with information for retrace")                                              \
    X(bad_lines, "lines skipped: not of a mapping's form")                                         \
    X(bad_infos, "comments skipped: of an unknown form, or misplaced")                             \
    X(later_infos, "comments of a later version than declared, ignored")                           \
    X(duplicate_classes, "classes skipped: their obfuscated name was taken")

struct retrace_counts {
#define X(name, help) uint32_t name;
    RETRACE_COUNTS(X)
#undef X
};

struct retrace {
    const char *compiler, *compiler_version, *min_api; /* of the header; "" if it has none */
    const char *map_id;                                /* pg_map_id; "" */
    const char *map_hash;                              /* pg_map_hash, in hexadecimal; "" */
    const char *map_version;                           /* of the format, "2.2"; "" */
    bool later_version; /* the mapping says it is of a version later than this reader knows */
    bool hash_known, hash_matches; /* whether the mapping's text has the SHA-256 its header names */
    struct retrace_counts counts;
    /* private */
    uint32_t n_buckets, n_classes, n_methods, n_groups, n_ranges, n_signatures, n_infos, n_words,
        n_thrown;
    uint64_t strings_bytes;
    const unsigned char *buckets, *classes, *methods, *groups, *ends, *ranges, *signatures, *infos,
        *words, *thrown, *strings;
};

/* ERR_INVALID: not an index, damaged, or of another version (then it is to be made again). */
bool retrace_open(struct retrace *r, const void *bytes, size_t size, struct err *err) MUST_CHECK;

/* Whether the bytes begin like an index of any version. */
bool retrace_looks_like(const void *bytes, size_t size);

/* The original name of a class by its obfuscated one, or NULL: the mapping does not know it.
 * Array brackets are not understood. */
const char *retrace_class(const struct retrace *r, const char *name, size_t len);

/* What one line of a stack hands on to the next. Zero it before the first line; its fields are
 * private, and mean something with the same index only. */
struct retrace_context {
    uint32_t thrown;      /* which of the exceptions that the mapping has rules for; 0: none */
    int64_t outline_line; /* the frame above was an outline, at this line; 0: it was none */
};

/* For the line of an exception ("Caused by: x: text"), by its name as the stack has it: rules for
 * the frame right below may depend on it. */
void retrace_thrown(const struct retrace *r, const char *name, size_t len,
                    struct retrace_context *context);

#define RETRACE_NO_LINE (-1)

struct retrace_query {
    const char *class_name; /* obfuscated, dotted; no NUL needed */
    size_t class_len;
    const char *method;
    size_t method_len;
    const char *file; /* as the frame has it, "SourceFile", "r8-map-id-…", ""; NULL: none */
    size_t file_len;
    int64_t line; /* or RETRACE_NO_LINE */
};

struct retrace_frame {
    const char *class_name, *method;     /* original */
    const char *return_type, *arguments; /* "void", "int,java.lang.String"; NULL: not known */
    const char *file;                    /* NULL: the query has none */
    int64_t line;                        /* 0: known to be none; RETRACE_NO_LINE: not known */
    bool mapped; /* the mapping knows this method; else `method` is as the query has it */
};

/* One way to read the obfuscated frame: an inline stack, innermost first, never empty. */
struct retrace_alternative {
    const struct retrace_frame *frames;
    size_t n;
};

struct retrace_result {
    const struct retrace_alternative *at; /* in the order R8 prints them, equal ones once */
    size_t n;       /* 0: the frame is the compiler's own (synthesized, an outline): drop it */
    bool ambiguous; /* the mapping cannot tell which alternative, or which line, it is */
    bool class_known;
    bool truncated; /* RETRACE_FRAMES_MAX was met */
};

/* Retraces one frame. *context: in, from the line above; out, for the line below. False: the arena
 * is full (*context is unchanged). */
bool retrace_lookup(const struct retrace *r, const struct retrace_query *q,
                    struct retrace_context *context, struct arena *a,
                    struct retrace_result *out) MUST_CHECK;

/* What a line of a printed stack is, by the places of its parts. */
struct retrace_line {
    enum retrace_line_kind {
        RETRACE_LINE_OTHER,
        RETRACE_LINE_FRAME,    /* "    at a.b.c(SourceFile:12)", whatever stands before */
        RETRACE_LINE_EXCEPTION /* "Caused by: a.b: text", "a.b: text", "a.b" */
    } kind;
    struct retrace_query query;                             /* of an exception: the class alone */
    size_t class_at, method_at, file_at, line_at, line_end; /* offsets; of a frame: all */
};

/* No final newline in [text, text + len). Which word of a line is the name of an exception depends
 * on what the mapping knows; r may be NULL. */
void retrace_read_line(const struct retrace *r, const char *text, size_t len,
                       struct retrace_line *out);

struct retrace_memo; /* see retrace_memo.h */

struct retrace_print {
    bool verbose;              /* methods with return type and arguments */
    struct retrace_memo *memo; /* of this index and verbosity, for many stacks; or NULL */
};

/* Retraces one line of a stack, without its newline, and appends to `out` what R8's retrace prints
 * in its place: no, one or several lines, each with '\n'. Alternatives begin with "<OR> ". Uses and
 * resets the arena `scratch`. */
bool retrace_print_line(const struct retrace *r, const struct retrace_print *options,
                        const char *line, size_t len, struct retrace_context *context,
                        struct arena *scratch, struct buf *out, struct err *err) MUST_CHECK;

/* The same for a text of many lines ("\n" or "\r\n"). */
bool retrace_print_text(const struct retrace *r, const struct retrace_print *options,
                        const char *text, size_t len, struct buf *out, struct err *err) MUST_CHECK;

/* The mapping's id that a frame carries as its source file, "r8-map-id-<id>": points into `file`,
 * *id_len receives its length. NULL: the file is another. */
const char *retrace_file_map_id(const char *file, size_t file_len, size_t *id_len);
