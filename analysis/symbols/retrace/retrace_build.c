#include "symbols/retrace/retrace_build_parts.h"

#include <stdlib.h>

/* "original -> obfuscated:" */
static bool read_class(struct retrace_builder *b, struct span s)
{
    char *arrow = memmem(s.at, span_length(s), "->", 2);

    if (!arrow || s.end[-1] != ':')
        return false;

    struct span original = span_trimmed((struct span){s.at, arrow});
    struct span name = span_trimmed((struct span){arrow + 2, s.end - 1});

    if (!span_is_name(original) || !span_is_name(name))
        return false;
    retrace_class_end(b);
    retrace_class_begin(b, original, name);
    return true;
}

/* "from:to"; ends turned around are put right, a 0 at the end stands for the beginning: earlier
 * versions of R8 wrote such. A lone number is a range of one line. */
static bool take_range(struct span *s, uint32_t *from, uint32_t *to, bool *lone)
{
    if (!span_take_number(s, from))
        return false;
    *to = *from;
    span_skip_blanks(s);
    *lone = !span_accept(s, ':');
    if (*lone)
        return true;
    span_skip_blanks(s);
    if (!span_take_number(s, to))
        return false;
    if (*from > *to && *to == 0) {
        *to = *from;
    } else if (*from > *to) {
        uint32_t swap = *from;

        *from = *to;
        *to = swap;
    }
    return true;
}

/* Whether digits and a colon follow: else they begin a name. */
static bool range_follows(struct span s)
{
    const char *start = s.at;

    while (s.at < s.end && span_is_digit(*s.at))
        s.at++;
    if (s.at == start)
        return false;
    span_skip_blanks(&s);
    return span_accept(&s, ':');
}

/* "(int, java.lang.String)", into "int,java.lang.String" in place. */
static bool take_arguments(struct span *s, struct span *out)
{
    char *to = s->at;

    *out = (struct span){s->at, s->at};
    for (; s->at < s->end && *s->at != ')'; s->at++) {
        if (*s->at == '\0' || *s->at == '(')
            return false;
        if (!span_is_blank(*s->at))
            *to++ = *s->at;
    }
    out->end = to;
    return span_accept(s, ')') && span_length(*out) <= NAME_MAX_BYTES;
}

struct member {
    struct span type, name, arguments, renamed;
    bool method;
    struct retrace_range_row range;
};

/* "[from:to:]type name[(arguments)][:from[:to]] -> renamed" */
static bool parse_member(struct span s, struct member *m)
{
    bool lone = false;
    struct retrace_range_row *r = &m->range;

    *r = (struct retrace_range_row){.from = RETRACE_NONE, .original_from = RETRACE_NONE};
    if (range_follows(s) && (!take_range(&s, &r->from, &r->to, &lone) || lone))
        return false;
    span_skip_blanks(&s);
    if (r->from != RETRACE_NONE && !span_accept(&s, ':'))
        return false;
    span_skip_blanks(&s);
    m->type = span_take_name(&s, "(),:");
    span_skip_blanks(&s);
    m->name = span_take_name(&s, "(),:");
    span_skip_blanks(&s);
    m->method = span_accept(&s, '(');
    if (!span_is_name(m->type) || !span_is_name(m->name) ||
        (m->method && !take_arguments(&s, &m->arguments)))
        return false;
    span_skip_blanks(&s);
    if (span_accept(&s, ':')) {
        span_skip_blanks(&s);
        if (!take_range(&s, &r->original_from, &r->original_to, &lone))
            return false;
    }
    span_skip_blanks(&s);
    if (!span_accept(&s, '-') || !span_accept(&s, '>'))
        return false;
    m->renamed = span_trimmed(s);
    return span_is_name(m->renamed) && (m->method || r->from == RETRACE_NONE);
}

