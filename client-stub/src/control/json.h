/*
 * json: pull parser for the remote configuration. Bounded in size, depth and text length by its
 * callers' buffers and the limits below; allocates nothing. Failure latches: after malformed input
 * every call says so, and the end of the document must be checked with fw_json_done().
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_JSON_MAX_BYTES 16384u
#define FW_JSON_MAX_DEPTH 16u

enum fw_json_kind {
    FW_JSON_BAD,
    FW_JSON_OBJECT,
    FW_JSON_ARRAY,
    FW_JSON_STRING,
    FW_JSON_NUMBER,
    FW_JSON_BOOL,
    FW_JSON_NULL
};

struct fw_json {
    const char *at, *end;
    unsigned depth;
    bool first; /* of the innermost object or array */
    bool failed;
};

void fw_json_begin(struct fw_json *j, const void *bytes, size_t n);
enum fw_json_kind fw_json_peek(struct fw_json *j);

/* Enters an object or array; then one fw_json_key() (or fw_json_item()) before each value until it
 * returns false at the end. A key longer than its buffer is cut to "" and so matches none. */
bool fw_json_enter(struct fw_json *j);
bool fw_json_key(struct fw_json *j, char *key, size_t size);
bool fw_json_item(struct fw_json *j);

/* Values. False, and the value skipped, when it is of another type, or does not fit. */
bool fw_json_i64(struct fw_json *j, int64_t *out);
bool fw_json_bool(struct fw_json *j, bool *out);
bool fw_json_text(struct fw_json *j, char *out, size_t size);
void fw_json_skip(struct fw_json *j);

bool fw_json_done(struct fw_json *j); /* nothing but blanks is left, nothing failed */
