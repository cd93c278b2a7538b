#include "profile/zframe.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define RATIO_JUDGED_FROM ((size_t)1 << 20)
#define WINDOW_LOG_MAX 24 /* 16 MB for frames that do not tell their size; zstd -19 uses 8 MB */

void zframe_begin(struct zframe_reader *r, const void *bytes, size_t size,
                  const struct part_limits *limits, struct arena *mem)
{
    *r = (struct zframe_reader){.bytes = bytes, .size = size, .limits = limits, .mem = mem};
}

void zframe_end(struct zframe_reader *r)
{
    ZSTD_freeDCtx(r->ctx);
    r->ctx = NULL;
}

static bool fail(struct zframe_reader *r, struct err *err, const char *what)
{
    r->failed = true;
    return err_set(err, ERR_TOO_BIG, "zstd frame %zu: %s", r->frames, what);
}

/* Only the current format and skippable frames: zstd's readers of its old formats stay out of it.
 */
static bool known_magic(const unsigned char *p)
{
    uint32_t magic =
        (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

/* Compressed size of the frame at r->at; 0 if there is no whole one. */
static size_t whole_frame(struct zframe_reader *r)
{
    size_t left = r->size - r->at;

    if (left < 4)
        return 0;
    if (!known_magic(r->bytes + r->at)) {
        r->damaged = true;
        return 0;
    }

    size_t n = ZSTD_findFrameCompressedSize(r->bytes + r->at, left);

    if (!ZSTD_isError(n))
        return n;
    r->damaged = ZSTD_getErrorCode(n) != ZSTD_error_srcSize_wrong;
    return 0;
}

/* How much this frame may decompress to: what is left of the total, and of the ratio once the total
 * is past where the ratio is judged. */
static size_t allowance(const struct zframe_reader *r, size_t compressed)
{
    size_t total = r->limits->decompressed_bytes, read = r->at + compressed;
    size_t by_ratio = read > SIZE_MAX / r->limits->ratio ? SIZE_MAX : read * r->limits->ratio;

    if (by_ratio < RATIO_JUDGED_FROM)
        by_ratio = RATIO_JUDGED_FROM;
    if (total > by_ratio)
        total = by_ratio;
    return total > r->total ? total - r->total : 0;
}

static bool grow(struct zframe_reader *r, size_t keep, size_t size)
{
    unsigned char *out = arena_alloc(r->mem, size);

    if (!out)
        return false;
    if (keep)
        memcpy(out, r->out, keep);
    r->out = out;
    r->out_size = size;
    return true;
}

static bool open_context(struct zframe_reader *r)
{
    if (!r->ctx) {
        r->ctx = ZSTD_createDCtx();
        if (r->ctx)
            ZSTD_DCtx_setParameter(r->ctx, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    }
    return r->ctx && !ZSTD_isError(ZSTD_DCtx_reset(r->ctx, ZSTD_reset_session_only));
}

/* Content size if the frame tells it, else a first guess. */
static size_t first_size(const struct zframe_reader *r, size_t compressed, size_t most)
{
    unsigned long long told = ZSTD_getFrameContentSize(r->bytes + r->at, compressed);

    if (told == ZSTD_CONTENTSIZE_UNKNOWN || told == ZSTD_CONTENTSIZE_ERROR)
        told = (unsigned long long)compressed * 4 + 1024;
    else if (told > most)
        return SIZE_MAX;
    return told > most ? most : told ? (size_t)told : 1;
}

static bool decompress(struct zframe_reader *r, size_t compressed, size_t *n, struct err *err)
{
    size_t most = allowance(r, compressed), first = first_size(r, compressed, most);
    ZSTD_inBuffer in = {r->bytes + r->at, compressed, 0};
    size_t done = 0;

    if (first == SIZE_MAX || !most)
        return fail(r, err, "decompresses past the limit");
    if ((first > r->out_size && !grow(r, 0, first)) || !open_context(r))
        return fail(r, err, "needs more memory than a session file may take");
    for (;;) {
        ZSTD_outBuffer out = {r->out, r->out_size < most ? r->out_size : most, done};
        size_t left = ZSTD_decompressStream(r->ctx, &out, &in);
        bool stuck = out.pos == done && in.pos == in.size && out.pos < out.size;

        done = out.pos;
        if (left == 0)
            break;
        if (ZSTD_isError(left) || stuck) {
            r->damaged = true;
            return false;
        }
        if (done == most)
            return fail(r, err, "decompresses past the limit");
        if (done == r->out_size && !grow(r, done, done < most / 2 ? done * 2 : most))
            return fail(r, err, "needs more memory than a session file may take");
    }
    *n = done;
    return true;
}

bool zframe_next(struct zframe_reader *r, const unsigned char **content, size_t *n, struct err *err)
{
    size_t compressed = r->damaged || r->failed ? 0 : whole_frame(r), size = 0;

    if (!compressed || !decompress(r, compressed, &size, err))
        return false;
    r->at += compressed;
    r->frames++;
    r->total += size;
    *content = r->out;
    *n = size;
    return true;
}
