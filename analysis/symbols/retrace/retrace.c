#include "symbols/retrace/retrace.h"
#include "symbols/retrace/retrace_format.h"
#include "symbols/retrace/retrace_index.h"

bool retrace_looks_like(const void *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, RETRACE_MAGIC, 8) == 0;
}

static void read_header(struct retrace *r, const unsigned char *h)
{
    uint32_t flags = load32(h + RETRACE_AT_FLAGS);
    const unsigned char *counts = h + RETRACE_AT_COUNTS, *sizes = h + RETRACE_AT_SIZES;
    uint32_t *n[] = {&r->n_buckets,    &r->n_classes, &r->n_methods, &r->n_groups, &r->n_ranges,
                     &r->n_signatures, &r->n_infos,   &r->n_words,   &r->n_thrown};

    *r = (struct retrace){.later_version = flags & RETRACE_LATER_VERSION,
                          .hash_known = flags & RETRACE_HASH_KNOWN,
                          .hash_matches = flags & RETRACE_HASH_MATCHES,
                          .strings_bytes = load64(h + RETRACE_AT_STRINGS)};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        *n[i] = load32(sizes + 4 * i);
#define X(name, help)                                                                              \
    r->counts.name = load32(counts);                                                               \
    counts += 4;
    RETRACE_COUNTS(X)
#undef X
}

static bool lay_out(struct retrace *r, const unsigned char *bytes, size_t size, struct err *err)
{
    struct {
        const unsigned char **at;
        uint64_t n, each;
    } tables[] = {{&r->buckets, r->n_buckets, 4},
                  {&r->classes, (uint64_t)r->n_classes + 1, RETRACE_CLASS},
                  {&r->methods, (uint64_t)r->n_methods + 1, RETRACE_METHOD},
                  {&r->groups, (uint64_t)r->n_groups + 1, RETRACE_GROUP},
                  {&r->ends, r->n_ranges, 4},
                  {&r->ranges, r->n_ranges, RETRACE_RANGE},
                  {&r->signatures, r->n_signatures, RETRACE_SIGNATURE},
                  {&r->infos, r->n_infos, RETRACE_INFO},
                  {&r->words, r->n_words, 4},
                  {&r->thrown, r->n_thrown, 4},
                  {&r->strings, r->strings_bytes, 1}};
    uint64_t at = RETRACE_HEADER;

    if (r->strings_bytes > size || r->strings_bytes > UINT32_MAX)
        return err_set(err, ERR_INVALID, "retrace index: strings past its end");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        *tables[i].at = bytes + (at <= size ? at : 0);
        at += tables[i].n * tables[i].each;
    }
    if (at != size)
        return err_set(err, ERR_INVALID, "retrace index: its parts do not make up its %zu bytes",
                       size);
    if (r->strings_bytes == 0 || r->strings[0] || r->strings[r->strings_bytes - 1])
        return err_set(err, ERR_INVALID, "retrace index: strings without their NULs");
    return true;
}

static bool read_names(struct retrace *r, const unsigned char *h, struct err *err)
{
    const char **names[] = {&r->compiler, &r->compiler_version, &r->min_api,
                            &r->map_id,   &r->map_hash,         &r->map_version};
    bool known = true;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t at = load32(h + RETRACE_AT_NAMES + 4 * i);

        known &= at < r->strings_bytes;
        *names[i] = known ? (const char *)r->strings + at : "";
    }
    return known || err_set(err, ERR_INVALID, "retrace index: a header field out of bounds");
}

/* Whether the words at `offset` of all records but the closing one are strings. */
static bool are_strings(const struct retrace *r, const unsigned char *at, uint32_t n, size_t each,
                        size_t offset)
{
    bool known = true;

    for (uint32_t i = 0; i < n; i++)
        known &= load32(at + each * i + offset) < r->strings_bytes;
    return known;
}

/* Whether the words at `offset` ascend from 0 to `end`: each record's part of the next table. */
static bool are_firsts(const unsigned char *at, uint32_t n, size_t each, size_t offset,
                       uint32_t end)
{
    bool ordered = load32(at + offset) == 0;

    for (uint32_t i = 0; i < n; i++)
        ordered &= load32(at + each * i + offset) <= load32(at + each * (i + 1) + offset);
    return ordered && load32(at + each * n + offset) == end;
}

static bool check_classes(const struct retrace *r, struct err *err)
{
    bool known = (r->n_buckets & (r->n_buckets - 1)) == 0 && r->n_buckets > r->n_classes;

    for (uint32_t i = 0; i < r->n_buckets; i++)
        known &= load32(r->buckets + 4 * (size_t)i) <= r->n_classes;
    known &= are_strings(r, r->classes, r->n_classes, RETRACE_CLASS, 0) &&
             are_strings(r, r->classes, r->n_classes, RETRACE_CLASS, 4) &&
             are_strings(r, r->classes, r->n_classes, RETRACE_CLASS, 12) &&
             are_firsts(r->classes, r->n_classes, RETRACE_CLASS, 8, r->n_methods);
    known = known && are_strings(r, r->methods, r->n_methods, RETRACE_METHOD, 0) &&
            are_firsts(r->methods, r->n_methods, RETRACE_METHOD, 4, r->n_groups) &&
            are_firsts(r->groups, r->n_groups, RETRACE_GROUP, 0, r->n_ranges);
    for (uint32_t i = 0; known && i < r->n_groups; i++) /* a group has a range to be named by */
        known = load32(r->groups + RETRACE_GROUP * (size_t)i) <
                load32(r->groups + RETRACE_GROUP * ((size_t)i + 1));
    return known || err_set(err, ERR_INVALID, "retrace index: a class out of bounds");
}

