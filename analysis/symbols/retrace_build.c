#include "symbols/retrace_build.h"
#include "base/digest.h"
#include "symbols/retrace_format.h"
#include "symbols/retrace_json.h"
#include "symbols/retrace_tables.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES ((size_t)STRING_BYTES_MAX)
#define KNOWN_VERSION 202u /* of the format: 100 * major + minor */
#define LATER_VERSION UINT32_MAX
#define FIRST_SLOTS 1024u
#define NO_ITEM UINT32_MAX

/* A line of a class that maps a method, as it is read; sorted by name when the class ends. */
struct item {
    uint32_t name;
    struct retrace_range_row range;
    uint32_t flags;                 /* RETRACE_SYNTHESIZED, RETRACE_OUTLINE */
    uint32_t first_info, last_info; /* of `pending`, + 1; 0: none */
};

struct pending {
    struct retrace_info_row row;
    uint32_t next; /* + 1 */
};

/* Open addressing; a power of two of slots, number + 1 or 0. */
struct slots {
    uint32_t *at;
    size_t n, used;
};

struct retrace_builder {
    struct retrace_tables t;
    uint64_t most_bytes, bytes, lines;
    VEC(char) line; /* the beginning of a line whose end is yet to come */
    bool skipping;  /* the rest of a line that is too long */
    uint32_t version;
    struct slots class_slots, signature_slots;
    /* pg_map_hash covers what follows its line */
    struct digest *digest;
    bool hash_next;
    /* the class at hand */
    bool in_class, skip_class;
    bool member;   /* a line of a member was read: comments are no longer the class's */
    uint32_t last; /* the item that comments belong to, or NO_ITEM */
    VEC(struct item) items;
    VEC(struct pending) pending;
    VEC(uint32_t) order;
    VEC(uint8_t) signature_flags; /* by signature; zero between methods */
    struct retrace_json json;
};

struct span {
    char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct span *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

static bool accept(struct span *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static size_t length(struct span s)
{
    return (size_t)(s.end - s.at);
}

static struct span trimmed(struct span s)
{
    skip_blanks(&s);
    while (s.end > s.at && is_blank(s.end[-1]))
        s.end--;
    return s;
}

/* Up to a blank or one of `stops`. */
static struct span take_name(struct span *s, const char *stops)
{
    struct span name = {s->at, s->at};

    while (s->at < s->end && !is_blank(*s->at) && *s->at != '\0' && !strchr(stops, *s->at))
        s->at++;
    name.end = s->at;
    return name;
}

static bool is_name(struct span s)
{
    if (s.at == s.end || length(s) > NAME_MAX_BYTES)
        return false;
    for (; s.at < s.end; s.at++)
        if (is_blank(*s.at) || *s.at == '\0')
            return false;
    return true;
}

static bool take_number(struct span *s, uint32_t *out)
{
    uint64_t v = 0;
    const char *start = s->at;

    for (; s->at < s->end && is_digit(*s->at); s->at++) {
        v = v * 10 + (uint64_t)(*s->at - '0');
        if (v > RETRACE_LINE_MAX)
            return false;
    }
    *out = (uint32_t)v;
    return s->at > start;
}

static uint32_t add_string(struct retrace_builder *b, struct span s)
{
    return strings_copy(&b->t.strings, s.at, length(s));
}

static bool grow_slots(struct mem *m, struct slots *s, uint32_t (*hash)(void *, uint32_t),
                       void *ctx)
{
    size_t n = s->n ? 2 * s->n : FIRST_SLOTS;
    uint32_t *at = mem_alloc(m, n, sizeof *at);

    if (!at)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->at[i])
            continue;

        size_t slot = hash(ctx, s->at[i] - 1) & (n - 1);

        while (at[slot])
            slot = (slot + 1) & (n - 1);
        at[slot] = s->at[i];
    }
    mem_free(m, s->at);
    s->at = at;
    s->n = n;
    return true;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(h ^ h >> 32);
}

