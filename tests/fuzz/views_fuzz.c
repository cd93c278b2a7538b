/*
 * From a session file's bytes to everything that is shown of it: each JSON parses, each dump line
 * is JSON, no window loses a frame or the longest of them.
 *
 * First byte: bit 0 set: the rest is the file as it is. Else the rest is packets; a header is put
 * before them and a zstd frame around them, so that mutation reaches past the compression. Its
 * other bits choose the timeline's window and zoom.
 */
#include "profile/timeline.h"
#include "profile/trace.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAX_FILE (64u * 1024)
#define ANSWER_BYTES ((size_t)64 << 20)

#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static json_t *parse(const void *text, size_t n)
{
    json_t *tree = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

    HOLDS(tree);
    return tree;
}

static int64_t sum(const json_t *list)
{
    int64_t total = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        total += json_integer_value(json_array_get(list, i));
    return total;
}

static int64_t greatest(const json_t *list)
{
    int64_t most = -1;

    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_integer(json_array_get(list, i)) &&
            json_integer_value(json_array_get(list, i)) > most)
            most = json_integer_value(json_array_get(list, i));
    return most;
}

static int64_t longest_frame(const struct session *s, uint64_t from, uint64_t to)
{
    int64_t most = -1;

    for (size_t i = 0; i < s->n_frames; i++) {
        const struct frame *f = &s->frames[i];
        bool inside =
            f->start_us < to && (f->start_us >= from || f->start_us + f->interval_us > from);

        if (inside && f->state == FRAME_VALID && f->interval_us > most)
            most = f->interval_us;
    }
    return most;
}

static void check_timeline(const struct session *s, const struct session_result *r, uint64_t from,
                           uint64_t to, unsigned buckets)
{
    struct buf b;
    struct err err = {0};

    buf_init(&b, ANSWER_BYTES);
    if (!timeline_write(s, r, from, to, buckets, &b, &err)) {
        HOLDS(err.code == ERR_INVALID || err.code == ERR_TOO_BIG);
        buf_fini(&b);
        return;
    }

    json_t *tree = parse(b.at, b.len);
    const json_t *cut = json_object_get(tree, "buckets");

    if (cut) {
        HOLDS(sum(json_object_get(cut, "n")) + sum(json_object_get(cut, "excluded")) ==
              json_integer_value(json_object_get(tree, "frame_count")));
        HOLDS(greatest(json_object_get(cut, "max_us")) ==
              longest_frame(s, from, to ? to : UINT64_MAX));
    }
    json_decref(tree);
    buf_fini(&b);
}

static void check_views(const struct session *s, const struct session_result *r, unsigned choice)
{
    struct buf b;

    check_timeline(s, r, 0, 0, 0);
    check_timeline(s, r, 0, 0, 1 + choice);
    check_timeline(s, r, s->end_us * (choice & 7) / 9, s->end_us * ((choice & 7) + 1) / 9 + 1,
                   1 + (choice >> 3));
    buf_init(&b, ANSWER_BYTES);
    janks_write(s, r, &b);
    if (buf_ok(&b))
        json_decref(parse(b.at, b.len));
    buf_reset(&b);
    trace_chrome(s, r, &b);
    if (buf_ok(&b))
        json_decref(parse(b.at, b.len));
    buf_reset(&b);
    trace_perfetto(s, r, &b);
    buf_fini(&b);
}

static bool check_line(void *user, const char *text, size_t len)
{
    (void)user;
    json_decref(parse(text, len));
    return true;
}

static void check_file(const unsigned char *file, size_t size, unsigned choice)
{
    struct part_limits limits = part_limits_default;
    struct arena *mem = arena_new((size_t)256 << 20);
    struct part part;
    struct session s;
    struct session_result r;
    struct session_part of = {.part = &part};
    struct err err = {0};

    HOLDS(mem);
    limits.decompressed_bytes = (size_t)4 << 20;
    limits.frames = 100000;
    limits.packets = 20000;
    if (!part_dump(file, size, &limits, check_line, NULL, &err))
        HOLDS(err.code == ERR_INVALID || err.code == ERR_TOO_BIG);
    if (part_decode(file, size, &limits, mem, &part, &err) &&
        session_merge(&of, 1, mem, &s, &err) && session_analyse(&s, mem, &r, &err))
        check_views(&s, &r, choice);
    arena_free(mem);
}

static unsigned char *wrap(const uint8_t *packets, size_t n, size_t *size)
{
    static const unsigned char header[] = {0x0a, 20, 0x0a, 18, 0x0a, 16, 0, 0, 0, 0, 0,
                                           0,    0,  0,    0,  0,    0,  0, 0, 0, 0, 0};
    unsigned char *log = malloc(sizeof header + n), *file;

    HOLDS(log);
    memcpy(log, header, sizeof header);
    if (n)
        memcpy(log + sizeof header, packets, n);
    n += sizeof header;
    file = malloc(ZSTD_compressBound(n));
    HOLDS(file);
    *size = ZSTD_compress(file, ZSTD_compressBound(n), log, n, 1);
    HOLDS(!ZSTD_isError(*size));
    free(log);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *file;
    size_t n;

    if (!size || size > MAX_FILE)
        return 0;
    if (data[0] & 1) {
        check_file(data + 1, size - 1, data[0] >> 1);
        return 0;
    }
    file = wrap(data + 1, size - 1, &n);
    check_file(file, n, data[0] >> 1);
    free(file);
    return 0;
}