static bool in_order(uint32_t from, uint32_t to)
{
    return from == RETRACE_NONE || (from <= to && to <= RETRACE_LINE_MAX);
}

static bool check_ranges(const struct retrace *r, struct err *err)
{
    bool known = true;

    for (uint32_t i = 0; i < r->n_ranges; i++) {
        const unsigned char *at = r->ranges + RETRACE_RANGE * (size_t)i;

        known &= load32(at) / 2 < r->n_signatures &&
                 in_order(load32(at + 4), load32(r->ends + 4 * (size_t)i)) &&
                 in_order(load32(at + 8), load32(at + 12));
    }
    for (size_t offset = 0; offset < RETRACE_SIGNATURE; offset += 4)
        known &= are_strings(r, r->signatures, r->n_signatures, RETRACE_SIGNATURE, offset);
    return known || err_set(err, ERR_INVALID, "retrace index: a range out of bounds");
}

static bool check_info(const struct retrace *r, const unsigned char *at)
{
    uint32_t kind = load32(at + 4), first = load32(at + 8), n = load32(at + 12);

    if (load32(at) >= r->n_ranges || first > r->n_words || n > r->n_words - first)
        return false;
    if (kind == RETRACE_CALLSITE)
        return n % 2 == 0;
    if (kind != RETRACE_REWRITE || n == 0)
        return false;
    for (uint32_t i = 1; i < n; i++)
        if (load32(r->words + 4 * ((size_t)first + i)) >= r->n_thrown)
            return false;
    return true;
}

static bool check_infos(const struct retrace *r, struct err *err)
{
    bool known = are_strings(r, r->thrown, r->n_thrown, 4, 0);

    for (uint32_t i = 0; i < r->n_infos; i++) {
        const unsigned char *at = r->infos + RETRACE_INFO * (size_t)i;

        known &= check_info(r, at);
        known &= i == 0 || load32(at - RETRACE_INFO) <= load32(at);
    }
    return known || err_set(err, ERR_INVALID, "retrace index: an information out of bounds");
}

bool retrace_open(struct retrace *out, const void *bytes, size_t size, struct err *err)
{
    const unsigned char *h = bytes;
    struct retrace r;

    if (!retrace_looks_like(bytes, size) || size < RETRACE_HEADER)
        return err_set(err, ERR_INVALID, "not a retrace index");
    if (load32(h + RETRACE_AT_VERSION) != RETRACE_VERSION)
        return err_set(err, ERR_INVALID, "retrace index: version %u, this program reads %d",
                       load32(h + RETRACE_AT_VERSION), RETRACE_VERSION);
    read_header(&r, h);
    if (!lay_out(&r, h, size, err) || !read_names(&r, h, err) || !check_classes(&r, err) ||
        !check_ranges(&r, err) || !check_infos(&r, err))
        return false;
    *out = r;
    return true;
}

/* Compares a NUL-terminated string of the index with a name. */
static int compare(const char *text, const char *name, size_t len)
{
    int c = strncmp(text, name, len);

    return c ? c : text[len] != '\0';
}

/* A name with a NUL inside would let compare() look behind the end of a string. */
static bool sane(const char *name, size_t len)
{
    return !memchr(name, 0, len);
}

uint32_t retrace_find_class(const struct retrace *r, const char *name, size_t len)
{
    uint32_t slot = retrace_hash(name, len) & (r->n_buckets - 1);

    if (!sane(name, len))
        return RETRACE_NONE;
    for (uint32_t i = 0; i < r->n_buckets; i++) {
        uint32_t class = load32(r->buckets + 4 * (size_t)slot);

        if (class == 0)
            return RETRACE_NONE;
        if (compare(retrace_string(r, r->classes + RETRACE_CLASS * (size_t)(class - 1)), name,
                    len) == 0)
            return class - 1;
        slot = (slot + 1) & (r->n_buckets - 1);
    }
    return RETRACE_NONE;
}

uint32_t retrace_find_method(const struct retrace *r, uint32_t class, const char *name, size_t len)
{
    const unsigned char *at = r->classes + RETRACE_CLASS * (size_t) class;
    uint32_t low = load32(at + 8), high = load32(at + RETRACE_CLASS + 8);

    if (!sane(name, len))
        return RETRACE_NONE;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int c = compare(retrace_string(r, r->methods + RETRACE_METHOD * (size_t)mid), name, len);

        if (c == 0)
            return mid;
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return RETRACE_NONE;
}

const char *retrace_class(const struct retrace *r, const char *name, size_t len)
{
    uint32_t class = retrace_find_class(r, name, len);

    if (class == RETRACE_NONE)
        return NULL;
    return retrace_string(r, r->classes + RETRACE_CLASS * (size_t) class + 4);
}

void retrace_thrown(const struct retrace *r, const char *name, size_t len,
                    struct retrace_context *context)
{
    uint32_t low = 0, high = sane(name, len) ? r->n_thrown : 0;

    *context = (struct retrace_context){0, 0};
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int c = compare(retrace_string(r, r->thrown + 4 * (size_t)mid), name, len);

        if (c == 0) {
            context->thrown = mid + 1;
            return;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
}
