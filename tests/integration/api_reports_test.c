#include "support/api.h"
#include "support/job_fixture.h"
#include "support/rollup_fill.h"

#include "server/db/db.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t build, baseline;

static void fill(struct api *api, int64_t sessions, int tier, int scene, double effect)
{
    const struct rollup_fill f = {.app = api->app[0],
                                  .sessions = sessions,
                                  .seed = 11,
                                  .tier = tier,
                                  .scene = scene,
                                  .effect = effect};

    rollup_fill(api->conninfo, &f, &build, &baseline);
}

static void run_kind(struct api *api, const char *kind)
{
    struct worker_config config = test_worker(api->conninfo);
    char path[64];
    struct err err;

    snprintf(path, sizeof path, "/v1/schedule/%s", kind);
    api_post(api, 0, ROLE_ADMIN, 202, path, NULL);
    if (!worker_drain(&config, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM job WHERE kind = '%s' AND state <> 'running'",
                            kind),
                     0);
}

static const json_t *slice_of(const json_t *report, const char *tier, const char *scene)
{
    const json_t *slice;
    size_t i;

    json_array_foreach(json_object_get(report, "slices"), i, slice)
    {
        if (strcmp(api_text(slice, "tier_name"), tier) == 0 &&
            strcmp(api_text(slice, "scene"), scene) == 0)
            return slice;
    }
    fail_msg("no slice %s %s", tier, scene);
    return NULL;
}

static double figure(const json_t *slice, const char *metric, const char *member)
{
    const json_t *v =
        json_object_get(json_object_get(json_object_get(slice, "figures"), metric), member);

    if (!json_is_number(v))
        fail_msg("%s has no %s", metric, member);
    return json_number_value(v);
}

static void tells_the_change_where_it_is_and_none_elsewhere(void **state)
{
    struct api *api = *state;
    const json_t *r, *low, *high;

    fill(api, 30000, 3, 2, 0.2);
    r = api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build);
    assert_int_equal(api_i64(json_object_get(r, "baseline"), "id"), baseline);
    low = slice_of(r, "low", "mode/map1");
    high = slice_of(r, "high", "mode/map1");
    assert_true(fabs(figure(low, "p90", "change") - 0.2) < 0.05);
    assert_true(figure(low, "p90", "low") > 0.1);
    assert_true(figure(low, "p90", "high") < 0.3);
    assert_true(figure(high, "p90", "low") < 0 && figure(high, "p90", "high") > 0);
    assert_true(fabs(figure(slice_of(r, "all", ""), "janks", "value") - 5) < 0.5);
    assert_string_equal(api_text(json_object_get(json_object_get(low, "figures"), "p90"), "basis"),
                        "installs");
}

static void is_one_slice_when_one_is_asked_for(void **state)
{
    struct api *api = *state;
    const json_t *r;

    fill(api, 3000, 0, 0, 0);
    r = api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld&tier=low&scene=mode/map3",
                (long long)build);
    assert_int_equal(json_array_size(json_object_get(r, "slices")), 1);
    assert_int_equal(api_i64(r, "rows"), 4 * 64 - 64);
    r = api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld&tier=all&scene=", (long long)build);
    assert_int_equal(json_array_size(json_object_get(r, "slices")), 1);
}

/* However many sessions there are. */
static void reads_as_many_rows_as_there_are_slices(void **state)
{
    struct api *api = *state;
    int64_t rows[2];

    fill(api, 20000, 0, 0, 0);
    rows[0] =
        api_i64(api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build), "rows");
    pg_sql(api->conninfo, "TRUNCATE expectation, tier_model, install_build CASCADE;"
                          "TRUNCATE metric_rollup; DELETE FROM build");
    fill(api, 2000000, 0, 0, 0);
    rows[1] =
        api_i64(api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build), "rows");
    assert_int_equal(rows[0], rows[1]);
    assert_int_equal(rows[0], 64 * FILL_TIERS * (FILL_SCENES + 1) * 3);
}

static bool body_has(const struct api *api, const char *text)
{
    return memmem(api->answer.body, api->answer.len, text, strlen(text)) != NULL;
}

static const json_t *figure_of(const json_t *report, const char *metric)
{
    const json_t *slice = json_array_get(json_object_get(report, "slices"), 0);

    return json_object_get(json_object_get(slice, "figures"), metric);
}

