/* The part of libzstd that the SDK calls, for a processor whose libzstd is not at hand: frames are
 * valid, of raw blocks, and only such frames are read (RFC 8878). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define BLOCK ((size_t)128 << 10)
#define FRAME_HEADER 9 /* magic, descriptor, four bytes of size */
#define BLOCK_HEADER 3
#define FAILED ((size_t)-1)

struct ZSTD_CCtx_s {
    int none;
};
struct ZSTD_DCtx_s {
    unsigned char head[FRAME_HEADER];
    size_t have, left; /* of a header; of a block's bytes */
    int in_frame, last;
};

ZSTD_CCtx *ZSTD_createCCtx_advanced(ZSTD_customMem memory)
{
    (void)memory; /* the game of this test has malloc */
    return calloc(1, sizeof(ZSTD_CCtx));
}

size_t ZSTD_freeCCtx(ZSTD_CCtx *c)
{
    free(c);
    return 0;
}

size_t ZSTD_sizeof_CCtx(const ZSTD_CCtx *c)
{
    return sizeof *c;
}

size_t ZSTD_CCtx_setParameter(ZSTD_CCtx *c, ZSTD_cParameter parameter, int value)
{
    (void)c, (void)parameter, (void)value;
    return 0;
}

unsigned ZSTD_isError(size_t code)
{
    return code > (size_t)-100;
}

size_t ZSTD_compressBound(size_t size)
{
    return size + FRAME_HEADER + BLOCK_HEADER * (size / BLOCK + 1);
}

size_t ZSTD_compress2(ZSTD_CCtx *c, void *out, size_t room, const void *bytes, size_t n)
{
    unsigned char *at = out;
    const unsigned char *from = bytes;

    (void)c;
    if (room < ZSTD_compressBound(n))
        return FAILED;
    memcpy(at, "\x28\xb5\x2f\xfd\xa0", 5); /* one segment, its size in four bytes */
    for (int i = 0; i < 4; i++)
        at[5 + i] = (unsigned char)(n >> 8 * i);
    at += FRAME_HEADER;
    for (size_t left = n, size;; left -= size) {
        uint32_t head;

        size = left < BLOCK ? left : BLOCK;
        head = (uint32_t)(size << 3) | (size == left);
        for (int i = 0; i < BLOCK_HEADER; i++)
            *at++ = (unsigned char)(head >> 8 * i);
        memcpy(at, from, size);
        at += size, from += size;
        if (size == left)
            return (size_t)(at - (unsigned char *)out);
    }
}

ZSTD_DStream *ZSTD_createDStream_advanced(ZSTD_customMem memory)
{
    (void)memory;
    return calloc(1, sizeof(ZSTD_DStream));
}

size_t ZSTD_freeDStream(ZSTD_DStream *d)
{
    free(d);
    return 0;
}

size_t ZSTD_initDStream(ZSTD_DStream *d)
{
    memset(d, 0, sizeof *d);
    return FRAME_HEADER;
}

/* A whole header is there: 0, or that it is none of ours. */
static int take_header(ZSTD_DStream *d)
{
    uint32_t head = d->head[0] | (uint32_t)d->head[1] << 8 | (uint32_t)d->head[2] << 16;

    d->have = 0;
    if (!d->in_frame) {
        d->in_frame = 1;
        return memcmp(d->head, "\x28\xb5\x2f\xfd\xa0", 5) != 0;
    }
    d->last = head & 1;
    d->left = head >> 3;
    return (head >> 1 & 3) != 0 || d->left > BLOCK;
}

size_t ZSTD_decompressStream(ZSTD_DStream *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
    for (;;) {
        size_t n = d->left;

        if (n > in->size - in->pos)
            n = in->size - in->pos;
        if (n > out->size - out->pos)
            n = out->size - out->pos;
        memcpy((char *)out->dst + out->pos, (const char *)in->src + in->pos, n);
        out->pos += n, in->pos += n, d->left -= n;
        if (d->left)
            return d->left;
        if (d->last) {
            memset(d, 0, sizeof *d);
            return 0;
        }
        while (d->have < (d->in_frame ? BLOCK_HEADER : FRAME_HEADER)) {
            if (in->pos == in->size)
                return 1;
            d->head[d->have++] = ((const unsigned char *)in->src)[in->pos++];
        }
        if (take_header(d))
            return FAILED;
    }
}
