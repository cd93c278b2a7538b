/* Cuts between tiers, placed anew: a version more, models and sessions where they belong by it,
 * nothing left of the alerts before. */
#include "support/api.h"
#include "support/job_fixture.h"
#include "support/rollup_fill.h"

#include "server/jobs/worker.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODELS 30

static const json_t *post(struct api *api, unsigned app, enum role role, int status,
                          const char *body)
{
    return api_post(api, app, role, status, "/v1/tiers/versions", body);
}

static void run_tiers(struct api *api)
{
    struct worker_config config = test_worker(api->conninfo);
    struct err err;

    if (!worker_drain(&config, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = 'tiers'"), 0);
}

/* Models of 11 to 40 ms, surely, and the first version's cuts at 17 and 26 ms. */
static void fill(struct api *api)
{
    pg_sql(api->conninfo,
           "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 1, 3, '{\"a\": 1}');"
           "INSERT INTO tier_cut VALUES (%lld, 1, 1, 17), (%lld, 1, 2, 26);"
           "INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb, tier) "
           "SELECT %lld, 'android', 'acme', 'm' || n, '', 4, "
           "CASE WHEN 10 + n <= 17 THEN 1 WHEN 10 + n <= 26 THEN 2 ELSE 3 END "
           "FROM generate_series(1, %d) AS n",
           (long long)api->app[0], (long long)api->app[0], (long long)api->app[0],
           (long long)api->app[0], MODELS);
    pg_sql(
        api->conninfo,
        "INSERT INTO tier_score (app_id, model_id, version, tier, capability, sd, prior, weight, "
        "sessions, outside, parts) SELECT app_id, model_id, 1, tier, "
        "ln(10 + substr(model, 2)::integer), 0.02, 3, 0.9, 100, 0, '{}' FROM device_model "
        "WHERE manufacturer = 'acme'");
}

static int64_t tier_of_model(struct api *api, int ms)
{
    int64_t tier =
        pg_i64(api->conninfo, "SELECT tier FROM device_model WHERE model = 'm%d'", ms - 10);

    assert_int_equal(
        pg_i64(api->conninfo,
               "SELECT s.tier FROM tier_score s JOIN device_model m USING (model_id) WHERE "
               "m.model = 'm%d'",
               ms - 10),
        tier);
    return tier;
}

static void bounds_of_ones_own_are_another_version(void **state)
{
    struct api *api = *state;
    const json_t *v, *list;

    fill(api);
    v = post(api, 0, ROLE_ADMIN, 200, "{\"cuts\":[20, 30.5],\"note\":\"new phones\"}");
    assert_int_equal(api_i64(v, "version"), 2);
    assert_int_equal(api_i64(v, "tiers"), 3);
    assert_string_equal(api_text(v, "note"), "new phones");
    assert_memory_equal(api_text(v, "placed_by"), "fw_admin", 8);
    assert_int_equal(tier_of_model(api, 18), 1); /* was in 2 */
    assert_int_equal(tier_of_model(api, 20), 1);
    assert_int_equal(tier_of_model(api, 21), 2);
    assert_int_equal(tier_of_model(api, 29), 2); /* was in 3 */
    assert_int_equal(tier_of_model(api, 31), 3);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM tier_score WHERE version = 2 AND "
                                           "(changed_at IS NOT NULL) = (capability > ln(17) AND "
                                           "capability < ln(20.5) OR capability > ln(26.5) AND "
                                           "capability < ln(30.5))"),
                     MODELS);
    /* the one before is as it was */
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/tiers/versions"), "items");
    assert_int_equal(json_array_size(list), 2);
    v = json_array_get(list, 1);
    assert_int_equal(api_i64(v, "version"), 1);
    assert_string_equal(api_text(v, "placed_by"), "");
    assert_true(fabs(json_number_value(json_array_get(json_object_get(v, "cuts"), 1)) - 26) < 1e-9);
    v = api_get(api, 0, ROLE_READ, 200, "/v1/tiers");
    assert_int_equal(api_i64(v, "version"), 2);
    assert_int_equal(api_i64(json_object_get(v, "fit"), "a"), 1);
    assert_int_equal(api_i64(json_array_get(json_object_get(v, "tiers"), 2), "models"), 10);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM audit WHERE action = 'tiers.place' "
                            "AND detail ->> 'version' = '2'"),
                     1);
}

