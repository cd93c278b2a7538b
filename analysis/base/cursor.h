/*
 * cursor: reads hostile bytes. A read past the end yields 0 and latches `failed`, so a parser
 * checks once. Byte order is explicit; input is never cast to a struct. Not thread-safe.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const unsigned char *start, *at, *end;
    const char *name; /* of the section or message, for error texts */
    bool failed;
};

struct cursor cursor_over(const void *bytes, size_t size, const char *name);
size_t cursor_left(const struct cursor *c);
size_t cursor_offset(const struct cursor *c);
void cursor_seek(struct cursor *c, size_t offset); /* from the start */

/* n bytes, or NULL and failed. */
const unsigned char *cursor_bytes(struct cursor *c, size_t n);
/* A NUL-terminated string within the cursor, or NULL and failed. */
const char *cursor_string(struct cursor *c);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16le(struct cursor *c);
uint32_t cursor_u32le(struct cursor *c);
uint64_t cursor_u64le(struct cursor *c);
uint32_t cursor_u32be(struct cursor *c);
uint64_t cursor_u64be(struct cursor *c);
/* Base-128, at most 64 bits; more latches `failed`. */
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);
