#include "support/api.h"

#include "base/digest.h"
#include "profile/part.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Jobs ----------------------------------------------------------------------------------------- */

static int64_t make_job(struct api *api, unsigned app, const char *state)
{
    return pg_i64(api->conninfo,
                  "INSERT INTO job (kind, shard, ref, app_id, day, state, attempts, last_error)"
                  " VALUES ('part', 1, gen_random_uuid(), %lld, CURRENT_DATE, '%s', 8, 'why')"
                  " RETURNING job_id",
                  (long long)api->app[app], state);
}

static void retries_a_dead_job_and_says_who_did(void **state)
{
    struct api *api = *state;
    int64_t id = make_job(api, 0, "dead");
    char path[64];
    const json_t *job;

    make_job(api, 0, "ready");
    job = json_array_get(json_object_get(api_get(api, 0, ROLE_ADMIN, 200, "/v1/jobs"), "items"), 0);
    assert_int_equal(api_i64(job, "id"), id);
    assert_string_equal(api_text(job, "last_error"), "why");
    snprintf(path, sizeof path, "/v1/jobs/%lld/retry", (long long)id);
    job = api_post(api, 0, ROLE_ADMIN, 200, path, NULL);
    assert_string_equal(api_text(job, "state"), "ready");
    assert_int_equal(api_i64(job, "attempts"), 0);
    api_problem(api_post(api, 0, ROLE_ADMIN, 409, path, NULL), "conflict", "");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action = 'job.retry'"
                                           " AND actor = 'fw_admin_0'"),
                     1);
}

static void finds_no_job_that_is_not_there(void **state)
{
    struct api *api = *state;

    api_problem(api_post(api, 0, ROLE_ADMIN, 404, "/v1/jobs/4711/retry", NULL), "not_found", "");
    api_problem(api_post(api, 0, ROLE_ADMIN, 400, "/v1/jobs/x/retry", NULL), "invalid", "id");
    api_problem(api_get(api, 0, ROLE_ADMIN, 400, "/v1/jobs?state=lost"), "invalid", "state");
}

static void pages_through_dead_jobs(void **state)
{
    struct api *api = *state;
    char path[256] = "/v1/jobs?limit=2";
    int seen = 0;

    for (int i = 0; i < 5; i++)
        make_job(api, 0, "dead");
    for (;;) {
        const json_t *page = api_get(api, 0, ROLE_ADMIN, 200, "%s", path);

        seen += (int)json_array_size(json_object_get(page, "items"));
        if (json_is_null(json_object_get(page, "next")))
            break;
        snprintf(path, sizeof path, "/v1/jobs?limit=2&cursor=%s", api_text(page, "next"));
    }
    assert_int_equal(seen, 5);
}

/* Quarantine ----------------------------------------------------------------------------------- */

static void counts_what_was_refused_by_reason(void **state)
{
    struct api *api = *state;
    const json_t *rows, *row;

    pg_sql(api->conninfo,
           "INSERT INTO quarantine (app_id, source, reason, ref, day, count, at)"
           " SELECT %lld, 'session', 'frame_overlap', md5(i::text)::uuid, CURRENT_DATE, i,"
           " now() - i * interval '1 hour' FROM generate_series(1, 10) i",
           (long long)api->app[0]);
    rows = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?recent=3");
    row = json_array_get(json_object_get(rows, "items"), 0);
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 1);
    assert_int_equal(api_i64(row, "count"), 55);
    assert_int_equal(api_i64(row, "things"), 10);
    assert_int_equal(json_array_size(json_object_get(row, "recent")), 3);
    assert_int_equal(api_i64(json_array_get(json_object_get(row, "recent"), 0), "count"), 1);
    rows = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?source=upload");
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 0);
    pg_sql(api->conninfo,
           "INSERT INTO quarantine (app_id, source, reason, ref, day, count)"
           " VALUES (%lld, 'symbols', 'conflict', md5('0')::uuid, CURRENT_DATE - 1, 1)",
           (long long)api->app[0]);
    rows = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?source=symbols");
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 1);
    rows = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?recent=0");
    row = json_array_get(json_object_get(rows, "items"), 0);
    assert_true(json_is_null(json_object_get(row, "recent")));
}

