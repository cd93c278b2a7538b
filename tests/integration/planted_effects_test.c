/*
 * Effects planted into sessions of a build, told by the whole: files as the SDK writes them,
 * analysis, expectation, rollups, looks, answers over HTTP. What alerts watch raises one; what they
 * do not watch shows in the report and alerts nobody; where nothing is planted nothing is told.
 */
#include "support/api.h"
#include "support/job_fixture.h"
#include "support/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define INSTALLS 44 /* of as many groups */
#define FRAMES 240
#define FRAME_US 20000.0
#define JANK_US 120000
#define SECOND INT64_C(1000000)

/* What is worse on the new build. */
struct plant {
    double frames, janks, memory, tail, temperature, throttled; /* factors; 1: as it was */
};
static const struct plant nothing = {1, 1, 1, 1, 1, 1}, watched = {1.4, 3, 1.4, 1, 1, 1},
                          unwatched = {1, 1, 1, 1.5, 1.2, 2.5};

struct world {
    struct api *api;
    const char *platform;
    struct plant plant;
    struct rng rng;
    uint64_t sessions;
};

/* Six frames in a hundred and the janks are the tail: P95 and P99 lie in it, P90 below. */
static uint64_t play_frames(struct world *w, struct session_builder *b, uint64_t t,
                            const struct plant *p, double speed, unsigned from, unsigned to)
{
    uint32_t us[FRAMES];

    for (unsigned i = from; i < to; i++) {
        double ms = FRAME_US * speed * p->frames * exp(0.02 * rng_normal(&w->rng));

        us[i - from] = (uint32_t)(i % 50 < 3 ? ms * p->tail : ms);
    }
    return sb_frames(b, t, us, to - from);
}

static uint64_t play_janks(struct session_builder *b, uint64_t t, const struct plant *p)
{
    for (unsigned i = 0; i < 2 * p->janks; i++) {
        t = sb_frames(b, t, SB_INTERVALS(JANK_US));
        t = sb_steady(b, t, 4, (uint32_t)FRAME_US);
    }
    return t;
}

static void play(struct world *w, struct session_builder *b, const struct plant *p, double speed)
{
    const enum hardware_field memory = !strcmp(w->platform, "ios")     ? HW_phys_footprint_kb
                                       : !strcmp(w->platform, "linux") ? HW_rss_kb
                                                                       : HW_pss_kb;
    const unsigned cool = (unsigned)(FRAMES * (1 - 0.2 * p->throttled));
    const int64_t kb = llround(600000 * p->memory * exp(0.03 * rng_normal(&w->rng)));
    const int64_t battery = llround(35000 * p->temperature * exp(0.02 * rng_normal(&w->rng)));
    uint64_t t = 0;

    sb_scene(b, t, "battle", "frost");
    sb_hardware(b, t,
                SB_VALUES({memory, kb}, {HW_battery_millicelsius, battery}, {HW_thermal_status, 0}),
                SB_CORES(2400000));
    t = play_janks(b, t, p);
    t = play_frames(w, b, t, p, speed, 0, cool);
    sb_hardware(b, t, SB_VALUES({HW_thermal_status, 3}), SB_CORES(2000000));
    t = play_frames(w, b, t, p, speed, cool, FRAMES);
    sb_end(b, t, END_STOPPED);
}

static void put_session(struct world *w, unsigned install, unsigned code, int days_ago)
{
    struct rng own = rng_of(5, install);
    const double speed = exp(0.1 * rng_normal(&own) + 0.03 * rng_normal(&w->rng));
    struct session_builder *b = sb_new(++w->sessions);
    struct test_upload u = {.app = w->api->app[0], .days_ago = days_ago};
    char name[24];

    snprintf(name, sizeof name, "phone %u", install);
    memcpy(b->session_id, &w->sessions, sizeof w->sessions);
    b->session_id[15] = (unsigned char)install; /* an install is of one group */
    b->platform = w->platform;
    b->version_code = code;
    b->version_name = code == 100 ? "1.0.0" : "1.0.1";
    b->build_id = NULL;
    sb_part(b, 0, 0);
    play(w, b, code == 100 ? &nothing : &w->plant, speed);
    u.bytes = sb_bytes(b, &u.n);
    u.install = name;
    u.received_us = (int64_t)w->sessions * SECOND;
    memcpy(u.id, b->session_id, sizeof u.id);
    put_upload(w->api->conninfo, &u);
    sb_free(b);
}

