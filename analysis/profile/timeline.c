#include "profile/timeline.h"

#include "profile/view.h"

struct window {
    const struct session *s;
    const struct session_result *r;
    uint64_t from, to; /* half-open, not empty */
    unsigned buckets;
    struct buf *out;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool has_moment(const struct window *w, uint64_t t)
{
    return t >= w->from && t < w->to;
}

/* A span belongs to the window when any of it does; an empty one when its moment does. */
static bool has_span(const struct window *w, uint64_t from, uint64_t to)
{
    return from < w->to && (from >= w->from || to > w->from);
}

static bool has_frame(const struct window *w, const struct frame *f)
{
    return has_span(w, f->start_us, plus(f->start_us, f->interval_us));
}

/* Frames --------------------------------------------------------------------------------------- */

static size_t count_frames(const struct window *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->s->n_frames; i++)
        n += has_frame(w, &w->s->frames[i]);
    return n;
}

enum frame_column { START, INTERVAL, STATE };

static void put_frame_column(const struct window *w, enum frame_column column)
{
    bool first = true;

    buf_byte(w->out, '[');
    for (size_t i = 0; i < w->s->n_frames; i++) {
        const struct frame *f = &w->s->frames[i];

        if (!has_frame(w, f))
            continue;
        view_comma(w->out, &first);
        buf_i64(w->out, column == START      ? (int64_t)f->start_us
                        : column == INTERVAL ? (int64_t)f->interval_us
                                             : (int64_t)f->state);
    }
    buf_byte(w->out, ']');
}

static void put_frames(const struct window *w)
{
    buf_text(w->out, ",\"frames\":{\"start_us\":");
    put_frame_column(w, START);
    view_key(w->out, "interval_us");
    put_frame_column(w, INTERVAL);
    view_key(w->out, "state");
    put_frame_column(w, STATE);
    buf_byte(w->out, '}');
}

/* Begin of bucket i; the last bucket ends where bucket `buckets` would begin. */
static uint64_t bucket_begin(const struct window *w, unsigned i)
{
    uint64_t width = w->to - w->from;

    if (width <= UINT64_MAX / TIMELINE_MAX_BUCKETS)
        return w->from + width * i / w->buckets;
    return w->from + (uint64_t)((unsigned __int128)width * i / w->buckets);
}

struct bucket {
    uint64_t n, excluded, sum;
    uint32_t min, max;
    uint8_t jank;
};

static void bucket_add(struct bucket *b, const struct frame *f)
{
    if (f->state != FRAME_VALID) {
        b->excluded++;
        return;
    }
    if (!b->n || f->interval_us < b->min)
        b->min = f->interval_us;
    if (f->interval_us > b->max)
        b->max = f->interval_us;
    if (f->jank > b->jank)
        b->jank = f->jank;
    b->sum += f->interval_us;
    b->n++;
}

/* Takes the frames from *at on that begin before `end`; those before the window count in its first
 * bucket. */
static struct bucket fill_bucket(const struct window *w, size_t *at, uint64_t end)
{
    struct bucket b = {0};

    for (; *at < w->s->n_frames && w->s->frames[*at].start_us < end; ++*at)
        if (has_frame(w, &w->s->frames[*at]))
            bucket_add(&b, &w->s->frames[*at]);
    return b;
}

enum bucket_column { B_T, B_N, B_EXCLUDED, B_MIN, B_MAX, B_MEAN, B_JANK, B_COLUMNS };
static const char *const bucket_column_name[B_COLUMNS] = {"t_us",   "n",       "excluded", "min_us",
                                                          "max_us", "mean_us", "jank"};

static int64_t bucket_value(const struct window *w, unsigned i, const struct bucket *b,
                            enum bucket_column column)
{
    switch (column) {
    case B_T:
        return (int64_t)bucket_begin(w, i);
    case B_N:
        return (int64_t)b->n;
    case B_EXCLUDED:
        return (int64_t)b->excluded;
    case B_MIN:
        return b->min;
    case B_MAX:
        return b->max;
    case B_MEAN:
        return (int64_t)((b->sum + b->n / 2) / b->n);
    default:
        return b->jank;
    }
}

static void put_bucket_column(const struct window *w, enum bucket_column column)
{
    size_t at = 0;

    buf_byte(w->out, '[');
    for (unsigned i = 0; i < w->buckets; i++) {
        struct bucket b = fill_bucket(w, &at, bucket_begin(w, i + 1));

        if (i)
            buf_byte(w->out, ',');
        if (!b.n && (column == B_MIN || column == B_MAX || column == B_MEAN))
            buf_text(w->out, "null");
        else
            buf_i64(w->out, bucket_value(w, i, &b, column));
    }
    buf_byte(w->out, ']');
}

static void put_buckets(const struct window *w)
{
    buf_text(w->out, ",\"buckets\":{");
    for (enum bucket_column c = 0; c < B_COLUMNS; c++) {
        if (c)
            buf_byte(w->out, ',');
        buf_json_string(w->out, bucket_column_name[c]);
        buf_byte(w->out, ':');
        put_bucket_column(w, c);
    }
    buf_byte(w->out, '}');
}

