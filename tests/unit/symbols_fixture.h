/* What the tests of analysis/symbols share: files of the source tree, and symcaches in memory. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "symbols/symcache_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE_MEMORY ((size_t)256 << 20)

/* The file's bytes, ended by a NUL that *size does not count; the caller frees. */
static inline unsigned char *fixture_read(const char *name, size_t *size)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/%s", FW_SOURCE_DIR, name);

    FILE *f = fopen(path, "rb");

    if (!f)
        fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);

    long n = ftell(f);

    rewind(f);

    unsigned char *bytes = malloc((size_t)n + 1);

    assert_non_null(bytes);
    *size = fread(bytes, 1, (size_t)n, f);
    bytes[*size] = '\0';
    fclose(f);
    return bytes;
}

static inline bool fixture_sink(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

/* Indexes the slice of architecture `arch` (NULL: the first). False and *err when it is refused. */
static inline bool fixture_index(const void *bytes, size_t size, const char *arch,
                                 const struct debug_limits *limits, struct buf *out,
                                 struct symcache_stats *stats, struct err *err)
{
    struct debug_slices slices;
    struct debug_image image;
    size_t i = 0;

    if (!debug_file_slices(bytes, size, &slices, err))
        return false;
    while (arch && i < slices.n && strcmp(debug_arch_name(slices.at[i].arch), arch) != 0)
        i++;
    if (i == slices.n)
        return err_set(err, ERR_NOT_FOUND, "no slice of %s", arch ? arch : "any");
    buf_init(out, FIXTURE_MEMORY);
    if (!debug_image_open(&image, bytes, &slices.at[i], limits, err))
        return false;

    bool ok = symcache_build(&image, NULL, fixture_sink, out, stats, err);

    debug_image_close(&image);
    if (!ok)
        buf_fini(out);
    return ok;
}

/* Indexes a file of the source tree and opens the result; it must work. buf_fini(out) at the end.
 */
static inline void fixture_open(const char *name, const char *arch, struct buf *out,
                                struct symcache *cache)
{
    size_t size;
    unsigned char *bytes = fixture_read(name, &size);
    struct err err;

    if (!fixture_index(bytes, size, arch, NULL, out, NULL, &err) ||
        !symcache_open(cache, out->at, out->len, &err))
        fail_msg("%s: %s", name, err.text);
    free(bytes);
}

/* The frames of an address as llvm-symbolizer prints them, without the closing empty line. */
static inline void fixture_print(const struct symcache *c, uint64_t address, struct buf *out)
{
    struct symcache_frame frames[SYMCACHE_FRAMES];
    size_t n = symcache_lookup(c, address - c->base, frames, SYMCACHE_FRAMES);

    if (n == 0)
        frames[n++] = (struct symcache_frame){0};
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\n%s:%u:%u\n", frames[i].function ? frames[i].function : "??",
                   frames[i].file ? frames[i].file : "??", frames[i].line, frames[i].column);
}