static void tiers_are_placed_by_what_is_known_of_the_models(void **state)
{
    struct api *api = *state;
    const json_t *v, *cuts;
    double last = 0;

    fill(api);
    v = post(api, 0, ROLE_ADMIN, 200, "{\"tiers\":5}");
    cuts = json_object_get(v, "cuts");
    assert_int_equal(json_array_size(cuts), 4);
    for (size_t i = 0; i < 4; i++) {
        double ms = json_number_value(json_array_get(cuts, i));

        assert_true(ms > last && ms > 11 && ms < 40);
        last = ms;
    }
    for (int tier = 1; tier <= 5; tier++)
        assert_true(
            pg_i64(api->conninfo, "SELECT count(*) FROM device_model WHERE tier = %d", tier) >= 2);
    v = post(api, 0, ROLE_ADMIN, 200, "{}"); /* three */
    assert_int_equal(api_i64(v, "tiers"), 3);
    assert_int_equal(api_i64(v, "version"), 3);
    assert_int_equal(pg_i64(api->conninfo, "SELECT max(tier) FROM device_model"), 3);
    post(api, 0, ROLE_ADMIN, 409, "{\"tiers\":3}"); /* nothing new: no version more */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM tier_model"), 3);
}

static void refuses_what_are_no_cuts(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *body, *field;
    } wrong[] = {
        {"{\"tiers\":1}", "tiers"},
        {"{\"tiers\":9}", "tiers"},
        {"{\"tiers\":\"3\"}", "tiers"},
        {"{\"cuts\":[]}", "cuts"},
        {"{\"cuts\":[1,2,3,4,5,6,7,8]}", "cuts"},
        {"{\"cuts\":[20,20]}", "cuts"},
        {"{\"cuts\":[30,20]}", "cuts"},
        {"{\"cuts\":[0]}", "cuts"},
        {"{\"cuts\":[-1]}", "cuts"},
        {"{\"cuts\":[60001]}", "cuts"},
        {"{\"cuts\":[\"20\"]}", "cuts"},
        {"{\"cuts\":20}", "cuts"},
        {"{\"cuts\":null}", "cuts"},
        {"{\"cuts\":[20],\"tiers\":2}", "cuts"},
        {"{\"note\":7}", "note"},
        {"{\"why\":\"x\"}", "why"},
    };

    api_problem(post(api, 0, ROLE_ADMIN, 409, "{\"cuts\":[20]}"), "conflict", ""); /* none yet */
    fill(api);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        api_problem(post(api, 0, ROLE_ADMIN, 400, wrong[i].body), "invalid", wrong[i].field);
    post(api, 0, ROLE_READ, 403, "{}");
    post(api, 1, ROLE_ADMIN, 409, "{}"); /* another app has none yet */
    post(api, 0, ROLE_ADMIN, 409, "{\"cuts\":[17, 26]}");
    pg_sql(api->conninfo, "UPDATE tier_score SET capability = 3");
    post(api, 0, ROLE_ADMIN, 409, "{\"tiers\":3}"); /* all alike */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM tier_model"), 1);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action LIKE 'tiers%%'"), 0);
}

/* Sums of the rollups by tier, and of the sessions by their model's. */
static void sessions_stand_where_their_models_do(struct api *api)
{
    assert_int_equal(
        pg_i64(api->conninfo,
               "SELECT count(*) FROM (SELECT tier, sum(sessions)::bigint AS n FROM frame_rollup "
               "WHERE scene = '' GROUP BY tier) r FULL JOIN (SELECT m.tier, count(*) AS n FROM "
               "session JOIN device_model m USING (model_id) GROUP BY m.tier) s USING (tier) "
               "WHERE coalesce(r.n, 0) <> coalesce(s.n, 0)"),
        0);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM session s JOIN device_model m USING (model_id) "
                            "WHERE s.tier <> m.tier"),
                     0);
}

