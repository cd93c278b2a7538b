/*
 * block: pooled buffers for request bodies, so that accepting uploads allocates nothing.
 *
 * Thread-safe. The pool is one mapping made at start, touched only as far as it is used; its size
 * is the bound on all memory that bodies may take, whatever arrives.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>

#define BLOCK_BYTES (64u * 1024)

struct block {
    struct block *next;
    size_t len; /* bytes filled */
    unsigned char *bytes;
};

struct block_pool;
struct block_pool *block_pool_new(size_t bytes, struct err *err) MUST_CHECK;
void block_pool_free(struct block_pool *p); /* all blocks must be back */

struct block *block_take(struct block_pool *p); /* empty; NULL when there is none */
/* n blocks as a list, or NULL and none taken. */
struct block *block_take_n(struct block_pool *p, size_t n);
void block_give(struct block_pool *p, struct block **list); /* the whole list; *list = NULL */

/* True while more than an eighth is free: new bodies may begin. */
bool block_roomy(struct block_pool *p);

/* Somebody who needs one block to go on. `ready` is called once, without locks, when one came back;
 * it may then be gone again. */
struct block_waiter {
    struct block_waiter *next;
    void (*ready)(struct block_waiter *w);
};
/* A block, or NULL and `w` is called later. */
struct block *block_take_or_wait(struct block_pool *p, struct block_waiter *w);
