#include "profile/tally.h"

#include "base/cursor.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define MAX_LINES (2 * MAX_JANK_EVENTS)
#define MAX_TEXT 4096

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool out_of_memory(struct err *err)
{
    return err_full(err, "tallies");
}

/* Which sample stands for a jank ----------------------------------------------------------------
 */

static bool same_module(const struct part_module *a, const struct part_module *b)
{
    if (a == b)
        return true;
    return a && b && a->debug_id_len == b->debug_id_len &&
           memcmp(a->debug_id, b->debug_id, a->debug_id_len) == 0 &&
           strcmp(or_empty(a->name), or_empty(b->name)) == 0;
}

static bool same_frame(const struct part_stack_frame *a, const struct part_stack_frame *b)
{
    if (!a->text != !b->text)
        return false;
    return a->text ? strcmp(a->text, b->text) == 0
                   : a->offset == b->offset && same_module(a->module, b->module);
}

/* Frames from the root on that both have. */
static size_t shared_frames(const struct part_stack *a, const struct part_stack *b)
{
    size_t n = 0;

    if (a == b)
        return a->n;
    while (n < a->n && n < b->n && same_frame(&a->frames[a->n - 1 - n], &b->frames[b->n - 1 - n]))
        n++;
    return n;
}

/* The samples that are compared: numbers, in time order. */
static size_t compared(const struct jank_event *e, size_t at[TALLY_SAMPLES])
{
    size_t with = 0, n = 0, seen = 0;

    for (size_t i = 0; i < e->n_samples; i++)
        with += e->samples[i].stack != NULL;
    for (size_t i = 0; i < e->n_samples; i++) {
        if (!e->samples[i].stack)
            continue;
        /* of `with` ones those numbered floor(k * with / kept) */
        if (with <= TALLY_SAMPLES || (n < TALLY_SAMPLES && seen == n * with / TALLY_SAMPLES))
            at[n++] = i;
        seen++;
    }
    return n;
}

size_t tally_representative(const struct jank_event *e)
{
    size_t at[TALLY_SAMPLES], n = compared(e, at), best = e->n_samples, most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t shared = 0;

        for (size_t k = 0; k < n; k++)
            if (k != i)
                shared += shared_frames(e->samples[at[i]].stack, e->samples[at[k]].stack);
        if (best == e->n_samples || shared > most) {
            best = at[i];
            most = shared;
        }
    }
    return best;
}

/* Steps ---------------------------------------------------------------------------------------- */

static const char *step_name(const char *name, struct arena *mem)
{
    size_t n = strlen(or_empty(name));

    if (n <= TALLY_STEP_BYTES)
        return or_empty(name);
    for (n = TALLY_STEP_BYTES; n > 0 && (name[n] & 0xc0) == 0x80; n--)
        ;
    return arena_dup(mem, name, n);
}

/* The last steps among the first n. */
static void last_steps(const struct session *s, size_t n, struct arena *mem,
                       struct tally_steps *out)
{
    size_t from = n > TALLY_STEPS ? n - TALLY_STEPS : 0;

    out->n = 0;
    for (size_t i = from; i < n; i++)
        out->at[out->n++] = or_empty(step_name(s->steps[i].name, mem));
}

static size_t steps_until(const struct session *s, uint64_t t_us)
{
    size_t n = 0;

    while (n < s->n_steps && s->steps[n].t_us <= t_us)
        n++;
    return n;
}

static const char *scene_key(const struct session *s, size_t scene)
{
    return scene < s->n_scenes ? or_empty(s->scenes[scene].key) : "";
}

/* Index of the scene at each step. */
static void scenes_of_steps(const struct session *s, uint16_t *scene)
{
    size_t change = 0;

    for (size_t i = 0; i < s->n_steps; i++) {
        while (change < s->n_scene_changes && s->scene_changes[change].t_us <= s->steps[i].t_us)
            change++;
        scene[i] = change ? s->change_scene[change - 1] : 0;
    }
}

