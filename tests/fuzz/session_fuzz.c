/*
 * From a session file's bytes to its contribution, with what must hold of any input.
 *
 * First byte: bit 0 set: the rest is the file as it is. Else the rest is packets (a SessionLog
 * without its header), cut evenly into 1 + (byte >> 1 & 3) parts of one session; a header is put
 * before each and a zstd frame around it, so that mutation reaches past the compression.
 */
#include "profile/contribution.h"
#include "profile/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAX_PARTS 4
#define MAX_FILE (64u * 1024)

#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void check_frames(const struct session *s)
{
    int64_t states[5] = {0};
    uint64_t valid_end = 0;

    for (size_t i = 0; i < s->n_frames; i++) {
        const struct frame *f = &s->frames[i];

        HOLDS(f->state <= FRAME_OVERLAP);
        HOLDS(f->scene < s->n_scenes);
        HOLDS(f->start_us <= MAX_SESSION_US);
        HOLDS(!i || s->frames[i - 1].start_us <= f->start_us);
        states[f->state]++;
        if (f->state != FRAME_VALID) {
            HOLDS(!f->jank && !f->perfdog_jank && !f->perfdog_big && !f->missed);
            continue;
        }
        HOLDS(f->interval_us >= FRAME_LOW_US && f->interval_us <= FRAME_HIGH_US);
        HOLDS(f->start_us + 100 >= valid_end);
        valid_end = f->start_us + f->interval_us;
    }
    HOLDS(!memcmp(states, s->frames_by_state, sizeof states));
}

static void check_session(const struct session *s)
{
    check_frames(s);
    HOLDS(s->n_scenes >= 1 && s->n_scenes <= MAX_SESSION_SCENES + 2 && !*s->scenes[0].key);
    for (size_t i = 1; i < s->n_scenes; i++)
        HOLDS(strcmp(s->scenes[i - 1].key, s->scenes[i].key) < 0);
    for (size_t i = 0; i < s->n_scene_changes; i++)
        HOLDS(s->change_scene[i] < s->n_scenes);
    for (size_t i = 0; i < s->n_foreground; i++) {
        HOLDS(s->foreground[i].from_us < s->foreground[i].to_us);
        HOLDS(!i || s->foreground[i - 1].to_us <= s->foreground[i].from_us);
        HOLDS(s->foreground[i].to_us <= s->end_us);
    }
    for (size_t i = 0; i < s->n_hardware; i++) {
        const struct hardware_sample *h = &s->hardware[i];

        HOLDS(!i || s->hardware[i - 1].t_us <= h->t_us);
        for (unsigned f = 0; f < HW_COUNT; f++)
            HOLDS(!(h->present >> f & 1) ||
                  (h->value[f] >= hardware_info[f].low && h->value[f] <= hardware_info[f].high));
    }
    for (size_t i = 1; i < s->n_janks; i++)
        HOLDS(s->janks[i - 1].start_us <= s->janks[i].start_us);
}

static void check_slices(const struct session *s, const struct session_result *r)
{
    int64_t frames = 0, foreground = 0, span = 0;

    for (size_t i = 0; i < r->n_slices; i++) {
        const struct slice *c = &r->slices[i];

        HOLDS(c->janks[0] == c->janks[1] + c->janks[2] + c->janks[3]);
        HOLDS(i == 0 || r->from_summary || c->frames <= r->slices[0].frames);
        HOLDS(r->from_summary || sketch_total(&c->sketch) == c->frames);
        HOLDS(c->frames >= 0 && c->frame_sum_us >= 0 && c->foreground_us >= 0);
        frames += i ? c->frames : 0;
        foreground += i ? c->foreground_us : 0;
    }
    for (size_t i = 0; i < s->n_foreground; i++)
        span += (int64_t)(s->foreground[i].to_us - s->foreground[i].from_us);
    if (r->from_summary)
        return;
    HOLDS(r->n_slices == s->n_scenes);
    HOLDS(r->slices[0].frames == s->frames_by_state[FRAME_VALID]);
    HOLDS(r->slices[0].foreground_us == span);
    HOLDS(frames <= r->slices[0].frames && foreground <= span);
    HOLDS(r->throttled_us <= span + 1);
}

static void check_events(const struct session *s, const struct session_result *r)
{
    HOLDS(r->n_events <= MAX_JANK_EVENTS);
    for (size_t i = 0; i < r->n_events; i++) {
        const struct jank_event *e = &r->events[i];

        HOLDS(!i || r->events[i - 1].start_us < e->start_us);
        HOLDS(e->scene < s->n_scenes && e->cause < CAUSE_COUNT && e->evidence);
        HOLDS(e->hardware_from <= e->hardware_to && e->hardware_to <= s->n_hardware);
        HOLDS(e->level != JANK_NONE || e->perfdog_jank || e->perfdog_big);
        for (size_t k = 0; k < e->n_samples; k++)
            HOLDS(e->samples[k].stack);
    }
}

