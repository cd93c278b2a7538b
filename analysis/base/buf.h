/*
 * buf: a byte string that grows, up to a cap. Writers may be chained without checks: the first
 * failure latches, later writes do nothing, and the owner asks once with buf_ok().
 * Not thread-safe. buf_fini() releases it; buf_steal() hands the bytes over.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct buf {
    unsigned char *at;
    size_t len, size, cap;
    bool failed;
};

void buf_init(struct buf *b, size_t cap);
void buf_fini(struct buf *b);
void buf_reset(struct buf *b); /* empties it, keeps the memory */
bool buf_ok(const struct buf *b);

void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_text(struct buf *b, const char *text);
void buf_byte(struct buf *b, uint8_t byte);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* JSON fragments, for answers too long to build as a tree. */
void buf_json_string(struct buf *b, const char *text); /* quoted; invalid UTF-8 becomes U+FFFD */
void buf_i64(struct buf *b, int64_t v);

/* Little-endian base-128, as protobuf has it. */
void buf_varint(struct buf *b, uint64_t v);
void buf_zigzag(struct buf *b, int64_t v);

/* The bytes, owned by the caller from now on (free()); NULL if it failed. */
unsigned char *buf_steal(struct buf *b, size_t *len);
