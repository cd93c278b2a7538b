/*
 * peek: reads this process's own memory where it may vanish at any moment. The kernel copies, so an
 * unmapped page is an error and never a fault. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool fw_peek(uint64_t address, void *out, size_t n);

/* A forward reader with a small window; a failed read yields 0 and latches. One owner. */
#define FW_PEEK_WINDOW 512u
struct fw_peeker {
    uint64_t at, end; /* reading at `end` or past it fails */
    uint64_t base;    /* of the window; multiple of its size, so a window never spans two pages */
    bool loaded, failed;
    unsigned char window[FW_PEEK_WINDOW];
};
void fw_peeker_init(struct fw_peeker *p, uint64_t at, uint64_t end);
uint8_t fw_peek_u8(struct fw_peeker *p);
uint64_t fw_peek_le(struct fw_peeker *p, unsigned bytes); /* little endian, 1 to 8 bytes */
uint64_t fw_peek_uleb(struct fw_peeker *p);
int64_t fw_peek_sleb(struct fw_peeker *p);
