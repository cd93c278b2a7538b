#include "symbols/sink.h"

#include "symbols/symcache_format.h"

#include <string.h>

void sink_flush(struct sink *s)
{
    if (s->n && !s->failed)
        s->failed = !s->take(s->ctx, s->bytes, s->n);
    s->written += s->n;
    s->n = 0;
}

void sink_bytes(struct sink *s, const void *bytes, size_t n)
{
    if (n > sizeof s->bytes - s->n)
        sink_flush(s);
    if (n > sizeof s->bytes) {
        s->failed = s->failed || !s->take(s->ctx, bytes, n);
        s->written += n;
        return;
    }
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}

void sink_u32(struct sink *s, uint32_t v)
{
    unsigned char word[4];

    store32(word, v);
    sink_bytes(s, word, sizeof word);
}