/* The step that ends the scene's window: number of the session's step, n_steps if there is none. */
static size_t picked_step(const struct session *s, const uint16_t *scene, uint16_t wanted,
                          tally_pick_fn *pick)
{
    size_t n = 0, which;

    for (size_t i = 0; i < s->n_steps; i++)
        n += scene[i] == wanted;
    if (!n)
        return s->n_steps;
    which = pick(s->header.session_id, SESSION_ID_BYTES, scene_key(s, wanted), n);
    for (size_t i = 0; i < s->n_steps; i++)
        if (scene[i] == wanted && which-- == 0)
            return i;
    return s->n_steps;
}

static bool clean_windows(const struct session *s, tally_pick_fn *pick, struct arena *mem,
                          struct tally *out, struct err *err)
{
    uint16_t *scene = arena_array(mem, s->n_steps, sizeof *scene);

    out->clean = arena_array(mem, s->n_scenes, sizeof *out->clean);
    if (arena_full(mem))
        return out_of_memory(err);
    scenes_of_steps(s, scene);
    for (size_t i = 0; i < s->n_scenes; i++) {
        size_t step = picked_step(s, scene, (uint16_t)i, pick);

        if (step == s->n_steps)
            continue;
        out->clean[out->n_clean].scene = scene_key(s, i);
        last_steps(s, step + 1, mem, &out->clean[out->n_clean++].steps);
    }
    return !arena_full(mem) || out_of_memory(err);
}

/* Lines ---------------------------------------------------------------------------------------- */

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_key(const void *va, const void *vb)
{
    const struct tally_line *a = va, *b = vb;
    int order = compare_i64(a->kind, b->kind);

    if (!order)
        order = memcmp(a->hash, b->hash, sizeof a->hash);
    if (!order)
        order = strcmp(a->scene, b->scene);
    return order ? order : strcmp(a->cause, b->cause);
}

/* The longest first, of equals the first: it is the line's example. */
static int by_key_and_length(const void *va, const void *vb)
{
    const struct tally_line *a = va, *b = vb;
    int order = by_key(va, vb);

    if (!order)
        order = -compare_i64(a->duration_us, b->duration_us);
    return order ? order : compare_i64(a->start_us, b->start_us);
}

static void join_lines(struct tally *t)
{
    size_t n = 0;

    if (t->n_lines)
        qsort(t->lines, t->n_lines, sizeof *t->lines, by_key_and_length);
    for (size_t i = 0; i < t->n_lines; i++) {
        struct tally_line *line = n ? &t->lines[n - 1] : NULL;

        if (!line || by_key(line, &t->lines[i]) != 0) {
            t->lines[n++] = t->lines[i];
            continue;
        }
        line->events += t->lines[i].events;
        line->jank_us += t->lines[i].jank_us;
        if (t->lines[i].first && !line->first) {
            line->first = true;
            line->steps = t->lines[i].steps;
        }
    }
    t->n_lines = n;
}

static void add_jank(const struct session *s, const struct jank_event *e, bool *seen,
                     struct arena *mem, struct tally *out)
{
    size_t sample = tally_representative(e);
    struct tally_line *line = &out->lines[out->n_lines];

    if (sample == e->n_samples)
        return;
    *line = (struct tally_line){.kind = TALLY_JANK,
                                .scene = scene_key(s, e->scene),
                                .cause = jank_cause_name[e->cause],
                                .events = 1,
                                .jank_us = (int64_t)e->duration_us,
                                .start_us = (int64_t)e->start_us,
                                .duration_us = (int64_t)e->duration_us};
    memcpy(line->hash, e->samples[sample].stack->hash, sizeof line->hash);
    if (e->scene < s->n_scenes && !seen[e->scene]) {
        seen[e->scene] = true;
        line->first = true;
        last_steps(s, steps_until(s, e->start_us), mem, &line->steps);
    }
    out->n_lines++;
}

static size_t scene_at(const struct session *s, uint64_t t_us)
{
    size_t change = 0;

    while (change < s->n_scene_changes && s->scene_changes[change].t_us <= t_us)
        change++;
    return change ? s->change_scene[change - 1] : 0;
}

static void add_crash(const struct session *s, const struct part_crash *c, struct arena *mem,
                      struct tally *out)
{
    struct tally_line *line = &out->lines[out->n_lines];

    if (!c->stack || !c->stack->n)
        return;
    *line = (struct tally_line){.kind = TALLY_CRASH,
                                .scene = scene_key(s, scene_at(s, c->t_us)),
                                .cause = "",
                                .events = 1,
                                .start_us = (int64_t)c->t_us,
                                .first = true};
    memcpy(line->hash, c->stack->hash, sizeof line->hash);
    last_steps(s, steps_until(s, c->t_us), mem, &line->steps);
    out->n_lines++;
}

