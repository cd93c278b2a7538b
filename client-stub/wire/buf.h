/*
 * buf: the SDK's byte buffer, growing on the heap up to a bound or lying over memory of the caller.
 *
 * Not thread-safe. It latches failure: once an append did not fit, `failed` stays true and later
 * appends do nothing, so a row of them needs one check.
 */
#pragma once
#include "wire/alloc.h"

#include <stdbool.h>
#include <stddef.h>

struct fw_buf {
    unsigned char *at;
    size_t len, cap;
    size_t max; /* grows up to here; equal to cap from the start: never allocates */
    bool failed, owned;
    const struct fw_allocator *memory; /* owned: whose; NULL: malloc */
};

void fw_buf_init(struct fw_buf *b, size_t max);
void fw_buf_init_in(struct fw_buf *b, size_t max, const struct fw_allocator *memory);
void fw_buf_over(struct fw_buf *b, void *memory, size_t cap);
void fw_buf_fini(struct fw_buf *b);
void fw_buf_reset(struct fw_buf *b); /* empty again, memory kept, failure cleared */

/* n more bytes at the end for the caller to fill; NULL (and failed) past the bound. */
void *fw_buf_room(struct fw_buf *b, size_t n);
void fw_buf_add(struct fw_buf *b, const void *bytes, size_t n);
