/* What the ELF, Mach-O and DWARF fuzz targets share: index an image, then look around in the
 * result. */
#pragma once
#include "base/buf.h"
#include "symbols/symcache_build.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_MEMORY ((size_t)256 << 20)
#define FUZZ_WORK ((uint64_t)4 << 20) /* about half a second under sanitizers */

static bool fuzz_sink(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

static void fuzz_look_around(const struct symcache *c)
{
    struct symcache_frame frames[SYMCACHE_FRAMES];

    for (uint64_t at = 0; at < 1 << 16; at += 61) {
        size_t n = symcache_lookup(c, at, frames, SYMCACHE_FRAMES);

        for (size_t i = 0; i < n; i++)
            if ((frames[i].function && strlen(frames[i].function) > c->strings_bytes) ||
                (frames[i].file && strlen(frames[i].file) > c->strings_bytes))
                abort();
    }
}

/* What was built must open: the reader's checks and the writer agree. */
static void fuzz_build(struct debug_image *image)
{
    struct buf out;
    struct symcache c;
    struct symcache_stats stats;
    struct err err;

    buf_init(&out, FUZZ_MEMORY);
    if (symcache_build(image, NULL, fuzz_sink, &out, &stats, &err)) {
        if (!symcache_open(&c, out.at, out.len, &err) || stats.bytes != out.len)
            abort();
        fuzz_look_around(&c);
    }
    buf_fini(&out);
}

static inline void fuzz_debug_file(const uint8_t *data, size_t size)
{
    struct debug_slices slices;
    struct debug_image image;
    struct debug_limits limits = {.memory_bytes = FUZZ_MEMORY, .work = FUZZ_WORK};
    struct err err;

    if (!debug_file_slices(data, size, &slices, &err))
        return;
    for (size_t i = 0; i < slices.n && i < 4; i++) {
        if (!debug_image_open(&image, data, &slices.at[i], &limits, &err))
            continue;
        fuzz_build(&image);
        debug_image_close(&image);
        if (image.mem.used)
            abort();
    }
}
