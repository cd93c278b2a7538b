#include "base/cursor.h"

#include <string.h>

struct cursor cursor_over(const void *bytes, size_t size, const char *name)
{
    const unsigned char *start = bytes;

    return (struct cursor){start, start, size ? start + size : start, name, false};
}

size_t cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

size_t cursor_offset(const struct cursor *c)
{
    return (size_t)(c->at - c->start);
}

void cursor_seek(struct cursor *c, size_t offset)
{
    if (offset > (size_t)(c->end - c->start))
        c->failed = true;
    else if (offset)
        c->at = c->start + offset;
    else
        c->at = c->start; /* which may be NULL, of an empty cursor */
}

const unsigned char *cursor_bytes(struct cursor *c, size_t n)
{
    if (c->failed || n > cursor_left(c)) {
        c->failed = true;
        return NULL;
    }

    const unsigned char *p = c->at;

    c->at += n;
    return p;
}

const char *cursor_string(struct cursor *c)
{
    const void *end = c->failed || c->at == c->end ? NULL : memchr(c->at, 0, cursor_left(c));

    if (!end) {
        c->failed = true;
        return NULL;
    }

    const char *s = (const char *)c->at;

    c->at = (const unsigned char *)end + 1;
    return s;
}

static uint64_t little(struct cursor *c, unsigned n)
{
    const unsigned char *p = cursor_bytes(c, n);
    uint64_t v = 0;

    for (unsigned i = n; p && i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

static uint64_t big(struct cursor *c, unsigned n)
{
    const unsigned char *p = cursor_bytes(c, n);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < n; i++)
        v = v << 8 | p[i];
    return v;
}

uint8_t cursor_u8(struct cursor *c)
{
    return (uint8_t)little(c, 1);
}
uint16_t cursor_u16le(struct cursor *c)
{
    return (uint16_t)little(c, 2);
}
uint32_t cursor_u32le(struct cursor *c)
{
    return (uint32_t)little(c, 4);
}
uint64_t cursor_u64le(struct cursor *c)
{
    return little(c, 8);
}
uint32_t cursor_u32be(struct cursor *c)
{
    return (uint32_t)big(c, 4);
}
uint64_t cursor_u64be(struct cursor *c)
{
    return big(c, 8);
}

uint64_t cursor_uleb(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = cursor_u8(c);

        if (c->failed)
            return 0;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if ((shift == 63 && (byte & 0x7e)) || (shift > 63 && (byte & 0x7f))) {
            c->failed = true;
            return 0;
        }
        if (!(byte & 0x80))
            return v;
    }
}

int64_t cursor_sleb(struct cursor *c)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = cursor_u8(c);
        if (c->failed)
            return 0;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        v |= UINT64_MAX << shift;
    return (int64_t)v;
}