static struct buf stored(const struct contribution *c)
{
    struct buf out;

    buf_init(&out, 1 << 24);
    contribution_write(c, &out);
    HOLDS(buf_ok(&out));
    return out;
}

/* Stored and read again it is the same, and itself less itself is nothing. */
static void check_contribution(const struct contribution *c, const struct buf *bytes,
                               struct arena *mem)
{
    struct contribution again, nothing;
    struct err err;

    HOLDS(contribution_read(bytes->at, bytes->len, mem, &again, &err));

    struct buf second = stored(&again);

    HOLDS(second.len == bytes->len && !memcmp(second.at, bytes->at, second.len));
    buf_fini(&second);
    HOLDS(contribution_diff(c, &again, mem, &nothing, &err));
    HOLDS(nothing.n_slices == 0);
}

static bool contribute(const struct session_part *files, size_t n, struct arena *mem,
                       struct contribution *out)
{
    struct session s;
    struct session_result r;
    struct err err = {0};

    if (!session_merge(files, n, mem, &s, &err)) {
        HOLDS(err.code == ERR_INVALID || err.code == ERR_TOO_BIG);
        return false;
    }
    check_session(&s);
    if (!session_analyse(&s, mem, &r, &err) || !contribution_of(&r, mem, out, &err)) {
        HOLDS(err.code == ERR_TOO_BIG);
        return false;
    }
    check_slices(&s, &r);
    check_events(&s, &r);
    return true;
}

/* The parts as they are, then backwards and twice: one contribution. */
static void check_parts(struct session_part *files, size_t n, struct arena *mem)
{
    struct session_part mixed[2 * MAX_PARTS];
    struct contribution c, d;

    if (!n || !contribute(files, n, mem, &c))
        return;
    for (size_t i = 0; i < 2 * n; i++)
        mixed[i] = files[n - 1 - i % n];

    struct buf bytes = stored(&c);

    if (contribute(mixed, 2 * n, mem, &d)) {
        struct buf other = stored(&d);

        HOLDS(other.len == bytes.len && !memcmp(other.at, bytes.at, other.len));
        buf_fini(&other);
    }
    if (!arena_full(mem))
        check_contribution(&c, &bytes, mem);
    buf_fini(&bytes);
}

/* Packets as the one zstd frame of a file, after a header that names part `number`. */
static unsigned char *wrap(const uint8_t *packets, size_t n, unsigned number, size_t *size)
{
    const unsigned char header[] = {0x0a, 24, 0x0a, 22, 0x0a, 16, 0,    0,
                                    0,    0,  0,    0,  0,    0,  0,    0,
                                    0,    0,  0,    0,  0,    0,  0x10, (unsigned char)number,
                                    0x20, 1};
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

static bool decode(const unsigned char *file, size_t size, struct arena *mem, struct part *part)
{
    struct part_limits limits = part_limits_default;
    struct err err = {0};

    limits.decompressed_bytes = (size_t)4 << 20;
    limits.frames = 200000;
    limits.packets = 20000;
    if (!part_decode(file, size, &limits, mem, part, &err)) {
        HOLDS(err.code == ERR_INVALID || err.code == ERR_TOO_BIG);
        return false;
    }
    HOLDS(part->whole_bytes <= size && part->truncated == (part->whole_bytes < size));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > MAX_FILE)
        return 0;

    struct arena *mem = arena_new((size_t)256 << 20);
    struct part parts[MAX_PARTS];
    struct session_part files[MAX_PARTS] = {{0}};
    size_t n_parts = data[0] & 1 ? 1 : 1 + (data[0] >> 1 & 3), kept = 0;
    size_t step = (size - 1) / n_parts;

    HOLDS(mem);
    if (data[0] & 1) {
        kept = decode(data + 1, size - 1, mem, &parts[0]);
        files[0].part = &parts[0];
    }
    for (size_t i = 0; !(data[0] & 1) && i < n_parts; i++) {
        size_t n = i + 1 < n_parts ? step : size - 1 - i * step, file_size;
        unsigned char *file = wrap(data + 1 + i * step, n, (unsigned)i, &file_size);

        if (decode(file, file_size, mem, &parts[kept])) {
            files[kept].part = &parts[kept];
            files[kept].sha256[0] = (unsigned char)i;
            kept++;
        }
        free(file);
    }
    check_parts(files, kept, mem);
    arena_free(mem);
    return 0;
}
