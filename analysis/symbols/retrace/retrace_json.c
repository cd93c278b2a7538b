#include "symbols/retrace/retrace_json.h"

#include <string.h>

#define DEPTH_MAX 16 /* of nesting in what is skipped */

struct reader {
    char *at, *end;
    struct mem *mem;
    struct retrace_json *j;
};

static void skip_spaces(struct reader *r)
{
    while (r->at < r->end && (unsigned char)*r->at <= ' ')
        r->at++;
}

static bool accept(struct reader *r, char c)
{
    skip_spaces(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

static bool read_hex(struct reader *r, uint32_t *out)
{
    uint32_t v = 0;

    if (r->end - r->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++, lower = (char)(c | 32);

        if (c >= '0' && c <= '9')
            v = v * 16 + (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v * 16 + (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return v != 0 && (v < 0xd800 || v > 0xdfff); /* names beyond are not among class files */
}

/* An escape takes at least the bytes of what it stands for, so decoding in place is safe. */
static char *read_escape(struct reader *r, char *to)
{
    static const char from[] = "nrtbf", into[] = "\n\r\t\b\f";
    char c = *r->at++;
    const char *known = c ? strchr(from, c) : NULL;
    uint32_t code;

    if (c == 'u')
        return read_hex(r, &code) ? put_utf8(to, code) : NULL;
    *to = known ? into[known - from] : c;
    return *to ? to + 1 : NULL;
}

static bool read_quoted(struct reader *r, struct retrace_text *out)
{
    char quote = *r->at++, *start = r->at, *to = start;

    while (r->at < r->end && *r->at != quote) {
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        r->at++;
        if (r->at == r->end || !(to = read_escape(r, to)))
            return false;
    }
    *out = (struct retrace_text){start, (size_t)(to - start)};
    return r->at++ < r->end;
}

/* A string, or a word or number without quotes. */
static bool read_text(struct reader *r, struct retrace_text *out)
{
    skip_spaces(r);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        return read_quoted(r, out);

    char *start = r->at;

    while (r->at < r->end && (unsigned char)*r->at > ' ' && !strchr("{}[]:,\"'", *r->at))
        r->at++;
    *out = (struct retrace_text){start, (size_t)(r->at - start)};
    return r->at > start;
}

static bool skip_value(struct reader *r)
{
    struct retrace_text text;
    int depth = 0;

    do {
        skip_spaces(r);
        if (r->at == r->end)
            return false;
        if (*r->at == '{' || *r->at == '[') {
            r->at++;
            if (++depth > DEPTH_MAX)
                return false;
        } else if (*r->at == '}' || *r->at == ']') {
            r->at++;
            if (--depth < 0)
                return false;
        } else if (*r->at == ',' || *r->at == ':') {
            if (depth == 0)
                return false;
            r->at++;
        } else if (!read_text(r, &text)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static bool read_number(struct retrace_text t, uint32_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(t.at[i] - '0');
        if (v > INT32_MAX)
            return false;
    }
    *out = (uint32_t)v;
    return t.len > 0;
}

static bool read_positions(struct reader *r)
{
    struct retrace_json *j = r->j;
    struct retrace_text key, value;

    if (!accept(r, '{'))
        return false;
    if (accept(r, '}'))
        return true;
    do {
        struct retrace_position p;

        if (!read_text(r, &key) || !accept(r, ':') || !read_text(r, &value))
            return false;
        if (!read_number(key, &p.from) || !read_number(value, &p.to)) {
            j->bad_position = true;
            continue;
        }
        if (!VEC_ROOM(r->mem, &j->positions, 1))
            return false;
        j->positions.at[j->positions.n++] = p;
    } while (accept(r, ','));
    return accept(r, '}');
}

static bool read_list(struct reader *r, struct retrace_texts *to)
{
    struct retrace_text text;

    if (!accept(r, '['))
        return false;
    if (accept(r, ']'))
        return true;
    do {
        if (!read_text(r, &text) || !VEC_ROOM(r->mem, to, 1))
            return false;
        to->at[to->n++] = text;
    } while (accept(r, ','));
    return accept(r, ']');
}

static bool is(struct retrace_text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

static bool read_field(struct reader *r)
{
    struct retrace_json *j = r->j;
    struct retrace_text key;

    if (!read_text(r, &key) || !accept(r, ':'))
        return false;
    if (is(key, "id"))
        return read_text(r, &j->id);
    if (is(key, "version"))
        return read_text(r, &j->version);
    if (is(key, "fileName"))
        return read_text(r, &j->file_name);
    if (is(key, "signature"))
        return read_text(r, &j->signature);
    if (is(key, "positions"))
        return read_positions(r);
    if (is(key, "conditions"))
        return read_list(r, &j->conditions);
    if (is(key, "actions"))
        return read_list(r, &j->actions);
    return skip_value(r);
}

bool retrace_json_read(struct retrace_json *j, struct mem *mem, char *text, size_t len)
{
    struct reader r = {text, text + len, mem, j};

    j->id = j->version = j->file_name = j->signature = (struct retrace_text){"", 0};
    j->conditions.n = j->actions.n = j->positions.n = 0;
    j->bad_position = false;
    if (!accept(&r, '{'))
        return false;
    if (accept(&r, '}'))
        return true;
    do {
        if (!read_field(&r))
            return false;
    } while (accept(&r, ','));
    return accept(&r, '}');
}

void retrace_json_fini(struct retrace_json *j, struct mem *mem)
{
    VEC_FREE(mem, &j->conditions);
    VEC_FREE(mem, &j->actions);
    VEC_FREE(mem, &j->positions);
}