static void sessions_follow_and_a_report_names_the_version(void **state)
{
    struct api *api = *state;
    char id[33];
    int64_t build;

    for (uint64_t i = 1; i <= 6; i++)
        api_play(api, 0, i, 5, id);
    build = pg_i64(api->conninfo, "SELECT build_id FROM build");
    assert_true(json_is_null(
        json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build),
                        "tier_version")));
    fill(api);
    pg_sql(
        api->conninfo,
        "INSERT INTO tier_score (app_id, model_id, version, tier, capability, sd, prior, weight, "
        "sessions, outside, parts) SELECT app_id, model_id, 1, 2, ln(22), 0.02, 3, 0.9, 6, 0, "
        "'{}' FROM device_model WHERE manufacturer <> 'acme';"
        "UPDATE device_model SET tier = 2 WHERE manufacturer <> 'acme'");
    post(api, 0, ROLE_ADMIN, 200, "{\"cuts\":[23]}");
    run_tiers(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM session WHERE tier = 1"), 6);
    sessions_stand_where_their_models_do(api);
    post(api, 0, ROLE_ADMIN, 200, "{\"cuts\":[14, 16, 18, 20]}");
    run_tiers(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM session WHERE tier = 5"), 6);
    sessions_stand_where_their_models_do(api);
    assert_int_equal(
        api_i64(api_get(api, 0, ROLE_READ, 200, "/v1/report?build=%lld", (long long)build),
                "tier_version"),
        3);
}

static int64_t alerts_in(struct api *api, const char *state)
{
    return pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE state = '%s'", state);
}

static void run_alerts(struct api *api)
{
    api_post(api, 0, ROLE_ADMIN, 202, "/v1/schedule/alerts", NULL);
    run_tiers(api); /* all there is */
}

static void alerts_of_the_tiers_before_are_over_and_forgotten(void **state)
{
    struct api *api = *state;
    int64_t build, baseline, version;
    const struct rollup_fill f = {
        .app = api->app[0], .sessions = 30000, .seed = 11, .tier = 3, .scene = 2, .effect = 0.25};

    rollup_fill(api->conninfo, &f, &build, &baseline);
    run_alerts(api);
    assert_int_equal(alerts_in(api, "open"), 1);
    version = pg_i64(api->conninfo, "SELECT version FROM alert WHERE state = 'open'");
    post(api, 0, ROLE_ADMIN, 200, "{\"cuts\":[18, 27]}");
    assert_int_equal(alerts_in(api, "open"), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT version FROM alert WHERE state = 'resolved' AND "
                                           "resolved_at IS NOT NULL"),
                     version + 1);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM alert WHERE ln_e_worse > -1e299 OR "
                            "ln_e_better > -1e299 OR ln_e_pairs > -1e299 OR "
                            "level <> 'none'"),
                     0);
    run_alerts(api); /* what is so in the tiers of now */
    assert_int_equal(alerts_in(api, "open"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT version FROM alert WHERE state = 'open'"),
                     version + 2);
}

static void *place_two(void *arg)
{
    struct api *api = arg;

    api_send(api, (struct api_call){.method = "POST",
                                    .path = "/v1/tiers/versions",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"cuts\":[15, 35]}"});
    return NULL;
}

/* Whoever places while another does waits, and is a version of its own. */
static void versions_placed_at_once_come_one_after_another(void **state)
{
    struct api *api = *state;
    pthread_t other;
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    char sql[400];

    assert_non_null(db);
    fill(api);
    snprintf(sql, sizeof sql,
             "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('framewatch.tiers', %lld)); "
             "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 2, 2, '{}'); "
             "INSERT INTO tier_cut VALUES (%lld, 2, 1, 20)",
             (long long)api->app[0], (long long)api->app[0], (long long)api->app[0]);
    assert_true(db_script(db, sql, &err));
    assert_int_equal(pthread_create(&other, NULL, place_two, api), 0);
    for (int64_t waiting = 0; !waiting;) /* until it stands at the lock */
        waiting =
            pg_i64(api->conninfo,
                   "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
                   "AND database = (SELECT oid FROM pg_database WHERE datname = "
                   "current_database())");
    assert_true(db_script(db, "COMMIT", &err));
    pthread_join(other, NULL);
    assert_int_equal(api->answer.status, 200);
    assert_int_equal(api_i64(api->answer.json, "version"), 3);
    db_close(db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bounds_of_ones_own_are_another_version),
        TEST(tiers_are_placed_by_what_is_known_of_the_models),
        TEST(refuses_what_are_no_cuts),
        TEST(sessions_follow_and_a_report_names_the_version),
        TEST(alerts_of_the_tiers_before_are_over_and_forgotten),
        TEST(versions_placed_at_once_come_one_after_another),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
