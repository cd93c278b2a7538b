/*
 * mem: heap memory of one symbol file's reading, counted against a cap. Not thread-safe.
 *
 * A failure (cap reached, no memory) returns NULL and latches `failed`, so a chain of calls needs
 * one check. Arrays grow through VEC_ROOM; whoever owns an array frees it with mem_free().
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem {
    size_t used, peak, cap;
    size_t fail_at; /* test hook: the nth allocation from now fails; 0 = off */
    bool failed;
};

void *mem_alloc(struct mem *m, size_t n, size_t elem); /* zeroed; n * elem checked for overflow */
void mem_free(struct mem *m, void *p);                 /* NULL is fine */

/* Makes room for `need` elements. Returns the array's new place and updates *size, or returns `p`
 * unchanged with m->failed set. New elements are not zeroed. */
void *mem_grow(struct mem *m, void *p, size_t *size, size_t need, size_t elem);

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, size;                                                                            \
    }

/* True when `extra` more elements fit behind v->n. */
#define VEC_ROOM(m, v, extra)                                                                      \
    ((v)->size - (v)->n >= (size_t)(extra) ||                                                      \
     ((v)->at = mem_grow((m), (v)->at, &(v)->size, (v)->n + (size_t)(extra), sizeof *(v)->at),     \
      (v)->size - (v)->n >= (size_t)(extra)))

#define VEC_FREE(m, v)                                                                             \
    do {                                                                                           \
        mem_free((m), (v)->at);                                                                    \
        (v)->at = NULL;                                                                            \
        (v)->n = (v)->size = 0;                                                                    \
    } while (0)

/* How much more a reader may do: each step of a loop over hostile input spends some, so that the
 * time is bounded whatever the input makes quadratic. Once spent it stays so. */
struct work {
    uint64_t left;
    bool spent;
};

static inline bool work_spend(struct work *w, uint64_t n)
{
    if (w->left < n) {
        w->left = 0;
        w->spent = true;
        return false;
    }
    w->left -= n;
    return true;
}