static uint32_t signature_hash(void *ctx, uint32_t number)
{
    const struct retrace_builder *b = ctx;
    const struct retrace_signature_row *s = &b->t.signatures.at[number];

    return mix(mix(mix(s->class, s->name), s->return_type), s->arguments);
}

static uint32_t class_hash(void *ctx, uint32_t number)
{
    const struct retrace_builder *b = ctx;

    return mix(b->t.classes.at[number].name, 0);
}

/* The number of an equal signature, or of a new one; RETRACE_NONE: out of memory. */
static uint32_t add_signature(struct retrace_builder *b, struct retrace_signature_row row)
{
    struct slots *s = &b->signature_slots;

    if (2 * s->used >= s->n && !grow_slots(&b->t.mem, s, signature_hash, b))
        return RETRACE_NONE;
    if (!VEC_ROOM(&b->t.mem, &b->t.signatures, 1) || !VEC_ROOM(&b->t.mem, &b->signature_flags, 1))
        return RETRACE_NONE;

    uint32_t number = (uint32_t)b->t.signatures.n;

    b->t.signatures.at[number] = row;

    size_t slot = signature_hash(b, number) & (s->n - 1);

    for (; s->at[slot]; slot = (slot + 1) & (s->n - 1))
        if (memcmp(&b->t.signatures.at[s->at[slot] - 1], &row, sizeof row) == 0)
            return s->at[slot] - 1;
    s->at[slot] = number + 1;
    s->used++;
    b->t.signatures.n++;
    b->signature_flags.at[b->signature_flags.n++] = 0;
    return number;
}

/* Classes whose obfuscated name is taken are skipped: the first has it. */
static void begin_class(struct retrace_builder *b, struct span original, struct span name)
{
    struct slots *s = &b->class_slots;
    struct retrace_class_row row = {add_string(b, name), add_string(b, original), 0,
                                    (uint32_t)b->t.methods.n};

    if (2 * s->used >= s->n && !grow_slots(&b->t.mem, s, class_hash, b))
        return;
    if (b->t.mem.failed || !VEC_ROOM(&b->t.mem, &b->t.classes, 1))
        return;
    b->in_class = true;

    size_t slot = mix(row.name, 0) & (s->n - 1);

    for (; s->at[slot]; slot = (slot + 1) & (s->n - 1))
        if (b->t.classes.at[s->at[slot] - 1].name == row.name) {
            b->skip_class = true;
            b->t.counts.duplicate_classes++;
            return;
        }
    s->at[slot] = (uint32_t)b->t.classes.n + 1;
    s->used++;
    b->t.classes.at[b->t.classes.n++] = row;
    b->t.counts.classes++;
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    const struct retrace_builder *builder = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint32_t n = builder->items.at[i].name, m = builder->items.at[k].name;
    const struct strings_entry *strings = builder->t.strings.all.at;

    if (n != m)
        return strcmp(strings[n].at, strings[m].at);
    return i < k ? -1 : i > k;
}

static struct item *ordered(const struct retrace_builder *b, size_t i)
{
    return &b->items.at[b->order.at[i]];
}

static bool same_lines(const struct item *a, const struct item *b)
{
    return a->range.from != RETRACE_NONE && a->range.from == b->range.from &&
           a->range.to == b->range.to;
}

/* One behind the inline stack that begins at i: lines in a row for the same range. */
static size_t end_of_stack(const struct retrace_builder *b, size_t i, size_t end)
{
    for (i++; i < end && same_lines(ordered(b, i - 1), ordered(b, i)); i++)
        ;
    return i;
}

static uint32_t outermost(const struct retrace_builder *b, size_t stack_end)
{
    return ordered(b, stack_end - 1)->range.signature;
}

/* Flags belong to methods, by their outermost frames, wherever in the method the comment stands. */
static void gather_flags(struct retrace_builder *b, size_t i, size_t end)
{
    while (i < end) {
        i = end_of_stack(b, i, end);
        b->signature_flags.at[outermost(b, i)] |= (uint8_t)ordered(b, i - 1)->flags;
    }
}

static void forget_flags(struct retrace_builder *b, size_t i, size_t end)
{
    for (; i < end; i++)
        b->signature_flags.at[ordered(b, i)->range.signature] = 0;
}

