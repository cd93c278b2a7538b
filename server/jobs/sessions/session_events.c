#include "server/jobs/sessions/session_events.h"

#include "base/digest.h"
#include "profile/view.h"
#include "server/jobs/sessions/row_values.h"

#include <string.h>

#define WINDOW_SAMPLES_KEPT 32 /* about; 3 s of the SDK's burst are 15 */

struct jank_rows {
    int64_t *start, *duration, *level, *flags;
    const char **scene, **cause, **evidence, **hardware;
    struct bytes *stacks;
};

static bool new_jank_rows(size_t n, struct arena *mem, struct jank_rows *out)
{
    *out = (struct jank_rows){
        .start = arena_array(mem, n, sizeof *out->start),
        .duration = arena_array(mem, n, sizeof *out->duration),
        .level = arena_array(mem, n, sizeof *out->level),
        .flags = arena_array(mem, n, sizeof *out->flags),
        .scene = arena_array(mem, n, sizeof *out->scene),
        .cause = arena_array(mem, n, sizeof *out->cause),
        .evidence = arena_array(mem, n, sizeof *out->evidence),
        .hardware = arena_array(mem, n, sizeof *out->hardware),
        .stacks = arena_array(mem, n, sizeof *out->stacks),
    };
    return !arena_full(mem);
}

static struct bytes sample_hashes(const struct jank_event *e, struct arena *mem)
{
    unsigned char *at = arena_array(mem, e->n_samples + 1, sizeof e->samples->stack->hash);
    size_t n = 0;

    for (size_t i = 0; at && i < e->n_samples; i++) {
        if (!e->samples[i].stack)
            continue;
        memcpy(at + n, e->samples[i].stack->hash, sizeof e->samples[i].stack->hash);
        n += sizeof e->samples[i].stack->hash;
    }
    return (struct bytes){at, n};
}

/* The samples of a jank's window that are kept: all, or evenly spread ones if there are more. */
struct window {
    const struct hardware_sample *at;
    size_t n, step;
};

static void put_field(const struct window *w, enum hardware_field f, struct buf *out)
{
    uint32_t seen = 0;
    bool first = true;

    for (size_t i = 0; i < w->n; i += w->step)
        seen |= w->at[i].present | w->at[i].invalid;
    if (!(seen >> f & 1))
        return;
    view_key(out, hardware_info[f].name);
    buf_byte(out, '[');
    for (size_t i = 0; i < w->n; i += w->step) {
        view_comma(out, &first);
        if (hardware_has(&w->at[i], f))
            buf_i64(out, w->at[i].value[f]);
        else
            buf_text(out, "null");
    }
    buf_byte(out, ']');
}

static void put_cores(const struct hardware_sample *h, struct buf *out)
{
    buf_byte(out, '[');
    for (unsigned c = 0; c < h->n_cores; c++) {
        if (c)
            buf_byte(out, ',');
        if (h->invalid_cores >> c & 1)
            buf_text(out, "null");
        else
            buf_i64(out, h->core_khz[c]);
    }
    buf_byte(out, ']');
}

/* {"t_us": […], "core_khz": [[by core] …], field: [… or null] …}: columns, since a row of the table
 * below 2 KB is stored without compression, which would cost more than the rest of its insert. */
static const char *hardware_window(const struct session *s, const struct jank_event *e,
                                   struct arena *mem)
{
    size_t n = e->hardware_to - e->hardware_from;
    const struct window w = {s->hardware + e->hardware_from, n, 1 + n / (WINDOW_SAMPLES_KEPT + 1)};
    bool first = true;
    struct buf text;

    buf_init(&text, ROW_TEXT_CAP);
    buf_text(&text, "{\"t_us\":[");
    for (size_t i = 0; i < n; i += w.step) {
        view_comma(&text, &first);
        buf_i64(&text, row_i64(w.at[i].t_us));
    }
    buf_text(&text, "],\"core_khz\":[");
    first = true;
    for (size_t i = 0; i < n; i += w.step) {
        view_comma(&text, &first);
        put_cores(&w.at[i], &text);
    }
    buf_byte(&text, ']');
    for (unsigned f = 0; f < HW_COUNT; f++)
        put_field(&w, (enum hardware_field)f, &text);
    buf_byte(&text, '}');
    return row_text_take(&text, mem);
}

static void put_jank(const struct session *s, const struct jank_event *e, struct arena *mem,
                     struct jank_rows *r, size_t i)
{
    r->start[i] = row_i64(e->start_us);
    r->duration[i] = row_i64(e->duration_us);
    r->level[i] = e->level;
    r->flags[i] = e->from_frames | e->perfdog_jank << 1 | e->perfdog_big << 2;
    r->scene[i] = e->scene < s->n_scenes ? row_text(s->scenes[e->scene].key) : "";
    r->cause[i] = jank_cause_name[e->cause];
    r->evidence[i] = row_text(e->evidence);
    r->hardware[i] = hardware_window(s, e, mem);
    r->stacks[i] = sample_hashes(e, mem);
}

