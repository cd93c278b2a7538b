#include "profile/cause.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Thresholds; docs/metrics.md gives their reasons. */
#define FELL_PERCENT 20        /* frequency of the biggest cores, from their highest before */
#define HOT_STATUS 2           /* Android THERMAL_STATUS_MODERATE: throttling begins */
#define SEVERE_STATUS 3        /* without clocks to see: iOS's "serious", where they are cut */
#define FRAMES_ROSE_PERCENT 25 /* what clocks 20 % lower make of a frame */
#define COOL_FRAMES 60         /* fewer tell no pace */
#define HOT_FRAMES 10
#define PACE_FRAMES 1024 /* looked at before one jank; bounds the work on hostile input */
#define STATUSES 7       /* hardware.h */
#define STATUS_HOLDS_US 10000000
#define HOT_BATTERY_MC 42000   /* phones limit charging and clocks from here */
#define BATTERY_ROSE_MC 1000   /* since the clocks were at their highest */
#define SKIN_ROSE_MC 3000      /* may be the SoC's own zone, which is livelier */
#define SWAP_GREW_KB 16384     /* since before the window */
#define ANON_PERCENT_OF_RAM 60 /* RssAnon + swap */
#define THREADS_GREW 32        /* and by a quarter */
#define HEAP_DROP_KB 8192      /* and by a fifth */
#define BASELINE_US 15000000   /* how old the sample before the window may be */
#define GPU_PERCENT_OF_JANK 80
#define GPU_MOST_PERCENT_OF_JANK 150 /* longer: it is another frame's */
#define WAITED_PERCENT 50            /* of the time looked at, runnable without a core */
#define BLOCKED_PERCENT 70           /* of it, neither running nor runnable */
#define RAN_PERCENT 80               /* of it, on a core */
#define STACKS_READ 8                /* of one jank; bounds the work on hostile input */
#define BUSY_PERMILLE 900            /* all cores together */

struct pace { /* of valid frames that are no jank */
    uint64_t n, sum_us;
    uint32_t target_us; /* that they aim at; mixed: not all at the same */
    bool mixed;
};

struct causes {
    const struct session *session;
    const uint32_t *peak;    /* peak[i]: sample up to i with the highest big-core frequency */
    const struct pace *pace; /* [scene * STATUSES + status]: while that thermal status held */
};

struct look {
    const struct session *session;
    const struct causes *causes;
    struct arena *mem;
    struct jank_event *event;
    const struct hardware_sample *from, *to; /* the window */
    const struct hardware_sample *before;    /* last one before it, NULL if none or too old */
};

