#include "stacks/export.h"
#include "stacks/trie_parts.h"

#include <stdlib.h>
#include <string.h>

/* Writing -----------------------------------------------------------------------------------------
 */

/* Names come from symbol files, which anybody may have made: no control characters (C0, DEL, C1),
 * as utf8_is_tame() has it, reach a terminal that shows the lines. */
void fold_name(const char *name, struct buf *out)
{
    if (!*name)
        buf_byte(out, '?');
    for (; *name; name++) {
        const unsigned char *at = (const unsigned char *)name;

        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) { /* U+0080 to U+009F */
            buf_text(out, "??");
            name++;
            continue;
        }
        switch (*name) {
        case ';':
        case '\\':
            buf_byte(out, '\\');
            buf_byte(out, (uint8_t)*name);
            break;
        case '\n':
            buf_text(out, "\\n");
            break;
        case '\r':
            buf_text(out, "\\r");
            break;
        default:
            buf_byte(out, *at < ' ' || *at == 0x7f ? '?' : *at);
        }
    }
}

static void write_line(const struct trie *t, uint32_t node, int64_t value, struct buf *out)
{
    uint32_t path[TRIE_DEPTH_MAX];
    size_t n = 0;

    for (uint32_t x = node; x != TRIE_ROOT; x = trie_at(t, x).parent)
        path[n++] = x;
    while (n) {
        fold_name(trie_at(t, path[--n]).name, out);
        if (n)
            buf_byte(out, ';');
    }
    buf_byte(out, ' ');
    buf_i64(out, value);
    buf_byte(out, '\n');
}

void export_folded(const struct trie *t, enum trie_value by, struct buf *out)
{
    for (uint32_t x = TRIE_ROOT; x != TRIE_NONE; x = trie_next(t, x, TRIE_ROOT)) {
        int64_t value = trie_at(t, x).self[by];

        if (value)
            write_line(t, x, value, out);
    }
}

/* Reading -----------------------------------------------------------------------------------------
 */

/* "-12": the whole of it. */
static bool read_number(const char *text, const char *end, int64_t *out)
{
    bool minus = text < end && *text == '-';
    uint64_t v = 0;

    text += minus;
    if (text == end || end - text > 18)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        v = v * 10 + (uint64_t)(*text - '0');
    }
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* One name, unescaped, up to ';' or the end. NULL: an escape that is none. */
static const char *read_name(const char *at, const char *end, char *to)
{
    for (; at < end && *at != ';'; at++) {
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        if (++at == end || !strchr(";\\nr", *at) || !*at)
            return NULL;
        *to++ = *at == 'n' ? '\n' : *at == 'r' ? '\r' : *at;
    }
    *to = '\0';
    return at;
}

struct line {
    const char *at, *end;
    size_t number;
    char *room; /* for a name */
};

static const char *last_blank(const struct line *l)
{
    for (const char *p = l->end; p > l->at; p--)
        if (p[-1] == ' ')
            return p - 1;
    return NULL;
}

static bool bad_line(const struct line *l, struct err *err)
{
    return err_set(err, ERR_INVALID, "folded line %zu: \"name;name N\" expected", l->number);
}

static bool read_line(const struct line *l, struct trie *into, struct err *err)
{
    uint32_t names[TRIE_DEPTH_MAX];
    const char *blank = last_blank(l), *at = l->at;
    int64_t value;
    size_t n = 0;

    if (!blank || memchr(l->at, '\0', (size_t)(l->end - l->at)) ||
        !read_number(blank + 1, l->end, &value))
        return bad_line(l, err);
    while (at < blank) {
        if (n == TRIE_DEPTH_MAX)
            return err_set(err, ERR_TOO_BIG, "folded line %zu: more than %d frames", l->number,
                           TRIE_DEPTH_MAX);
        at = read_name(at, blank, l->room);
        if (!at)
            return bad_line(l, err);
        if (*l->room && !trie_name(into, l->room, &names[n++], err))
            return false;
        at += at < blank;
    }
    return trie_add_ids(into, names, n, value, 0, err);
}

bool fold_read(const char *text, size_t n, struct trie *into, struct err *err)
{
    const char *end = n ? text + n : text; /* text may be NULL */
    struct line l = {.room = malloc(n + 1)};
    bool ok = l.room || err_memory(err);

    for (const char *at = text; ok && at < end; at = l.end + 1) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        l.at = at;
        l.end = stop ? stop : end;
        l.number++;
        if (l.at < l.end)
            ok = read_line(&l, into, err);
    }
    free(l.room);
    return ok;
}
