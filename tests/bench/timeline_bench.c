/*
 * Writes the views of a ten-minute session (36,000 frames) many times: the median of each in
 * milliseconds and its size; the whole timeline against its budget as a line of tests/bench/run.sh.
 */
#include "profile/timeline.h"
#include "profile/trace.h"
#include "support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECONDS 600
#define ROUNDS 21
#define ARENA_BYTES ((size_t)256 << 20)
#define ANSWER_BYTES ((size_t)256 << 20)

struct bench {
    struct session session;
    struct session_result result;
    struct buf out;
};

static void view_full(struct bench *b)
{
    struct err err;

    if (!timeline_write(&b->session, &b->result, 0, 0, 0, &b->out, &err))
        abort();
}

static void view_buckets(struct bench *b)
{
    struct err err;

    if (!timeline_write(&b->session, &b->result, 0, 0, 2000, &b->out, &err))
        abort();
}

static void view_janks(struct bench *b)
{
    janks_write(&b->session, &b->result, &b->out);
}

static void view_chrome(struct bench *b)
{
    trace_chrome(&b->session, &b->result, &b->out);
}

static void view_perfetto(struct bench *b)
{
    trace_perfetto(&b->session, &b->result, &b->out);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A fresh buffer each round: growing it belongs to an answer's cost. */
static double measure(struct bench *b, const char *name, void (*view)(struct bench *))
{
    double ms[ROUNDS];
    size_t bytes = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        buf_init(&b->out, ANSWER_BYTES);

        double begin = now_ms();

        view(b);
        ms[i] = now_ms() - begin;
        bytes = b->out.len;
        if (!buf_ok(&b->out))
            abort();
        buf_fini(&b->out);
    }
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    printf("%-28s %8.3f ms  %9zu bytes\n", name, ms[ROUNDS / 2], bytes);
    return ms[ROUNDS / 2];
}

int main(void)
{
    struct arena *mem = arena_new(ARENA_BYTES);
    struct session_builder *builder = sb_new(1);
    struct session_part part = {0};
    struct part decoded;
    struct bench b;
    struct err err;
    size_t n;

    sb_part(builder, 0, 0);
    sb_end(builder, sb_play(builder, 0, SECONDS, 1), END_STOPPED);

    const unsigned char *bytes = sb_bytes(builder, &n);

    part.part = &decoded;
    if (!mem || !part_decode(bytes, n, &part_limits_default, mem, &decoded, &err) ||
        !session_merge(&part, 1, mem, &b.session, &err) ||
        !session_analyse(&b.session, mem, &b.result, &err)) {
        fprintf(stderr, "timeline_bench: %s\n", mem ? err.text : "out of memory");
        return 1;
    }
    printf("%zu frames, %zu janks, %zu hardware samples\n", b.session.n_frames, b.result.n_events,
           b.session.n_hardware);

    double full = measure(&b, "timeline, every frame", view_full);

    measure(&b, "timeline, 2,000 buckets", view_buckets);
    measure(&b, "janks", view_janks);
    measure(&b, "Chrome trace", view_chrome);
    measure(&b, "Perfetto trace", view_perfetto);
    printf("RATIO timeline_of_36,000_frames,_ms_to_write %.2f <= 10\n", full);
    sb_free(builder);
    arena_free(mem);
    return 0;
}