/* Whoever sends broken files decides how many there are, not what an answer costs. */
static void a_flood_is_counted_up_to_a_limit(void **state)
{
    struct api *api = *state;
    const json_t *rows, *row;

    pg_sql(api->conninfo,
           "INSERT INTO quarantine (app_id, source, reason, ref, day, count, at)"
           " SELECT %lld, CASE WHEN i = 1 THEN 'crash' ELSE 'session' END, 'frame_overlap',"
           " md5(i::text)::uuid, CURRENT_DATE, 1, now() - i * interval '1 s'"
           " FROM generate_series(1, 100500) i",
           (long long)api->app[0]);
    rows = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?recent=2");
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 2);
    row = json_array_get(json_object_get(rows, "items"), 1);
    assert_int_equal(api_i64(row, "things"), 99999);
    assert_int_equal(json_array_size(json_object_get(row, "recent")), 2);
}

/* Slices --------------------------------------------------------------------------------------- */

/* A part of n frames of one length, ended, of session `number`. */
static void upload_steady(struct api *api, uint64_t number, size_t n, uint32_t interval_us)
{
    struct session_builder *b = sb_new(number);

    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");
    sb_end(b, sb_steady(b, 0, n, interval_us), END_STOPPED);
    api_upload(api, 0, b, "phone");
    sb_free(b);
}

static void near(const json_t *object, const char *name, double want, double tolerance)
{
    const json_t *v = json_object_get(object, name);

    if (!json_is_number(v) || fabs(json_number_value(v) - want) > tolerance)
        fail_msg("%s is %f, not %f", name, json_number_value(v), want);
}

static void merges_the_rollups_of_a_slice(void **state)
{
    struct api *api = *state;
    int64_t build;
    const json_t *s, *t;

    /* 3,000 frames of 20 ms and 1,000 of 40 ms: P50 20, P90 40, mean 25 */
    upload_steady(api, 1, 3000, 20000);
    upload_steady(api, 2, 1000, 40000);
    build = pg_i64(api->conninfo, "SELECT build_id FROM build");
    s = api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld", (long long)build);
    assert_true(json_is_null(json_object_get(s, "tier_name")));
    t = json_object_get(s, "frame_time");
    assert_int_equal(api_i64(json_object_get(s, "counts"), "sessions"), 2);
    assert_int_equal(api_i64(json_object_get(s, "counts"), "frames"), 4000);
    near(t, "p50_us", 20000, 404); /* a bucket is 2.02 % wide */
    near(t, "p90_us", 40000, 808);
    near(t, "p99_us", 40000, 808);
    assert_int_equal(api_i64(t, "mean_us"), 25000);
    near(json_object_get(s, "rates"), "janks_per_10min", 0, 0);

    s = api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld&scene=battle/frost&tier=0",
                (long long)build);
    assert_string_equal(api_text(s, "tier_name"), "untiered");
    assert_int_equal(api_i64(json_object_get(s, "counts"), "frames"), 4000);
    assert_int_equal(api_i64(s, "rows"), 2);
    s = api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld&tier=3", (long long)build);
    assert_int_equal(api_i64(json_object_get(s, "counts"), "frames"), 0);
    assert_true(json_is_null(json_object_get(json_object_get(s, "frame_time"), "p50_us")));
    s = api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld&from=2000-01-01&to=2001-01-01",
                (long long)build);
    assert_int_equal(api_i64(json_object_get(s, "counts"), "frames"), 0);
}

static void looks_up_a_slice_by_its_whole_key(void **state)
{
    struct api *api = *state;
    char *plan;

    pg_sql(api->conninfo,
           "INSERT INTO build (app_id, platform, version_name, version_code)"
           " VALUES (%lld, 'android', '1', 1)",
           (long long)api->app[0]);
    pg_sql(
        api->conninfo,
        "INSERT INTO frame_rollup SELECT g, (SELECT build_id FROM build), tier, 'scene ' || s,"
        " CURRENT_DATE, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, ''"
        " FROM generate_series(64, 127) g, generate_series(0, 4) tier, generate_series(1, 50) s");
    pg_sql(api->conninfo, "ANALYZE");
    plan = pg_rows(api->conninfo,
                   "PREPARE slice AS %s; EXPLAIN EXECUTE slice ('{64,65,66,67}', 1, '{0,1,2,3,4}',"
                   " 'scene 7', NULL, NULL, 100)",
                   query_text[Q_SLICE_ROWS]);
    if (!strstr(plan, "(shard = s.shard) AND (build_id = 1) AND (tier = t.tier) AND (scene ="))
        fail_msg("%s", plan);
    free(plan);
}