static bool say(const struct look *l, enum jank_cause cause, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static bool say(const struct look *l, enum jank_cause cause, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_clean(text, sizeof text - 1); /* a frame's text may have been cut within a character */
    l->event->cause = cause;
    l->event->evidence = arena_dup(l->mem, text, strlen(text));
    return true;
}

/* Cores [first, last) of the biggest cluster; all of them where the clusters do not add up. */
static void big_cores(const struct part_header *h, unsigned n_cores, unsigned *first,
                      unsigned *last)
{
    uint64_t sum = 0;
    uint32_t biggest = 0;

    *first = 0;
    *last = n_cores;
    for (size_t i = 0; i < h->n_clusters; i++)
        sum += h->clusters[i].cores;
    if (sum != n_cores)
        return;
    sum = 0;
    for (size_t i = 0; i < h->n_clusters; i++) {
        if (h->clusters[i].cores && h->clusters[i].max_khz >= biggest) {
            biggest = h->clusters[i].max_khz;
            *first = (unsigned)sum;
            *last = (unsigned)sum + h->clusters[i].cores;
        }
        sum += h->clusters[i].cores;
    }
}

uint32_t big_core_khz(const struct session *s, const struct hardware_sample *h)
{
    unsigned first, last;
    uint32_t khz = 0;

    big_cores(&s->header, h->n_cores, &first, &last);
    for (unsigned c = first; c < last; c++)
        khz = h->core_khz[c] > khz ? h->core_khz[c] : khz;
    return khz;
}

static bool keeps_pace(const struct frame *f)
{
    return f->state == FRAME_VALID && !f->jank;
}

static void add_pace(struct pace *to, const struct pace *p)
{
    if (!p->n)
        return;
    to->mixed |= p->mixed || (to->n && to->target_us != p->target_us);
    to->target_us = p->target_us;
    to->n += p->n;
    to->sum_us += p->sum_us;
}

static void add_to_pace(struct pace *to, const struct frame *f)
{
    add_pace(to, &(struct pace){1, f->interval_us, f->target_us, false});
}

/* A status holds until the next, for 10 s at most. */
static void find_paces(const struct session *s, struct pace *pace)
{
    const struct hardware_sample *told = NULL;

    for (size_t i = 0, h = 0; i < s->n_frames; i++) {
        const struct frame *f = &s->frames[i];

        for (; h < s->n_hardware && s->hardware[h].t_us <= f->start_us; h++)
            if (hardware_has(&s->hardware[h], HW_thermal_status))
                told = &s->hardware[h];
        if (told && keeps_pace(f) && f->start_us - told->t_us < STATUS_HOLDS_US)
            add_to_pace(&pace[f->scene * STATUSES + told->value[HW_thermal_status]], f);
    }
}

const struct causes *causes_new(const struct session *s, struct arena *mem)
{
    struct causes *c = arena_alloc(mem, sizeof *c);
    uint32_t *peak = arena_array(mem, s->n_hardware, sizeof *peak), highest = 0;
    struct pace *pace = arena_array(mem, s->n_scenes * STATUSES, sizeof *pace);

    if (!c || !peak || !pace)
        return NULL;
    find_paces(s, pace);
    for (size_t i = 0; i < s->n_hardware; i++) {
        uint32_t khz = big_core_khz(s, &s->hardware[i]);

        peak[i] = i && khz <= highest ? peak[i - 1] : (uint32_t)i;
        highest = khz > highest ? khz : highest;
    }
    *c = (struct causes){s, peak, pace};
    return c;
}

/* Highest and lowest value of a field in the window; false, and 0, if no sample has it. */
static bool range(const struct look *l, enum hardware_field f, int64_t *low, int64_t *high)
{
    bool found = false;

    *low = *high = 0;
    for (const struct hardware_sample *h = l->from; h < l->to; h++) {
        if (!hardware_has(h, f))
            continue;
        if (!found || h->value[f] < *low)
            *low = h->value[f];
        if (!found || h->value[f] > *high)
            *high = h->value[f];
        found = true;
    }
    return found;
}

/* The value before the window, else the first in it; false if neither has it. */
static bool value_before(const struct look *l, enum hardware_field f, int64_t *value)
{
    const struct hardware_sample *h = l->before;

    if (!h || !hardware_has(h, f))
        for (h = l->from; h < l->to && !hardware_has(h, f); h++)
            ;
    if (h == l->to)
        return false;
    *value = h->value[f];
    return true;
}

static double celsius(int64_t millicelsius)
{
    return (double)millicelsius / 1000;
}

/* Stacks ------------------------------------------------------------------------------------------
 */

/* First managed frame of the jank's stacks that contains one of the marks. */
static const char *marked_frame(const struct jank_event *e, const char *const *marks,
                                size_t innermost)
{
    for (size_t i = 0; i < e->n_samples && i < STACKS_READ; i++) {
        const struct part_stack *s = e->samples[i].stack;

        for (size_t f = 0, managed = 0; f < s->n && managed < innermost; f++) {
            managed += s->frames[f].text != NULL;
            for (const char *const *m = marks; s->frames[f].text && *m; m++)
                if (strstr(s->frames[f].text, *m))
                    return s->frames[f].text;
        }
    }
    return NULL;
}

static bool collects_in_stack(const struct look *l)
{
    static const char *const marks[] = {"art::gc",
                                        "GarbageCollect",
                                        "garbageCollect",
                                        "garbage_collect",
                                        "collectgarbage",
                                        "luaC_",
                                        "mono_gc",
                                        "il2cpp_gc",
                                        "GC_collect",
                                        "GC.Collect",
                                        "System.gc",
                                        "Runtime.gc",
                                        NULL};
    const char *frame = marked_frame(l->event, marks, 8);

    return frame && say(l, CAUSE_garbage_collection, "in %.200s", frame);
}

static bool waits_in_stack(const struct look *l)
{
    static const char *const marks[] = {
        "Unsafe.park",      "LockSupport.park", "Object.wait",          "Monitor.Enter",
        "Monitor.Wait",     "Thread.sleep",     "FileInputStream",      "FileOutputStream",
        "SQLiteConnection", "Thread.join",      "BinderProxy.transact", NULL};
    const char *frame = marked_frame(l->event, marks, 3);

    return frame && say(l, CAUSE_main_waiting, "in %.200s", frame);
}

/* Rules
 * -------------------------------------------------------------------------------------------- */

static bool low_memory(const struct look *l)
{
    const struct session *s = l->session;
    uint64_t start = l->event->start_us, end = start + l->event->duration_us + JANK_WINDOW_AFTER_US;
    size_t low = 0, high = s->n_lifecycle;

    start = start > JANK_WINDOW_BEFORE_US ? start - JANK_WINDOW_BEFORE_US : 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->lifecycle[mid].t_us < start)
            low = mid + 1;
        else
            high = mid;
    }
    high = low + JANK_WINDOW_SAMPLES;
    for (size_t i = low; i < s->n_lifecycle && i < high && s->lifecycle[i].t_us <= end; i++)
        if (s->lifecycle[i].kind == LIFE_LOW_MEMORY)
            return say(l, CAUSE_memory_pressure, "the system warned of low memory at %.1f s",
                       (double)s->lifecycle[i].t_us / 1e6);
    return false;
}

