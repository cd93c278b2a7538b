#include "profile/events.h"

#include "profile/cause.h"
#include "profile/session_merge.h"

#include <stdlib.h>
#include <string.h>

/* Jank packets that may belong to one frame; the SDK writes one. Bounds the work on hostile input.
 */
#define MAX_LOOK_BACK 64

/* A jank before its details: cheap, for there may be more than are kept. */
struct candidate {
    uint64_t start_us, duration_us;
    size_t at; /* in session.frames, or in session.janks */
    bool from_frames;
};

struct candidates {
    struct candidate *list;
    size_t n;
};

static uint64_t end_of(const struct candidate *c)
{
    return c->start_us + c->duration_us;
}

/* First item at or after a moment, in a list whose items begin with their time. */
static size_t first_from(const void *items, size_t n, size_t size, uint64_t t_us)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint64_t t;

        memcpy(&t, (const char *)items + mid * size, sizeof t);
        if (t < t_us)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

#define FIRST_FROM(list, n, t_us) first_from(list, n, sizeof *(list), t_us)

/* Only valid frames have any of these. */
static bool is_event(const struct frame *f)
{
    return f->jank | f->perfdog_jank | f->perfdog_big;
}

/* Janks of the SDK that no frame speaks of --------------------------------------------------------
 */

static bool in_foreground(const struct session *s, uint64_t from, uint64_t to)
{
    size_t low = 0, high = s->n_foreground;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->foreground[mid].to_us < to)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n_foreground && s->foreground[low].from_us <= from;
}

static bool holds_suspension(const struct session *s, uint64_t from, uint64_t to)
{
    size_t i = FIRST_FROM(s->lifecycle, s->n_lifecycle, from);

    for (size_t n = 0; i < s->n_lifecycle && s->lifecycle[i].t_us < to; i++, n++)
        if (s->lifecycle[i].kind == LIFE_SUSPENDED || n >= MAX_LOOK_BACK)
            return true;
    return false;
}

/* Frames were recorded here: two begin within it, or one fills half of it. */
static bool frames_speak(const struct session *s, uint64_t from, uint64_t to)
{
    size_t i = FIRST_FROM(s->frames, s->n_frames, from);

    if (i + 1 < s->n_frames && s->frames[i + 1].start_us < to)
        return true;
    for (size_t k = i ? i - 1 : 0; k <= i && k < s->n_frames; k++) {
        const struct frame *f = &s->frames[k];
        uint64_t begin = f->start_us > from ? f->start_us : from;
        uint64_t end = f->start_us + f->interval_us < to ? f->start_us + f->interval_us : to;

        if (end > begin && (end - begin) * 2 >= to - from)
            return true;
    }
    return false;
}

static bool stands_alone(const struct session *s, const struct part_jank *j)
{
    uint64_t from = j->start_us, to = from + j->duration_us;

    return merge_level(j->duration_us) && in_foreground(s, from, to) &&
           !holds_suspension(s, from, to) && !frames_speak(s, from, to);
}

/* Adds them; of those that overlap each other the longest stays. */
static void add_alone(const struct session *s, struct candidates *c)
{
    size_t first = c->n;

    for (size_t i = 0; i < s->n_janks; i++) {
        const struct part_jank *j = &s->janks[i];
        struct candidate *before = c->n > first ? &c->list[c->n - 1] : NULL;

        if (!stands_alone(s, j))
            continue;
        if (!before || end_of(before) <= j->start_us)
            c->n++;
        else if (before->duration_us >= j->duration_us)
            continue;
        c->list[c->n - 1] = (struct candidate){j->start_us, j->duration_us, i, false};
    }
}

/* Choosing
 * ------------------------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->duration_us != y->duration_us)
        return x->duration_us > y->duration_us ? -1 : 1;
    return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

/* A frame before a Jank packet of the same moment. */
static int by_start(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (int)y->from_frames - (int)x->from_frames;
}

static bool find_candidates(const struct session *s, struct arena *mem, struct candidates *c)
{
    size_t most = s->n_janks;

    for (size_t i = 0; i < s->n_frames; i++)
        most += is_event(&s->frames[i]);
    c->list = arena_array(mem, most, sizeof *c->list);
    if (!c->list)
        return false;
    for (size_t i = 0; i < s->n_frames; i++)
        if (is_event(&s->frames[i]))
            c->list[c->n++] =
                (struct candidate){s->frames[i].start_us, s->frames[i].interval_us, i, true};
    add_alone(s, c);
    return true;
}

