#include "profile/summary.h"

#include "profile/session_merge.h"

#include <stdlib.h>
#include <string.h>

/* Time that a sketch stands for: each count at the value of its bucket, within 1 %. */
static int64_t sketch_sum_us(const struct sketch *s)
{
    int64_t sum = 0;

    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        int64_t high = sketch_bound_us(k);
        int64_t low = k ? sketch_bound_us(k - 1) : high * 99 / 101;

        sum += s->count[k] * (2 * low * high / (low + high));
    }
    return sum;
}

static void set_janks(struct slice *to, const uint32_t janks[3])
{
    for (unsigned i = 0; i < 3; i++) {
        to->janks[i + 1] += janks[i];
        to->janks[0] += janks[i];
    }
}

static void take_scene(const struct part_scene_summary *from, struct slice *to)
{
    to->foreground_us += (int64_t)from->foreground_ms * 1000;
    set_janks(to, from->janks);
    if (!from->sketch)
        return;
    sketch_merge(&to->sketch, from->sketch, 1);
    to->frames = sketch_total(&to->sketch);
    to->frame_sum_us = sketch_sum_us(&to->sketch);
}

static void take_whole(const struct part_summary *from, struct slice *to)
{
    to->frames = (int64_t)from->frames;
    to->frame_sum_us = (int64_t)from->frame_sum_us;
    to->foreground_us = (int64_t)from->foreground_ms * 1000;
    to->frame_max_us = (uint32_t)from->frame_max_us;
    to->jank_us = (int64_t)from->jank_ms * 1000;
    set_janks(to, from->janks);
    if (from->sketch)
        to->sketch = *from->sketch;
}

static void take_peaks(const struct session *s, struct session_result *out)
{
    const struct part_summary *from = s->summary;
    const struct hardware_info *battery = &hardware_info[HW_battery_millicelsius];

    if (!out->peak_battery_millicelsius && from->max_battery_millicelsius >= battery->low &&
        from->max_battery_millicelsius <= battery->high)
        out->peak_battery_millicelsius = from->max_battery_millicelsius;
    if (!out->peak_memory_kb && from->peak_memory_kb <= (uint64_t)hardware_info[HW_pss_kb].high)
        out->peak_memory_kb = (int64_t)from->peak_memory_kb;
}

struct named {
    const char *key;
    const struct part_scene_summary *from;
};

static int by_key(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order ? order : x->from < y->from ? -1 : x->from > y->from;
}

bool summary_slices(const struct session *s, struct arena *mem, struct session_result *out)
{
    const struct part_summary *from = s->summary;
    struct named *names = arena_array(mem, from->n_scenes, sizeof *names);
    struct slice *slices = arena_array(mem, from->n_scenes + 1, sizeof *slices);
    size_t n = 1;

    if (!names || !slices)
        return false;
    for (size_t i = 0; i < from->n_scenes; i++) {
        const char *key = merge_scene_key(mem, from->scenes[i].mode, from->scenes[i].map);

        if (!key)
            return false;
        names[i] = (struct named){key, &from->scenes[i]};
    }
    qsort(names, from->n_scenes, sizeof *names, by_key);
    slices[0].scene = "";
    take_whole(from, &slices[0]);
    for (size_t i = 0; i < from->n_scenes; i++) {
        if (!*names[i].key) /* time in no scene is part of the whole alone */
            continue;
        if (n == 1 || strcmp(slices[n - 1].scene, names[i].key) != 0)
            slices[n++].scene = names[i].key;
        take_scene(names[i].from, &slices[n - 1]);
    }
    out->slices = slices;
    out->n_slices = n;
    take_peaks(s, out);
    return true;
}
