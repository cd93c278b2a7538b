#include "symbols/retrace/retrace_format.h"
#include "symbols/retrace/retrace_tables.h"
#include "symbols/sink.h"

#include <stdlib.h>

#define SYNTHETIC_FILE "R8$$SyntheticClass" /* R8's stand-in where a class has no source file */

struct writer {
    struct retrace_tables *t;
    struct sink out;
    uint32_t *offsets; /* of strings, by number */
    uint32_t *files;   /* source file of the class of this original name, by number */
    uint32_t *buckets;
    uint32_t n_buckets;
    VEC(uint32_t) thrown; /* numbers of strings, ascending as text */
};

static void put32(struct writer *w, uint32_t v)
{
    sink_u32(&w->out, v);
}

static void put_string(struct writer *w, uint32_t number)
{
    put32(w, w->offsets[number]);
}

static const struct strings_entry *string_of(const struct writer *w, uint32_t number)
{
    return &w->t->strings.all.at[number];
}

static void place_strings(struct writer *w, uint64_t *bytes)
{
    uint64_t at = 1;

    for (size_t i = 1; i < w->t->strings.all.n; i++) {
        w->offsets[i] = (uint32_t)at;
        at += w->t->strings.all.at[i].len + 1;
    }
    *bytes = at;
}

static bool is_file(const struct strings_entry *s)
{
    return s->len &&
           (s->len != sizeof SYNTHETIC_FILE - 1 || memcmp(s->at, SYNTHETIC_FILE, s->len) != 0);
}

static void know_files(struct writer *w)
{
    for (size_t i = 0; i < w->t->classes.n; i++) {
        const struct retrace_class_row *c = &w->t->classes.at[i];

        if (is_file(string_of(w, c->file)))
            w->files[c->original] = c->file;
    }
}

static void fill_buckets(struct writer *w)
{
    for (size_t i = 0; i < w->t->classes.n; i++) {
        const struct strings_entry *name = string_of(w, w->t->classes.at[i].name);
        uint32_t slot = retrace_hash(name->at, name->len) & (w->n_buckets - 1);

        while (w->buckets[slot])
            slot = (slot + 1) & (w->n_buckets - 1);
        w->buckets[slot] = (uint32_t)i + 1;
    }
}

static int compare_strings(const void *a, const void *b, void *ctx)
{
    const struct writer *w = ctx;

    return strcmp(string_of(w, *(const uint32_t *)a)->at, string_of(w, *(const uint32_t *)b)->at);
}

/* Lists the exceptions that rules name, and turns the rules' words into places in that list. */
static bool place_thrown(struct writer *w)
{
    struct retrace_tables *t = w->t;

    for (size_t i = 0; i < t->infos.n; i++) {
        const struct retrace_info_row *info = &t->infos.at[i];

        if (info->kind != RETRACE_REWRITE)
            continue;
        for (uint32_t k = 1; k < info->n; k++) {
            if (!VEC_ROOM(&t->mem, &w->thrown, 1))
                return false;
            w->thrown.at[w->thrown.n++] = t->words.at[info->first + k];
        }
    }
    if (w->thrown.n == 0)
        return true;
    qsort_r(w->thrown.at, w->thrown.n, sizeof *w->thrown.at, compare_strings, w);

    size_t n = 1;

    for (size_t i = 1; i < w->thrown.n; i++)
        if (w->thrown.at[i] != w->thrown.at[n - 1])
            w->thrown.at[n++] = w->thrown.at[i];
    w->thrown.n = n;
    return true;
}

static uint32_t thrown_number(const struct writer *w, uint32_t string)
{
    size_t low = 0, high = w->thrown.n;

    while (low + 1 < high) {
        size_t mid = low + (high - low) / 2;

        if (compare_strings(&w->thrown.at[mid], &string, (void *)w) <= 0)
            low = mid;
        else
            high = mid;
    }
    return (uint32_t)low;
}

static void number_conditions(struct writer *w)
{
    for (size_t i = 0; i < w->t->infos.n; i++) {
        const struct retrace_info_row *info = &w->t->infos.at[i];

        for (uint32_t k = 1; info->kind == RETRACE_REWRITE && k < info->n; k++) {
            uint32_t *word = &w->t->words.at[info->first + k];

            *word = thrown_number(w, *word);
        }
    }
}

