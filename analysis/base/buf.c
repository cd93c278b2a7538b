#include "base/buf.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t cap)
{
    *b = (struct buf){.cap = cap};
}

void buf_fini(struct buf *b)
{
    free(b->at);
    *b = (struct buf){.cap = b->cap};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

bool buf_ok(const struct buf *b)
{
    return !b->failed;
}

static bool room_for(struct buf *b, size_t n)
{
    if (b->failed || n > b->cap - b->len) {
        b->failed = true;
        return false;
    }
    if (n <= b->size - b->len)
        return true;

    size_t size = b->size ? b->size : 256;

    while (size - b->len < n)
        size = size > b->cap / 2 ? b->cap : size * 2;

    unsigned char *at = realloc(b->at, size);

    if (!at) {
        b->failed = true;
        return false;
    }
    b->at = at;
    b->size = size;
    return true;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
    if (!n || !room_for(b, n))
        return;
    memcpy(b->at + b->len, bytes, n);
    b->len += n;
}

void buf_text(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_byte(struct buf *b, uint8_t byte)
{
    buf_put(b, &byte, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    char small[256];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        buf_put(b, small, (size_t)n);
        return;
    }
    if (!room_for(b, (size_t)n + 1))
        return;
    va_start(ap, fmt);
    vsnprintf((char *)b->at + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void buf_json_string(struct buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    buf_byte(b, '"');
    while (*s) {
        size_t n = utf8_length(s);

        if (n == 0) {
            buf_text(b, "\\ufffd");
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            buf_byte(b, '\\');
            buf_byte(b, *s);
        } else if (*s < 0x20) {
            buf_printf(b, "\\u%04x", *s);
        } else {
            buf_put(b, s, n);
        }
        s += n;
    }
    buf_byte(b, '"');
}

void buf_i64(struct buf *b, int64_t v)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        text[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        text[--at] = '-';
    buf_put(b, text + at, sizeof text - at);
}

void buf_varint(struct buf *b, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (unsigned char)(v | 0x80);
    bytes[n++] = (unsigned char)v;
    buf_put(b, bytes, n);
}

void buf_zigzag(struct buf *b, int64_t v)
{
    buf_varint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

unsigned char *buf_steal(struct buf *b, size_t *len)
{
    unsigned char *at = b->failed ? NULL : b->at;

    if (!b->failed) {
        *len = b->len;
        b->at = NULL;
    }
    buf_fini(b);
    return at;
}