/* A qualified name belongs to another class than the one at hand. */
static uint32_t signature_of(struct retrace_builder *b, const struct member *m)
{
    struct retrace_signature_row row = {.class = b->t.classes.at[b->t.classes.n - 1].original};
    struct span name = m->name;
    char *dot = memrchr(name.at, '.', span_length(name));

    if (dot && dot > name.at && dot + 1 < name.end) {
        row.class = retrace_add_string(b, (struct span){name.at, dot});
        name.at = dot + 1;
    }
    row.name = retrace_add_string(b, name);
    row.return_type = retrace_add_string(b, m->type);
    row.arguments = retrace_add_string(b, m->arguments);
    return b->t.mem.failed ? RETRACE_NONE : retrace_signature_add(b, row);
}

static bool read_member(struct retrace_builder *b, struct span s)
{
    struct member m;

    if (!b->in_class || !parse_member(s, &m))
        return false;
    b->member = true;
    b->last = NO_ITEM;
    if (b->skip_class)
        return true;
    if (!m.method) {
        b->t.counts.fields++;
        return true;
    }
    m.range.signature = signature_of(b, &m);

    uint32_t name = retrace_add_string(b, m.renamed);

    if (b->t.mem.failed || !VEC_ROOM(&b->t.mem, &b->items, 1))
        return true;
    b->last = (uint32_t)b->items.n;
    b->items.at[b->items.n++] = (struct item){.name = name, .range = m.range};
    b->t.counts.ranges++;
    return true;
}

static void read_line(struct retrace_builder *b, char *at, size_t len)
{
    struct span s = {at, at + len};

    if (b->lines++ == 0 && len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;

    bool indented = s.at < s.end && span_is_blank(*s.at);

    s = span_trimmed(s);
    if (s.at == s.end)
        return;
    if (*s.at == '#') {
        s.at++;
        retrace_comment_read(b, s);
    } else if (!(indented ? read_member(b, s) : read_class(b, s))) {
        b->t.counts.bad_lines++;
    }
}

static void add_to_line(struct retrace_builder *b, const char *at, size_t n)
{
    if (b->skipping)
        return;
    if (n > RETRACE_MAPPING_LINE_BYTES - b->line.n) {
        b->skipping = true;
        return;
    }
    if (n && VEC_ROOM(&b->t.mem, &b->line, n)) {
        memcpy(b->line.at + b->line.n, at, n);
        b->line.n += n;
    }
}

static void end_line(struct retrace_builder *b)
{
    if (b->skipping) {
        b->lines++;
        b->t.counts.bad_lines++;
    } else if (b->line.at) {
        read_line(b, b->line.at, b->line.n);
    }
    b->line.n = 0;
    b->skipping = false;
}

struct retrace_builder *retrace_builder_new(const struct retrace_limits *limits)
{
    struct retrace_builder *b = calloc(1, sizeof *b);
    struct retrace_limits l = limits ? *limits : (struct retrace_limits){0};

    if (!b)
        return NULL;
    b->t.mem.cap = l.memory_bytes ? l.memory_bytes : RETRACE_MEMORY_BYTES;
    b->t.mem.fail_at = l.fail_at;
    b->t.work.left = UINT64_MAX; /* each byte of the mapping is looked at a few times */
    b->most_bytes = l.mapping_bytes ? l.mapping_bytes : RETRACE_MAPPING_BYTES;
    b->last = NO_ITEM;
    if (!strings_init(&b->t.strings, &b->t.mem, &b->t.work)) {
        retrace_builder_free(b);
        return NULL;
    }
    return b;
}

void retrace_builder_free(struct retrace_builder *b)
{
    struct mem *m;

    if (!b)
        return;
    m = &b->t.mem;
    strings_fini(&b->t.strings);
    VEC_FREE(m, &b->t.classes);
    VEC_FREE(m, &b->t.methods);
    VEC_FREE(m, &b->t.groups);
    VEC_FREE(m, &b->t.ranges);
    VEC_FREE(m, &b->t.signatures);
    VEC_FREE(m, &b->t.infos);
    VEC_FREE(m, &b->t.words);
    VEC_FREE(m, &b->line);
    VEC_FREE(m, &b->items);
    VEC_FREE(m, &b->pending);
    VEC_FREE(m, &b->order);
    VEC_FREE(m, &b->signature_flags);
    mem_free(m, b->class_slots.at);
    mem_free(m, b->signature_slots.at);
    retrace_json_fini(&b->json, m);
    digest_free(b->digest);
    free(b);
}

static bool within_memory(const struct retrace_builder *b, struct err *err)
{
    return !b->t.mem.failed ||
           err_set(err, ERR_TOO_BIG, "more memory than the limit of %zu bytes is needed",
                   b->t.mem.cap);
}

static bool begin_hash(struct retrace_builder *b, struct err *err)
{
    b->hash_next = false;
    b->digest = digest_new(DIGEST_SHA256);
    return b->digest || err_memory(err);
}

bool retrace_builder_feed(struct retrace_builder *b, const void *bytes, size_t n, struct err *err)
{
    const char *at = bytes, *end = at + n, *hashed = b->digest ? at : NULL;

    b->bytes += n;
    if (b->bytes > b->most_bytes)
        return err_set(err, ERR_TOO_BIG, "a mapping of more than %llu bytes",
                       (unsigned long long)b->most_bytes);
    while (at < end && !b->t.mem.failed) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        add_to_line(b, at, (size_t)((newline ? newline : end) - at));
        if (!newline)
            break;
        at = newline + 1;
        end_line(b);
        if (b->hash_next) {
            if (!begin_hash(b, err))
                return false;
            hashed = at;
        }
    }
    if (hashed)
        digest_add(b->digest, hashed, (size_t)(end - hashed));
    return within_memory(b, err);
}

