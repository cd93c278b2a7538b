#include "profile/analyse.h"

#include "profile/cause.h"
#include "profile/events.h"
#include "profile/summary.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_US 50000          /* Google Play's slow session */
#define SLOW_AFTER_US 60000000 /* from the second minute on */
#define SLOW_SESSION_PERCENT 25
#define SEVERE_STATUS 3          /* Android THERMAL_STATUS_SEVERE */
#define HOT_STATUS 2             /* THERMAL_STATUS_MODERATE */
#define SAMPLE_HOLDS_US 10000000 /* twice the SDK's default period */

const char *const jank_cause_name[CAUSE_COUNT] = {
#define X(name) #name,
    JANK_CAUSES(X)
#undef X
};

/* Slices --------------------------------------------------------------------------------------- */

static void add_frame(struct slice *s, const struct frame *f)
{
    int64_t us = f->interval_us;

    s->frames++;
    s->frame_sum_us += us;
    if (f->interval_us > s->frame_max_us)
        s->frame_max_us = f->interval_us;
    sketch_add(&s->sketch, f->interval_us);
    s->missed_frames += f->missed;
    if (f->start_us >= SLOW_AFTER_US) {
        s->slow_frame_base++;
        s->slow_frames += f->interval_us > SLOW_US;
    }
    if (f->jank) {
        s->janks[0]++;
        s->janks[f->jank]++;
        s->jank_us += us;
    }
    if (f->perfdog_jank) {
        s->perfdog_janks++;
        s->perfdog_stutter_us += us;
    }
    s->perfdog_big_janks += f->perfdog_big;
}

static void add_slice(struct slice *into, const struct slice *from)
{
    into->frames += from->frames;
    into->frame_sum_us += from->frame_sum_us;
    into->foreground_us += from->foreground_us;
    if (from->frame_max_us > into->frame_max_us)
        into->frame_max_us = from->frame_max_us;
    for (unsigned i = 0; i < 4; i++)
        into->janks[i] += from->janks[i];
    into->jank_us += from->jank_us;
    into->perfdog_janks += from->perfdog_janks;
    into->perfdog_big_janks += from->perfdog_big_janks;
    into->perfdog_stutter_us += from->perfdog_stutter_us;
    into->missed_frames += from->missed_frames;
    into->slow_frames += from->slow_frames;
    into->slow_frame_base += from->slow_frame_base;
    sketch_merge(&into->sketch, &from->sketch, 1);
}

/* Foreground time of each scene: spans cut where the scene changes. */
static void add_foreground(const struct session *s, struct slice *slices)
{
    size_t change = 0;
    uint16_t scene = 0;

    for (size_t i = 0; i < s->n_foreground; i++) {
        uint64_t at = s->foreground[i].from_us, to = s->foreground[i].to_us;

        for (; change < s->n_scene_changes && s->scene_changes[change].t_us < to; change++) {
            uint64_t t = s->scene_changes[change].t_us;

            if (t > at) {
                slices[scene].foreground_us += (int64_t)(t - at);
                at = t;
            }
            scene = s->change_scene[change];
        }
        slices[scene].foreground_us += (int64_t)(to - at);
    }
}

static bool slices_from_frames(const struct session *s, struct arena *mem,
                               struct session_result *out)
{
    struct slice *slices = arena_array(mem, s->n_scenes, sizeof *slices);

    if (!slices)
        return false;
    for (size_t i = 0; i < s->n_scenes; i++)
        slices[i].scene = s->scenes[i].key;
    for (size_t i = 0; i < s->n_frames; i++)
        if (s->frames[i].state == FRAME_VALID)
            add_frame(&slices[s->frames[i].scene], &s->frames[i]);
    add_foreground(s, slices);
    for (size_t i = 1; i < s->n_scenes; i++) /* what came before any scene is in [0] already */
        add_slice(&slices[0], &slices[i]);
    out->slices = slices;
    out->n_slices = s->n_scenes;
    out->slow_session =
        slices[0].slow_frames * 100 > slices[0].slow_frame_base * SLOW_SESSION_PERCENT;
    return true;
}

/* Hardware over the session ----------------------------------------------------------------------
 */

