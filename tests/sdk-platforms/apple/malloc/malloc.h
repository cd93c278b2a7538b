#pragma once
#include <stddef.h>
typedef struct malloc_statistics_t {
    unsigned blocks_in_use;
    size_t size_in_use, max_size_in_use, size_allocated;
} malloc_statistics_t;
void malloc_zone_statistics(void *zone, malloc_statistics_t *out);