/* For people: names and definitions, what the baseline had, and the sessions behind a change. */
static void the_page_says_what_its_figures_are(void **state)
{
    struct api *api = *state;
    char path[100], n[80];
    const json_t *f;

    fill(api, 3000, 0, 0, 0);
    f = figure_of(
        api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld&tier=low&scene=", (long long)build),
        "p90");
    snprintf(n, sizeof n, "<small>n = %lld / %lld</small>", (long long)api_i64(f, "compared_n"),
             (long long)api_i64(f, "compared_baseline_n"));
    snprintf(path, sizeof path, "/v1/report?build=%lld&format=html", (long long)build);
    api_send(api, (struct api_call){.method = "GET", .path = path, .key = api->key[0][ROLE_READ]});
    assert_int_equal(api->answer.status, 200);
    assert_true(body_has(api, n));
    assert_true(body_has(api, "<small>was "));
    assert_true(body_has(api, "<th scope=row>P90 frame time<small>ms</small>"));
    assert_true(body_has(api, "<dt>P90 frame time, ms</dt><dd>Nine of ten valid foreground"));
    assert_false(body_has(api, "<th scope=row>p90"));
}

static void gives_the_same_figures_as_csv_and_as_a_page(void **state)
{
    struct api *api = *state;
    char path[100];

    fill(api, 3000, 0, 0, 0);
    /* a name that a page would take for markup and a spreadsheet for a formula */
    pg_sql(api->conninfo, "UPDATE metric_rollup SET scene = '=1+<b>&' WHERE scene = 'mode/map0'");
    snprintf(path, sizeof path, "/v1/report?build=%lld&format=csv", (long long)build);
    api_send(api, (struct api_call){.method = "GET", .path = path, .key = api->key[0][ROLE_READ]});
    assert_int_equal(api->answer.status, 200);
    assert_true(body_has(api, "tier,scene,installs,metric,unit,n,value"));
    assert_true(body_has(api, ",same_time,compared_n,compared_baseline_n\r\n"));
    assert_true(body_has(api, "\"'=1+<b>&\""));
    snprintf(path, sizeof path, "/v1/report?build=%lld&format=html", (long long)build);
    api_send(api, (struct api_call){.method = "GET", .path = path, .key = api->key[0][ROLE_READ]});
    assert_int_equal(api->answer.status, 200);
    assert_true(body_has(api, "=1+&lt;b&gt;&amp;"));
    assert_false(body_has(api, "<b>"));
    assert_false(body_has(api, "<script"));
    assert_true(body_has(api, "<h2>P99 frame time by scene"));
    assert_true(body_has(api, "<h2>Peak memory (Android PSS) by scene"));
    assert_true(body_has(api, "<h2>Slow sessions by scene"));
    assert_true(body_has(api, "<small>mix "));
    assert_non_null(strstr(api->answer.policy, "default-src 'none'"));
}

static void refuses_what_it_does_not_know(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 0, 0, 0);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/report"), "invalid", "build");
    api_problem(
        api_get(api, 0, ROLE_READ, 400, "/v1/report?build=%lld&tier=best", (long long)build),
        "invalid", "tier");
    api_get(api, 0, ROLE_READ, 404, "/v1/report?build=999");
    api_get(api, 1, ROLE_READ, 404, "/v1/report?build=%lld", (long long)build); /* another app's */
    api_get(api, 0, ROLE_READ, 404, "/v1/alerts/1");
    api_post(api, 0, ROLE_ADMIN, 404, "/v1/schedule/nonsense", NULL);
    api_post(api, 0, ROLE_READ, 403, "/v1/schedule/alerts", NULL);
}

/* Alerts --------------------------------------------------------------------------------------- */

static const json_t *live(struct api *api, size_t n)
{
    const json_t *items =
        json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/alerts?state=live"), "items");

    assert_int_equal(json_array_size(items), n);
    return items;
}

static void opens_one_alert_where_the_build_is_worse(void **state)
{
    struct api *api = *state;
    const json_t *a;

    fill(api, 30000, 3, 2, 0.25);
    run_kind(api, "alerts");
    a = json_array_get(live(api, 1), 0);
    assert_string_equal(api_text(a, "tier_name"), "low");
    assert_string_equal(api_text(a, "scene"), "mode/map1");
    assert_string_equal(api_text(a, "metric"), "p90");
    assert_string_equal(api_text(a, "state"), "open");
    assert_true(json_array_size(json_object_get(json_object_get(a, "evidence"), "metrics")) >= 2);
    run_kind(api, "alerts");
    assert_int_equal(api_i64(json_array_get(live(api, 1), 0), "version"), 1); /* told once */
}