static void computes_rates_over_foreground_time(void **state)
{
    struct api *api = *state;
    struct session_builder *b = sb_new(1);
    const json_t *rates;
    uint64_t t = 0;

    /* a minute of foreground with janks of 150, 300 and 600 ms */
    sb_part(b, 0, 0);
    t = sb_steady(b, t, 1000, 20000);
    t = sb_frames(b, t, SB_INTERVALS(150000));
    t = sb_steady(b, t, 1000, 20000);
    t = sb_frames(b, t, SB_INTERVALS(300000));
    t = sb_steady(b, t, 900, 20000);
    t = sb_frames(b, t, SB_INTERVALS(600000));
    t = sb_frames(b, t, SB_INTERVALS(20000, 950000));
    sb_end(b, t, END_STOPPED);
    api_upload(api, 0, b, "phone");
    sb_free(b);
    rates = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld",
                                    (long long)pg_i64(api->conninfo, "SELECT build_id FROM build")),
                            "rates");
    near(rates, "janks_per_10min", 4 * 600.0 / 60.02, 0.01);
    near(rates, "minor_per_10min", 1 * 600.0 / 60.02, 0.01);
    near(rates, "severe_per_10min", 2 * 600.0 / 60.02, 0.01);
    near(rates, "jank_ms_per_minute", 2000.0 / 60.02 * 60, 0.01);
}

/* They tell no missed frames, no PerfDog janks and not whether they were slow. */
static void summaries_do_not_dilute_what_they_do_not_tell(void **state)
{
    struct api *api = *state;
    struct sketch times = {.count = {[139] = 3000}};
    struct part_summary summary = {
        .foreground_ms = 60000, .frames = 3000, .frame_sum_us = 60000000, .sketch = &times};
    const json_t *rates;
    long long build;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct session_builder *b = sb_new(seed);

        sb_part(b, 0, 0);
        if (seed == 1) {
            uint64_t t = sb_steady(b, 0, 2000, 16670);

            sb_end(b, sb_steady(b, t, 2000, 60000), END_STOPPED); /* missed: a half */
        } else {
            sb_summary(b, &summary);
            sb_end(b, 60000000, END_STOPPED);
        }
        api_upload(api, 0, b, "phone");
        sb_free(b);
    }
    build = (long long)pg_i64(api->conninfo, "SELECT build_id FROM build");
    rates = api_get(api, 0, ROLE_READ, 200, "/v1/slices?build=%lld", build);
    assert_int_equal(api_i64(json_object_get(rates, "counts"), "sessions"), 4);
    assert_int_equal(api_i64(json_object_get(rates, "counts"), "summary_sessions"), 3);
    rates = json_object_get(rates, "rates");
    near(rates, "missed_frames_percent", 50, 0.1);
    near(rates, "slow_sessions_percent", 100, 0.1);
}

static void assert_told(const json_t *s, bool told)
{
    static const char *const names[] = {"perfdog_janks", "perfdog_big_janks", "missed_frames",
                                        "slow_session"};
    static const char *const in_slice[] = {"perfdog_janks",      "perfdog_big_janks",
                                           "perfdog_stutter_us", "missed_frames",
                                           "slow_frames",        "slow_frame_base"};
    const json_t *slice;
    size_t i;

    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        assert_int_equal(json_is_null(json_object_get(s, names[k])), !told);
    assert_true(api_i64(s, "frames") > 0);
    json_array_foreach(json_object_get(json_object_get(s, "detail"), "slices"), i,
                       slice) for (size_t k = 0; k < sizeof in_slice / sizeof *in_slice; k++)
        assert_int_equal(json_is_null(json_object_get(slice, in_slice[k])), !told);
}