/* Hands the item's infos over, now that its range's number is known. */
static bool add_infos(struct retrace_builder *b, const struct item *item)
{
    for (uint32_t at = item->first_info; at; at = b->pending.at[at - 1].next) {
        if (!VEC_ROOM(&b->t.mem, &b->t.infos, 1))
            return false;

        struct retrace_info_row *row = &b->t.infos.at[b->t.infos.n++];

        *row = b->pending.at[at - 1].row;
        row->range = (uint32_t)b->t.ranges.n;
    }
    return true;
}

/* Adds the ranges [i, end) as one group. */
static bool add_group(struct retrace_builder *b, size_t i, size_t end)
{
    struct retrace_tables *t = &b->t;
    uint32_t flags = b->signature_flags.at[outermost(b, end)];
    bool in_order = ordered(b, i)->range.from != RETRACE_NONE;

    for (size_t k = i + 1; k < end; k++) {
        const struct item *last = ordered(b, k - 1), *item = ordered(b, k);

        in_order &= item->range.from != RETRACE_NONE &&
                    (same_lines(last, item) || item->range.from > last->range.to);
    }
    if (!VEC_ROOM(&t->mem, &t->groups, 1) || !VEC_ROOM(&t->mem, &t->ranges, end - i))
        return false;
    t->groups.at[t->groups.n++] =
        (struct retrace_group_row){(uint32_t)t->ranges.n, flags | (in_order ? RETRACE_ORDERED : 0)};
    for (; i < end; i++) {
        struct item *item = ordered(b, i);

        item->range.infos = item->first_info != 0;
        if (!add_infos(b, item))
            return false;
        t->ranges.at[t->ranges.n++] = item->range;
    }
    return true;
}

/* Groups of the lines [i, end) of one obfuscated name: a group ends where the outermost method
 * changes. As in R8, they are one group where the first and the last method are the same. */
static bool add_groups(struct retrace_builder *b, size_t i, size_t end)
{
    size_t group = i, stack = end_of_stack(b, i, end);

    if (outermost(b, stack) == outermost(b, end))
        return add_group(b, i, end);
    while (stack < end) {
        size_t next = end_of_stack(b, stack, end);

        if (outermost(b, next) != outermost(b, stack)) {
            if (!add_group(b, group, stack))
                return false;
            group = stack;
        }
        stack = next;
    }
    return add_group(b, group, end);
}

static bool add_methods(struct retrace_builder *b)
{
    struct retrace_tables *t = &b->t;

    for (size_t i = 0, end; i < b->items.n; i = end) {
        uint32_t name = ordered(b, i)->name;

        for (end = i + 1; end < b->items.n && ordered(b, end)->name == name; end++)
            ;
        if (!VEC_ROOM(&t->mem, &t->methods, 1))
            return false;
        t->methods.at[t->methods.n++] = (struct retrace_method_row){name, (uint32_t)t->groups.n};
        gather_flags(b, i, end);
        if (!add_groups(b, i, end))
            return false;
        forget_flags(b, i, end);
    }
    return true;
}

static void end_class(struct retrace_builder *b)
{
    size_t n = b->items.n;

    if (n && !b->t.mem.failed && VEC_ROOM(&b->t.mem, &b->order, n)) {
        for (size_t i = 0; i < n; i++)
            b->order.at[i] = (uint32_t)i;
        qsort_r(b->order.at, n, sizeof *b->order.at, compare_items, b);
        if (!add_methods(b))
            b->t.mem.failed = true;
    }
    b->items.n = b->pending.n = 0;
    b->in_class = b->skip_class = b->member = false;
    b->last = NO_ITEM;
}

/* "original -> obfuscated:" */
static bool read_class(struct retrace_builder *b, struct span s)
{
    char *arrow = memmem(s.at, length(s), "->", 2);

    if (!arrow || s.end[-1] != ':')
        return false;

    struct span original = trimmed((struct span){s.at, arrow});
    struct span name = trimmed((struct span){arrow + 2, s.end - 1});

    if (!is_name(original) || !is_name(name))
        return false;
    end_class(b);
    begin_class(b, original, name);
    return true;
}

