/*
 * alloc: where the SDK's heap memory comes from: malloc, or functions of the game's (fw_options).
 *
 * Any thread. What one allocator gave goes back to the same one.
 */
#pragma once
#include <stddef.h>

struct fw_allocator {
    void *(*allocate)(void *user, size_t bytes); /* NULL: malloc and free */
    void (*release)(void *user, void *memory);
    void *user;
};

/* NULL: no memory. A NULL allocator is malloc. */
void *fw_alloc(const struct fw_allocator *a, size_t bytes);
void *fw_alloc_zeroed(const struct fw_allocator *a, size_t bytes);
void fw_release(const struct fw_allocator *a, void *memory); /* NULL memory is fine */
