#include "profile/timeline.h"
#include "profile/view.h"

/* The samples' stacks stand once each under "stacks"; a sample names its stack by hash. */
static void put_samples(const struct jank_event *e, struct buf *out)
{
    bool first = true;

    view_key(out, "samples");
    buf_byte(out, '[');
    for (size_t i = 0; i < e->n_samples; i++) {
        if (!e->samples[i].stack)
            continue;
        view_comma(out, &first);
        buf_text(out, "{\"t_us\":");
        buf_i64(out, (int64_t)e->samples[i].t_us);
        view_key(out, "stack");
        buf_byte(out, '"');
        view_hex(e->samples[i].stack->hash, sizeof e->samples[i].stack->hash, out);
        buf_text(out, "\"}");
    }
    buf_byte(out, ']');
}

static void put_jank(const struct session *s, const struct session_result *r, size_t i,
                     struct buf *out)
{
    const struct jank_event *e = &r->events[i];

    buf_text(out, "{\"index\":");
    buf_i64(out, (int64_t)i);
    view_key_u64(out, "start_us", e->start_us);
    view_key_u64(out, "duration_us", e->duration_us);
    view_key_i64(out, "level", e->level);
    view_key_text(out, "level_name", view_level_name[e->level]);
    view_key_bool(out, "from_frames", e->from_frames);
    view_key_bool(out, "perfdog_jank", e->perfdog_jank);
    view_key_bool(out, "perfdog_big", e->perfdog_big);
    view_key_text(out, "scene", e->scene < s->n_scenes ? s->scenes[e->scene].key : "");
    view_key_text(out, "cause", jank_cause_name[e->cause]);
    view_key_text(out, "evidence", e->evidence);
    put_samples(e, out);
    view_key(out, "hardware");
    view_hardware_json(s, e->hardware_from, e->hardware_to, 0, out);
    view_key(out, "cores");
    view_cores_json(s, e->hardware_from, e->hardware_to, 0, out);
    buf_byte(out, '}');
}

void janks_write(const struct session *s, const struct session_result *r, struct buf *out)
{
    bool first = true;

    buf_text(out, "{\"session_id\":\"");
    view_hex(s->header.session_id, SESSION_ID_BYTES, out);
    buf_byte(out, '"');
    view_key_u64(out, "dropped", r->n_events_dropped);
    view_key(out, "janks");
    buf_byte(out, '[');
    for (size_t i = 0; i < r->n_events; i++) {
        view_comma(out, &first);
        put_jank(s, r, i, out);
    }
    buf_text(out, "],\"stacks\":[");
    first = true;
    for (size_t i = 0; i < s->n_stacks; i++) {
        view_comma(out, &first);
        view_stack_json(&s->stacks[i], out);
    }
    buf_text(out, "]}");
}
