#include "wire/session_writer.h"
#include "wire/zstd_memory.h"

#define LEVEL 3
#define WINDOW_LOG 16 /* 64 KB: a slice is rarely larger */
#define TABLE_LOG                                                                                  \
    14 /* on a session's slice as small as with level 3's own tables, in 0.4 MB not 0.9 */

struct fw_compressor {
    const struct fw_allocator *memory;
    ZSTD_CCtx *zstd;
    size_t max_bytes;
};

/* zstd sizes its tables at the first frame; doing one of the largest size here keeps the allocator
 * out of later ones. */
static bool warm_up(struct fw_compressor *c)
{
    size_t bound = ZSTD_compressBound(c->max_bytes);
    void *zeros = fw_alloc_zeroed(c->memory, c->max_bytes ? c->max_bytes : 1);
    void *out = fw_alloc(c->memory, bound);
    bool ok =
        zeros && out && !ZSTD_isError(ZSTD_compress2(c->zstd, out, bound, zeros, c->max_bytes));

    fw_release(c->memory, zeros);
    fw_release(c->memory, out);
    return ok;
}

struct fw_compressor *fw_compressor_new(size_t max_bytes)
{
    return fw_compressor_new_in(max_bytes, NULL);
}

struct fw_compressor *fw_compressor_new_in(size_t max_bytes, const struct fw_allocator *memory)
{
    struct fw_compressor *c = fw_alloc_zeroed(memory, sizeof *c);

    if (!c)
        return NULL;
    c->max_bytes = max_bytes;
    c->memory = memory;
    c->zstd = ZSTD_createCCtx_advanced(fw_zstd_memory(memory));
    if (c->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_windowLog, WINDOW_LOG)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_hashLog, TABLE_LOG)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_chainLog, TABLE_LOG)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1)) && warm_up(c))
        return c;
    fw_compressor_free(c);
    return NULL;
}

void fw_compressor_free(struct fw_compressor *c)
{
    if (!c)
        return;
    ZSTD_freeCCtx(c->zstd);
    fw_release(c->memory, c);
}

size_t fw_compressor_memory(const struct fw_compressor *c)
{
    return sizeof *c + ZSTD_sizeof_CCtx(c->zstd);
}

bool fw_compress(struct fw_compressor *c, const void *bytes, size_t n, struct fw_buf *out)
{
    size_t before = out->len, bound = ZSTD_compressBound(n);
    void *room = n <= c->max_bytes ? fw_buf_room(out, bound) : NULL;

    if (!room) {
        out->failed = false;
        return false;
    }
    size_t written = ZSTD_compress2(c->zstd, room, bound, bytes, n);
    out->len = before + (ZSTD_isError(written) ? 0 : written);
    return !ZSTD_isError(written);
}
