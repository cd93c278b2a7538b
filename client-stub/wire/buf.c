#include "wire/buf.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 1024u

void fw_buf_init(struct fw_buf *b, size_t max)
{
    *b = (struct fw_buf){.max = max, .owned = true};
}

void fw_buf_over(struct fw_buf *b, void *memory, size_t cap)
{
    *b = (struct fw_buf){.at = memory, .cap = cap, .max = cap};
}

void fw_buf_fini(struct fw_buf *b)
{
    if (b->owned)
        free(b->at);
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

    unsigned char *at = realloc(b->at, cap);
    if (!at)
        return false;
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
