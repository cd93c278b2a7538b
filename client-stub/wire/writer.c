#include "wire/writer.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

#define VARINT_MAX 10

static size_t put_varint(unsigned char out[VARINT_MAX], uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        out[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (unsigned char)value;
    return n;
}

/* Not inlined: in one file with all of its callers it would take 10 KB. */
__attribute__((noinline)) void fw_pb_varint(struct fw_buf *b, uint64_t value)
{
    unsigned char bytes[VARINT_MAX];

    fw_buf_add(b, bytes, put_varint(bytes, value));
}

static void tag(struct fw_buf *b, uint32_t field, enum wire_type type)
{
    fw_pb_varint(b, (uint64_t)field << 3 | (uint64_t)type);
}

uint64_t fw_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

void fw_pb_u64(struct fw_buf *b, uint32_t field, uint64_t value)
{
    tag(b, field, WIRE_VARINT);
    fw_pb_varint(b, value);
}

void fw_pb_s64(struct fw_buf *b, uint32_t field, int64_t value)
{
    fw_pb_u64(b, field, fw_zigzag(value));
}

void fw_pb_float(struct fw_buf *b, uint32_t field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    tag(b, field, WIRE_FIXED32);
    fw_buf_add(b,
               (unsigned char[]){(unsigned char)bits, (unsigned char)(bits >> 8),
                                 (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)},
               4);
}

void fw_pb_bytes(struct fw_buf *b, uint32_t field, const void *bytes, size_t n)
{
    tag(b, field, WIRE_LENGTH);
    fw_pb_varint(b, n);
    fw_buf_add(b, bytes, n);
}

/* Length of the well-formed UTF-8 character at s (Unicode table 3-7), 0 if there is none. Stops at
 * the NUL because no continuation byte is 0. */
static size_t character(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    if (s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

static void add_utf8(struct fw_buf *b, const unsigned char *s, size_t max)
{
    while (*s) {
        size_t n = character(s);

        if ((n ? n : 1) > max)
            return;
        fw_buf_add(b, n ? (const void *)s : "?", n ? n : 1);
        s += n ? n : 1;
        max -= n ? n : 1;
    }
}

void fw_pb_text(struct fw_buf *b, uint32_t field, const char *text, size_t max)
{
    if (!text || !*text)
        return;
    size_t place = fw_pb_open(b, field);
    add_utf8(b, (const unsigned char *)text, max);
    fw_pb_close(b, place);
}

size_t fw_pb_open(struct fw_buf *b, uint32_t field)
{
    tag(b, field, WIRE_LENGTH);
    return b->len;
}

void fw_pb_close(struct fw_buf *b, size_t place)
{
    unsigned char head[VARINT_MAX];

    if (b->failed)
        return;
    size_t body = b->len - place;
    size_t n = put_varint(head, body);

    if (!fw_buf_room(b, n))
        return;
    memmove(b->at + place + n, b->at + place, body);
    memcpy(b->at + place, head, n);
}
