/*
 * Analyses a ten-minute session (36,000 frames, 300 hardware samples) many times beside its floor:
 * the same bytes decompressed by zstd and unpacked by protobuf-c alone. Both reuse what a worker
 * keeps between jobs (zstd's context and buffer; an arena each), and take turns in one run, so that
 * a busy machine slows both. Medians; the ratio as a line of tests/bench/run.sh.
 */
#include "profile/contribution.h"
#include "session.pb-c.h"
#include "support/session_builder.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

#define SECONDS 600
#define ROUNDS 301
#define ARENA_BYTES ((size_t)256 << 20)

struct bench {
    const unsigned char *bytes;
    size_t n, frames, packets;
    struct arena *mem;
    ZSTD_DCtx *zstd;
    unsigned char *log;
    size_t log_size;
    struct buf stored;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "analysis_bench: %s\n", what);
        exit(1);
    }
}

static void *allocate(void *mem, size_t size)
{
    return arena_alloc(mem, size);
}

static void release(void *mem, void *pointer)
{
    (void)mem, (void)pointer;
}

/* The floor: every zstd frame decompressed and unpacked. `allocator` NULL: malloc and free. */
static double floor_us(struct bench *b, ProtobufCAllocator *allocator)
{
    double begin = now_us();

    arena_reset(b->mem);
    b->packets = 0;
    for (size_t at = 0; at < b->n;) {
        size_t size = ZSTD_findFrameCompressedSize(b->bytes + at, b->n - at);
        size_t n = ZSTD_decompressDCtx(b->zstd, b->log, b->log_size, b->bytes + at, size);

        must(!ZSTD_isError(n), "zstd");

        Framewatch__SessionLog *log = framewatch__session_log__unpack(allocator, n, b->log);

        must(log != NULL, "protobuf-c");
        b->packets += log->n_packet;
        if (!allocator)
            framewatch__session_log__free_unpacked(log, NULL);
        at += size;
    }
    return now_us() - begin;
}

struct steps {
    double decode, merge, analyse, contribute;
};

static double analyse_us(struct bench *b, struct steps *steps)
{
    struct part part;
    struct session_part file = {.part = &part};
    struct session s;
    struct session_result r;
    struct contribution c;
    struct err err;
    double t[5] = {now_us()};

    arena_reset(b->mem);
    buf_reset(&b->stored);
    must(part_decode(b->bytes, b->n, &part_limits_default, b->mem, &part, &err), "part_decode");
    t[1] = now_us();
    must(session_merge(&file, 1, b->mem, &s, &err), "session_merge");
    t[2] = now_us();
    must(session_analyse(&s, b->mem, &r, &err), "session_analyse");
    t[3] = now_us();
    must(contribution_of(&r, b->mem, &c, &err), "contribution_of");
    contribution_write(&c, &b->stored);
    t[4] = now_us();
    b->frames = (size_t)r.slices[0].frames;
    *steps = (struct steps){t[1] - t[0], t[2] - t[1], t[3] - t[2], t[4] - t[3]};
    return t[4] - t[0];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static void measure(struct bench *b)
{
    static double floors[ROUNDS], malloc_floors[ROUNDS], totals[ROUNDS], decode[ROUNDS],
        merge[ROUNDS], analyse[ROUNDS], contribute[ROUNDS];
    ProtobufCAllocator in_arena = {allocate, release, b->mem};

    for (size_t i = 0; i < ROUNDS; i++) {
        struct steps steps;

        floors[i] = floor_us(b, &in_arena);
        malloc_floors[i] = floor_us(b, NULL);
        totals[i] = analyse_us(b, &steps);
        decode[i] = steps.decode;
        merge[i] = steps.merge;
        analyse[i] = steps.analyse;
        contribute[i] = steps.contribute;
    }
    printf("%zu frames, %zu packets, %zu bytes\n", b->frames, b->packets, b->n);

    double floor = median(floors), total = median(totals);

    printf("floor: zstd + protobuf-c     %8.0f us  (with malloc and free: %.0f us)\n", floor,
           median(malloc_floors));
    printf("decode                       %8.0f us\n", median(decode));
    printf("merge                        %8.0f us\n", median(merge));
    printf("analyse                      %8.0f us\n", median(analyse));
    printf("contribution                 %8.0f us\n", median(contribute));
    printf("all                          %8.0f us\n", total);
    printf("RATIO analysis_/_(zstd_+_protobuf-c) %.2f <= 3\n", total / floor);
}

int main(void)
{
    struct session_builder *builder = sb_new(1);
    struct bench b = {
        .mem = arena_new(ARENA_BYTES), .zstd = ZSTD_createDCtx(), .log_size = (size_t)4 << 20};

    mallopt(M_TRIM_THRESHOLD, 256 << 20); /* as the server does: freed memory stays at hand */
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    b.log = malloc(b.log_size);
    must(b.mem && b.zstd && b.log, "out of memory");
    buf_init(&b.stored, 1 << 20);
    sb_part(builder, 0, 0);
    sb_end(builder, sb_play(builder, 0, SECONDS, 1), END_STOPPED);
    b.bytes = sb_bytes(builder, &b.n);
    measure(&b);
    buf_fini(&b.stored);
    free(b.log);
    ZSTD_freeDCtx(b.zstd);
    arena_free(b.mem);
    sb_free(builder);
    return 0;
}