static void add_posted(const struct session *s, const struct tally_crash *c, struct arena *mem,
                       struct tally *out)
{
    struct tally_line *line = &out->lines[out->n_lines++];

    *line = (struct tally_line){.kind = TALLY_CRASH,
                                .scene = scene_key(s, c->timed ? scene_at(s, c->t_us) : 0),
                                .cause = "",
                                .events = 1,
                                .start_us = c->timed ? (int64_t)c->t_us : 0,
                                .first = c->timed};
    memcpy(line->hash, c->hash, sizeof line->hash);
    if (c->timed)
        last_steps(s, steps_until(s, c->t_us), mem, &line->steps);
}

static bool count_session(const struct session_result *r, struct arena *mem, struct tally *out,
                          struct err *err)
{
    if (r->from_summary || !r->n_slices)
        return true;
    out->scenes = arena_array(mem, r->n_slices, sizeof *out->scenes);
    if (!out->scenes)
        return out_of_memory(err);
    out->counts = true;
    out->foreground_us = r->slices[0].foreground_us;
    for (size_t i = 1; i < r->n_slices; i++)
        out->scenes[out->n_scenes++] =
            (struct tally_scene){or_empty(r->slices[i].scene), r->slices[i].foreground_us};
    return true;
}

bool tally_of(const struct session *s, const struct session_result *r,
              const struct tally_crash *posted, size_t n_posted, tally_pick_fn *pick,
              struct arena *mem, struct tally *out, struct err *err)
{
    bool *seen = arena_array(mem, s->n_scenes, sizeof *seen);
    size_t crashes = s->n_crashes < MAX_JANK_EVENTS ? s->n_crashes : MAX_JANK_EVENTS;
    size_t more = n_posted < MAX_JANK_EVENTS - crashes ? n_posted : MAX_JANK_EVENTS - crashes;
    struct tally t = {.os = or_empty(s->header.os_version)};

    if (r->excluded) {
        *out = (struct tally){.os = ""};
        return true;
    }
    t.lines = arena_array(mem, r->n_events + crashes + more, sizeof *t.lines);
    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < r->n_events; i++)
        add_jank(s, &r->events[i], seen, mem, &t);
    for (size_t i = 0; i < crashes; i++)
        add_crash(s, &s->crashes[i], mem, &t);
    for (size_t i = 0; i < more; i++)
        add_posted(s, &posted[i], mem, &t);
    if (arena_full(mem))
        return out_of_memory(err);
    join_lines(&t);
    if (!count_session(r, mem, &t, err))
        return false;
    if (!r->n_events && !r->from_summary && !clean_windows(s, pick, mem, &t, err))
        return false;
    *out = t;
    return true;
}

/* Stored form ---------------------------------------------------------------------------------- */

static void put_text(struct buf *out, const char *text)
{
    size_t n = strlen(text);

    if (n > MAX_TEXT)
        n = MAX_TEXT;
    buf_varint(out, n);
    buf_put(out, text, n);
}

static void put_steps(struct buf *out, const struct tally_steps *s)
{
    buf_varint(out, s->n);
    for (size_t i = 0; i < s->n; i++)
        put_text(out, s->at[i]);
}

static void put_line(struct buf *out, const struct tally_line *l)
{
    buf_byte(out, (uint8_t)(l->kind << 1 | (l->first ? 1 : 0)));
    buf_put(out, l->hash, sizeof l->hash);
    put_text(out, l->scene);
    put_text(out, l->cause);
    buf_varint(out, (uint64_t)l->events);
    buf_varint(out, (uint64_t)l->jank_us);
    buf_varint(out, (uint64_t)l->start_us);
    buf_varint(out, (uint64_t)l->duration_us);
    if (l->first)
        put_steps(out, &l->steps);
}

