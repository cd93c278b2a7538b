/* Rows of intervals -> frames with their state, scene and jank, for docs/metrics.md. */
#include "profile/session_merge.h"

#include <string.h>

/* Rows begin at exact microseconds but their intervals are kept in units of 10 us: an overlap this
 * small is rounding, a gap this small is none. */
#define ROUNDING_US 100
#define CONTINUES_US 1000

/* Milliseconds of metrics.md. */
#define PERFDOG_CUT_US 84000
#define PERFDOG_BIG_CUT_US 125000

struct row {
    uint64_t start_us; /* first, for the sort */
    const struct part_frames *frames;
    uint32_t refresh_millihertz; /* of the row, else of the device */
    size_t part;
};

static struct row *sorted_rows(struct merge *m, size_t *n)
{
    size_t most = 0, kept = 0;

    for (size_t i = 0; i < m->n; i++)
        most += m->parts[i]->n_frames;

    struct row *rows = arena_array(m->mem, most, sizeof *rows);

    for (size_t i = 0; rows && i < m->n; i++)
        for (size_t k = 0; k < m->parts[i]->n_frames; k++) {
            const struct part_frames *f = &m->parts[i]->frames[k];
            uint32_t refresh = f->refresh_millihertz ? f->refresh_millihertz
                                                     : m->parts[i]->header.refresh_millihertz;

            if (!merge_moment(m, i, f->start_us)) {
                m->session.invalid[INVALID_time_out_of_range] += f->n ? (int64_t)f->n - 1 : 0;
                continue;
            }
            m->session.dropped_frames += f->dropped;
            if (f->n) /* an empty row may tell of dropped frames alone */
                rows[kept++] = (struct row){f->start_us, f, refresh, i};
        }
    *n = kept;
    return rows ? merge_sort_by_time(m->mem, rows, kept, sizeof *rows) : NULL;
}

/* What the game aims at; else what the display shows; 0: unknown. */
static uint32_t target_of(const struct row *row)
{
    if (row->frames->target_interval_us)
        return row->frames->target_interval_us;
    return row->refresh_millihertz ? (uint32_t)(UINT64_C(1000000000) / row->refresh_millihertz) : 0;
}

/* Appends a row's frames; *covered_us is where the rows before it ended, and then this one too. */
static void expand_row(struct merge *m, const struct row *row, uint64_t *covered_us)
{
    struct session *s = &m->session;
    const struct part_frames *from = row->frames;
    uint64_t at = row->start_us, before = *covered_us;
    uint32_t target = target_of(row);

    for (size_t i = 0; i < from->n; i++) {
        uint64_t interval = (uint64_t)from->interval_10us[i] * 10;

        if (at > MAX_SESSION_US) {
            s->invalid[INVALID_time_out_of_range] += (int64_t)(from->n - i);
            break;
        }
        s->frames[s->n_frames++] =
            (struct frame){.start_us = at,
                           .interval_us = interval > UINT32_MAX ? UINT32_MAX : (uint32_t)interval,
                           .target_us = target,
                           .state = at + ROUNDING_US < before ? FRAME_OVERLAP : FRAME_VALID};
        at += interval;
    }
    if (at > MAX_SESSION_US)
        at = MAX_SESSION_US;
    merge_moment(m, row->part, at);
    if (at > *covered_us)
        *covered_us = at;
}

static bool expand(struct merge *m)
{
    struct session *s = &m->session;
    size_t n_rows = 0, n = 0;
    uint64_t covered_us = 0;
    bool sorted = true;
    const struct row *rows = sorted_rows(m, &n_rows);

    if (!rows)
        return false;
    for (size_t i = 0; i < n_rows; i++)
        n += rows[i].frames->n;
    s->frames = arena_array(m->mem, n, sizeof *s->frames);
    if (!s->frames)
        return false;
    for (size_t i = 0; i < n_rows; i++) {
        sorted &= !s->n_frames || s->frames[s->n_frames - 1].start_us <= rows[i].start_us;
        expand_row(m, &rows[i], &covered_us);
    }
    if (!sorted)
        s->frames = merge_sort_by_time(m->mem, s->frames, s->n_frames, sizeof *s->frames);
    return s->frames != NULL;
}

/* Where a walk over the frames, sorted by start, stands in the other lists. */
struct walk {
    const struct session *session;
    size_t scene; /* the next change */
    uint16_t current_scene;
    const struct session_span *away;
    size_t n_away, at_away;
    size_t sleep;         /* the next lifecycle event that may be a suspension */
    uint64_t quiet_until; /* no change of any of these before */
};

static uint16_t scene_at(struct walk *w, uint64_t t_us)
{
    const struct session *s = w->session;

    while (w->scene < s->n_scene_changes && s->scene_changes[w->scene].t_us <= t_us)
        w->current_scene = s->change_scene[w->scene++];
    return w->current_scene;
}

