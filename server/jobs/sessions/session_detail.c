#include "server/jobs/sessions/session_detail.h"

#include "profile/view.h"

#include <math.h>

int64_t slice_quantile_us(const struct slice *s, double q)
{
    return llround(sketch_quantile_us(&s->sketch, q));
}

static void slice_write(const struct slice *s, struct buf *out)
{
    buf_text(out, "{\"scene\":");
    view_json_text(out, s->scene);
    view_key_i64(out, "frames", s->frames);
    view_key_i64(out, "foreground_us", s->foreground_us);
    view_key_i64(out, "p50_us", slice_quantile_us(s, 0.50));
    view_key_i64(out, "p90_us", slice_quantile_us(s, 0.90));
    view_key_i64(out, "p95_us", slice_quantile_us(s, 0.95));
    view_key_i64(out, "p99_us", slice_quantile_us(s, 0.99));
    view_key_i64(out, "max_us", s->frame_max_us);
    view_key_i64(out, "mean_us", s->frames ? s->frame_sum_us / s->frames : 0);
    view_key_i64(out, "janks_minor", s->janks[JANK_MINOR]);
    view_key_i64(out, "janks_normal", s->janks[JANK_NORMAL]);
    view_key_i64(out, "janks_severe", s->janks[JANK_SEVERE]);
    view_key_i64(out, "jank_us", s->jank_us);
    view_key_i64(out, "perfdog_janks", s->perfdog_janks);
    view_key_i64(out, "perfdog_big_janks", s->perfdog_big_janks);
    view_key_i64(out, "perfdog_stutter_us", s->perfdog_stutter_us);
    view_key_i64(out, "missed_frames", s->missed_frames);
    view_key_i64(out, "slow_frames", s->slow_frames);
    view_key_i64(out, "slow_frame_base", s->slow_frame_base);
    buf_byte(out, '}');
}

void session_clusters_write(const struct part_header *h, struct buf *out)
{
    buf_byte(out, '[');
    for (size_t i = h->n_clusters; i > 0; i--)
        buf_printf(out, "{\"cores\":%u,\"max_khz\":%u}%s", h->clusters[i - 1].cores,
                   h->clusters[i - 1].max_khz, i > 1 ? "," : "");
    buf_byte(out, ']');
}

static void device_write(const struct part_header *h, struct buf *out)
{
    view_key(out, "device");
    buf_text(out, "{\"app\":");
    view_json_text(out, h->app);
    view_key_text(out, "manufacturer", h->manufacturer);
    view_key_text(out, "model", h->model);
    view_key_text(out, "soc", h->soc);
    view_key_text(out, "gpu", h->gpu);
    view_key_text(out, "os_version", h->os_version);
    view_key_i64(out, "ram_mb", h->ram_mb);
    view_key_i64(out, "screen_width_px", h->screen_width_px);
    view_key_i64(out, "screen_height_px", h->screen_height_px);
    view_key_i64(out, "refresh_millihertz", h->refresh_millihertz);
    view_key(out, "clusters");
    session_clusters_write(h, out);
    buf_byte(out, '}');
    view_key(out, "evidence");
    buf_byte(out, '[');
    for (size_t i = 0; i < h->n_evidence; i++) {
        if (i)
            buf_byte(out, ',');
        view_json_text(out, h->evidence[i]);
    }
    buf_byte(out, ']');
}

static void hardware_write(const struct session_result *r, struct buf *out)
{
    view_key(out, "hardware");
    buf_text(out, "{\"mean_battery_millicelsius\":");
    buf_i64(out, r->mean_battery_millicelsius);
    view_key_i64(out, "median_khz", r->median_khz);
    view_key_i64(out, "throttled_khz", r->throttled_khz);
    view_key_i64(out, "peak_threads", r->peak_threads);
    buf_byte(out, '}');
}

/* Its numbers grow through the session: the last one says it all. */
static void self_report_write(const struct session *s, struct buf *out)
{
    view_key(out, "self_report");
    if (!s->n_self_reports) {
        buf_text(out, "null");
        return;
    }

    const struct part_self_report *r = &s->self_reports[s->n_self_reports - 1];

    buf_text(out, "{\"t_us\":");
    buf_i64(out, r->t_us > INT64_MAX ? INT64_MAX : (int64_t)r->t_us);
    view_key_u64(out, "cpu_us", r->cpu_us);
    view_key_u64(out, "bytes_written", r->bytes_written);
    view_key_u64(out, "bytes_uploaded", r->bytes_uploaded);
    view_key_u64(out, "dropped_frames", r->dropped_frames);
    view_key_u64(out, "dropped_samples", r->dropped_samples);
    view_key_u64(out, "wakeups", r->wakeups);
    view_key_u64(out, "memory_bytes", r->memory_bytes);
    view_key(out, "collectors_off");
    buf_byte(out, '[');
    for (size_t i = 0; i < r->n_off; i++) {
        buf_text(out, i ? ",{\"name\":" : "{\"name\":");
        view_json_text(out, r->off[i].name);
        view_key_text(out, "reason", r->off[i].reason);
        view_key_u64(out, "failures", r->off[i].failures);
        buf_byte(out, '}');
    }
    buf_byte(out, ']');
    view_key(out, "collectors");
    buf_byte(out, '[');
    for (size_t i = 0; i < r->n_cost; i++) {
        buf_text(out, i ? ",{\"name\":" : "{\"name\":");
        view_json_text(out, r->cost[i].name);
        view_key_u64(out, "looks", r->cost[i].looks);
        view_key_u64(out, "us", r->cost[i].us);
        view_key_u64(out, "max_us", r->cost[i].max_us);
        view_key_u64(out, "failures", r->cost[i].failures);
        buf_byte(out, '}');
    }
    buf_text(out, "]}");
}

static const char *end_reason_name(const struct session *s)
{
    static const char *const name[] = {"unknown", "stopped", "recovered"};

    return s->ended ? name[s->end_reason <= END_RECOVERED ? s->end_reason : 0] : "";
}

void session_detail_write(const struct session *s, const struct session_result *r, size_t left_out,
                          struct buf *out)
{
    buf_text(out, "{\"slices\":[");
    for (size_t i = 0; i < r->n_slices; i++) {
        if (i)
            buf_byte(out, ',');
        slice_write(&r->slices[i], out);
    }
    buf_byte(out, ']');
    device_write(&s->header, out);
    view_key(out, "frames_by_state");
    buf_byte(out, '{');
    for (unsigned i = 0; i < 5; i++) {
        if (i)
            buf_byte(out, ',');
        view_json_text(out, view_state_name[i]);
        buf_byte(out, ':');
        buf_i64(out, s->frames_by_state[i]);
    }
    buf_byte(out, '}');
    view_key(out, "files");
    buf_printf(out, "{\"superseded\":%zu,\"truncated\":%zu,\"left_out\":%zu}", s->n_superseded,
               s->n_truncated, left_out);
    hardware_write(r, out);
    self_report_write(s, out);
    view_key_text(out, "end_reason", end_reason_name(s));
    view_key_u64(out, "events_dropped", r->n_events_dropped);
    view_key_u64(out, "dropped_frames", s->dropped_frames);
    buf_byte(out, '}');
}

void session_invalid_write(const struct session *s, struct buf *out)
{
    bool first = true;

    buf_byte(out, '{');
    for (unsigned i = 0; i < INVALID_COUNT; i++) {
        if (!s->invalid[i])
            continue;
        view_comma(out, &first);
        view_json_text(out, invalid_reason_name[i]);
        buf_byte(out, ':');
        buf_i64(out, s->invalid[i]);
    }
    buf_byte(out, '}');
}
