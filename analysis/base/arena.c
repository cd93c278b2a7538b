#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u
#define FIRST_BLOCK (16u * 1024)
#define LARGEST_BLOCK (1024u * 1024)

#if defined(__SANITIZE_ADDRESS__)
#define ONE_BLOCK_EACH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_BLOCK_EACH 1
#endif
#endif
#ifndef ONE_BLOCK_EACH
#define ONE_BLOCK_EACH 0
#endif

struct block {
    struct block *next;
    size_t size, used;
    _Alignas(ALIGN) unsigned char bytes[];
};

struct arena {
    size_t cap, used, next_size, fail_at;
    bool full;
    struct block *blocks;
};

struct arena *arena_new(size_t cap)
{
    struct arena *a = calloc(1, sizeof *a);

    if (a) {
        a->cap = cap;
        a->next_size = FIRST_BLOCK;
    }
    return a;
}

static void free_blocks(struct arena *a)
{
    while (a->blocks) {
        struct block *next = a->blocks->next;

        free(a->blocks);
        a->blocks = next;
    }
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    free_blocks(a);
    free(a);
}

void arena_reset(struct arena *a)
{
    free_blocks(a);
    a->used = 0;
    a->next_size = FIRST_BLOCK;
    a->full = false;
}

static struct block *add_block(struct arena *a, size_t need)
{
    size_t size = need;

    if (!ONE_BLOCK_EACH) {
        if (size < a->next_size)
            size = a->next_size;
        if (a->next_size < LARGEST_BLOCK)
            a->next_size *= 2;
    }

    struct block *b = malloc(sizeof *b + size);

    if (!b)
        return NULL;
    b->size = size;
    b->used = 0;
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

static bool refuse(struct arena *a)
{
    if (a->fail_at && --a->fail_at == 0)
        a->full = true;
    return a->full;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX - ALIGN || refuse(a))
        goto full;

    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;

    if (need > a->cap - a->used)
        goto full;

    struct block *b = a->blocks;

    if (ONE_BLOCK_EACH || !b || b->size - b->used < need)
        b = add_block(a, ONE_BLOCK_EACH ? size : need);
    if (!b)
        goto full;

    void *p = b->bytes + b->used;

    b->used += ONE_BLOCK_EACH ? size : need;
    a->used += need;
    memset(p, 0, size);
    return p;
full:
    a->full = true;
    return NULL;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size) {
        a->full = true;
        return NULL;
    }
    return arena_alloc(a, n * size);
}

char *arena_dup(struct arena *a, const char *text, size_t len)
{
    char *copy = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;

    if (copy)
        memcpy(copy, text, len);
    return copy;
}

bool arena_full(const struct arena *a)
{
    return a->full;
}

void arena_fail_at(struct arena *a, size_t nth)
{
    a->fail_at = nth;
}