static void stays_quiet_where_nothing_changed(void **state)
{
    struct api *api = *state;

    fill(api, 30000, 0, 0, 0);
    run_kind(api, "alerts");
    live(api, 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE tier < 1"), 0);
}

/* Rows tell groups of installs: 25 of 64 are filled by some 31. */
static void looks_once_about_thirty_installs_are_there(void **state)
{
    struct api *api = *state;

    fill(api, 30000, 3, 2, 0.25);
    pg_sql(api->conninfo, "CREATE TABLE kept AS SELECT * FROM metric_rollup WHERE shard %% 64 = 24;"
                          "DELETE FROM metric_rollup WHERE shard %% 64 >= 24");
    run_kind(api, "alerts");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert"), 0);
    pg_sql(api->conninfo, "INSERT INTO metric_rollup SELECT * FROM kept");
    run_kind(api, "alerts");
    assert_string_equal(api_text(json_array_get(live(api, 1), 0), "scene"), "mode/map1");
}

/* Figures that are compared by models alone are no ground for an alert, whatever a rule says. */
static void refuses_rules_for_figures_that_alerts_do_not_watch(void **state)
{
    static const char *const metrics[] = {"p95", "p99", "temperature", "throttled", "frames"};
    struct api *api = *state;

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        char body[96];

        snprintf(body, sizeof body, "{\"items\":[{\"metric\":\"%s\",\"theta\":0.1}]}", metrics[i]);
        api_send(api, (struct api_call){.method = "PUT",
                                        .path = "/v1/alert-rules",
                                        .key = api->key[0][ROLE_ADMIN],
                                        .body = body});
        assert_int_equal(api->answer.status, 400);
        api_problem(api->answer.json, "invalid", "metric");
    }
}