void tally_write(const struct tally *t, struct buf *out)
{
    if (!t->n_lines && !t->n_clean && !t->counts)
        return;
    buf_byte(out, FORMAT);
    put_text(out, t->os);
    buf_byte(out, t->counts);
    buf_varint(out, (uint64_t)t->foreground_us);
    buf_varint(out, t->n_scenes);
    for (size_t i = 0; i < t->n_scenes; i++) {
        put_text(out, t->scenes[i].scene);
        buf_varint(out, (uint64_t)t->scenes[i].foreground_us);
    }
    buf_varint(out, t->n_lines);
    for (size_t i = 0; i < t->n_lines; i++)
        put_line(out, &t->lines[i]);
    buf_varint(out, t->n_clean);
    for (size_t i = 0; i < t->n_clean; i++) {
        put_text(out, t->clean[i].scene);
        put_steps(out, &t->clean[i].steps);
    }
}

static const char *get_text(struct cursor *c, struct arena *mem)
{
    uint64_t n = cursor_uleb(c);
    const unsigned char *at = n <= MAX_TEXT ? cursor_bytes(c, (size_t)n) : NULL;
    const char *text = at ? arena_dup(mem, (const char *)at, (size_t)n) : NULL;

    if (!text)
        c->failed = true;
    return or_empty(text);
}

static size_t get_count(struct cursor *c, size_t max)
{
    uint64_t n = cursor_uleb(c);

    if (n > max || n > cursor_left(c))
        c->failed = true;
    return c->failed ? 0 : (size_t)n;
}

static int64_t get_i64(struct cursor *c)
{
    uint64_t v = cursor_uleb(c);

    if (v > INT64_MAX)
        c->failed = true;
    return c->failed ? 0 : (int64_t)v;
}

static void get_steps(struct cursor *c, struct arena *mem, struct tally_steps *out)
{
    out->n = get_count(c, TALLY_STEPS);
    for (size_t i = 0; i < out->n; i++)
        out->at[i] = get_text(c, mem);
}

static void get_line(struct cursor *c, struct arena *mem, struct tally_line *l)
{
    uint8_t head = cursor_u8(c);
    const unsigned char *hash = cursor_bytes(c, sizeof l->hash);

    if (!hash || head >> 1 > TALLY_CRASH) {
        c->failed = true;
        return;
    }
    l->kind = (enum tally_kind)(head >> 1);
    l->first = head & 1;
    memcpy(l->hash, hash, sizeof l->hash);
    l->scene = get_text(c, mem);
    l->cause = get_text(c, mem);
    l->events = get_i64(c);
    l->jank_us = get_i64(c);
    l->start_us = get_i64(c);
    l->duration_us = get_i64(c);
    if (l->first)
        get_steps(c, mem, &l->steps);
}

bool tally_read(const void *bytes, size_t n, struct arena *mem, struct tally *out, struct err *err)
{
    struct cursor c = cursor_over(bytes, n, "tally");
    struct tally t = {.os = ""};

    if (!n) {
        *out = t;
        return true;
    }
    if (cursor_u8(&c) != FORMAT)
        return err_set(err, ERR_INVALID, "tally: of another version");
    t.os = get_text(&c, mem);
    t.counts = cursor_u8(&c) != 0;
    t.foreground_us = get_i64(&c);
    t.n_scenes = get_count(&c, MAX_SESSION_SCENES + 2);
    t.scenes = arena_array(mem, t.n_scenes, sizeof *t.scenes);
    for (size_t i = 0; t.scenes && i < t.n_scenes && !c.failed; i++) {
        t.scenes[i].scene = get_text(&c, mem);
        t.scenes[i].foreground_us = get_i64(&c);
    }
    t.n_lines = get_count(&c, MAX_LINES);
    t.lines = arena_array(mem, t.n_lines, sizeof *t.lines);
    for (size_t i = 0; t.lines && i < t.n_lines && !c.failed; i++)
        get_line(&c, mem, &t.lines[i]);
    t.n_clean = get_count(&c, MAX_SESSION_SCENES + 2);
    t.clean = arena_array(mem, t.n_clean, sizeof *t.clean);
    for (size_t i = 0; t.clean && i < t.n_clean && !c.failed; i++) {
        t.clean[i].scene = get_text(&c, mem);
        get_steps(&c, mem, &t.clean[i].steps);
    }
    if (arena_full(mem))
        return out_of_memory(err);
    if (c.failed || cursor_left(&c))
        return err_set(err, ERR_INVALID, "tally: damaged at byte %zu", cursor_offset(&c));
    *out = t;
    return true;
}
