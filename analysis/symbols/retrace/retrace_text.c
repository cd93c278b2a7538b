/* Stacks as text: which parts of a line are names, and the lines R8 prints in its place. */
#include "symbols/retrace/retrace_index.h"
#include "symbols/retrace/retrace_memo.h"

#include <string.h>

#define MAP_ID_PREFIX "r8-map-id-"
#define MEMO_FROM_BYTES 65536u          /* a shorter stack repeats little */
#define SCRATCH_BYTES ((size_t)1 << 20) /* of the arena behind one line */

struct text {
    const char *at;
    size_t len;
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a class or method name; as R8 has it, so dots, slashes and what is not ASCII are among them.
 */
static bool is_name(char c)
{
    return !is_space(c) && c != '\0' && !strchr("[];:()<>", c);
}

static bool is_word(char c)
{
    return is_digit(c) || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t skip_spaces(struct text t, size_t at)
{
    while (at < t.len && is_space(t.at[at]))
        at++;
    return at;
}

static size_t skip_name(struct text t, size_t at)
{
    if (at < t.len && is_digit(t.at[at]))
        return at;
    while (at < t.len && is_name(t.at[at]))
        at++;
    return at;
}

static bool begins(struct text t, size_t at, const char *word)
{
    size_t n = strlen(word);

    return t.len - at >= n && memcmp(t.at + at, word, n) == 0;
}

static size_t skip_initializer(struct text t, size_t at)
{
    return begins(t, at, "<init>") ? at + 6 : begins(t, at, "<clinit>") ? at + 8 : at;
}

/* Splits "a.b.method" into class and method: at the last dot that a digit does not follow. */
static bool split_name(struct text t, size_t start, size_t end, size_t *method)
{
    for (size_t i = end; i > start + 1; i--)
        if (t.at[i - 1] == '.' && i < end && !is_digit(t.at[i])) {
            *method = i;
            return true;
        }
    return false;
}

/* The parenthesis that closes a frame's source file: the last one with nothing behind it but spaces
 * and perhaps "~[classes.jar:1.0]". 0: none. */
static size_t find_close(struct text t)
{
    for (size_t i = t.len; i > 1; i--) {
        size_t rest = i;

        if (t.at[i - 1] != ')')
            continue;
        while (rest < t.len && t.at[rest] == ' ')
            rest++;
        if (rest == t.len || (begins(t, rest, "~[") && t.at[t.len - 1] == ']'))
            return i - 1;
    }
    return 0;
}

static int64_t read_number(const char *at, size_t len)
{
    int64_t v = 0;

    for (size_t i = 0; i < len; i++) {
        v = v * 10 + (at[i] - '0');
        if (v > INT32_MAX)
            return RETRACE_NO_LINE;
    }
    return len ? v : RETRACE_NO_LINE;
}

static void read_file(struct text t, size_t start, size_t end, struct retrace_line *out)
{
    size_t number = end;

    while (number > start && is_digit(t.at[number - 1]))
        number--;
    out->file_at = start;
    out->line_end = end;
    if (number == end || number == start || t.at[number - 1] != ':') {
        out->line_at = end;
        out->query.line = RETRACE_NO_LINE;
    } else {
        out->line_at = number - 1;
        out->query.line = read_number(t.at + number, end - number);
    }
    out->query.file = t.at + start;
    out->query.file_len = out->line_at - start;
}

/* What stands behind "at ": [loader/module/]class.method (file:line). */
static bool read_frame(struct text t, size_t at, size_t close, struct retrace_line *out)
{
    size_t start = skip_spaces(t, at), end = skip_name(t, start), method;

    if (start == at || end == start)
        return false;
    if (end < t.len && t.at[end] == '<') {
        method = end;
        end = skip_initializer(t, end);
        if (end == method || t.at[method - 1] != '.')
            return false;
    } else if (!split_name(t, start, end, &method)) {
        return false;
    }

    size_t open = skip_spaces(t, end);

    if (open >= close || t.at[open] != '(')
        return false;
    for (size_t i = start; i < method; i++)
        if (t.at[i] == '/')
            start = i + 1;
    if (method - start < 2)
        return false;
    out->kind = RETRACE_LINE_FRAME;
    out->class_at = start;
    out->method_at = method;
    out->query.class_name = t.at + start;
    out->query.class_len = method - 1 - start;
    out->query.method = t.at + method;
    out->query.method_len = end - method;
    read_file(t, open + 1, close, out);
    return true;
}

static bool find_frame(struct text t, struct retrace_line *out)
{
    size_t close = find_close(t);
    const char *end = t.at + close;

    for (const char *p = t.at; p < end && (p = memchr(p, 'a', (size_t)(end - p))); p++) {
        size_t i = (size_t)(p - t.at);

        if (begins(t, i, "at") && (i == 0 || !is_word(t.at[i - 1])) &&
            read_frame(t, i + 2, close, out))
            return true;
    }
    return false;
}

/* Takes the name at `at` for that of an exception, if it can be one. */
static bool take_exception(struct text t, size_t at, struct retrace_line *out)
{
    size_t end = skip_name(t, at);

    if (end == at || (end < t.len && t.at[end] != ':' && t.at[end] != ']') ||
        (end - at == 10 && begins(t, at, "Suppressed")))
        return false;
    for (size_t i = at; i < end; i++)
        if (t.at[i] == '/')
            at = i + 1;
    if (at == end)
        return false;
    out->kind = RETRACE_LINE_EXCEPTION;
    out->class_at = at;
    out->query.class_name = t.at + at;
    out->query.class_len = end - at;
    return true;
}

static size_t behind_prefix(struct text t)
{
    static const char *const prefixes[] = {"Caused by: ", "Suppressed: ", "[CIRCULAR REFERENCE:"};
    size_t at = skip_spaces(t, 0);

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(t, at, prefixes[i]))
            return skip_spaces(t, at + strlen(prefixes[i]));
    return 0;
}

/* The first word that may name an exception and either has a dot or is known to the mapping: words
 * of the message stand behind it. Such words begin the line, or stand behind a colon or quote. */
static bool find_exception(const struct retrace *r, struct text t, struct retrace_line *out)
{
    size_t prefix = behind_prefix(t);

    if (prefix)
        return take_exception(t, prefix, out);
    for (size_t at = 0; at < t.len;) {
        const struct retrace_query *q = &out->query;

        if (take_exception(t, at, out) && (memchr(q->class_name, '.', q->class_len) ||
                                           (r && retrace_class(r, q->class_name, q->class_len))))
            return true;
        while (at < t.len &&
               ((t.at[at] != ':' && t.at[at] != '"') || at + 1 == t.len || !is_space(t.at[at + 1])))
            at++;
        at = at < t.len ? skip_spaces(t, at + 1) : t.len;
    }
    return false;
}

void retrace_read_line(const struct retrace *r, const char *text, size_t len,
                       struct retrace_line *out)
{
    static const struct retrace_line other = {.kind = RETRACE_LINE_OTHER,
                                              .query = {.line = RETRACE_NO_LINE}};
    struct text t = {text, len};