static void obeys_thresholds(void **state)
{
    struct api *api = *state;

    fill(api, 30000, 3, 2, 0.25);
    api_send(api, (struct api_call){.method = "PUT",
                                    .path = "/v1/alert-rules",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"items\":[{\"tier\":3,\"theta\":0.6}]}"});
    assert_int_equal(api->answer.status, 200);
    run_kind(api, "alerts");
    live(api, 0);
    assert_true(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE level = 'warn'") > 0);
    api_send(api, (struct api_call){.method = "PUT",
                                    .path = "/v1/alert-rules",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"items\":[{\"theta\":0.6},{\"theta\":0.7}]}"});
    assert_int_equal(api->answer.status, 400);
    api_send(api, (struct api_call){.method = "PUT",
                                    .path = "/v1/alert-rules",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"items\":[]}"});
    assert_int_equal(api->answer.status, 200);
    run_kind(api, "alerts");
    live(api, 1);
}

static void *put_rule(void *arg)
{
    struct api *api = arg;

    api_send(api, (struct api_call){.method = "PUT",
                                    .path = "/v1/alert-rules",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"items\":[{\"tier\":2,\"theta\":0.5}]}"});
    return NULL;
}

static void rules_written_at_once_are_not_mixed(void **state)
{
    struct api *api = *state;
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    int64_t app = api->app[0];
    char sql[256];
    pthread_t other;

    assert_non_null(db);
    /* another's, under way */
    snprintf(sql, sizeof sql,
             "BEGIN; SELECT FROM app WHERE app_id = %lld FOR NO KEY UPDATE; INSERT INTO alert_rule "
             "(app_id, tier, metric, theta, enabled) VALUES (%lld, 1, '', 0.4, true)",
             (long long)app, (long long)app);
    assert_true(db_script(db, sql, &err));
    assert_int_equal(pthread_create(&other, NULL, put_rule, api), 0);
    usleep(300000);
    assert_true(db_script(db, "COMMIT", &err));
    pthread_join(other, NULL);
    assert_int_equal(api->answer.status, 200);
    assert_int_equal(pg_i64(api->conninfo, "SELECT sum(tier) FROM alert_rule"), 2);
    db_close(db);
}

static void goes_through_its_states(void **state)
{
    struct api *api = *state;
    char path[64];
    const json_t *a;
    int64_t id;

    fill(api, 30000, 3, 2, 0.25);
    run_kind(api, "alerts");
    id = api_i64(json_array_get(live(api, 1), 0), "id");
    snprintf(path, sizeof path, "/v1/alerts/%lld/acknowledge", (long long)id);
    a = api_post(api, 0, ROLE_ADMIN, 200, path, "{\"note\":\"on it\"}");
    assert_string_equal(api_text(a, "state"), "acknowledged");
    assert_string_equal(api_text(a, "note"), "on it");
    api_post(api, 0, ROLE_ADMIN, 409, path, "{}");
    api_post(api, 1, ROLE_ADMIN, 409, path, "{}"); /* another app's */
    snprintf(path, sizeof path, "/v1/alerts/%lld/silence", (long long)id);
    a = api_post(api, 0, ROLE_ADMIN, 200, path, "{\"days\":2}");
    assert_string_equal(api_text(a, "state"), "silenced");
    run_kind(api, "alerts");
    live(api, 0);
    a = api_post(api, 0, ROLE_ADMIN, 200, path, "{\"days\":0}");
    assert_string_equal(api_text(a, "state"), "updated");

    /* the build is as good as its baseline again: other sessions outweigh the slow ones */
    pg_sql(api->conninfo,
           "UPDATE metric_rollup m SET sums = o.sums FROM metric_rollup o "
           "WHERE m.build_id = %lld AND m.arm = 0 AND o.shard = m.shard AND "
           "o.build_id = %lld AND o.arm = 0 AND o.tier = m.tier AND o.scene = "
           "m.scene",
           (long long)build, (long long)baseline);
    run_kind(api, "alerts");
    live(api, 0);
    a = api_get(api, 0, ROLE_READ, 200, "/v1/alerts/%lld", (long long)id);
    assert_string_equal(api_text(a, "state"), "resolved");
    assert_true(json_is_string(json_object_get(a, "resolved_at")));
}

static void ends_alerts_of_builds_that_nobody_watches_any_more(void **state)
{
    struct api *api = *state;

    fill(api, 30000, 3, 2, 0.25);
    run_kind(api, "alerts");
    live(api, 1);
    pg_sql(api->conninfo, "UPDATE expectation SET frozen_at = now() - interval '31 days'");
    run_kind(api, "alerts");
    live(api, 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE state = 'resolved'"),
                     1);
}

static void an_alert_that_opens_again_is_nobodys(void **state)
{
    struct api *api = *state;
    char path[64];
    const json_t *a;

    fill(api, 30000, 3, 2, 0.25);
    run_kind(api, "alerts");
    snprintf(path, sizeof path, "/v1/alerts/%lld/acknowledge",
             (long long)api_i64(json_array_get(live(api, 1), 0), "id"));
    api_post(api, 0, ROLE_ADMIN, 200, path, "{\"note\":\"on it\"}");
    pg_sql(api->conninfo, "UPDATE expectation SET frozen_at = now() - interval '31 days'");
    run_kind(api, "alerts");
    live(api, 0);
    pg_sql(api->conninfo, "UPDATE expectation SET frozen_at = now()");
    run_kind(api, "alerts");
    a = json_array_get(live(api, 1), 0);
    assert_string_equal(api_text(a, "state"), "open");
    assert_string_equal(api_text(a, "acknowledged_by"), "");
    assert_string_equal(api_text(a, "note"), "");
}

/* Reports, health, tiers, heat map --------------------------------------------------------------
 */

static const json_t *finding(const json_t *check, const char *name)
{
    static const char *const lists[] = {"findings", "checks"};
    const json_t *f;
    size_t i;

    for (size_t l = 0; l < 2; l++)
        json_array_foreach(json_object_get(check, lists[l]), i, f)
        {
            if (strcmp(api_text(f, "check"), name) == 0)
                return f;
        }
    fail_msg("no %s", name);
    return NULL;
}

/* So that a page can say it in another language. */
static void a_health_check_has_all_its_numbers_beside_the_text(void **state)
{
    struct api *api = *state;
    char id[33];
    const json_t *check;

    fill(api, 3000, 0, 0, 0);
    api_play(api, 0, 1, 5, id);
    check = api_get(api, 0, ROLE_READ, 200, "/v1/health-check?build=%lld", (long long)build);
    assert_true(json_is_integer(json_object_get(finding(check, "volume"), "days")));
    assert_true(json_is_integer(json_object_get(finding(check, "volume"), "excluded")));
    assert_true(json_is_integer(json_object_get(finding(check, "untiered"), "models")));
    assert_string_equal(api_text(finding(check, "channel"), "metric"), "p90");
    assert_null(json_object_get(finding(check, "symbols"), "metric"));
}

static void makes_reports_and_health_checks_by_itself(void **state)
{
    struct api *api = *state;
    char id[33];
    const json_t *list, *doc;

    fill(api, 3000, 0, 0, 0);
    api_play(api, 0, 1, 5, id); /* a build has sessions */
    pg_sql(api->conninfo, "UPDATE session SET build_id = %lld", (long long)build);
    run_kind(api, "reports");
    run_kind(api, "reports");
    list = json_object_get(
        api_get(api, 0, ROLE_READ, 200, "/v1/reports?build=%lld", (long long)build), "items");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(api_text(json_array_get(list, 0), "kind"), "health");
    assert_int_equal(api_i64(json_array_get(list, 0), "step"), 3);
    doc = api_get(api, 0, ROLE_READ, 200, "/v1/reports/%lld",
                  (long long)api_i64(json_array_get(list, 0), "id"));
    assert_true(json_is_array(json_object_get(doc, "findings")));
    doc = api_get(api, 0, ROLE_READ, 200, "/v1/health-check?build=%lld", (long long)build);
    assert_int_equal(api_i64(json_object_get(doc, "build"), "id"), build);
    api_get(api, 1, ROLE_READ, 404, "/v1/health-check");
}

/* Rows of single installs by build: of what it showed, and of its expectation's pasts. */
static int64_t installs_kept(struct api *api, int64_t of)
{
    return pg_i64(api->conninfo,
                  "SELECT (SELECT count(*) FROM install_build WHERE build_id = %lld) + "
                  "(SELECT count(*) FROM expectation_past WHERE build_id = %lld)",
                  (long long)of, (long long)of);
}

static const json_t *check_of(struct api *api, int64_t of, const char *day, const char *name)
{
    const json_t *doc =
        api_get(api, 0, ROLE_READ, 200, "/v1/health-check?build=%lld%s", (long long)of, day);
    const char *const lists[] = {"findings", "checks"};
    const json_t *c;
    size_t i;

    for (unsigned l = 0; l < 2; l++)
        json_array_foreach(json_object_get(doc, lists[l]), i,
                           c) if (!strcmp(api_text(c, "check"), name)) return c;
    fail_msg("no check %s", name);
    return NULL;
}

/* Ten sessions on each of the last `days` days of the build of that code, begun so long ago. */
static void play_daily(struct api *api, int64_t of, int days)
{
    pg_sql(api->conninfo,
           "UPDATE build SET released_at = now() - interval '%d days' - interval "
           "'1 hour' WHERE build_id = %lld",
           days, (long long)of);
    pg_sql(api->conninfo,
           "INSERT INTO frame_rollup SELECT %lld, %lld, 1, '', d::date, 10, 0, 0, 0, 0, 0, 0, 0, "
           "0, 0, 0, 0, 0, 0, '' FROM build, generate_series((released_at AT TIME ZONE "
           "'UTC')::date, (now() AT TIME ZONE 'UTC')::date, interval '1 day') d "
           "WHERE build_id = %lld",
           (long long)api->app[0] * 64, (long long)of, (long long)of);
}

static void volume_is_of_whole_days_that_both_builds_have_had(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *day;
        int64_t sessions;
    } asked[] = {{"", 70}, {"&day=3", 30}, {"&day=7", 70}, {"&day=14", 70}};

    fill(api, 3000, 0, 0, 0);
    play_daily(api, baseline, 30);
    play_daily(api, build, 7);
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        const json_t *c = check_of(api, build, asked[i].day, "volume");

        assert_string_equal(api_text(c, "status"), "ok");
        assert_int_equal((int64_t)json_number_value(json_object_get(c, "value")),
                         asked[i].sessions);
        assert_int_equal((int64_t)json_number_value(json_object_get(c, "expected")),
                         asked[i].sessions);
    }
    pg_sql(api->conninfo, "UPDATE build SET released_at = now() WHERE build_id = %lld",
           (long long)build);
    assert_string_equal(api_text(check_of(api, build, "", "volume"), "status"), "unknown");
}