static int by_khz(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Nearest-rank percentile of unsorted values; 0 if there are none. */
static int64_t percentile(uint32_t *values, size_t n, size_t percent)
{
    if (!n)
        return 0;
    qsort(values, n, sizeof *values, by_khz);
    return values[(n - 1) * percent / 100];
}

static void raise_to(int64_t *peak, const struct hardware_sample *h, enum hardware_field f)
{
    if (hardware_has(h, f) && h->value[f] > *peak)
        *peak = h->value[f];
}

/* Android, Linux and iOS tell memory as different quantities; the session's platform says which. */
static enum memory_kind memory_kind(const struct part_header *h)
{
    if (!strcmp(h->platform, "ios"))
        return MEMORY_FOOTPRINT;
    return !strcmp(h->platform, "linux") ? MEMORY_RSS : MEMORY_PSS;
}

static enum hardware_field memory_field(enum memory_kind kind)
{
    static const enum hardware_field field[] = {[MEMORY_PSS] = HW_pss_kb,
                                                [MEMORY_FOOTPRINT] = HW_phys_footprint_kb,
                                                [MEMORY_RSS] = HW_rss_kb};

    return field[kind];
}

struct totals {
    uint32_t *khz, *hot_khz;
    size_t n_khz, n_hot_khz;
    int64_t battery_sum, battery_n;
};

static void add_sample(const struct session *s, const struct hardware_sample *h, uint64_t held_us,
                       struct totals *t, struct session_result *out)
{
    uint32_t khz = big_core_khz(s, h);
    int64_t status = hardware_has(h, HW_thermal_status) ? h->value[HW_thermal_status] : 0;

    if (khz) {
        t->khz[t->n_khz++] = khz;
        if (status >= HOT_STATUS)
            t->hot_khz[t->n_hot_khz++] = khz;
    }
    if (hardware_has(h, HW_battery_millicelsius)) {
        t->battery_sum += h->value[HW_battery_millicelsius];
        t->battery_n++;
    }
    out->hardware_seen |= h->present & ~h->invalid;
    raise_to(&out->peak_memory_kb, h, memory_field(out->memory));
    raise_to(&out->peak_battery_millicelsius, h, HW_battery_millicelsius);
    raise_to(&out->peak_threads, h, HW_thread_count);
    if (status >= SEVERE_STATUS)
        out->throttled_us += (int64_t)held_us;
}

/* How long a sample speaks: to the next one, the end of its span, or ten seconds. */
static uint64_t held(const struct session *s, size_t i, uint64_t span_end)
{
    uint64_t t = s->hardware[i].t_us, end = t + SAMPLE_HOLDS_US;

    if (i + 1 < s->n_hardware && s->hardware[i + 1].t_us < end)
        end = s->hardware[i + 1].t_us;
    return (end < span_end ? end : span_end) - t;
}

static bool sum_hardware(const struct session *s, struct arena *mem, struct session_result *out)
{
    struct totals t = {.khz = arena_array(mem, s->n_hardware, sizeof *t.khz),
                       .hot_khz = arena_array(mem, s->n_hardware, sizeof *t.hot_khz)};
    size_t i = 0;

    if (!t.khz || !t.hot_khz)
        return false;
    for (size_t k = 0; k < s->n_foreground; k++) {
        uint64_t from = s->foreground[k].from_us, to = s->foreground[k].to_us;

        while (i < s->n_hardware && s->hardware[i].t_us < from)
            i++;
        /* The last moment of a span is a sample's own where the session ends with it. */
        for (; i < s->n_hardware && s->hardware[i].t_us <= to; i++)
            add_sample(s, &s->hardware[i], held(s, i, to), &t, out);
    }
    out->median_khz = percentile(t.khz, t.n_khz, 50);
    out->throttled_khz = percentile(t.hot_khz, t.n_hot_khz, 10);
    out->mean_battery_millicelsius = t.battery_n ? t.battery_sum / t.battery_n : 0;
    return true;
}

/* The whole
 * ----------------------------------------------------------------------------------------- */

bool session_analyse(const struct session *s, struct arena *mem, struct session_result *out,
                     struct err *err)
{
    const uint32_t excluding = ENV_ROOTED | ENV_DEBUGGER | ENV_EMULATOR | ENV_REPACKAGED;
    struct session_result r = {.excluded = (s->header.environment & excluding) != 0,
                               .from_summary = !s->n_frames && s->summary,
                               .memory = memory_kind(&s->header),
                               .has_crash = s->n_crashes > 0,
                               .has_feedback = s->n_feedback > 0};
    bool ok = sum_hardware(s, mem, &r) && events_find(s, mem, &r) &&
              cells_of(s, mem, &r.cells, &r.n_cells);

    if (ok && r.from_summary)
        ok = summary_slices(s, mem, &r);
    else if (ok)
        ok = slices_from_frames(s, mem, &r);
    if (!ok || arena_full(mem))
        return err_set(err, ERR_TOO_BIG,
                       "a session of %zu frames needs more memory than it may take", s->n_frames);
    *out = r;
    return true;
}