    *out = other;
    if (len > RETRACE_LINE_BYTES_MAX || find_frame(t, out))
        return;
    if (!find_exception(r, t, out))
        *out = other;
}

const char *retrace_file_map_id(const char *file, size_t file_len, size_t *id_len)
{
    size_t n = sizeof MAP_ID_PREFIX - 1;

    if (file_len <= n || memcmp(file, MAP_ID_PREFIX, n) != 0)
        return NULL;
    *id_len = file_len - n;
    return file + n;
}

/* One line being printed. */
struct print {
    bool verbose;
    struct text line;
    struct retrace_line parts;
    struct retrace_result result;
    struct buf *out;
};

/* Whether the frame's own line replaces what the obfuscated line has. */
static bool prints_line(const struct print *p, const struct retrace_frame *f)
{
    return f->line != RETRACE_NO_LINE &&
           (p->parts.query.line > RETRACE_NO_LINE || !p->result.ambiguous || p->verbose);
}

static bool looks_equal(const struct print *p, const struct retrace_frame *a,
                        const struct retrace_frame *b)
{
    if (a->class_name != b->class_name || a->method != b->method ||
        (p->verbose && (a->return_type != b->return_type || a->arguments != b->arguments)))
        return false;
    return a->line == b->line || (a->line <= 0 && b->line <= 0) ||
           (!prints_line(p, a) && !prints_line(p, b));
}

/* What stands before the frame, with "<OR> " where an alternative begins. */
static void put_head(const struct print *p, bool or)
{
    size_t at = 0, end = p->parts.class_at;

    if (or) {
        while (at + 3 <= end && memcmp(p->line.at + at, "at ", 3) != 0)
            at++;
        if (at + 3 > end)
            at = skip_spaces(p->line, 0);
        buf_put(p->out, p->line.at, at);
        buf_text(p->out, "<OR> ");
    }
    buf_put(p->out, p->line.at + at, end - at);
}

static void put_method(const struct print *p, const struct retrace_frame *f)
{
    if (!p->verbose || !f->mapped) {
        buf_text(p->out, f->method);
        return;
    }
    buf_text(p->out, f->return_type);
    buf_byte(p->out, ' ');
    buf_text(p->out, f->method);
    buf_byte(p->out, '(');
    buf_text(p->out, f->arguments);
    buf_byte(p->out, ')');
}

static void put_frame(const struct print *p, const struct retrace_frame *f, bool or)
{
    const struct retrace_line *l = &p->parts;
    size_t method_end = l->method_at + l->query.method_len;

    put_head(p, or);
    buf_text(p->out, f->class_name);
    buf_byte(p->out, '.');
    put_method(p, f);
    buf_put(p->out, p->line.at + method_end, l->file_at - method_end);
    buf_text(p->out, f->file);
    if (!prints_line(p, f)) {
        buf_put(p->out, p->line.at + l->line_at, l->line_end - l->line_at);
    } else if (f->line > 0) {
        buf_byte(p->out, ':');
        buf_i64(p->out, f->line);
    }
    buf_put(p->out, p->line.at + l->line_end, p->line.len - l->line_end);
    buf_byte(p->out, '\n');
}

static bool seen_before(const struct print *p, size_t alternative, size_t depth)
{
    const struct retrace_alternative *all = p->result.at;

    for (size_t i = 0; i < alternative; i++)
        if (depth < all[i].n &&
            looks_equal(p, &all[i].frames[depth], &all[alternative].frames[depth]))
            return true;
    return false;
}

/* All alternatives' innermost frames, then all their next ones, and so on; what looks the same
 * stands once. */
static void put_alternatives(const struct print *p)
{
    const struct retrace_alternative *all = p->result.at;
    bool more = true;

    for (size_t depth = 0; more; depth++) {
        more = false;
        for (size_t i = 0; i < p->result.n; i++) {
            if (depth >= all[i].n)
                continue;
            more = true;
            if (!seen_before(p, i, depth))
                put_frame(p, &all[i].frames[depth], i > 0);
        }
    }
}

static void put_exception(const struct retrace *r, const struct print *p,
                          struct retrace_context *context)
{
    const struct retrace_query *q = &p->parts.query;
    const char *original = retrace_class(r, q->class_name, q->class_len);
    size_t behind = p->parts.class_at + q->class_len;

