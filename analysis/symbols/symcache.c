#include "symbols/symcache.h"
#include "symbols/symcache_format.h"

bool symcache_looks_like(const void *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, SYMCACHE_MAGIC, 8) == 0;
}

static void read_header(struct symcache *c, const unsigned char *h)
{
    uint32_t flags = load32(h + SYMCACHE_AT_FLAGS);
    const unsigned char *counts = h + SYMCACHE_AT_COUNTS;

    *c = (struct symcache){.format = (enum debug_format)load32(h + SYMCACHE_AT_FORMAT),
                           .arch = (enum debug_arch)load32(h + SYMCACHE_AT_ARCH),
                           .base = load64(h + SYMCACHE_AT_BASE),
                           .columns = flags & SYMCACHE_COLUMNS,
                           .dwarf = flags & SYMCACHE_DWARF,
                           .mini_symbols = flags & SYMCACHE_MINI,
                           .incomplete = flags & SYMCACHE_INCOMPLETE,
                           .n_ranges = load32(h + SYMCACHE_AT_N_RANGES),
                           .n_locations = load32(h + SYMCACHE_AT_N_LOCATIONS),
                           .n_buckets = load32(h + SYMCACHE_AT_N_BUCKETS),
                           .shift = load32(h + SYMCACHE_AT_SHIFT),
                           .strings_bytes = load64(h + SYMCACHE_AT_STRINGS)};
    c->id.size = load32(h + SYMCACHE_AT_ID_SIZE);
    memcpy(c->id.bytes, h + SYMCACHE_AT_ID, DEBUG_ID_BYTES);
#define X(name, help)                                                                              \
    c->counts.name = load32(counts);                                                               \
    counts += 4;
    SYMCACHE_COUNTS(X)
#undef X
}

static bool lay_out(struct symcache *c, const unsigned char *bytes, size_t size, struct err *err)
{
    uint64_t buckets = (uint64_t)c->n_buckets * 4;
    uint64_t ranges = (uint64_t)c->n_ranges * SYMCACHE_RANGE;
    uint64_t locations = (uint64_t)c->n_locations * SYMCACHE_LOCATION;

    if (c->strings_bytes > size ||
        SYMCACHE_HEADER + buckets + ranges + locations + c->strings_bytes != size)
        return err_set(err, ERR_INVALID, "symcache: its parts do not make up its %zu bytes", size);
    c->buckets = bytes + SYMCACHE_HEADER;
    c->ranges = c->buckets + buckets;
    c->locations = c->ranges + ranges;
    c->strings = c->locations + locations;
    if (c->strings_bytes == 0 || c->strings[0] || c->strings[c->strings_bytes - 1])
        return err_set(err, ERR_INVALID, "symcache: strings without their NULs");
    if (c->id.size > DEBUG_ID_BYTES)
        return err_set(err, ERR_INVALID, "symcache: a debug id of %zu bytes", c->id.size);
    return true;
}

static uint32_t start_of(const struct symcache *c, size_t range)
{
    return load32(c->ranges + SYMCACHE_RANGE * range);
}

static bool check_ranges(const struct symcache *c, struct err *err)
{
    bool ordered = true, known = true;

    for (uint32_t i = 1; i < c->n_ranges; i++)
        ordered &= start_of(c, i - 1) < start_of(c, i);
    for (uint32_t i = 0; i < c->n_ranges; i++) {
        uint32_t location = load32(c->ranges + SYMCACHE_RANGE * (size_t)i + 4);

        known &= location < c->n_locations || location == SYMCACHE_NONE;
    }
    if (!ordered)
        return err_set(err, ERR_INVALID, "symcache: range starts do not ascend");
    return known || err_set(err, ERR_INVALID, "symcache: a range without its location");
}

static bool check_buckets(const struct symcache *c, struct err *err)
{
    bool known = c->n_ranges == 0 || (c->n_buckets >= 2 && c->shift <= 32);
    uint32_t last = 0;

    for (uint32_t i = 0; i < c->n_buckets; i++) {
        uint32_t range = load32(c->buckets + 4 * (size_t)i);

        known &= range >= last && range < c->n_ranges;
        last = range;
    }
    return known || err_set(err, ERR_INVALID, "symcache: a bucket without its range");
}

