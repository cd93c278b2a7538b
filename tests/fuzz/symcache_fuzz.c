#include "debug_file_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symcache c;
    struct err err;
    struct symcache_frame f;

    if (!symcache_open(&c, data, size, &err))
        return 0;
    fuzz_look_around(&c);
    for (uint32_t i = 0; i < c.n_locations; i++)
        symcache_frame(&c, i, &f);
    symcache_find(&c, UINT32_MAX);
    symcache_find(&c, UINT64_MAX);
    return 0;
}
