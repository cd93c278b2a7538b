#include "symbols/retrace/retrace_build_parts.h"

#include <stdlib.h>

#define KNOWN_VERSION 202u /* of the format: 100 * major + minor */
#define LATER_VERSION UINT32_MAX

/* Numbers of RETRACE_HEADER_NAMES that comments give. */
static void read_header(struct retrace_builder *b, struct span s)
{
    static const char *const keys[] = {"compiler", "compiler_version", "min_api", "pg_map_id",
                                       "pg_map_hash"};
    char *colon = memchr(s.at, ':', span_length(s));

    if (!colon)
        return;

    struct span key = span_trimmed((struct span){s.at, colon});
    struct span value = span_trimmed((struct span){colon + 1, s.end});

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (span_length(key) != strlen(keys[i]) || memcmp(key.at, keys[i], span_length(key)) != 0 ||
            b->t.names[i])
            continue;
        if (i == 4) { /* "SHA-256 hex" */
            if (span_length(value) < 8 || memcmp(value.at, "SHA-256 ", 8) != 0)
                return;
            value = span_trimmed((struct span){value.at + 8, value.end});
            b->hash_next = true;
        }
        b->t.names[i] = retrace_add_string(b, value);
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
    else if (v.len && span_take_number(&s, &major) && span_accept(&s, '.') &&
             span_take_number(&s, &minor) && s.at == s.end && major < 100 && minor < 100 &&
             major * 100 + minor <= KNOWN_VERSION)
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

    if (!unwrap(t, "throws", &s) || span_length(s) < 3 || *s.at != 'L' || s.end[-1] != ';')
        return 0;
    s.at++;
    s.end--;
    for (char *p = s.at; p < s.end; p++)
        if (*p == '/')
            *p = '.';
    return span_is_name(s) ? retrace_add_string(b, s) : 0;
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

        if (!unwrap(j->actions.at[i], "removeInnerFrames", &s) || !span_take_number(&s, &n) ||
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

void retrace_comment_read(struct retrace_builder *b, struct span s)
{
    span_skip_blanks(&s);
    if (s.at == s.end)
        return;
    if (*s.at != '{') {
        if (b->t.classes.n == 0 && !b->in_class)
            read_header(b, s);
        return;
    }
    if (!retrace_json_read(&b->json, &b->t.mem, s.at, span_length(s)))
        b->t.counts.bad_infos++;
    else if (is(b->json.id, "com.android.tools.r8.mapping"))
        read_version(b);
    else
        read_info(b);
}