/* "from:to"; ends turned around are put right, a 0 at the end stands for the beginning: earlier
 * versions of R8 wrote such. A lone number is a range of one line. */
static bool take_range(struct span *s, uint32_t *from, uint32_t *to, bool *lone)
{
    if (!take_number(s, from))
        return false;
    *to = *from;
    skip_blanks(s);
    *lone = !accept(s, ':');
    if (*lone)
        return true;
    skip_blanks(s);
    if (!take_number(s, to))
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

    while (s.at < s.end && is_digit(*s.at))
        s.at++;
    if (s.at == start)
        return false;
    skip_blanks(&s);
    return accept(&s, ':');
}

/* "(int, java.lang.String)", into "int,java.lang.String" in place. */
static bool take_arguments(struct span *s, struct span *out)
{
    char *to = s->at;

    *out = (struct span){s->at, s->at};
    for (; s->at < s->end && *s->at != ')'; s->at++) {
        if (*s->at == '\0' || *s->at == '(')
            return false;
        if (!is_blank(*s->at))
            *to++ = *s->at;
    }
    out->end = to;
    return accept(s, ')') && length(*out) <= NAME_MAX_BYTES;
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
    skip_blanks(&s);
    if (r->from != RETRACE_NONE && !accept(&s, ':'))
        return false;
    skip_blanks(&s);
    m->type = take_name(&s, "(),:");
    skip_blanks(&s);
    m->name = take_name(&s, "(),:");
    skip_blanks(&s);
    m->method = accept(&s, '(');
    if (!is_name(m->type) || !is_name(m->name) || (m->method && !take_arguments(&s, &m->arguments)))
        return false;
    skip_blanks(&s);
    if (accept(&s, ':')) {
        skip_blanks(&s);
        if (!take_range(&s, &r->original_from, &r->original_to, &lone))
            return false;
    }
    skip_blanks(&s);
    if (!accept(&s, '-') || !accept(&s, '>'))
        return false;
    m->renamed = trimmed(s);
    return is_name(m->renamed) && (m->method || r->from == RETRACE_NONE);
}

/* A qualified name belongs to another class than the one at hand. */
static uint32_t signature_of(struct retrace_builder *b, const struct member *m)
{
    struct retrace_signature_row row = {.class = b->t.classes.at[b->t.classes.n - 1].original};
    struct span name = m->name;
    char *dot = memrchr(name.at, '.', length(name));

    if (dot && dot > name.at && dot + 1 < name.end) {
        row.class = add_string(b, (struct span){name.at, dot});
        name.at = dot + 1;
    }
    row.name = add_string(b, name);
    row.return_type = add_string(b, m->type);
    row.arguments = add_string(b, m->arguments);
    return b->t.mem.failed ? RETRACE_NONE : add_signature(b, row);
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

    uint32_t name = add_string(b, m.renamed);

    if (b->t.mem.failed || !VEC_ROOM(&b->t.mem, &b->items, 1))
        return true;
    b->last = (uint32_t)b->items.n;
    b->items.at[b->items.n++] = (struct item){.name = name, .range = m.range};
    b->t.counts.ranges++;
    return true;
}

/* Numbers of RETRACE_HEADER_NAMES that comments give. */
static void read_header(struct retrace_builder *b, struct span s)
{
    static const char *const keys[] = {"compiler", "compiler_version", "min_api", "pg_map_id",
                                       "pg_map_hash"};
    char *colon = memchr(s.at, ':', length(s));

    if (!colon)
        return;

    struct span key = trimmed((struct span){s.at, colon});
    struct span value = trimmed((struct span){colon + 1, s.end});

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (length(key) != strlen(keys[i]) || memcmp(key.at, keys[i], length(key)) != 0 ||
            b->t.names[i])
            continue;
        if (i == 4) { /* "SHA-256 hex" */
            if (length(value) < 8 || memcmp(value.at, "SHA-256 ", 8) != 0)
                return;
            value = trimmed((struct span){value.at + 8, value.end});
            b->hash_next = true;
        }
        b->t.names[i] = add_string(b, value);
    }
}