static bool is_away(struct walk *w, uint64_t from, uint64_t to)
{
    while (w->at_away < w->n_away && w->away[w->at_away].to_us <= from)
        w->at_away++;
    return w->at_away < w->n_away && w->away[w->at_away].from_us < to;
}

/* The session's clock stands still while the device sleeps, so a suspension is a moment on it. */
static bool is_suspended(struct walk *w, uint64_t from, uint64_t to)
{
    const struct session *s = w->session;

    while (w->sleep < s->n_lifecycle &&
           (s->lifecycle[w->sleep].t_us < from || s->lifecycle[w->sleep].kind != LIFE_SUSPENDED))
        w->sleep++;
    return w->sleep < s->n_lifecycle && s->lifecycle[w->sleep].t_us < to;
}

/* After a frame that begins at `from` was looked at: how long nothing will happen. */
static uint64_t quiet_until(const struct walk *w, uint64_t from)
{
    const struct session *s = w->session;
    uint64_t until = UINT64_MAX;

    if (w->scene < s->n_scene_changes)
        until = s->scene_changes[w->scene].t_us;
    if (w->sleep < s->n_lifecycle && s->lifecycle[w->sleep].t_us < until)
        until = s->lifecycle[w->sleep].t_us;
    if (w->at_away < w->n_away && w->away[w->at_away].from_us < until)
        until = w->away[w->at_away].from_us;
    return until > from ? until : 0;
}

static enum frame_state look_closely(struct walk *w, struct frame *f)
{
    uint64_t from = f->start_us, to = from + f->interval_us;
    bool suspended = is_suspended(w, from, to), away = is_away(w, from, to);

    f->scene = scene_at(w, from);
    w->quiet_until = quiet_until(w, from);
    return suspended ? FRAME_SUSPENDED : away ? FRAME_BACKGROUND : FRAME_VALID;
}

/* Sets the scene too. Nearly all frames lie where nothing happens. */
static enum frame_state state_of(struct walk *w, struct frame *f)
{
    if (f->start_us + f->interval_us < w->quiet_until) {
        f->scene = w->current_scene;
    } else {
        enum frame_state state = look_closely(w, f);

        if (state != FRAME_VALID)
            return state;
    }
    if (f->interval_us < FRAME_LOW_US || f->interval_us > FRAME_HIGH_US)
        return FRAME_INVALID;
    return (enum frame_state)f->state; /* overlap, or valid */
}

/* The valid frames right before: what PerfDog's rule looks back on. */
struct history {
    uint64_t end_us;
    uint64_t last[3]; /* intervals; [0] is the youngest */
    unsigned n;
    bool jank, big; /* the youngest qualified */
};

/* t > factor x mean of the three before, in integers; without them the cut alone decides. */
static bool stands_out(const struct history *h, uint64_t t, uint64_t factor)
{
    return h->n < 3 || 3 * t > factor * (h->last[0] + h->last[1] + h->last[2]);
}

static void judge(struct history *h, struct frame *f)
{
    uint64_t t = f->interval_us, end = h->end_us;
    bool continues = h->n > 0 && f->start_us <= end + CONTINUES_US;

    if (!continues)
        *h = (struct history){0};

    bool jank = t > PERFDOG_CUT_US && stands_out(h, t, 2);
    bool big = t > PERFDOG_BIG_CUT_US && stands_out(h, t, 3);

    f->row_start = !continues;
    f->jank = (uint8_t)merge_level(f->interval_us);
    f->perfdog_jank = jank && !h->jank;
    f->perfdog_big = big && !h->big;
    /* A twentieth of the target is the timer's jitter around a multiple of it. */
    f->missed = f->target_us && t + f->target_us / 20 >= 2 * (uint64_t)f->target_us;
    h->last[2] = h->last[1];
    h->last[1] = h->last[0];
    h->last[0] = t;
    h->n += h->n < 3;
    h->jank = jank;
    h->big = big;
    h->end_us = f->start_us + t;
}

void merge_frames(struct merge *m, const struct session_span *away, size_t n_away)
{
    struct session *s = &m->session;
    struct walk w = {.session = s, .away = away, .n_away = n_away};
    struct history h = {0};

    if (!expand(m))
        return;
    for (size_t i = 0; i < s->n_frames; i++) {
        struct frame *f = &s->frames[i];

        f->state = (uint8_t)state_of(&w, f);
        s->frames_by_state[f->state]++;
        if (f->state == FRAME_VALID)
            judge(&h, f);
        else if (f->state != FRAME_OVERLAP) /* a second telling of time already told */
            h.n = 0;
    }
    s->invalid[INVALID_frame_out_of_bounds] += s->frames_by_state[FRAME_INVALID];
    s->invalid[INVALID_frame_overlap] += s->frames_by_state[FRAME_OVERLAP];
}
