#include "platform/peek.h"

void fw_peeker_init(struct fw_peeker *p, uint64_t at, uint64_t end)
{
    p->at = at;
    p->end = end;
    p->loaded = p->failed = false;
}

uint8_t fw_peek_u8(struct fw_peeker *p)
{
    uint64_t base = p->at & ~(uint64_t)(FW_PEEK_WINDOW - 1);

    if (p->failed || p->at >= p->end) {
        p->failed = true;
        return 0;
    }
    if (!p->loaded || p->base != base) {
        p->loaded = fw_peek(base, p->window, FW_PEEK_WINDOW);
        p->base = base;
        if (!p->loaded) {
            p->failed = true;
            return 0;
        }
    }
    return p->window[p->at++ - base];
}

uint64_t fw_peek_le(struct fw_peeker *p, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)fw_peek_u8(p) << (8 * i);
    return value;
}

uint64_t fw_peek_uleb(struct fw_peeker *p)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = fw_peek_u8(p);

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    p->failed = true;
    return 0;
}

int64_t fw_peek_sleb(struct fw_peeker *p)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = fw_peek_u8(p);

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    p->failed = true;
    return 0;
}
