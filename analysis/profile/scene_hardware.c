#include "profile/scene_hardware.h"

#define SAMPLE_HOLDS_US 10000000 /* twice the SDK's default period */

enum hardware_field hardware_memory(enum memory_kind kind)
{
    static const enum hardware_field field[] = {[MEMORY_PSS] = HW_pss_kb,
                                                [MEMORY_FOOTPRINT] = HW_phys_footprint_kb,
                                                [MEMORY_RSS] = HW_rss_kb};

    return field[kind];
}

static uint64_t held(const struct session *s, size_t i, uint64_t span_end)
{
    uint64_t t = s->hardware[i].t_us, end = t + SAMPLE_HOLDS_US;

    if (i + 1 < s->n_hardware && s->hardware[i + 1].t_us < end)
        end = s->hardware[i + 1].t_us;
    return (end < span_end ? end : span_end) - t;
}

void hardware_each(const struct session *s,
                   void (*see)(void *user, const struct hardware_sample *h, uint64_t held_us),
                   void *user)
{
    size_t i = 0;

    for (size_t k = 0; k < s->n_foreground; k++) {
        uint64_t from = s->foreground[k].from_us, to = s->foreground[k].to_us;

        while (i < s->n_hardware && s->hardware[i].t_us < from)
            i++;
        /* The last moment of a span is a sample's own where the session ends with it. */
        for (; i < s->n_hardware && s->hardware[i].t_us <= to; i++)
            see(user, &s->hardware[i], held(s, i, to));
    }
}

struct walk {
    const struct session *session;
    enum hardware_field memory;
    struct slice *slices;
    int64_t *battery_sum, *battery_n; /* by scene */
    size_t change;                    /* the next one */
};

/* A status speaks in every scene that the sample's time reaches into. */
static void add_status(const struct walk *w, uint64_t from, uint64_t to, bool severe)
{
    const struct session *s = w->session;

    for (size_t i = w->change;; i++) {
        struct slice *in = &w->slices[i ? s->change_scene[i - 1] : 0];
        uint64_t end =
            i < s->n_scene_changes && s->scene_changes[i].t_us < to ? s->scene_changes[i].t_us : to;

        in->tells_status = true;
        if (severe)
            in->throttled_us += (int64_t)(end - from);
        if (end == to)
            return;
        from = end;
    }
}

static void add_sample(void *user, const struct hardware_sample *h, uint64_t held_us)
{
    struct walk *w = user;
    const struct session *s = w->session;

    while (w->change < s->n_scene_changes && s->scene_changes[w->change].t_us <= h->t_us)
        w->change++;

    uint16_t scene = w->change ? s->change_scene[w->change - 1] : 0;
    struct slice *in = &w->slices[scene];

    if (hardware_has(h, w->memory) && h->value[w->memory] > in->peak_memory_kb)
        in->peak_memory_kb = h->value[w->memory];
    if (hardware_has(h, HW_battery_millicelsius)) {
        w->battery_sum[scene] += h->value[HW_battery_millicelsius];
        w->battery_n[scene]++;
    }
    if (hardware_has(h, HW_thermal_status))
        add_status(w, h->t_us, h->t_us + held_us, h->value[HW_thermal_status] >= SEVERE_STATUS);
}

bool scene_hardware(const struct session *s, enum memory_kind memory, struct arena *mem,
                    struct slice *slices)
{
    struct walk w = {.session = s,
                     .memory = hardware_memory(memory),
                     .slices = slices,
                     .battery_sum = arena_array(mem, s->n_scenes, sizeof *w.battery_sum),
                     .battery_n = arena_array(mem, s->n_scenes, sizeof *w.battery_n)};

    if (!w.battery_sum || !w.battery_n)
        return false;
    hardware_each(s, add_sample, &w);
    for (size_t i = 0; i < s->n_scenes; i++)
        if (w.battery_n[i])
            slices[i].mean_battery_millicelsius = w.battery_sum[i] / w.battery_n[i];
    return true;
}