static void put_header(struct writer *w, uint64_t strings_bytes)
{
    const struct retrace_tables *t = w->t;
    const size_t sizes[] = {w->n_buckets,    t->classes.n, t->methods.n, t->groups.n, t->ranges.n,
                            t->signatures.n, t->infos.n,   t->words.n,   w->thrown.n};
    unsigned char h[RETRACE_HEADER] = {0}, *counts = h + RETRACE_AT_COUNTS;

    memcpy(h, RETRACE_MAGIC, 8);
    store32(h + RETRACE_AT_VERSION, RETRACE_VERSION);
    store32(h + RETRACE_AT_FLAGS, t->flags);
    store64(h + RETRACE_AT_STRINGS, strings_bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        store32(h + RETRACE_AT_SIZES + 4 * i, (uint32_t)sizes[i]);
    for (size_t i = 0; i < RETRACE_HEADER_NAMES; i++)
        store32(h + RETRACE_AT_NAMES + 4 * i, w->offsets[t->names[i]]);
#define X(name, help)                                                                              \
    store32(counts, t->counts.name);                                                               \
    counts += 4;
    RETRACE_COUNTS(X)
#undef X
    sink_bytes(&w->out, h, sizeof h);
}

static void put_classes(struct writer *w)
{
    const struct retrace_tables *t = w->t;

    for (uint32_t i = 0; i < w->n_buckets; i++)
        put32(w, w->buckets[i]);
    for (size_t i = 0; i < t->classes.n; i++) {
        const struct retrace_class_row *c = &t->classes.at[i];

        put_string(w, c->name);
        put_string(w, c->original);
        put32(w, c->first_method);
        put_string(w, w->files[c->original]);
    }
    put32(w, 0);
    put32(w, 0);
    put32(w, (uint32_t)t->methods.n);
    put32(w, 0);
}

static void put_methods(struct writer *w)
{
    const struct retrace_tables *t = w->t;

    for (size_t i = 0; i < t->methods.n; i++) {
        put_string(w, t->methods.at[i].name);
        put32(w, t->methods.at[i].first_group);
    }
    put32(w, 0);
    put32(w, (uint32_t)t->groups.n);
    for (size_t i = 0; i < t->groups.n; i++) {
        put32(w, t->groups.at[i].first_range);
        put32(w, t->groups.at[i].flags);
    }
    put32(w, (uint32_t)t->ranges.n);
    put32(w, 0);
}

static void put_ranges(struct writer *w)
{
    const struct retrace_tables *t = w->t;

    for (size_t i = 0; i < t->ranges.n; i++)
        put32(w, t->ranges.at[i].to);
    for (size_t i = 0; i < t->ranges.n; i++) {
        const struct retrace_range_row *r = &t->ranges.at[i];

        put32(w, r->signature * 2 + r->infos);
        put32(w, r->from);
        put32(w, r->original_from);
        put32(w, r->original_to);
    }
    for (size_t i = 0; i < t->signatures.n; i++) {
        const struct retrace_signature_row *s = &t->signatures.at[i];

        put_string(w, s->class);
        put_string(w, s->name);
        put_string(w, s->return_type);
        put_string(w, s->arguments);
        put_string(w, w->files[s->class]);
    }
}

static void put_infos(struct writer *w)
{
    const struct retrace_tables *t = w->t;

    for (size_t i = 0; i < t->infos.n; i++) {
        put32(w, t->infos.at[i].range);
        put32(w, t->infos.at[i].kind);
        put32(w, t->infos.at[i].first);
        put32(w, t->infos.at[i].n);
    }
    for (size_t i = 0; i < t->words.n; i++)
        put32(w, t->words.at[i]);
    for (size_t i = 0; i < w->thrown.n; i++)
        put_string(w, w->thrown.at[i]);
}

static void put_strings(struct writer *w)
{
    sink_bytes(&w->out, "", 1);
    for (size_t i = 1; i < w->t->strings.all.n; i++) {
        const struct strings_entry *s = string_of(w, (uint32_t)i);

        sink_bytes(&w->out, s->at, (size_t)s->len + 1); /* copies, so they have their NUL */
    }
}

static bool prepare(struct writer *w, uint64_t *strings_bytes)
{
    struct mem *mem = &w->t->mem;
    size_t n = w->t->strings.all.n;

    w->n_buckets = 2;
    while (w->n_buckets < 2 * w->t->classes.n)
        w->n_buckets *= 2;
    w->offsets = mem_alloc(mem, n, sizeof *w->offsets);
    w->files = mem_alloc(mem, n, sizeof *w->files);
    w->buckets = mem_alloc(mem, w->n_buckets, sizeof *w->buckets);
    if (!w->offsets || !w->files || !w->buckets || !place_thrown(w))
        return false;
    place_strings(w, strings_bytes);
    know_files(w);
    fill_buckets(w);
    number_conditions(w);
    return true;
}

bool retrace_write(struct retrace_tables *t, retrace_sink *sink, void *ctx, uint64_t *bytes,
                   struct err *err)
{
    struct writer w = {.t = t, .out = {.take = sink, .ctx = ctx}};
    uint64_t strings_bytes = 0;
    bool ok =
        prepare(&w, &strings_bytes) ||
        err_set(err, ERR_TOO_BIG, "more memory than the limit of %zu bytes is needed", t->mem.cap);

    ok =
        ok && (strings_bytes <= UINT32_MAX || err_set(err, ERR_TOO_BIG, "more than 4 GB of names"));
    if (ok) {
        put_header(&w, strings_bytes);
        put_classes(&w);
        put_methods(&w);
        put_ranges(&w);
        put_infos(&w);
        put_strings(&w);
        sink_flush(&w.out);
        ok = !w.out.failed || err_set(err, ERR_INTERNAL, "the index cannot be written");
        *bytes = w.out.written;
    }
    VEC_FREE(&t->mem, &w.thrown);
    mem_free(&t->mem, w.offsets);
    mem_free(&t->mem, w.files);
    mem_free(&t->mem, w.buckets);
    return ok;
}
