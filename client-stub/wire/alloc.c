#include "wire/alloc.h"

#include <stdlib.h>
#include <string.h>

void *fw_alloc(const struct fw_allocator *a, size_t bytes)
{
    return a && a->allocate ? a->allocate(a->user, bytes) : malloc(bytes);
}

void *fw_alloc_zeroed(const struct fw_allocator *a, size_t bytes)
{
    if (!a || !a->allocate)
        return calloc(1, bytes); /* fresh pages of the kernel's stay untouched */

    void *memory = fw_alloc(a, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

void fw_release(const struct fw_allocator *a, void *memory)
{
    if (!a || !a->allocate)
        free(memory);
    else if (memory)
        a->release(a->user, memory);
}
