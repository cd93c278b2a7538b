/* zstd_memory: zstd's own memory from an allocator. Its interface for that is not called stable,
 * but has been as it is since zstd 1.0. */
#pragma once
#include "wire/alloc.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

static inline ZSTD_customMem fw_zstd_memory(const struct fw_allocator *a)
{
    if (!a || !a->allocate)
        return (ZSTD_customMem){NULL, NULL, NULL};
    return (ZSTD_customMem){a->allocate, a->release, a->user};
}