static void end_hash(struct retrace_builder *b)
{
    unsigned char sum[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    if (!b->digest)
        return;
    to_hex(sum, digest_end(b->digest, sum), hex);
    b->t.flags |= RETRACE_HASH_KNOWN;
    if (strcmp(hex, b->t.strings.all.at[b->t.names[4]].at) == 0)
        b->t.flags |= RETRACE_HASH_MATCHES;
}

bool retrace_builder_finish(struct retrace_builder *b, retrace_sink *sink, void *ctx,
                            struct retrace_stats *stats, struct err *err)
{
    uint64_t bytes = 0;

    if (b->line.n || b->skipping)
        end_line(b);
    retrace_class_end(b);
    end_hash(b);
    if (!within_memory(b, err))
        return false;
    if (b->t.classes.n == 0)
        return err_set(err, ERR_INVALID, "not a mapping: no class in it");
    if (!retrace_write(&b->t, sink, ctx, &bytes, err))
        return false;
    if (stats)
        *stats = (struct retrace_stats){.counts = b->t.counts,
                                        .mapping_bytes = b->bytes,
                                        .lines = b->lines,
                                        .bytes = bytes,
                                        .peak_memory_bytes = b->t.mem.peak};
    return true;
}

bool retrace_build(const void *mapping, size_t size, const struct retrace_limits *limits,
                   retrace_sink *sink, void *ctx, struct retrace_stats *stats, struct err *err)
{
    struct retrace_builder *b = retrace_builder_new(limits);
    bool ok = b ? retrace_builder_feed(b, mapping, size, err) &&
                      retrace_builder_finish(b, sink, ctx, stats, err)
                : err_memory(err);

    retrace_builder_free(b);
    return ok;
}

bool retrace_looks_like_mapping(const void *bytes, size_t size)
{
    const char *at = bytes, *end = at + size;

    if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct span s = {(char *)at, (char *)(newline ? newline : end)};

        s = span_trimmed(s);
        if (s.at < s.end && *s.at != '#')
            return memmem(s.at, span_length(s), "->", 2) && (!newline || s.end[-1] == ':');
        at = newline ? newline + 1 : end;
    }
    return false;
}