static bool short_of_memory(const struct look *l)
{
    int64_t swap, low, high, anon_low, anon, ram_kb = (int64_t)l->session->header.ram_mb * 1024;

    if (low_memory(l))
        return true;
    if (range(l, HW_swap_kb, &low, &high) && value_before(l, HW_swap_kb, &swap) &&
        high - swap >= SWAP_GREW_KB)
        return say(l, CAUSE_memory_pressure, "swap grew by %lld MB to %lld MB",
                   (long long)(high - swap) / 1024, (long long)high / 1024);
    if (!ram_kb || !range(l, HW_rss_anon_kb, &anon_low, &anon) ||
        (anon + high) * 100 < ram_kb * ANON_PERCENT_OF_RAM)
        return false;
    return say(l, CAUSE_memory_pressure, "%lld MB of anonymous memory and swap on %lld MB of RAM",
               (long long)(anon + high) / 1024, (long long)ram_kb / 1024);
}

static bool rose_since(const struct look *l, const struct hardware_sample *peak,
                       enum hardware_field f, int64_t by)
{
    int64_t low, high;

    return hardware_has(peak, f) && range(l, f, &low, &high) && high - peak->value[f] >= by;
}

static bool hot(const struct look *l, const struct hardware_sample *peak)
{
    int64_t low, high;

    return (range(l, HW_thermal_status, &low, &high) && high >= HOT_STATUS) ||
           (range(l, HW_battery_millicelsius, &low, &high) && high >= HOT_BATTERY_MC) ||
           rose_since(l, peak, HW_thermal_status, 1) ||
           rose_since(l, peak, HW_battery_millicelsius, BATTERY_ROSE_MC) ||
           rose_since(l, peak, HW_skin_millicelsius, SKIN_ROSE_MC);
}

/* The fastest the big cores went in the window: low means low for the whole of it. */
static uint32_t window_khz(const struct look *l)
{
    uint32_t khz = 0;

    for (const struct hardware_sample *h = l->from; h < l->to; h++) {
        uint32_t now = big_core_khz(l->session, h);

        khz = now > khz ? now : khz;
    }
    return khz;
}

/* Frames of the jank's scene in the two seconds before it. */
static struct pace pace_before(const struct look *l)
{
    const struct session *s = l->session;
    uint64_t start = l->event->start_us;
    size_t low = 0, high = s->n_frames;
    struct pace pace = {0};

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->frames[mid].start_us < start)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low; i-- > 0 && low - i <= PACE_FRAMES;) {
        if (s->frames[i].start_us + JANK_WINDOW_BEFORE_US < start)
            break;
        if (keeps_pace(&s->frames[i]) && s->frames[i].scene == l->event->scene)
            add_to_pace(&pace, &s->frames[i]);
    }
    return pace;
}

