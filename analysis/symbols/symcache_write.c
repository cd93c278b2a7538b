#include "symbols/symcache_write.h"

#include "symbols/sink.h"
#include "symbols/symcache_format.h"

#include <string.h>

#define RANGES_PER_BUCKET 8
#define STRINGS_MAX UINT32_MAX

/* Buckets up to that of the last range, and one at the end. */
static uint64_t bucket_count(const struct symcache_content *c, uint32_t shift)
{
    return ((uint64_t)c->ranges[c->n_ranges - 1].start >> shift) + 2;
}

/* So that a bucket has some RANGES_PER_BUCKET ranges. */
static uint32_t bucket_shift(const struct symcache_content *c)
{
    uint32_t shift = 0;

    while (bucket_count(c, shift) > c->n_ranges / RANGES_PER_BUCKET + 2)
        shift++;
    return shift;
}

static void put_buckets(struct sink *out, const struct symcache_content *c)
{
    uint32_t shift = bucket_shift(c);
    uint64_t n = bucket_count(c, shift);
    size_t range = 0;

    for (uint64_t i = 0; i < n; i++) {
        while (range + 1 < c->n_ranges && c->ranges[range + 1].start <= i << shift)
            range++;
        sink_u32(out, (uint32_t)range);
    }
}

static void put_header(struct sink *out, const struct symcache_content *c,
                       const struct symcache_stats *s, uint64_t strings_bytes)
{
    const struct debug_image *image = c->image;
    unsigned char h[SYMCACHE_HEADER] = {0}, *counts = h + SYMCACHE_AT_COUNTS;
    uint32_t flags = (c->columns ? SYMCACHE_COLUMNS : 0) | (s->counts.units ? SYMCACHE_DWARF : 0) |
                     (image->mini_symbols ? SYMCACHE_MINI : 0) |
                     (s->incomplete ? SYMCACHE_INCOMPLETE : 0);

    memcpy(h, SYMCACHE_MAGIC, 8);
    store32(h + SYMCACHE_AT_VERSION, SYMCACHE_VERSION);
    store32(h + SYMCACHE_AT_FORMAT, (uint32_t)image->slice.format);
    store32(h + SYMCACHE_AT_ARCH, (uint32_t)image->slice.arch);
    store32(h + SYMCACHE_AT_FLAGS, flags);
    store32(h + SYMCACHE_AT_ID_SIZE, (uint32_t)image->slice.id.size);
    memcpy(h + SYMCACHE_AT_ID, image->slice.id.bytes, DEBUG_ID_BYTES);
    store32(h + SYMCACHE_AT_N_RANGES, s->ranges);
    store64(h + SYMCACHE_AT_BASE, image->base);
    store64(h + SYMCACHE_AT_STRINGS, strings_bytes);
    store32(h + SYMCACHE_AT_N_LOCATIONS, s->locations);
    store32(h + SYMCACHE_AT_SHIFT, bucket_shift(c));
    store32(h + SYMCACHE_AT_N_BUCKETS, (uint32_t)bucket_count(c, bucket_shift(c)));
#define X(name, help)                                                                              \
    store32(counts, s->counts.name);                                                               \
    counts += 4;
    SYMCACHE_COUNTS(X)
#undef X
    sink_bytes(out, h, sizeof h);
}

/* Gives each string that a location uses its offset, in offsets[number]. Returns their bytes. */
static uint64_t place_strings(const struct symcache_content *c, uint32_t *offsets)
{
    uint64_t at = 1;

    for (size_t i = 0; i < c->n_locations; i++)
        offsets[c->locations[i].file] = offsets[c->locations[i].function] = 1;
    for (size_t i = 1; i < c->strings->all.n; i++) {
        if (!offsets[i])
            continue;
        offsets[i] = (uint32_t)at;
        at += c->strings->all.at[i].len + 1;
    }
    offsets[0] = 0;
    return at;
}

static void put_strings(struct sink *out, const struct symcache_content *c, const uint32_t *offsets)
{
    sink_bytes(out, "", 1);
    for (size_t i = 1; i < c->strings->all.n; i++) {
        if (!offsets[i])
            continue;
        sink_bytes(out, c->strings->all.at[i].at, c->strings->all.at[i].len);
        sink_bytes(out, "", 1);
    }
}

static void put_all(struct sink *out, const struct symcache_content *c,
                    const struct symcache_stats *s, const uint32_t *offsets, uint64_t strings_bytes)
{
    put_header(out, c, s, strings_bytes);
    put_buckets(out, c);
    for (size_t i = 0; i < c->n_ranges; i++) {
        sink_u32(out, c->ranges[i].start);
        sink_u32(out, c->ranges[i].location);
    }
    for (size_t i = 0; i < c->n_locations; i++) {
        const struct symcache_location *l = &c->locations[i];

        sink_u32(out, offsets[l->file]);
        sink_u32(out, l->line);
        sink_u32(out, offsets[l->function]);
        sink_u32(out, l->outer);
        sink_u32(out, l->column);
    }
    put_strings(out, c, offsets);
    sink_flush(out);
}

bool symcache_write(struct mem *m, const struct symcache_content *c, symcache_sink *sink, void *ctx,
                    struct symcache_stats *stats, struct err *err)
{
    struct sink out = {.take = sink, .ctx = ctx};
    uint32_t *offsets = mem_alloc(m, c->strings->all.n, sizeof *offsets);

    if (!offsets)
        return err_full(err, "the strings");

    uint64_t strings_bytes = place_strings(c, offsets);
    bool ok = strings_bytes <= STRINGS_MAX ||
              err_set(err, ERR_TOO_BIG, "more than 4 GB of function and file names");

    if (ok) {
        put_all(&out, c, stats, offsets, strings_bytes);
        ok = !out.failed || err_set(err, ERR_INTERNAL, "the symcache cannot be written");
        stats->bytes = out.written;
    }
    mem_free(m, offsets);
    return ok;
}
