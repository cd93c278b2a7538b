/*
 * zframe: walks a file's zstd frames one after the other, within limits. Pure.
 *
 * Window buffers and output live in the caller's arena, but for zstd's own context, which
 * zframe_end() releases. Bytes handed out are valid until the next call.
 */
#pragma once
#include "profile/part.h"

struct ZSTD_DCtx_s;

struct zframe_reader {
    const unsigned char *bytes;
    size_t size, at; /* [0, at) are whole frames */
    const struct part_limits *limits;
    struct arena *mem;
    struct ZSTD_DCtx_s *ctx;
    unsigned char *out;
    size_t out_size, total; /* decompressed so far */
    size_t frames;
    bool damaged; /* stopped at bytes that are no zstd frame, or a broken one */
    bool failed;  /* stopped with `err` filled */
};

void zframe_begin(struct zframe_reader *r, const void *bytes, size_t size,
                  const struct part_limits *limits, struct arena *mem);
void zframe_end(struct zframe_reader *r);

/* The next whole frame's content. False at the end of what is whole, or with r->failed
 * (ERR_TOO_BIG: a bomb, or the arena is full). */
bool zframe_next(struct zframe_reader *r, const unsigned char **content, size_t *n,
                 struct err *err) MUST_CHECK;