/* Where no clocks are told: frames longer than those of the same scene at a lower status. */
static bool throttled_by_pace(const struct look *l)
{
    const struct hardware_sample *first = l->session->hardware;
    const struct pace *of_scene = l->causes->pace + l->event->scene * STATUSES;
    struct pace cool = {0}, hot;
    int64_t low, status;

    if (!range(l, HW_thermal_status, &low, &status) ||
        (status < SEVERE_STATUS && !rose_since(l, first, HW_thermal_status, 1)))
        return false;
    for (int64_t i = 0; i < status; i++)
        add_pace(&cool, &of_scene[i]);
    hot = pace_before(l);
    if (cool.n < COOL_FRAMES || hot.n < HOT_FRAMES || cool.mixed || hot.mixed ||
        cool.target_us != hot.target_us) /* games aim lower by themselves when it grows hot */
        return false;

    double before = (double)cool.sum_us / (double)cool.n, now = (double)hot.sum_us / (double)hot.n;

    return now * 100 >= before * (100 + FRAMES_ROSE_PERCENT) &&
           say(l, CAUSE_throttled, "frames %.1f -> %.1f ms in this scene, thermal status %lld",
               before / 1000, now / 1000, (long long)status);
}

static bool throttled(const struct look *l)
{
    const struct session *s = l->session;
    uint32_t now = window_khz(l);

    if (!now)
        return throttled_by_pace(l);

    const struct hardware_sample *peak = &s->hardware[l->causes->peak[l->from - s->hardware]];
    uint32_t before = big_core_khz(s, peak);
    int64_t low, temperature, status;

    if ((uint64_t)now * 100 > (uint64_t)before * (100 - FELL_PERCENT) || !hot(l, peak))
        return false;
    (void)range(l, HW_thermal_status, &low, &status);
    if (range(l, HW_battery_millicelsius, &low, &temperature) ||
        range(l, HW_skin_millicelsius, &low, &temperature))
        return say(l, CAUSE_throttled, "big cores %u -> %u MHz at %.1f °C, thermal status %lld",
                   before / 1000, now / 1000, celsius(temperature), (long long)status);
    return say(l, CAUSE_throttled, "big cores %u -> %u MHz, thermal status %lld", before / 1000,
               now / 1000, (long long)status);
}

static bool threads_explode(const struct look *l)
{
    int64_t before, low, high;

    return value_before(l, HW_thread_count, &before) && range(l, HW_thread_count, &low, &high) &&
           high - before >= THREADS_GREW && (high - before) * 4 >= before &&
           say(l, CAUSE_thread_explosion, "threads %lld -> %lld", (long long)before,
               (long long)high);
}

static bool heap_drops(const struct look *l)
{
    int64_t before, low, high;

    return value_before(l, HW_java_heap_kb, &before) && range(l, HW_java_heap_kb, &low, &high) &&
           before - low >= HEAP_DROP_KB && (before - low) * 5 >= before &&
           say(l, CAUSE_garbage_collection, "Java heap %lld -> %lld MB", (long long)before / 1024,
               (long long)low / 1024);
}

static bool gpu_bound(const struct look *l)
{
    int64_t high = 0, jank = (int64_t)l->event->duration_us;

    for (const struct hardware_sample *h = l->from; h < l->to; h++)
        if (hardware_has(h, HW_gpu_time_us) && h->value[HW_gpu_time_us] > high &&
            h->value[HW_gpu_time_us] * 100 <= jank * GPU_MOST_PERCENT_OF_JANK)
            high = h->value[HW_gpu_time_us];
    return high * 100 >= jank * GPU_PERCENT_OF_JANK &&
           say(l, CAUSE_gpu_bound, "GPU %lld ms of a frame of %lld ms", (long long)high / 1000,
               (long long)jank / 1000);
}

/* What the main thread did between two samples. */
struct use {
    int64_t span_us, ran_us, waited_us; /* waited: runnable without a core; -1 unknown */
};