static bool store_janks(struct db *db, const struct session_change *c, int64_t day,
                        int64_t build_id, struct arena *mem, struct err *err)
{
    size_t n = c->result.n_events;
    struct jank_rows r;

    if (!n)
        return true;
    if (!new_jank_rows(n, mem, &r))
        return rows_too_big(err);
    for (size_t i = 0; i < n; i++)
        put_jank(&c->session, &c->result.events[i], mem, &r, i);
    if (arena_full(mem))
        return rows_too_big(err);
    return db_exec(db, Q_SESSION_STORE_JANKS,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_i64(build_id), db_i64s(r.start, n), db_i64s(r.duration, n),
                           db_i64s(r.level, n), db_i64s(r.flags, n), db_texts(r.scene, n),
                           db_texts(r.cause, n), db_texts(r.evidence, n), db_bytess(r.stacks, n),
                           db_texts(r.hardware, n)),
                   err);
}

/* An id from what it says: the same thing told again is the same row. */
static struct bytes content_id(struct buf *text, struct arena *mem)
{
    unsigned char *id = arena_alloc(mem, SHA256_BYTES);

    if (id && buf_ok(text))
        sha256(text->at, text->len, id);
    buf_fini(text);
    return (struct bytes){id, 16};
}

static struct bytes crash_id(const struct part_crash *c, struct arena *mem)
{
    struct buf text;

    buf_init(&text, ROW_TEXT_CAP);
    buf_varint(&text, c->t_us);
    buf_varint(&text, c->signal);
    buf_text(&text, row_text(c->reason));
    if (c->stack)
        buf_put(&text, c->stack->hash, sizeof c->stack->hash);
    return content_id(&text, mem);
}

static const char *stack_text(const struct part_stack *stack, struct arena *mem)
{
    struct buf text;

    if (!stack)
        return "{\"frames\":[]}";
    buf_init(&text, ROW_TEXT_CAP);
    view_stack_json(stack, &text);
    return row_text_take(&text, mem);
}

static bool store_crashes(struct db *db, const struct session_change *c, int64_t day,
                          struct arena *mem, struct err *err)
{
    const struct session *s = &c->session;
    size_t n = s->n_crashes;
    struct bytes *id = arena_array(mem, n, sizeof *id);
    int64_t *t = arena_array(mem, n, sizeof *t), *sig = arena_array(mem, n, sizeof *sig);
    const char **reason = arena_array(mem, n, sizeof *reason);
    const char **stack = arena_array(mem, n, sizeof *stack);

    if (!n)
        return true;
    for (size_t i = 0; i < n && !arena_full(mem); i++) {
        id[i] = crash_id(&s->crashes[i], mem);
        t[i] = row_i64(s->crashes[i].t_us);
        sig[i] = row_i32(s->crashes[i].signal);
        reason[i] = row_text(s->crashes[i].reason);
        stack[i] = stack_text(s->crashes[i].stack, mem);
    }
    if (arena_full(mem))
        return rows_too_big(err);
    return db_exec(db, Q_SESSION_STORE_CRASHES,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_uuids(id, n), db_i64s(t, n), db_i64s(sig, n), db_texts(reason, n),
                           db_texts(stack, n)),
                   err);
}

static struct bytes feedback_id(const struct part_feedback *f, struct arena *mem)
{
    struct buf text;

    buf_init(&text, ROW_TEXT_CAP);
    buf_varint(&text, f->t_us);
    buf_text(&text, row_text(f->category));
    buf_byte(&text, 0);
    buf_text(&text, row_text(f->text));
    return content_id(&text, mem);
}

static bool store_feedback(struct db *db, const struct session_change *c, int64_t day,
                           struct arena *mem, struct err *err)
{
    const struct session *s = &c->session;
    size_t n = s->n_feedback;
    struct bytes *id = arena_array(mem, n, sizeof *id);
    int64_t *t = arena_array(mem, n, sizeof *t);
    const char **category = arena_array(mem, n, sizeof *category);
    const char **body = arena_array(mem, n, sizeof *body);

    if (!n)
        return true;
    for (size_t i = 0; i < n && !arena_full(mem); i++) {
        id[i] = feedback_id(&s->feedback[i], mem);
        t[i] = row_i64(s->feedback[i].t_us);
        category[i] = row_text(s->feedback[i].category);
        body[i] = row_text(s->feedback[i].text);
    }
    if (arena_full(mem))
        return rows_too_big(err);
    return db_exec(db, Q_SESSION_STORE_FEEDBACK,
                   DB_ARGS(db_i64(day), db_i64(c->shard), db_uuid(c->id), db_i64(c->app),
                           db_uuids(id, n), db_i64s(t, n), db_texts(category, n),
                           db_texts(body, n)),
                   err);
}

static bool clear(struct db *db, const struct session_change *c, struct err *err)
{
    struct db_args old = DB_ARGS(db_i64(c->before.day), db_i64(c->shard), db_uuid(c->id));

    return !c->before.exists || (db_exec(db, Q_SESSION_STORE_JANKS_CLEAR, old, err) &&
                                 db_exec(db, Q_SESSION_STORE_CRASHES_CLEAR, old, err) &&
                                 db_exec(db, Q_SESSION_STORE_FEEDBACK_CLEAR, old, err));
}

bool session_events_store(struct db *db, const struct session_change *c, int64_t day,
                          int64_t build_id, struct arena *mem, struct err *err)
{
    return clear(db, c, err) && store_janks(db, c, day, build_id, mem, err) &&
           store_crashes(db, c, day, mem, err) && store_feedback(db, c, day, mem, err);
}