static void volume_without_sessions_of_either_build_is_no_alarm(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 0, 0, 0); /* whose sessions came after those days */
    assert_string_equal(api_text(check_of(api, build, "&day=3", "volume"), "status"), "unknown");
    play_daily(api, baseline, 30);
    assert_string_equal(api_text(check_of(api, build, "&day=3", "volume"), "status"), "serious");
}

static void a_check_that_was_kept_is_told_as_it_stood(void **state)
{
    struct api *api = *state;
    char id[33];
    const json_t *doc;

    fill(api, 3000, 0, 0, 0);
    api_play(api, 0, 1, 5, id);
    pg_sql(api->conninfo, "UPDATE session SET build_id = %lld", (long long)build);
    run_kind(api, "reports");
    play_daily(api, build, 7);
    doc = api_get(api, 0, ROLE_READ, 200, "/v1/health-check?build=%lld&day=3", (long long)build);
    assert_true(json_is_string(json_object_get(doc, "made_at")));
    assert_int_equal(api_i64(doc, "age_days"), 4); /* as then */
    doc = api_get(api, 0, ROLE_READ, 200, "/v1/health-check?build=%lld&day=7", (long long)build);
    assert_null(json_object_get(doc, "made_at"));
    assert_int_equal(api_i64(doc, "age_days"), 7);
}

