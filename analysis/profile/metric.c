#include "profile/metric.h"

#include "stats/expectation.h"

#include <string.h>

const struct metric_info metric_info[METRICS_N] = {
#define X(name, kind, watched, scale, unit) {#name, METRIC_##kind, watched, scale, unit},
    METRICS(X)
#undef X
};

bool metric_named(const char *name, enum metric *out)
{
    for (unsigned m = 0; m < METRICS_N; m++)
        if (strcmp(metric_info[m].name, name) == 0) {
            *out = (enum metric)m;
            return true;
        }
    return false;
}

static void set_ln(int64_t sum[METRIC_SUMS], double value)
{
    int64_t y;

    if (!ln_e6(value, &y))
        return;
    sum[SUM_N] = 1;
    sum[SUM_VALUE] = y;
}

static void set_count(int64_t sum[METRIC_SUMS], int64_t count, int64_t exposure)
{
    if (exposure <= 0)
        return;
    sum[SUM_N] = 1;
    sum[SUM_VALUE] = count;
    sum[SUM_EXPOSURE] = exposure;
}

static void set_frame_times(const struct slice *s, int64_t out[METRICS_N][METRIC_SUMS])
{
    if (sketch_total(&s->sketch) < METRIC_MIN_FRAMES)
        return;
    set_ln(out[METRIC_p50], sketch_quantile_us(&s->sketch, 0.50) / 1000);
    set_ln(out[METRIC_p90], sketch_quantile_us(&s->sketch, 0.90) / 1000);
    set_ln(out[METRIC_p95], sketch_quantile_us(&s->sketch, 0.95) / 1000);
    set_ln(out[METRIC_p99], sketch_quantile_us(&s->sketch, 0.99) / 1000);
    if (s->frames > 0)
        set_ln(out[METRIC_mean], (double)s->frame_sum_us / (double)s->frames / 1000);
}

static void set_janks(const struct slice *s, bool from_summary, int64_t out[METRICS_N][METRIC_SUMS])
{
    int64_t ms = s->foreground_us / 1000;

    set_count(out[METRIC_janks], s->janks[0], ms);
    set_count(out[METRIC_janks_minor], s->janks[JANK_MINOR], ms);
    set_count(out[METRIC_janks_normal], s->janks[JANK_NORMAL], ms);
    set_count(out[METRIC_janks_severe], s->janks[JANK_SEVERE], ms);
    if (from_summary) /* it does not tell the others */
        return;
    set_count(out[METRIC_jank_ms], s->jank_us / 1000, ms);
    set_count(out[METRIC_perfdog_janks], s->perfdog_janks, ms);
    set_count(out[METRIC_perfdog_big_janks], s->perfdog_big_janks, ms);
    set_count(out[METRIC_stutter], s->perfdog_stutter_us / 1000, ms);
    set_count(out[METRIC_missed_frames], s->missed_frames, s->frames);
}

static enum metric memory_metric(enum memory_kind kind)
{
    static const enum metric metric[] = {[MEMORY_PSS] = METRIC_memory_pss,
                                         [MEMORY_FOOTPRINT] = METRIC_memory_footprint,
                                         [MEMORY_RSS] = METRIC_memory_rss};

    return metric[kind];
}

static void set_phone(const struct slice *s, enum memory_kind memory,
                      int64_t out[METRICS_N][METRIC_SUMS])
{
    set_ln(out[memory_metric(memory)], (double)s->peak_memory_kb / 1024);
    set_ln(out[METRIC_temperature], (double)s->mean_battery_millicelsius / 1000);
    if (s->tells_status)
        set_count(out[METRIC_throttled], s->throttled_us / 1000, s->foreground_us / 1000);
    set_count(out[METRIC_slow_sessions], s->slow, s->slow_frame_base > 0);
}

void metric_of_slice(const struct session_result *r, size_t i, int64_t out[METRICS_N][METRIC_SUMS])
{
    memset(out, 0, sizeof(int64_t[METRICS_N][METRIC_SUMS]));
    set_frame_times(&r->slices[i], out);
    set_janks(&r->slices[i], r->from_summary, out);
    set_phone(&r->slices[i], r->memory, out);
}