    buf_put(p->out, p->line.at, p->parts.class_at);
    if (original)
        buf_text(p->out, original);
    else
        buf_put(p->out, q->class_name, q->class_len);
    buf_put(p->out, p->line.at + behind, p->line.len - behind);
    buf_byte(p->out, '\n');
    retrace_thrown(r, q->class_name, q->class_len, context);
}

static bool out_ok(const struct buf *out, struct err *err)
{
    return buf_ok(out) || err_set(err, ERR_TOO_BIG, "the retraced stack is too long");
}

static bool is_plain(const struct retrace_context *c)
{
    return c->thrown == 0 && c->outline_line == 0;
}

static bool print_frame(const struct retrace *r, struct print *p, struct retrace_memo *memo,
                        struct retrace_context *context, struct arena *scratch, struct err *err)
{
    size_t start = p->out->len;
    bool plain = is_plain(context);

    arena_reset(scratch);
    if (!retrace_lookup_as(r, &p->parts.query, p->verbose, context, scratch, &p->result))
        return err_full(err, "a frame");
    put_alternatives(p);
    if (memo && plain && is_plain(context) && buf_ok(p->out))
        retrace_memo_keep(memo, p->line.at, p->line.len, (const char *)p->out->at + start,
                          p->out->len - start);
    return true;
}

bool retrace_print_line(const struct retrace *r, const struct retrace_print *options,
                        const char *line, size_t len, struct retrace_context *context,
                        struct arena *scratch, struct buf *out, struct err *err)
{
    struct print p = {.verbose = options && options->verbose, .line = {line, len}, .out = out};
    struct retrace_memo *memo = options ? options->memo : NULL;
    const char *known;
    size_t known_len;

    if (memo && is_plain(context) && retrace_memo_find(memo, line, len, &known, &known_len)) {
        buf_put(out, known, known_len);
        return out_ok(out, err);
    }
    retrace_read_line(r, line, len, &p.parts);
    if (p.parts.kind == RETRACE_LINE_OTHER) {
        buf_put(out, line, len);
        buf_byte(out, '\n');
    } else if (p.parts.kind == RETRACE_LINE_EXCEPTION) {
        put_exception(r, &p, context);
    } else if (!print_frame(r, &p, memo, context, scratch, err)) {
        return false;
    }
    return out_ok(out, err);
}

bool retrace_print_text(const struct retrace *r, const struct retrace_print *options,
                        const char *text, size_t len, struct buf *out, struct err *err)
{
    struct retrace_context context = {0, 0};
    struct arena *scratch = arena_new(SCRATCH_BYTES);
    struct retrace_print o = options ? *options : (struct retrace_print){0};
    struct retrace_memo *own =
        o.memo || len < MEMO_FROM_BYTES ? NULL : (o.memo = retrace_memo_new());
    bool ok = scratch || err_memory(err);

    while (ok && len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t)(newline - text) : len;
        size_t whole = n + (newline != NULL);

        ok = retrace_print_line(r, &o, text, n - (n > 0 && text[n - 1] == '\r'), &context, scratch,
                                out, err);
        text += whole;
        len -= whole;
    }
    retrace_memo_free(own);
    arena_free(scratch);
    return ok;
}
