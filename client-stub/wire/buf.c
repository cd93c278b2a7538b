#include "wire/buf.h"

#include <string.h>

#define FIRST_CAP 1024u

void fw_buf_init(struct fw_buf *b, size_t max)
{
    fw_buf_init_in(b, max, NULL);
}

void fw_buf_init_in(struct fw_buf *b, size_t max, const struct fw_allocator *memory)
{
    *b = (struct fw_buf){.max = max, .owned = true, .memory = memory};
}

void fw_buf_over(struct fw_buf *b, void *memory, size_t cap)
{
    *b = (struct fw_buf){.at = memory, .cap = cap, .max = cap};
}

void fw_buf_fini(struct fw_buf *b)
{
    if (b->owned)
        fw_release(b->memory, b->at);
    *b = (struct fw_buf){0};
}

void fw_buf_reset(struct fw_buf *b)
{
    b->len = 0;
    b->failed = false;
}

static bool grow(struct fw_buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap : FIRST_CAP;

    if (!b->owned || need > b->max)
        return false;
    while (cap < need)
        cap = cap > b->max / 2 ? b->max : cap * 2;

    unsigned char *at = fw_alloc(b->memory, cap);
    if (!at)
        return false;
    if (b->len)
        memcpy(at, b->at, b->len);
    fw_release(b->memory, b->at);
    b->at = at;
    b->cap = cap;
    return true;
}

void *fw_buf_room(struct fw_buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (n > b->max - b->len || (n > b->cap - b->len && !grow(b, b->len + n))) {
        b->failed = true;
        return NULL;
    }
    void *room = b->at + b->len;
    b->len += n;
    return room;
}

void fw_buf_add(struct fw_buf *b, const void *bytes, size_t n)
{
    void *room = n ? fw_buf_room(b, n) : NULL;

    if (room)
        memcpy(room, bytes, n);
}
