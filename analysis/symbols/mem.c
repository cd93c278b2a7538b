#include "symbols/mem.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 16u /* keeps malloc's alignment */
#define FIRST_ELEMENTS 16u
#define GENTLE_BYTES (4u << 20) /* from here on an array grows by a quarter, not by doubling */

static size_t size_of(const void *p)
{
    size_t size;

    memcpy(&size, (const unsigned char *)p - HEAD, sizeof size);
    return size;
}

static bool refuse(struct mem *m, size_t more)
{
    if (m->fail_at && --m->fail_at == 0)
        m->failed = true;
    if (more > m->cap - m->used)
        m->failed = true;
    return m->failed;
}

static void *settle(struct mem *m, unsigned char *block, size_t old, size_t size)
{
    memcpy(block, &size, sizeof size);
    m->used = m->used - old + size;
    if (m->used > m->peak)
        m->peak = m->used;
    return block + HEAD;
}

void *mem_alloc(struct mem *m, size_t n, size_t elem)
{
    if (elem && n > (SIZE_MAX - HEAD) / elem) {
        m->failed = true;
        return NULL;
    }

    size_t size = n * elem;
    unsigned char *block = refuse(m, size) ? NULL : calloc(1, size + HEAD);

    if (!block) {
        m->failed = true;
        return NULL;
    }
    return settle(m, block, 0, size);
}

void mem_free(struct mem *m, void *p)
{
    if (!p)
        return;
    m->used -= size_of(p);
    free((unsigned char *)p - HEAD);
}

static size_t next_size(size_t size, size_t need, size_t elem)
{
    size_t step = size * elem < GENTLE_BYTES ? size : size / 4;
    size_t next = size ? size + step : FIRST_ELEMENTS;

    return next > need ? next : need;
}

void *mem_grow(struct mem *m, void *p, size_t *size, size_t need, size_t elem)
{
    if (need <= *size)
        return p;
    if (need > (SIZE_MAX - HEAD) / elem / 2) {
        m->failed = true;
        return p;
    }

    size_t n = next_size(*size, need, elem), old = p ? size_of(p) : 0;
    unsigned char *block = NULL;

    if (!refuse(m, n * elem - old))
        block = realloc(p ? (unsigned char *)p - HEAD : NULL, n * elem + HEAD);
    if (!block) {
        m->failed = true;
        return p;
    }
    *size = n;
    return settle(m, block, old, n * elem);
}