static bool check_locations(const struct symcache *c, struct err *err)
{
    bool known = true;

    for (uint32_t i = 0; i < c->n_locations; i++) {
        const unsigned char *at = c->locations + (size_t)i * SYMCACHE_LOCATION;
        uint32_t outer = load32(at + SYMCACHE_LOCATION_OUTER);

        known &= load32(at + SYMCACHE_LOCATION_FILE) < c->strings_bytes;
        known &= load32(at + SYMCACHE_LOCATION_FUNCTION) < c->strings_bytes;
        known &= outer < i || outer == SYMCACHE_NONE; /* so chains end */
    }
    return known || err_set(err, ERR_INVALID, "symcache: a location out of bounds");
}

bool symcache_open(struct symcache *out, const void *bytes, size_t size, struct err *err)
{
    const unsigned char *h = bytes;
    struct symcache c;

    if (!symcache_looks_like(bytes, size) || size < SYMCACHE_HEADER)
        return err_set(err, ERR_INVALID, "not a symcache");
    if (load32(h + SYMCACHE_AT_VERSION) != SYMCACHE_VERSION)
        return err_set(err, ERR_INVALID, "symcache: version %u, this program reads %d",
                       load32(h + SYMCACHE_AT_VERSION), SYMCACHE_VERSION);
    read_header(&c, h);
    if (!lay_out(&c, h, size, err) || !check_ranges(&c, err) || !check_buckets(&c, err) ||
        !check_locations(&c, err))
        return false;
    *out = c;
    return true;
}

uint32_t symcache_find(const struct symcache *c, uint64_t relative)
{
    if (c->n_ranges == 0 || relative > UINT32_MAX || (uint32_t)relative < start_of(c, 0))
        return SYMCACHE_NONE;

    uint64_t bucket = relative >> c->shift, most = c->n_buckets - 2;
    const unsigned char *at = c->buckets + 4 * (bucket < most ? bucket : most);
    size_t low = load32(at), n = load32(at + 4) - low + 1;

    if (bucket > most) /* behind the table: its last range */
        return load32(c->ranges + SYMCACHE_RANGE * (low + n - 1) + 4);
    while (n > 1) { /* compiles to a conditional move */
        size_t half = n / 2;

        low += start_of(c, low + half) <= (uint32_t)relative ? half : 0;
        n -= half;
    }
    return load32(c->ranges + SYMCACHE_RANGE * low + 4);
}

void symcache_prefetch(const struct symcache *c, uint32_t location)
{
    if (location != SYMCACHE_NONE)
        __builtin_prefetch(c->locations + (size_t)location * SYMCACHE_LOCATION);
}

static const char *string_at(const struct symcache *c, uint32_t offset)
{
    return offset ? (const char *)c->strings + offset : NULL;
}

uint32_t symcache_frame(const struct symcache *c, uint32_t location, struct symcache_frame *frame)
{
    const unsigned char *at = c->locations + (size_t)location * SYMCACHE_LOCATION;
    uint32_t outer = load32(at + SYMCACHE_LOCATION_OUTER);

    frame->function_key = load32(at + SYMCACHE_LOCATION_FUNCTION);
    frame->function = string_at(c, frame->function_key);
    frame->file = string_at(c, load32(at + SYMCACHE_LOCATION_FILE));
    frame->line = load32(at + SYMCACHE_LOCATION_LINE);
    frame->column = load32(at + SYMCACHE_LOCATION_COLUMN);
    frame->inlined = outer != SYMCACHE_NONE;
    return outer;
}

size_t symcache_lookup(const struct symcache *c, uint64_t relative, struct symcache_frame *frames,
                       size_t max)
{
    uint32_t location = symcache_find(c, relative);
    size_t n = 0;

    while (location != SYMCACHE_NONE && n < max && n < SYMCACHE_FRAMES)
        location = symcache_frame(c, location, &frames[n++]);
    return n;
}