/* Where the interval aimed at changes, with the value that the window begins with. */
static void put_targets(const struct window *w)
{
    uint32_t last = 0;
    bool first = true;

    buf_text(w->out, ",\"targets\":[");
    for (size_t i = 0; i < w->s->n_frames; i++) {
        const struct frame *f = &w->s->frames[i];

        if (!has_frame(w, f) || (!first && f->target_us == last))
            continue;
        view_comma(w->out, &first);
        buf_text(w->out, "{\"t_us\":");
        buf_i64(w->out, (int64_t)f->start_us);
        view_key_i64(w->out, "target_us", f->target_us);
        buf_byte(w->out, '}');
        last = f->target_us;
    }
    buf_byte(w->out, ']');
}

/* Everything else ------------------------------------------------------------------------------ */

static void put_hardware(const struct window *w)
{
    const struct session *s = w->s;
    size_t from = 0, to;

    while (from < s->n_hardware && s->hardware[from].t_us < w->from)
        from++;
    for (to = from; to < s->n_hardware && s->hardware[to].t_us < w->to;)
        to++;
    view_key(w->out, "hardware");
    view_hardware_json(s, from, to, w->buckets, w->out);
    view_key(w->out, "cores");
    view_cores_json(s, from, to, w->buckets, w->out);
}

static void put_attributes(const struct part_scene *scene, struct buf *out)
{
    bool first = true;

    view_key(out, "attributes");
    buf_byte(out, '[');
    for (size_t i = 0; i < scene->n_attributes; i++) {
        view_comma(out, &first);
        buf_text(out, "{\"key\":");
        view_json_text(out, scene->attributes[i].key);
        view_key_i64(out, "value", scene->attributes[i].value);
        buf_byte(out, '}');
    }
    buf_byte(out, ']');
}