static void what_a_summary_does_not_tell_is_null(void **state)
{
    struct api *api = *state;
    struct sketch times = {.count = {[139] = 3000}};
    struct part_summary summary = {
        .foreground_ms = 60000, .frames = 3000, .frame_sum_us = 60000000, .sketch = &times};
    char id[33];

    for (unsigned told = 0; told < 2; told++) {
        struct session_builder *b = sb_new(1 + told);

        sb_part(b, 0, 0);
        if (told)
            sb_steady(b, 0, 2000, 16670);
        else
            sb_summary(b, &summary);
        sb_end(b, 60000000, END_STOPPED);
        api_upload(api, 0, b, "phone");
        to_hex(b->session_id, sizeof b->session_id, id);
        sb_free(b);
        assert_told(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", id), told);

        const json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions?limit=1");

        assert_told(json_array_get(json_object_get(list, "items"), 0), told);
    }
}

static void names_the_argument_of_a_slice_that_is_wrong(void **state)
{
    static const char *const bad[][2] = {
        {"", "build"},
        {"build=0", "build"},
        {"build=1&tier=10", "tier"},
        {"build=1&from=today", "from"},
        {"build=1&to=1714979289000", "to"},
        {"build=1&scene=", "scene"},
        {"build=1&zoom=1", "zoom"},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/slices?%s", bad[i][0]), "invalid",
                    bad[i][1]);
}

/* The server itself -----------------------------------------------------------------------------
 */

static char *metrics(struct api *api)
{
    api_send(api, (struct api_call){.method = "GET", .path = "/metrics"});
    assert_int_equal(api->answer.status, 200);
    return (char *)api->answer.body;
}

static void gives_metrics_that_promtool_takes(void **state)
{
    struct api *api = *state;
    const char *text;
    char id[33];

    api_play(api, 0, 1, 5, id);
    make_job(api, 0, "dead");
    pg_sql(api->conninfo,
           "INSERT INTO quarantine (app_id, source, reason, ref, day, count)"
           " VALUES (%lld, 'part', 'a \"reason\"', gen_random_uuid(), CURRENT_DATE, 3)",
           (long long)api->app[0]);
    text = metrics(api);
    assert_non_null(strstr(text, "framewatch_database_up 1\n"));
    assert_non_null(strstr(text, "framewatch_jobs{kind=\"part\",state=\"dead\"} 1\n"));
    assert_non_null(strstr(text, "framewatch_jobs{kind=\"finish\",state=\"ready\"} 0\n"));
    assert_non_null(strstr(text, "framewatch_uploads_open 0\n"));
    assert_non_null(
        strstr(text, "framewatch_quarantine{source=\"part\",reason=\"a \\\"reason\\\"\"} 3\n"));
    assert_non_null(strstr(text, "framewatch_build_info{version=\"0-test\"} 1\n"));

    FILE *promtool = popen("promtool check metrics >/dev/null 2>&1", "w");

    assert_non_null(promtool);
    fputs(text, promtool);
    if (WEXITSTATUS(pclose(promtool)) != 0)
        fail_msg("promtool check metrics does not take:\n%s", text);
}

static void asks_the_database_for_gauges_only_now_and_then(void **state)
{
    struct api *api = *state;

    metrics(api);
    pg_sql(api->conninfo, "ALTER TABLE job RENAME TO job_away");
    assert_non_null(strstr(metrics(api), "framewatch_database_up 1\n"));
    pg_sql(api->conninfo, "ALTER TABLE job_away RENAME TO job");
}

static void is_ready_only_with_its_own_schema(void **state)
{
    struct api *api = *state;
    struct api_call ready = {.method = "GET", .path = "/readyz"};

    assert_int_equal(api_send(api, ready)->status, 200);
    pg_sql(api->conninfo,
           "INSERT INTO schema_migration SELECT 9999, 'future', sha256, binary_version"
           " FROM schema_migration LIMIT 1");
    assert_int_equal(api_send(api, ready)->status, 503);
    api_problem(api->answer.json, "busy", "");
    assert_int_equal(api_send(api, (struct api_call){.method = "GET", .path = "/healthz"})->status,
                     200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(retries_a_dead_job_and_says_who_did),
        TEST(finds_no_job_that_is_not_there),
        TEST(pages_through_dead_jobs),
        TEST(counts_what_was_refused_by_reason),
        TEST(a_flood_is_counted_up_to_a_limit),
        TEST(merges_the_rollups_of_a_slice),
        TEST(looks_up_a_slice_by_its_whole_key),
        TEST(computes_rates_over_foreground_time),
        TEST(summaries_do_not_dilute_what_they_do_not_tell),
        TEST(what_a_summary_does_not_tell_is_null),
        TEST(names_the_argument_of_a_slice_that_is_wrong),
        TEST(gives_metrics_that_promtool_takes),
        TEST(asks_the_database_for_gauges_only_now_and_then),
        TEST(is_ready_only_with_its_own_schema),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