/* A build of that age, with a row of each kind; with a session or none. */
static int64_t lone_build(struct api *api, unsigned app, int code, int days, bool session)
{
    int64_t id = pg_i64(api->conninfo,
                        "INSERT INTO build (app_id, platform, version_name, version_code, "
                        "registered, created_at) VALUES (%lld, 'android', '2', %d, true, "
                        "now() - interval '%d days') RETURNING build_id",
                        (long long)api->app[app], code, days);
    long long shard = (long long)api->app[app] * 64 + code % 64;

    pg_sql(
        api->conninfo,
        "INSERT INTO expectation (build_id, baseline_id, app_id, frozen_at, base_from, sessions, "
        "phase) VALUES (%lld, %lld, %lld, now(), '-infinity', 1000, 'done');"
        "INSERT INTO install_build (shard, build_id, tier, install_hash, sums) "
        "VALUES (%lld, %lld, 1, '\\x01', '');"
        "INSERT INTO expectation_past (build_id, shard, install_hash, tier, sums) "
        "VALUES (%lld, %lld, '\\x01', 1, '')",
        (long long)id, (long long)id, (long long)api->app[app], shard, (long long)id, (long long)id,
        shard);
    if (session) {
        char played[33];

        api_play(api, app, (uint64_t)code, 5, played);
        pg_sql(api->conninfo, "UPDATE session SET build_id = %lld WHERE session_id = '%s'",
               (long long)id, played);
    }
    assert_int_equal(installs_kept(api, id), 2);
    return id;
}

static void forgets_single_installs_with_the_last_session_of_an_old_build(void **state)
{
    struct api *api = *state;
    const int old = 20000;
    int64_t over = lone_build(api, 0, 101, old, false), played = lone_build(api, 0, 102, old, true),
            young = lone_build(api, 0, 103, 1, false), other = lone_build(api, 1, 104, old, false);

    fill(api, 3000, 0, 0, 0);

    int64_t filled = installs_kept(api, baseline), rows;

    rows = pg_i64(api->conninfo, "SELECT count(*) FROM metric_rollup");
    run_kind(api, "expect");
    assert_int_equal(installs_kept(api, over), 0);
    assert_int_equal(installs_kept(api, played), 2);
    assert_int_equal(installs_kept(api, young), 2);
    assert_int_equal(installs_kept(api, other), 2); /* another app's, whose own job forgets */
    assert_int_equal(installs_kept(api, baseline), filled);
    pg_sql(api->conninfo,
           "UPDATE build SET created_at = now() - interval '20000 days' "
           "WHERE build_id = %lld",
           (long long)baseline);
    run_kind(api, "expect");
    assert_int_equal(installs_kept(api, baseline), 0);
    /* sums over installs stay */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM metric_rollup"), rows);
    pg_sql(api->conninfo, "DELETE FROM session");
    run_kind(api, "expect");
    assert_int_equal(installs_kept(api, played), 0);
}