static bool use_between(const struct hardware_sample *a, const struct hardware_sample *b,
                        struct use *u)
{
    if (!a || !b || a->t_us >= b->t_us)
        return false;
    u->span_us = (int64_t)(b->t_us - a->t_us);
    u->ran_us = b->value[HW_main_cpu_us] - a->value[HW_main_cpu_us];
    u->waited_us = hardware_has(a, HW_main_wait_us) && hardware_has(b, HW_main_wait_us)
                       ? b->value[HW_main_wait_us] - a->value[HW_main_wait_us]
                       : -1;
    /* A counter that runs backwards or faster than time was read wrongly. */
    return u->ran_us >= 0 && u->ran_us <= u->span_us + u->span_us / 10 &&
           u->waited_us <= u->span_us + u->span_us / 10;
}

/* Samples within the jank if they span a third of it, else those around it if they are no further
 * apart than twice its length. */
static bool main_use(const struct look *l, struct use *u)
{
    uint64_t start = l->event->start_us, jank = l->event->duration_us, end = start + jank;
    const struct hardware_sample *in_first = NULL, *in_last = NULL, *before = NULL, *after = NULL;

    for (const struct hardware_sample *h = l->from; h < l->to; h++) {
        if (!hardware_has(h, HW_main_cpu_us))
            continue;
        if (h->t_us <= start)
            before = h;
        if (h->t_us >= end && !after)
            after = h;
        if (h->t_us >= start && h->t_us <= end) {
            in_first = in_first ? in_first : h;
            in_last = h;
        }
    }
    if (use_between(in_first, in_last, u) && (uint64_t)u->span_us * 3 >= jank)
        return true;
    return use_between(before, after, u) && (uint64_t)u->span_us <= jank * 2;
}

static bool main_waits(const struct look *l)
{
    struct use u;

    if (!main_use(l, &u))
        return waits_in_stack(l);
    if (u.waited_us * 100 >= u.span_us * WAITED_PERCENT)
        return say(l, CAUSE_main_waiting, "main thread waited %lld of %lld ms for a core",
                   (long long)u.waited_us / 1000, (long long)u.span_us / 1000);

    int64_t blocked = u.span_us - u.ran_us - (u.waited_us > 0 ? u.waited_us : 0);

    if (blocked * 100 >= u.span_us * BLOCKED_PERCENT)
        return say(l, CAUSE_main_waiting,
                   "main thread ran %lld of %lld ms: blocked on input, output or a lock",
                   (long long)u.ran_us / 1000, (long long)u.span_us / 1000);
    return waits_in_stack(l);
}

static bool cpu_bound(const struct look *l)
{
    struct use u;
    int64_t low, high;

    if (main_use(l, &u) && u.ran_us * 100 >= u.span_us * RAN_PERCENT)
        return say(l, CAUSE_cpu_bound, "main thread ran %lld of %lld ms",
                   (long long)u.ran_us / 1000, (long long)u.span_us / 1000);
    return range(l, HW_total_cpu_permille, &low, &high) && high >= BUSY_PERMILLE &&
           say(l, CAUSE_cpu_bound, "all cores together %lld %% busy", (long long)high / 10);
}

void causes_find(const struct causes *c, struct arena *mem, struct jank_event *e)
{
    /* The first that speaks: what was seen directly, then what slows everything, then what a
     * thread was doing. GPU before waiting, for a main thread waits for a slow GPU. */
    static bool (*const rules[])(const struct look *) = {
        collects_in_stack, short_of_memory, throttled,  threads_explode,
        heap_drops,        gpu_bound,       main_waits, cpu_bound};
    const struct session *s = c->session;
    struct look l = {.session = s, .causes = c, .mem = mem, .event = e};

    l.from = s->hardware + e->hardware_from;
    l.to = s->hardware + e->hardware_to;
    if (e->hardware_from && s->hardware[e->hardware_from - 1].t_us + BASELINE_US >= e->start_us)
        l.before = l.from - 1;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i](&l))
            return;
    e->cause = CAUSE_unknown;
    e->evidence = l.from == l.to ? "no hardware sample near it" : "nothing stands out";
}
