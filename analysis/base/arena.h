/*
 * arena: the memory of one request or job, released all at once.
 *
 * Not thread-safe: one owner. Grows by blocks up to `cap` bytes; past it arena_alloc() returns
 * NULL and arena_full() stays true, so a chain of calls needs a single check at its end.
 * Under AddressSanitizer each allocation is a block of its own, so an overrun is seen.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(size_t cap);             /* NULL when out of memory */
void arena_free(struct arena *a);                /* NULL is fine */
void arena_reset(struct arena *a);               /* frees all allocations, keeps the cap */
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned to 16 bytes */
void *arena_array(struct arena *a, size_t n, size_t size);      /* n * size, checked for overflow */
char *arena_dup(struct arena *a, const char *text, size_t len); /* adds the final NUL */
bool arena_full(const struct arena *a);

/* Test hook: the nth allocation from now fails (1 = the next one); 0 turns it off. */
void arena_fail_at(struct arena *a, size_t nth);