static void lists_tiers_and_takes_a_catalogue(void **state)
{
    struct api *api = *state;
    char id[33];
    const json_t *doc, *model;

    assert_int_equal(
        json_array_size(json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/tiers"), "tiers")), 0);
    fill(api, 3000, 0, 0, 0);
    doc = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/tiers"), "tiers");
    assert_int_equal(json_array_size(doc), 3);
    api_play(api, 0, 1, 5, id);
    doc = api_get(api, 0, ROLE_READ, 200, "/v1/tiers/models?tier=untiered");
    model = json_array_get(json_object_get(doc, "items"), 0);
    assert_string_equal(api_text(model, "tier_name"), "untiered");
    assert_true(json_is_null(json_object_get(model, "p90_ms")));
    api_send(api, (struct api_call){
                      .method = "PUT",
                      .path = "/v1/tiers/catalogue",
                      .key = api->key[0][ROLE_ADMIN],
                      .body = "{\"items\":[{\"manufacturer\":\"ACME\",\"model\":\"One\"},"
                              "{\"manufacturer\":\"acme\",\"model\":\"One\",\"ram_mb\":4096}]}"});
    assert_int_equal(api->answer.status, 200);
    assert_int_equal(api_i64(api->answer.json, "models"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT ram_mb FROM device_catalogue"), 4096);
}

static void shows_where_on_a_map_players_jank(void **state)
{
    struct api *api = *state;
    struct session_builder *b = sb_new(5);
    const json_t *map, *cell;
    int64_t id;
    uint64_t t = 0;

    sb_part(b, 0, 0);
    sb_scene(b, 0, "city", "harbor");
    for (int i = 0; i < 4; i++) { /* to and fro: two squares, each entered twice */
        sb_position(b, t, i % 2 ? 10.5f : -3.2f, 2.0f);
        t = sb_steady(b, t, 60, 16670);
        if (i % 2)
            t = sb_frames(b, t, SB_INTERVALS(300000));
    }
    sb_end(b, t, END_STOPPED);
    api_upload(api, 0, b, "phone");
    sb_free(b);
    id = pg_i64(api->conninfo, "SELECT build_id FROM build");
    map = api_get(api, 0, ROLE_READ, 200, "/v1/heatmap?build=%lld&scene=city/harbor&min_visits=1",
                  (long long)id);
    assert_int_equal(api_i64(map, "level"), 0);
    assert_int_equal(json_array_size(json_object_get(map, "cells")), 2);
    cell = json_array_get(json_object_get(map, "cells"), 0);
    assert_int_equal(api_i64(cell, "x"), 10);
    assert_int_equal(api_i64(cell, "visits"), 2);
    assert_int_equal(api_i64(cell, "janky_visits"), 2);
    assert_int_equal(api_i64(cell, "jank_ms"), 600);
    cell = json_array_get(json_object_get(map, "cells"), 1);
    assert_int_equal(api_i64(cell, "x"), -4);
    assert_int_equal(api_i64(cell, "janky_visits"), 0);
    map = api_get(api, 0, ROLE_READ, 200,
                  "/v1/heatmap?build=%lld&scene=city/harbor&min_visits=1&level=8", (long long)id);
    assert_int_equal(json_array_size(json_object_get(map, "cells")), 2); /* both sides of 0 */
    map = api_get(api, 0, ROLE_READ, 200, "/v1/heatmap?build=%lld", (long long)id);
    assert_int_equal(json_array_size(json_object_get(map, "items")), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_the_change_where_it_is_and_none_elsewhere),
        TEST(is_one_slice_when_one_is_asked_for),
        TEST(reads_as_many_rows_as_there_are_slices),
        TEST(the_page_says_what_its_figures_are),
        TEST(gives_the_same_figures_as_csv_and_as_a_page),
        TEST(refuses_what_it_does_not_know),
        TEST(opens_one_alert_where_the_build_is_worse),
        TEST(stays_quiet_where_nothing_changed),
        TEST(looks_once_about_thirty_installs_are_there),
        TEST(refuses_rules_for_figures_that_alerts_do_not_watch),
        TEST(obeys_thresholds),
        TEST(rules_written_at_once_are_not_mixed),
        TEST(goes_through_its_states),
        TEST(ends_alerts_of_builds_that_nobody_watches_any_more),
        TEST(an_alert_that_opens_again_is_nobodys),
        TEST(a_health_check_has_all_its_numbers_beside_the_text),
        TEST(makes_reports_and_health_checks_by_itself),
        TEST(volume_is_of_whole_days_that_both_builds_have_had),
        TEST(volume_without_sessions_of_either_build_is_no_alarm),
        TEST(a_check_that_was_kept_is_told_as_it_stood),
        TEST(forgets_single_installs_with_the_last_session_of_an_old_build),
        TEST(lists_tiers_and_takes_a_catalogue),
        TEST(shows_where_on_a_map_players_jank),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
