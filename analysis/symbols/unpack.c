#include "symbols/image.h"

#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define XZ_MEMORY (128u << 20)     /* xz -9 wants 65 MB to unpack */
#define XZ_UNPACKED_MIN (1u << 20) /* what any stream may unpack to, and ... */
#define XZ_RATIO_MAX 100u          /* ... this many times its size; symbol tables pack by 5 to 10 */
#define XZ_STEP (256u << 10)

bool unpack_zlib(struct bytes in, unsigned char *out, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.at, .next_out = out};
    size_t in_left = in.size, out_left = size;
    int rc = inflateInit(&z);

    if (rc != Z_OK)
        return false;
    do { /* zlib counts in 32 bits */
        uInt give_in = in_left > UINT32_MAX ? UINT32_MAX : (uInt)in_left;
        uInt give_out = out_left > UINT32_MAX ? UINT32_MAX : (uInt)out_left;

        z.avail_in = give_in;
        z.avail_out = give_out;
        rc = inflate(&z, Z_NO_FLUSH);
        in_left -= give_in - z.avail_in;
        out_left -= give_out - z.avail_out;
        if (z.avail_in == give_in && z.avail_out == give_out)
            break;
    } while (rc == Z_OK);
    inflateEnd(&z);
    return rc == Z_STREAM_END && out_left == 0;
}

bool unpack_zstd(struct bytes in, unsigned char *out, size_t size)
{
    size_t n = ZSTD_decompress(out, size, in.at, in.size);

    return !ZSTD_isError(n) && n == size;
}

/* Runs the decoder until the stream ends, growing *out by steps. */
static bool pump_xz(struct mem *mem, lzma_stream *z, unsigned char **out, size_t *size)
{
    size_t room = 0, most = XZ_UNPACKED_MIN + XZ_RATIO_MAX * z->avail_in;
    lzma_ret rc = LZMA_OK;

    while (rc == LZMA_OK) {
        size_t done = (size_t)z->total_out;

        if (done > most || XZ_STEP + done / 2 > mem->cap - mem->used)
            return false;
        *out = mem_grow(mem, *out, &room, done + XZ_STEP, 1);
        if (mem->failed)
            return false;
        z->next_out = *out + done;
        z->avail_out = room - done;
        rc = lzma_code(z, LZMA_FINISH);
    }
    *size = (size_t)z->total_out;
    return rc == LZMA_STREAM_END;
}

bool unpack_xz(struct mem *mem, struct bytes in, unsigned char **out, size_t *size)
{
    lzma_stream z = LZMA_STREAM_INIT;
    unsigned char *made = NULL;

    if (lzma_stream_decoder(&z, XZ_MEMORY, 0) != LZMA_OK)
        return false;
    z.next_in = in.at;
    z.avail_in = in.size;

    bool ok = pump_xz(mem, &z, &made, size);

    lzma_end(&z);
    if (ok)
        *out = made;
    else
        mem_free(mem, made);
    return ok;
}
