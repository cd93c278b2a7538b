/* Tables of paths as bytes: layout byte, dropped; then nodes, parents first: depth, name's number,
 * [its length and bytes the first time], x, y. */
#include "base/cursor.h"
#include "stacks/paths_parts.h"

#include <stdlib.h>
#include <string.h>

#define LAYOUT 1

/* Whether anything is counted at or below each node. */
static bool *counted_nodes(const struct trie *t)
{
    bool *counted = calloc(t->n, sizeof *counted);

    for (size_t i = t->n; counted && i-- > 1;) {
        counted[i] |= t->nodes[i].self[0] || t->nodes[i].self[1];
        counted[t->nodes[i].parent] |= counted[i];
    }
    return counted;
}

static unsigned depth_of(const struct trie *t, uint32_t node)
{
    unsigned depth = 0;

    for (; node != TRIE_ROOT; node = t->nodes[node].parent)
        depth++;
    return depth;
}

struct name_numbers {
    uint32_t *number; /* of each name, + 1 */
    uint32_t n;
};

static void write_name(const struct trie *t, uint32_t name, struct name_numbers *numbers,
                       struct buf *out)
{
    const char *text = trie_text(t, name);

    if (numbers->number[name]) {
        buf_varint(out, numbers->number[name] - 1);
        return;
    }
    buf_varint(out, numbers->n);
    numbers->number[name] = ++numbers->n;
    buf_varint(out, strlen(text));
    buf_text(out, text);
}

void paths_write(const struct paths *p, struct buf *out)
{
    const struct trie *t = p->table;
    struct err err;
    bool *counted = trie_sort(p->table, TRIE_COUNT, &err) ? counted_nodes(t) : NULL;
    struct name_numbers numbers = {.number = calloc(t->n_names + 1, sizeof(uint32_t))};

    if (!counted || !numbers.number)
        out->failed = true;
    buf_byte(out, LAYOUT);
    buf_varint(out, p->dropped);
    for (uint32_t x = TRIE_ROOT; !out->failed && x != TRIE_NONE;) {
        if (x != TRIE_ROOT && counted[x]) {
            buf_varint(out, depth_of(t, x));
            write_name(t, t->nodes[x].name, &numbers, out);
            buf_zigzag(out, t->nodes[x].self[0]);
            buf_zigzag(out, t->nodes[x].self[1]);
        }
        x = counted[x] ? trie_next(t, x, TRIE_ROOT) : trie_skip(t, x, TRIE_ROOT);
    }
    free(numbers.number);
    free(counted);
}

/* A new name, or the number of one that was there: both give its id. */
static bool read_name(struct cursor *c, struct trie *t, uint32_t *id, struct err *err)
{
    char name[PATH_STEP_MAX + 1];
    uint64_t number = cursor_uleb(c), len;
    const unsigned char *bytes;

    if (number < t->n_names && !c->failed) { /* ids are in order of first sight */
        *id = (uint32_t)number;
        return true;
    }
    len = number == t->n_names ? cursor_uleb(c) : SIZE_MAX;
    bytes = len <= PATH_STEP_MAX ? cursor_bytes(c, (size_t)len) : NULL;
    if (!bytes || memchr(bytes, '\0', (size_t)len))
        return err_set(err, ERR_INVALID, "paths: bad name at byte %zu", cursor_offset(c));
    memcpy(name, bytes, (size_t)len);
    name[len] = '\0';
    return trie_name(t, name, id, err);
}

static int64_t read_zigzag(struct cursor *c)
{
    uint64_t v = cursor_uleb(c);

    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static bool read_node(struct cursor *c, struct trie *t, uint32_t at[PATH_NGRAM_MAX + 2],
                      unsigned *depth, struct err *err)
{
    uint64_t d = cursor_uleb(c);
    uint32_t name, node;

    if (d == 0 || d > *depth + 1 || d > PATH_NGRAM_MAX + 1)
        return err_set(err, ERR_INVALID, "paths: bad depth at byte %zu", cursor_offset(c));
    if (!read_name(c, t, &name, err) || !trie_reserve(t, 1, err))
        return false;
    node = trie_make_child(t, at[d - 1], name);
    for (unsigned v = 0; v < 2; v++)
        trie_count(t, node, v, read_zigzag(c));
    at[d] = node;
    *depth = (unsigned)d;
    return !c->failed || err_set(err, ERR_INVALID, "paths: cut short");
}

static bool read_table(const void *bytes, size_t n, struct paths *into, struct err *err)
{
    struct cursor c = cursor_over(bytes, n, "paths");
    uint32_t at[PATH_NGRAM_MAX + 2] = {TRIE_ROOT};
    unsigned depth = 0;

    if (n == 0)
        return true;
    if (cursor_u8(&c) != LAYOUT)
        return err_set(err, ERR_INVALID, "paths: unknown layout");
    into->dropped = cursor_uleb(&c);
    while (cursor_left(&c) && !c.failed)
        if (!read_node(&c, into->table, at, &depth, err))
            return false;
    return !c.failed || err_set(err, ERR_INVALID, "paths: cut short");
}

bool paths_read(const void *bytes, size_t n, int sign, struct paths *into, struct err *err)
{
    struct paths *p = paths_new(into->cap);
    bool ok = p || err_set(err, ERR_INTERNAL, "out of memory");

    ok = ok && read_table(bytes, n, p, err) && paths_merge(into, p, sign, err);
    paths_free(p);
    return ok;
}