static void run_kind(struct api *api, const char *kind, int64_t offset_ms)
{
    struct worker_config config = test_worker(api->conninfo);
    struct err err;

    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, run_after) VALUES ('%s', %lld, "
           "'00000000-0000-0000-0000-000000000000', %lld, CURRENT_DATE, '2000-01-01') "
           "ON CONFLICT DO NOTHING",
           kind, (long long)api->app[0] * 64, (long long)api->app[0]);
    config.clock_offset_ms = offset_ms;
    if (!worker_drain(&config, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = '%s'", kind), 0);
}

/* Each install three times on the baseline before the freeze, twice on each build since then, all
 * of them low-end phones. Uploads of a day are received from noon on, so the freeze is at midnight.
 */
static int64_t release(struct api *api, const char *platform, const struct plant *plant)
{
    struct world w = {api, platform, *plant, rng_of(9, 0), 0};
    struct worker_config config = test_worker(api->conninfo);
    const long long app = api->app[0];

    pg_sql(api->conninfo,
           "INSERT INTO build (app_id, platform, version_name, version_code, build_uid, "
           "registered) VALUES (%lld, '%s', '1.0.0', 100, '', true), "
           "(%lld, '%s', '1.0.1', 101, '', true)",
           app, platform, app, platform);
    for (unsigned i = 0; i < INSTALLS; i++)
        for (unsigned k = 0; k < 7; k++)
            put_session(&w, i, k < 5 ? 100 : 101, k < 3);
    drain_all(&config);
    pg_sql(api->conninfo, "UPDATE device_model SET tier = 3");
    run_kind(api, "tiers", 0);
    run_kind(api, "expect", -(int64_t)(time(NULL) % 86400) * 1000);
    pg_sql(api->conninfo,
           "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 1, 3, '{}');"
           "INSERT INTO tier_cut VALUES (%lld, 1, 1, 17), (%lld, 1, 2, 19)",
           app, app, app);
    run_kind(api, "alerts", 0);
    return pg_i64(api->conninfo, "SELECT build_id FROM build WHERE version_code = 101");
}

/* Answers -------------------------------------------------------------------------------------- */

/* The build's figure of the whole sessions of the tier, or of those in a scene. */
static const json_t *figure(struct api *api, int64_t build, const char *scene, const char *metric)
{
    const json_t *report = api_get(
        api, 0, ROLE_READ, 200, "/v1/report?build=%lld&tier=low&scene=%s", (long long)build, scene);
    const json_t *slice = json_array_get(json_object_get(report, "slices"), 0);
    const json_t *f = json_object_get(json_object_get(slice, "figures"), metric);

    if (!json_is_number(json_object_get(f, "change")))
        fail_msg("%s has no change", metric);
    return f;
}

/* All were counted before there were tiers; nothing of that is left. */
static void assert_no_empty_slices(struct api *api, int64_t build)
{
    const json_t *slice,
        *slices = json_object_get(
            api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build), "slices");
    size_t i;

    assert_int_equal(json_array_size(slices), 4); /* low and all, whole sessions and the scene */
    json_array_foreach(slices, i, slice)
    {
        assert_true(json_object_size(json_object_get(slice, "figures")) > 0);
    }
}

static double member(const json_t *figure, const char *name)
{
    return json_number_value(json_object_get(figure, name));
}

static const json_t *live(struct api *api, size_t n)
{
    const json_t *items =
        json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/alerts?state=live"), "items");

    assert_int_equal(json_array_size(items), n);
    return items;
}

static bool told(const json_t *items, const char *scene, const char *metric)
{
    const json_t *a;
    size_t i;

    json_array_foreach(items, i, a)
    {
        if (strcmp(api_text(a, "scene"), scene) == 0 && strcmp(api_text(a, "metric"), metric) == 0)
            return strcmp(api_text(a, "tier_name"), "low") == 0;
    }
    return false;
}

/* P90 speaks for the frame times of its slice; the others are an alert too, and say so. */
static void assert_alerts(struct api *api, const char *platform, const char *memory)
{
    const json_t *items;

    release(api, platform, &watched);
    items = live(api, 6);
    assert_true(told(items, "", "p90") && told(items, "battle/frost", "p90"));
    assert_true(told(items, "", "janks") && told(items, "battle/frost", "janks"));
    assert_true(told(items, "", memory) && told(items, "battle/frost", memory));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE level = 'alert' AND "
                                           "metric IN ('p50', 'mean')"),
                     4);
}

static void what_alerts_watch_raises_one_on_android(void **state)
{
    assert_alerts(*state, "android", "memory_pss");
}

static void what_alerts_watch_raises_one_on_ios(void **state)
{
    assert_alerts(*state, "ios", "memory_footprint");
}

static void what_alerts_watch_raises_one_on_linux(void **state)
{
    assert_alerts(*state, "linux", "memory_rss");
}

static const char *const by_models[] = {"p95", "p99", "temperature", "throttled"};
#define BY_MODELS (sizeof by_models / sizeof *by_models)

static void the_tail_and_the_heat_show_in_the_report_and_alert_nobody(void **state)
{
    static const double planted[BY_MODELS] = {0.5, 0.5, 0.2, 1.5};
    struct api *api = *state;
    int64_t build = release(api, "android", &unwatched);
    double p90;

    for (size_t i = 0; i < 2 * BY_MODELS; i++) {
        const char *metric = by_models[i / 2], *scene = i % 2 ? "battle/frost" : "";
        const json_t *f = figure(api, build, scene, metric);

        if (!(fabs(member(f, "change") / planted[i / 2] - 1) < 0.25 && member(f, "low") > 0))
            fail_msg("%s %s: %+.3f from %+.3f on", scene, metric, member(f, "change"),
                     member(f, "low"));
        assert_string_equal(api_text(f, "basis"), "models");
    }
    p90 = member(figure(api, build, "", "p90"), "change");
    if (!(fabs(p90) < 0.04))
        fail_msg("p90: %+.3f", p90);
    live(api, 0);
}

static void nothing_is_told_where_nothing_is_planted(void **state)
{
    struct api *api = *state;
    int64_t build = release(api, "android", &nothing);

    for (size_t i = 0; i < BY_MODELS; i++) {
        const json_t *f = figure(api, build, "", by_models[i]);

        if (!(member(f, "low") < 0 && member(f, "high") > 0))
            fail_msg("%s: %+.3f from %+.3f on", by_models[i], member(f, "change"),
                     member(f, "low"));
    }
    live(api, 0);
    assert_no_empty_slices(api, build);
    /* it was looked at, and found the same */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE level <> 'none'"), 0);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE reason = 'no_evidence'"), 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_alerts_watch_raises_one_on_android),
        TEST(what_alerts_watch_raises_one_on_ios),
        TEST(what_alerts_watch_raises_one_on_linux),
        TEST(the_tail_and_the_heat_show_in_the_report_and_alert_nobody),
        TEST(nothing_is_told_where_nothing_is_planted),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