static bool is(struct retrace_text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* The version that holds from here on. What is not known is taken for a later one. */
static void read_version(struct retrace_builder *b)
{
    struct retrace_text v = b->json.version;
    struct span s = {(char *)v.at, (char *)v.at + v.len};
    uint32_t major, minor;

    if (v.len && !b->t.names[5])
        b->t.names[5] = strings_copy(&b->t.strings, v.at, v.len);
    b->version = LATER_VERSION;
    if (is(v, "none") || is(v, "experimental"))
        b->version = 0;
    else if (v.len && take_number(&s, &major) && accept(&s, '.') && take_number(&s, &minor) &&
             s.at == s.end && major < 100 && minor < 100 && major * 100 + minor <= KNOWN_VERSION)
        b->version = major * 100 + minor;
    if (b->version == LATER_VERSION)
        b->t.flags |= RETRACE_LATER_VERSION;
}

static bool put_word(struct retrace_builder *b, uint32_t word)
{
    if (!VEC_ROOM(&b->t.mem, &b->t.words, 1))
        return false;
    b->t.words.at[b->t.words.n++] = word;
    return true;
}

/* The words from `first` on are an information about the item that was read last. */
static void add_info(struct retrace_builder *b, uint32_t kind, size_t first)
{
    if (b->t.mem.failed || !VEC_ROOM(&b->t.mem, &b->pending, 1))
        return;

    struct item *item = &b->items.at[b->last];

    b->pending.at[b->pending.n++] = (struct pending){
        {.kind = kind, .first = (uint32_t)first, .n = (uint32_t)(b->t.words.n - first)}, 0};
    if (item->last_info)
        b->pending.at[item->last_info - 1].next = (uint32_t)b->pending.n;
    else
        item->first_info = (uint32_t)b->pending.n;
    item->last_info = (uint32_t)b->pending.n;
}

static int compare_positions(const void *a, const void *b)
{
    uint32_t x = ((const struct retrace_position *)a)->from;
    uint32_t y = ((const struct retrace_position *)b)->from;

    return x < y ? -1 : x > y;
}

static bool read_call_site(struct retrace_builder *b)
{
    struct retrace_json *j = &b->json;
    size_t first = b->t.words.n;

    if (j->bad_position || j->positions.n == 0)
        return false;
    qsort(j->positions.at, j->positions.n, sizeof *j->positions.at, compare_positions);
    for (size_t i = 0; i < j->positions.n; i++)
        if (!put_word(b, j->positions.at[i].from) || !put_word(b, j->positions.at[i].to))
            return true;
    add_info(b, RETRACE_CALLSITE, first);
    return true;
}

/* What stands in the parentheses of "word(…)". */
static bool unwrap(struct retrace_text t, const char *word, struct span *out)
{
    size_t n = strlen(word);

    if (t.len < n + 2 || memcmp(t.at, word, n) != 0 || t.at[n] != '(' || t.at[t.len - 1] != ')')
        return false;
    *out = (struct span){(char *)t.at + n + 1, (char *)t.at + t.len - 1};
    return true;
}

/* "throws(Ljava/lang/Exception;)" becomes the number of "java.lang.Exception"; 0: it is none. */
static uint32_t read_condition(struct retrace_builder *b, struct retrace_text t)
{
    struct span s;

    if (!unwrap(t, "throws", &s) || length(s) < 3 || *s.at != 'L' || s.end[-1] != ';')
        return 0;
    s.at++;
    s.end--;
    for (char *p = s.at; p < s.end; p++)
        if (*p == '/')
            *p = '.';
    return is_name(s) ? add_string(b, s) : 0;
}

/* A rule with a condition or an action that nobody knows is no rule. */
static bool read_rule(struct retrace_builder *b)
{
    const struct retrace_json *j = &b->json;
    size_t first = b->t.words.n;
    uint64_t remove = 0;

    for (size_t i = 0; i < j->actions.n; i++) {
        struct span s;
        uint32_t n;

        if (!unwrap(j->actions.at[i], "removeInnerFrames", &s) || !take_number(&s, &n) ||
            s.at != s.end)
            return false;
        remove += n;
    }
    if (j->conditions.n == 0 || remove == 0 || remove > RETRACE_LINE_MAX ||
        !put_word(b, (uint32_t)remove))
        return false;
    for (size_t i = 0; i < j->conditions.n; i++) {
        uint32_t thrown = read_condition(b, j->conditions.at[i]);

        if (!thrown || !put_word(b, thrown)) {
            b->t.words.n = first;
            return false;
        }
    }
    add_info(b, RETRACE_REWRITE, first);
    return true;
}

static bool flag(struct retrace_builder *b, uint32_t flag)
{
    b->items.at[b->last].flags |= flag;
    return true;
}

static bool read_synthesized(struct retrace_builder *b)
{
    return b->last == NO_ITEM || flag(b, RETRACE_SYNTHESIZED); /* classes and fields may be, too */
}

static bool read_outline(struct retrace_builder *b)
{
    return b->last != NO_ITEM && flag(b, RETRACE_OUTLINE);
}

static bool read_call_site_of(struct retrace_builder *b)
{
    return b->last != NO_ITEM && read_call_site(b);
}

static bool read_rule_of(struct retrace_builder *b)
{
    return b->last != NO_ITEM && read_rule(b);
}

static bool read_source_file(struct retrace_builder *b)
{
    struct retrace_text name = b->json.file_name;

    if (b->member || name.len == 0 || name.len > NAME_MAX_BYTES || memchr(name.at, 0, name.len))
        return false;
    b->t.classes.at[b->t.classes.n - 1].file = strings_copy(&b->t.strings, name.at, name.len);
    return true;
}

/* Names the method as the obfuscated program has it; stacks do not show that, so nothing depends
 * on it. */
static bool read_residual_signature(struct retrace_builder *b)
{
    return b->member && b->json.signature.len > 0;
}

static void read_info(struct retrace_builder *b)
{
    static const struct {
        const char *id;
        uint32_t version;
        bool (*read)(struct retrace_builder *b);
    } kinds[] = {{"sourceFile", 0, read_source_file},
                 {"com.android.tools.r8.synthesized", 100, read_synthesized},
                 {"com.android.tools.r8.rewriteFrame", 200, read_rule_of},
                 {"com.android.tools.r8.outline", 200, read_outline},
                 {"com.android.tools.r8.outlineCallsite", 200, read_call_site_of},
                 {"com.android.tools.r8.residualsignature", 202, read_residual_signature}};
    struct retrace_counts *c = &b->t.counts;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is(b->json.id, kinds[i].id))
            continue;
        if (b->skip_class)
            return;
        if (b->version < kinds[i].version)
            c->later_infos++;
        else if (b->in_class && kinds[i].read(b))
            c->infos++;
        else
            c->bad_infos++;
        return;
    }
    c->bad_infos++;
}

static void read_comment(struct retrace_builder *b, struct span s)
{
    skip_blanks(&s);
    if (s.at == s.end)
        return;
    if (*s.at != '{') {
        if (b->t.classes.n == 0 && !b->in_class)
            read_header(b, s);
        return;
    }
    if (!retrace_json_read(&b->json, &b->t.mem, s.at, length(s)))
        b->t.counts.bad_infos++;
    else if (is(b->json.id, "com.android.tools.r8.mapping"))
        read_version(b);
    else
        read_info(b);
}

static void read_line(struct retrace_builder *b, char *at, size_t len)
{
    struct span s = {at, at + len};

    if (b->lines++ == 0 && len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;

    bool indented = s.at < s.end && is_blank(*s.at);

    s = trimmed(s);
    if (s.at == s.end)
        return;
    if (*s.at == '#') {
        s.at++;
        read_comment(b, s);
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
    end_class(b);
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

        s = trimmed(s);
        if (s.at < s.end && *s.at != '#')
            return memmem(s.at, length(s), "->", 2) && (!newline || s.end[-1] == ':');
        at = newline ? newline + 1 : end;
    }
    return false;
}