/* At most MAX_JANK_EVENTS, by start, each start once. Returns how many were dropped. */
static size_t keep_longest(struct candidates *c)
{
    size_t before = c->n, kept = 0;

    if (c->n > MAX_JANK_EVENTS) {
        qsort(c->list, c->n, sizeof *c->list, by_length);
        c->n = MAX_JANK_EVENTS;
    }
    qsort(c->list, c->n, sizeof *c->list, by_start);
    for (size_t i = 0; i < c->n; i++)
        if (!kept || c->list[kept - 1].start_us != c->list[i].start_us)
            c->list[kept++] = c->list[i];
    c->n = kept;
    return before - kept;
}

/* Details
 * ------------------------------------------------------------------------------------------- */

/* The SDK's Jank packet that overlaps a frame most; NULL if none does. */
static const struct part_jank *match(const struct session *s, uint64_t from, uint64_t to)
{
    const struct part_jank *best = NULL;
    uint64_t best_overlap = 0;
    size_t i = FIRST_FROM(s->janks, s->n_janks, to);

    for (size_t n = 0; i-- > 0 && n < MAX_LOOK_BACK; n++) {
        const struct part_jank *j = &s->janks[i];
        uint64_t begin = j->start_us > from ? j->start_us : from;
        uint64_t end = j->start_us + j->duration_us < to ? j->start_us + j->duration_us : to;
        uint64_t overlap = end > begin ? end - begin : 0;

        /* Less than half of either is its neighbour's. */
        if (overlap * 2 < (j->duration_us < to - from ? j->duration_us : to - from))
            continue;
        if (overlap > best_overlap || (overlap == best_overlap && j->n_samples > best->n_samples)) {
            best = j;
            best_overlap = overlap;
        }
    }
    return best;
}

static uint16_t scene_at(const struct session *s, uint64_t t_us)
{
    size_t i = FIRST_FROM(s->scene_changes, s->n_scene_changes, t_us + 1);

    return i ? s->change_scene[i - 1] : 0;
}

static void set_window(const struct session *s, struct jank_event *e)
{
    uint64_t start = e->start_us, end = start + e->duration_us + JANK_WINDOW_AFTER_US;

    start = start > JANK_WINDOW_BEFORE_US ? start - JANK_WINDOW_BEFORE_US : 0;
    e->hardware_from = FIRST_FROM(s->hardware, s->n_hardware, start);
    e->hardware_to = FIRST_FROM(s->hardware, s->n_hardware, end + 1);
    if (e->hardware_to - e->hardware_from > JANK_WINDOW_SAMPLES)
        e->hardware_to = e->hardware_from + JANK_WINDOW_SAMPLES;
}

static void describe(const struct session *s, const struct candidate *c, struct jank_event *e)
{
    const struct part_jank *jank;

    e->start_us = c->start_us;
    e->duration_us = c->duration_us;
    e->from_frames = c->from_frames;
    if (c->from_frames) {
        const struct frame *f = &s->frames[c->at];

        e->level = (enum jank_level)f->jank;
        e->perfdog_jank = f->perfdog_jank;
        e->perfdog_big = f->perfdog_big;
        e->scene = f->scene;
        jank = match(s, c->start_us, end_of(c));
    } else {
        jank = &s->janks[c->at];
        e->level = (enum jank_level)merge_level(jank->duration_us);
        e->scene = scene_at(s, c->start_us);
    }
    e->samples = jank ? jank->samples : NULL;
    e->n_samples = jank ? jank->n_samples : 0;
    set_window(s, e);
}

bool events_find(const struct session *s, struct arena *mem, struct session_result *out)
{
    const struct causes *causes = causes_new(s, mem);
    struct candidates c = {0};

    if (!causes || !find_candidates(s, mem, &c))
        return false;
    out->n_events_dropped = keep_longest(&c);
    out->events = arena_array(mem, c.n, sizeof *out->events);
    if (!out->events)
        return false;
    for (size_t i = 0; i < c.n; i++) {
        describe(s, &c.list[i], &out->events[i]);
        causes_find(causes, mem, &out->events[i]);
    }
    out->n_events = c.n;
    return true;
}