static void put_scenes(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"scenes\":[");
    for (size_t i = 0; i < w->s->n_scene_changes; i++) {
        const struct part_scene *scene = &w->s->scene_changes[i];
        uint64_t end = view_scene_end(w->s, i);

        if (!has_span(w, scene->t_us, end))
            continue;
        view_comma(w->out, &first);
        buf_text(w->out, "{\"from_us\":");
        buf_i64(w->out, (int64_t)scene->t_us);
        view_key_u64(w->out, "to_us", end);
        view_key_text(w->out, "scene", view_scene_key(w->s, i));
        view_key_text(w->out, "mode", scene->mode);
        view_key_text(w->out, "map", scene->map);
        put_attributes(scene, w->out);
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_span(const struct window *w, uint64_t from, uint64_t to, bool *first)
{
    if (!has_span(w, from, to))
        return;
    view_comma(w->out, first);
    buf_text(w->out, "{\"from_us\":");
    buf_i64(w->out, (int64_t)from);
    view_key_u64(w->out, "to_us", to);
    buf_byte(w->out, '}');
}

/* Foreground: what the parts cover; a part that has not come leaves a gap. */
static void put_spans(const struct window *w)
{
    struct view_span span;
    bool first = true;

    buf_text(w->out, ",\"foreground\":[");
    for (size_t i = 0; i < w->s->n_foreground; i++)
        put_span(w, w->s->foreground[i].from_us, w->s->foreground[i].to_us, &first);
    buf_text(w->out, "],\"background\":[");
    first = true;
    for (size_t at = 0; view_next_background(w->s, &at, &span);)
        put_span(w, span.from_us, span.to_us, &first);
    buf_byte(w->out, ']');
}

/* {"t_us": …, left open. */
static void begin_moment(const struct window *w, bool *first, uint64_t t_us)
{
    view_comma(w->out, first);
    buf_text(w->out, "{\"t_us\":");
    buf_i64(w->out, (int64_t)t_us);
}

static void put_lifecycle(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"lifecycle\":[");
    for (size_t i = 0; i < w->s->n_lifecycle; i++) {
        const struct part_lifecycle *l = &w->s->lifecycle[i];

        if (!has_moment(w, l->t_us))
            continue;
        begin_moment(w, &first, l->t_us);
        view_key_text(w->out, "kind", view_lifecycle_name[l->kind]);
        if (l->kind == LIFE_SUSPENDED)
            view_key_u64(w->out, "duration_ms", l->duration_ms);
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_steps(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"steps\":[");
    for (size_t i = 0; i < w->s->n_steps; i++) {
        if (!has_moment(w, w->s->steps[i].t_us))
            continue;
        begin_moment(w, &first, w->s->steps[i].t_us);
        view_key_text(w->out, "name", w->s->steps[i].name);
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_position_column(const struct window *w, char column)
{
    bool first = true;

    buf_byte(w->out, '[');
    for (size_t i = 0; i < w->s->n_positions; i++) {
        const struct part_position *p = &w->s->positions[i];

        if (!has_moment(w, p->t_us))
            continue;
        view_comma(w->out, &first);
        if (column == 't')
            buf_i64(w->out, (int64_t)p->t_us);
        else
            view_real(w->out, (double)(column == 'x' ? p->x : p->y), true);
    }
    buf_byte(w->out, ']');
}

static void put_positions(const struct window *w)
{
    buf_text(w->out, ",\"positions\":{\"t_us\":");
    put_position_column(w, 't');
    view_key(w->out, "x");
    put_position_column(w, 'x');
    view_key(w->out, "y");
    put_position_column(w, 'y');
    buf_byte(w->out, '}');
}

static void put_janks(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"janks\":[");
    for (size_t i = 0; i < w->r->n_events; i++) {
        const struct jank_event *e = &w->r->events[i];

        if (!has_span(w, e->start_us, plus(e->start_us, e->duration_us)))
            continue;
        view_comma(w->out, &first);
        buf_text(w->out, "{\"index\":");
        buf_i64(w->out, (int64_t)i);
        view_key_u64(w->out, "start_us", e->start_us);
        view_key_u64(w->out, "duration_us", e->duration_us);
        view_key_i64(w->out, "level", e->level);
        view_key_bool(w->out, "perfdog_jank", e->perfdog_jank);
        view_key_bool(w->out, "perfdog_big", e->perfdog_big);
        view_key_text(w->out, "cause", jank_cause_name[e->cause]);
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_crashes(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"crashes\":[");
    for (size_t i = 0; i < w->s->n_crashes; i++) {
        const struct part_crash *c = &w->s->crashes[i];

        if (!has_moment(w, c->t_us))
            continue;
        begin_moment(w, &first, c->t_us);
        view_key_i64(w->out, "signal", c->signal);
        view_key_text(w->out, "reason", c->reason);
        view_key(w->out, "stack");
        if (c->stack)
            view_stack_json(c->stack, w->out);
        else
            buf_text(w->out, "null");
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_feedback(const struct window *w)
{
    bool first = true;

    buf_text(w->out, ",\"feedback\":[");
    for (size_t i = 0; i < w->s->n_feedback; i++) {
        const struct part_feedback *f = &w->s->feedback[i];

        if (!has_moment(w, f->t_us))
            continue;
        begin_moment(w, &first, f->t_us);
        view_key_text(w->out, "category", f->category);
        view_key_text(w->out, "text", f->text);
        buf_byte(w->out, '}');
    }
    buf_byte(w->out, ']');
}

static void put_head(const struct window *w, size_t frames)
{
    buf_text(w->out, "{\"session_id\":\"");
    view_hex(w->s->header.session_id, SESSION_ID_BYTES, w->out);
    buf_byte(w->out, '"');
    view_key_u64(w->out, "from_us", w->from);
    view_key_u64(w->out, "to_us", w->to);
    view_key_u64(w->out, "end_us", w->s->end_us);
    view_key_u64(w->out, "frame_count", frames);
    buf_text(w->out, ",\"state_names\":[");
    for (unsigned i = 0; i < 5; i++) {
        if (i)
            buf_byte(w->out, ',');
        buf_json_string(w->out, view_state_name[i]);
    }
    buf_byte(w->out, ']');
}

/* A moment at the very end of the session is in its window. */
static bool settle_window(struct window *w, struct err *err)
{
    uint64_t end = plus(w->s->end_us, 1);

    if (w->from >= end)
        return err_field(err, ERR_INVALID, "from_us", "past the session's end, %llu us",
                         (unsigned long long)w->s->end_us);
    if (w->to && w->to <= w->from)
        return err_field(err, ERR_INVALID, "to_us", "must be after from_us");
    if (w->buckets > TIMELINE_MAX_BUCKETS)
        return err_field(err, ERR_INVALID, "buckets", "at most %d", TIMELINE_MAX_BUCKETS);
    if (!w->to || w->to > end)
        w->to = end;
    return true;
}

bool timeline_write(const struct session *s, const struct session_result *r, uint64_t from_us,
                    uint64_t to_us, unsigned buckets, struct buf *out, struct err *err)
{
    struct window w = {s, r, from_us, to_us, buckets, out};

    if (!settle_window(&w, err))
        return false;

    size_t frames = count_frames(&w);

    put_head(&w, frames);
    if (!buckets || buckets >= frames)
        put_frames(&w);
    else
        put_buckets(&w);
    put_targets(&w);
    put_hardware(&w);
    put_scenes(&w);
    put_spans(&w);
    put_lifecycle(&w);
    put_steps(&w);
    put_positions(&w);
    put_janks(&w);
    put_crashes(&w);
    put_feedback(&w);
    buf_byte(out, '}');
    if (!buf_ok(out))
        return err_field(err, ERR_TOO_BIG, "buckets",
                         "the answer is too long: ask for buckets or for a shorter window");
    return true;
}
