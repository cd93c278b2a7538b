#include "profile/analyse.h"

#include "profile/cause.h"
#include "profile/events.h"
#include "profile/scene_hardware.h"
#include "profile/summary.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_US 50000          /* Google Play's slow session */
#define SLOW_AFTER_US 60000000 /* from the second minute on */
#define SLOW_SESSION_PERCENT 25
#define HOT_STATUS 2 /* THERMAL_STATUS_MODERATE */

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
    for (size_t i = 0; i < s->n_scenes; i++)
        slices[i].slow =
            slices[i].slow_frames * 100 > slices[i].slow_frame_base * SLOW_SESSION_PERCENT;
    out->slices = slices;
    out->n_slices = s->n_scenes;
    out->slow_session = slices[0].slow;
    return scene_hardware(s, out->memory, mem, slices);
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

struct totals {
    const struct session *session;
    struct session_result *out;
    uint32_t *khz, *hot_khz;
    size_t n_khz, n_hot_khz;
    int64_t battery_sum, battery_n;
};

static void add_sample(void *user, const struct hardware_sample *h, uint64_t held_us)
{
    struct totals *t = user;
    struct session_result *out = t->out;
    uint32_t khz = big_core_khz(t->session, h);
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
    raise_to(&out->peak_memory_kb, h, hardware_memory(out->memory));
    raise_to(&out->peak_battery_millicelsius, h, HW_battery_millicelsius);
    raise_to(&out->peak_threads, h, HW_thread_count);
    if (status >= SEVERE_STATUS)
        out->throttled_us += (int64_t)held_us;
}

static bool sum_hardware(const struct session *s, struct arena *mem, struct session_result *out)
{
    struct totals t = {.session = s,
                       .out = out,
                       .khz = arena_array(mem, s->n_hardware, sizeof *t.khz),
                       .hot_khz = arena_array(mem, s->n_hardware, sizeof *t.hot_khz)};

    if (!t.khz || !t.hot_khz)
        return false;
    hardware_each(s, add_sample, &t);
    out->median_khz = percentile(t.khz, t.n_khz, 50);
    out->throttled_khz = percentile(t.hot_khz, t.n_hot_khz, 10);
    out->mean_battery_millicelsius = t.battery_n ? t.battery_sum / t.battery_n : 0;
    return true;
}

/* The whole session's slice says what the session's result does. */
static void set_whole(struct session_result *r)
{
    r->slices[0].peak_memory_kb = r->peak_memory_kb;
    r->slices[0].mean_battery_millicelsius = r->mean_battery_millicelsius;
    r->slices[0].throttled_us = r->throttled_us;
    r->slices[0].tells_status = r->hardware_seen & 1u << HW_thermal_status;
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
    set_whole(&r);
    *out = r;
    return true;
}
