#include "src/control/summary.h"

#include <string.h>

#define FIRST_BOUND_US 1000.0
#define FRAME_LOW_US 100u /* what lies outside is no frame to the server either */
#define FRAME_HIGH_US 60000000u
#define RAW_BYTES 16384u

/* floor(1000 (101/99)^k + 1/2) */
void fw_summary_init(struct fw_summary *s)
{
    double bound = FIRST_BOUND_US;

    memset(s, 0, sizeof *s);
    for (size_t k = 0; k < FW_SKETCH_BUCKETS; k++) {
        s->bound_us[k] = (uint32_t)(bound + 0.5);
        bound = bound * 101.0 / 99.0;
    }
    s->max_battery_millicelsius = s->peak_memory_kb = FW_ABSENT;
}

unsigned fw_summary_bucket(const struct fw_summary *s, uint32_t us)
{
    unsigned low = 0, high = FW_SKETCH_BUCKETS - 1;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (us <= s->bound_us[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void count_time(struct fw_summary *s, uint64_t t_us)
{
    if (s->foreground && t_us > s->at_us) {
        s->whole.foreground_us += t_us - s->at_us;
        if (s->now)
            s->now->foreground_us += t_us - s->at_us;
    }
    if (t_us > s->at_us)
        s->at_us = t_us;
}

void fw_summary_foreground(struct fw_summary *s, uint64_t t_us, bool foreground)
{
    count_time(s, t_us);
    s->foreground = foreground;
}

void fw_summary_scene(struct fw_summary *s, uint64_t t_us, const char *mode, const char *map)
{
    size_t i = 0;

    count_time(s, t_us);
    s->now = NULL;
    if (!*mode && !*map)
        return;
    while (i < s->n_scenes && (strcmp(s->scene[i].mode, mode) || strcmp(s->scene[i].map, map)))
        i++;
    if (i == FW_SUMMARY_SCENES)
        return;
    if (i == s->n_scenes) {
        memcpy(s->scene[i].mode, mode, strnlen(mode, FW_LABEL_BYTES));
        memcpy(s->scene[i].map, map, strnlen(map, FW_LABEL_BYTES));
        s->n_scenes++;
    }
    s->now = &s->scene[i].tally;
}

static void add(struct fw_tally *t, unsigned bucket, uint32_t level)
{
    t->count[bucket]++;
    if (level)
        t->janks[level - 1]++;
}

void fw_summary_frame(struct fw_summary *s, uint64_t interval_us)
{
    if (interval_us < FRAME_LOW_US || interval_us > FRAME_HIGH_US)
        return;

    unsigned bucket = fw_summary_bucket(s, (uint32_t)interval_us);
    uint32_t level = fw_wire_jank_level(interval_us);

    s->frames++;
    s->sum_us += interval_us;
    if (interval_us > s->max_us)
        s->max_us = interval_us;
    if (level)
        s->jank_us += interval_us;
    add(&s->whole, bucket, level);
    if (s->now)
        add(s->now, bucket, level);
}

static void raise_to(int64_t value, int64_t *peak)
{
    if (value != FW_ABSENT && value > *peak)
        *peak = value;
}

void fw_summary_hardware(struct fw_summary *s, const struct fw_wire_hardware *h)
{
    raise_to(h->battery_millicelsius, &s->max_battery_millicelsius);
    raise_to(h->pss_kb, &s->peak_memory_kb);
    raise_to(h->phys_footprint_kb, &s->peak_memory_kb);
}

/* Sparse; buckets and counts come to lie at *bucket and *count, which are moved on. */
static struct fw_wire_sketch sketch_of(const struct fw_tally *t, uint32_t **bucket,
                                       uint64_t **count)
{
    struct fw_wire_sketch out = {*bucket, *count, 0};

    for (uint32_t k = 0; k < FW_SKETCH_BUCKETS; k++)
        if (t->count[k]) {
            *(*bucket)++ = k;
            *(*count)++ = t->count[k];
            out.n++;
        }
    return out;
}

/* With n_scenes scenes, the first n_sketches of them with their sketch. */
static bool write(const struct fw_summary *s, size_t n_scenes, size_t n_sketches,
                  struct fw_buf *out)
{
    uint32_t bucket[2 * FW_SKETCH_BUCKETS], *next_bucket = bucket;
    uint64_t count[2 * FW_SKETCH_BUCKETS], *next_count = count;
    struct fw_wire_scene_summary scene[FW_SUMMARY_SCENES];
    struct fw_wire_summary w = {.foreground_ms = s->whole.foreground_us / 1000,
                                .frames = s->frames,
                                .frame_sum_us = s->sum_us,
                                .frame_max_us = s->max_us,
                                .jank_ms = s->jank_us / 1000,
                                .scenes = scene,
                                .n_scenes = n_scenes,
                                .max_battery_millicelsius = s->max_battery_millicelsius,
                                .peak_memory_kb = s->peak_memory_kb};

    memcpy(w.janks, s->whole.janks, sizeof w.janks);
    w.sketch = sketch_of(&s->whole, &next_bucket, &next_count);
    for (size_t i = 0; i < n_scenes; i++) {
        const struct fw_tally *t = &s->scene[i].tally;

        scene[i] = (struct fw_wire_scene_summary){.mode = s->scene[i].mode,
                                                  .map = s->scene[i].map,
                                                  .foreground_ms = t->foreground_us / 1000};
        memcpy(scene[i].janks, t->janks, sizeof scene[i].janks);
        if (i < n_sketches &&
            (size_t)(next_bucket - bucket) + FW_SKETCH_BUCKETS <= 2 * FW_SKETCH_BUCKETS)
            scene[i].sketch = sketch_of(t, &next_bucket, &next_count);
    }
    return fw_wire_summary(out, &w);
}

bool fw_summary_pack(struct fw_summary *s, uint64_t t_us, const void *header, size_t n,
                     struct fw_compressor *zstd, struct fw_buf *out)
{
    unsigned char bytes[RAW_BYTES];
    size_t before = out->len;
    struct fw_buf raw;

    count_time(s, t_us);
    if (!s->frames)
        return false;
    for (size_t left = 2 * s->n_scenes + 1; left--;) {
        size_t sketches = left > s->n_scenes ? left - s->n_scenes : 0;
        size_t scenes = left > s->n_scenes ? s->n_scenes : left;

        fw_buf_over(&raw, bytes, sizeof bytes);
        fw_buf_add(&raw, header, n);
        if (!raw.failed && write(s, scenes, sketches, &raw) &&
            fw_compress(zstd, raw.at, raw.len, out)) {
            if (out->len - before <= FW_SUMMARY_BYTES)
                return true;
            out->len = before;
        }
    }
    return false;
}
