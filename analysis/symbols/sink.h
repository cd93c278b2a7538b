/*
 * sink: buffers the bytes of a look-up table on their way to whoever takes them. Embedded by its
 * user, one thread, nothing to free. A refusal of the taker latches `failed`; what comes after it
 * is only counted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
    bool (*take)(void *ctx, const void *bytes, size_t n);
    void *ctx;
    uint64_t written; /* bytes handed on, refused ones too */
    bool failed;
    size_t n; /* of bytes[] */
    unsigned char bytes[16 << 10];
};

void sink_bytes(struct sink *s, const void *bytes, size_t n);
void sink_u32(struct sink *s, uint32_t v); /* little-endian */
void sink_flush(struct sink *s);
