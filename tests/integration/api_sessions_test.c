#include "support/api.h"

#include "base/base64url.h"
#include "server/jobs/sessions/session_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t count(const json_t *list)
{
    return json_array_size(json_object_get(list, "items"));
}

static void lists_nothing_at_first(void **state)
{
    json_t *list = api_get(*state, 0, ROLE_READ, 200, "/v1/sessions");

    assert_int_equal(count(list), 0);
    assert_true(json_is_null(json_object_get(list, "next")));
}

static void shows_an_uploaded_session_in_list_and_summary(void **state)
{
    struct api *api = *state;
    char id[33], path[64];

    api_play(api, 0, 1, 5, id); /* the model is known from then on */
    pg_sql(api->conninfo,
           "DELETE FROM session; UPDATE device_model SET tier = 3;"
           "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 1, 3, '{}')",
           (long long)api->app[0]);
    api_play(api, 0, 0x1234, 60, id);

    const json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions");
    const json_t *item = json_array_get(json_object_get(list, "items"), 0);

    assert_int_equal(count(list), 1);
    assert_string_equal(api_text(item, "id"), id);
    assert_string_equal(api_text(item, "state"), "final");
    assert_string_equal(api_text(item, "version_name"), "1.0.0");
    assert_string_equal(api_text(item, "model"), "Phone 1");
    assert_true(api_i64(item, "frames") > 3000);
    assert_int_equal(api_i64(item, "parts"), 1);
    assert_string_equal(api_text(item, "tier_name"), "low");

    json_t *s = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", id);

    assert_string_equal(api_text(s, "app"), "game0");
    assert_int_equal(strlen(api_text(s, "install")), 64);
    assert_string_equal(api_text(json_object_get(s, "build"), "build_uid"), "build-100");
    assert_string_equal(api_text(json_object_get(s, "device"), "gpu"), "GPU 7");
    assert_int_equal(api_i64(s, "tier"), 3);
    assert_string_equal(api_text(s, "tier_name"), "low");
    assert_string_equal(api_text(json_object_get(s, "device"), "tier_name"), "low");
    snprintf(path, sizeof path, "/v1/sessions/%s/janks", id);
    assert_string_equal(api_text(json_object_get(s, "links"), "janks"), path);
    /* the whole session, and the scene it was in */
    assert_int_equal(json_array_size(json_object_get(json_object_get(s, "detail"), "slices")), 2);
}

static void takes_an_id_with_the_dashes_of_a_uuid(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 77, 5, id);
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%.8s-%.4s-%.4s-%.4s-%s", id, id + 8, id + 12,
            id + 16, id + 20);
}

static void tells_an_unknown_session_from_a_malformed_id(void **state)
{
    struct api *api = *state;

    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%032d", 5), "not_found", "");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/xyz"), "invalid", "id");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions/%032d?x=1", 5), "invalid", "x");
}

/* Filters: sessions made by SQL ---------------------------------------------------------------- */

/* n sessions of one app, session i received i seconds ago, with every property for some of them. */
static void populate(struct api *api, unsigned app, int n)
{
    long long id = api->app[app];

    pg_sql(api->conninfo,
           "INSERT INTO build (app_id, platform, version_name, version_code)"
           " SELECT %lld, CASE i %% 2 WHEN 0 THEN 'android' ELSE 'ios' END, '1.' || i, 100 + i"
           " FROM generate_series(0, 19) i",
           id);
    pg_sql(api->conninfo,
           "INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb)"
           " SELECT %lld, 'android', 'Maker ' || i %% 5, 'Phone ' || i %% 50, 'soc', 4 + i / 50"
           " FROM generate_series(0, 99) i",
           id);
    pg_sql(api->conninfo,
           "INSERT INTO session (shard, session_id, app_id, day, build_id, model_id, install_hash,"
           " state, wall_start_ms, received_at, last_part_at, analysis_version, bounds_version,"
           " n_parts, ended, duration_us, environment, excluded, from_summary, os_version,"
           " sdk_version, scenes, frames, foreground_us, p50_us, p90_us, p95_us, p99_us, max_us,"
           " mean_us, janks_minor, janks_normal, janks_severe, jank_us, perfdog_janks,"
           " perfdog_big_janks, missed_frames, slow_session, peak_memory_kb,"
           " peak_battery_millicelsius, throttled_us, has_crash, has_feedback, invalid, detail)"
           " SELECT %lld * 64 + i %% 64, md5(i::text)::uuid, %lld,"
           " CURRENT_DATE, b.id, m.id, sha256(int4send(i %% 1000)),"
           " CASE WHEN i %% 100 = 0 THEN 'open' ELSE 'final' END, 0,"
           " TIMESTAMPTZ '2024-05-06T07:08:09Z' - i * interval '1 s', now(), 1, 1, 1, true, 1,"
           " CASE WHEN i %% 200 = 0 THEN 5 ELSE 0 END, i %% 200 = 0, false, '', '',"
           " ARRAY['s' || i %% 97], 1000, 1, 16000, 16000 + i %% 1000 * 10, 1, 1, 1, 1,"
           " (i %% 2 = 0)::int, 0, 0, 0, 0, 0, 0, false, 1, 1, 1, i %% 333 = 0, i %% 500 = 0, '{}',"
           " ('{\"slices\":[],\"filler\":\"' || repeat('x', 600) || '\"}')::jsonb"
           " FROM generate_series(1, %d) i"
           " JOIN (SELECT array_agg(build_id ORDER BY build_id) AS ids FROM build"
           "       WHERE app_id = %lld) bs ON true"
           " JOIN (SELECT array_agg(model_id ORDER BY model_id) AS ids FROM device_model"
           "       WHERE app_id = %lld) ms ON true,"
           " LATERAL (SELECT bs.ids[1 + i %% 20] AS id) b,"
           " LATERAL (SELECT ms.ids[1 + i %% 100] AS id) m",
           id, id, n, id, id);
}

static void expects(struct api *api, const char *query, size_t n)
{
    const json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions?limit=200&%s", query);

    if (count(list) != n)
        fail_msg("%s: %zu sessions, not %zu", query, count(list), n);
}

static void filters_by_every_property(void **state)
{
    struct api *api = *state;
    int64_t build;
    char query[256], *install;

    populate(api, 0, 150);
    populate(api, 1, 150);
    build = pg_i64(api->conninfo, "SELECT min(build_id) FROM build WHERE app_id = %lld",
                   (long long)api->app[0]);
    expects(api, "", 150);
    snprintf(query, sizeof query, "build=%lld", (long long)build);
    expects(api, query, 7); /* every 20th */
    expects(api, "version=1.3", 8);
    expects(api, "version_code=103", 8);
    expects(api, "platform=ios", 75);
    expects(api, "platform=ios&version=1.2", 0);
    expects(api, "platform=linux", 0);
    expects(api, "model=Phone%207", 3); /* two memory sizes: 7, 57, 107 */
    expects(api, "manufacturer=Maker+2", 30);
    expects(api, "manufacturer=Maker+2&model=Phone+7", 3);
    expects(api, "manufacturer=Maker+3&model=Phone+7", 0);
    expects(api, "scene=s5", 2); /* 5, 102 */
    expects(api, "from=2024-05-06T07:08:00Z", 9);
    expects(api, "to=2024-05-06T07:08:00Z", 141);
    expects(api, "from=2024-05-06T09:08:00%2B02:00&to=2024-05-06T07:08:05Z", 5);
    expects(api, "from=1714979280000", 9);
    expects(api, "has_jank=true", 75);
    expects(api, "has_jank=false", 75);
    expects(api, "has_crash=true", 0);
    expects(api, "flagged=false", 150);
    expects(api, "excluded=false", 150);
    expects(api, "state=open", 1);
    expects(api, "min_p90_ms=17", 51); /* 16 ms + 10 us * i: from i = 100 on */
    expects(api, "state=final&has_jank=true&scene=s8", 1);
    install = pg_rows(api->conninfo, "SELECT encode(sha256(int4send(9)), 'hex')");
    snprintf(query, sizeof query, "install=%.64s", install);
    free(install);
    expects(api, query, 1);
}

static void shows_flags_by_name(void **state)
{
    struct api *api = *state;

    populate(api, 0, 200);

    const json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/sessions?flagged=true&excluded=true");
    const json_t *item = json_array_get(json_object_get(list, "items"), 0);
    char *names = json_dumps(json_object_get(item, "environment"), JSON_COMPACT);

    assert_int_equal(count(list), 1);
    assert_string_equal(names, "[\"rooted\",\"emulator\"]");
    free(names);
}

static void pages_through_all_without_loss_or_repetition(void **state)
{
    struct api *api = *state;
    char path[512] = "/v1/sessions?limit=17&has_jank=true";
    char before[32] = "9999";
    int seen = 0;

    populate(api, 0, 150);
    for (int page = 0; page < 20; page++) {
        const json_t *list = api_get(api, 0, ROLE_READ, 200, "%s", path), *item;
        const json_t *next = json_object_get(list, "next");
        size_t i;

        json_array_foreach(json_object_get(list, "items"), i, item)
        {
            assert_true(strcmp(api_text(item, "received_at"), before) < 0);
            snprintf(before, sizeof before, "%s", api_text(item, "received_at"));
            seen++;
        }
        if (json_is_null(next))
            break;
        assert_int_equal(i, 17);
        snprintf(path, sizeof path, "/v1/sessions?limit=17&has_jank=true&cursor=%s",
                 json_string_value(next));
    }
    assert_int_equal(seen, 75);
}

static void pages_through_sessions_of_one_moment(void **state)
{
    struct api *api = *state;
    char path[512] = "/v1/sessions?limit=40", last[33] = "";
    int seen = 0;

    populate(api, 0, 150);
    pg_sql(api->conninfo, "UPDATE session SET received_at = '2024-01-01T00:00:00.123456Z'");
    for (;;) {
        const json_t *list = api_get(api, 0, ROLE_READ, 200, "%s", path), *item;
        const json_t *next = json_object_get(list, "next");
        size_t i;

        json_array_foreach(json_object_get(list, "items"), i, item)
        {
            assert_true(strcmp(api_text(item, "id"), last) > 0);
            snprintf(last, sizeof last, "%s", api_text(item, "id"));
            seen++;
        }
        if (json_is_null(next))
            break;
        snprintf(path, sizeof path, "/v1/sessions?limit=40&cursor=%s", json_string_value(next));
    }
    assert_int_equal(seen, 150);
}

static void refuses_a_cursor_that_is_not_of_this_list(void **state)
{
    struct api *api = *state;
    char cursor[128], cut[128];

    populate(api, 0, 20);
    snprintf(cursor, sizeof cursor, "%s",
             api_text(api_get(api, 0, ROLE_READ, 200, "/v1/sessions?limit=5&state=final"), "next"));
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions?state=final&limit=9&cursor=%s", cursor);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?cursor=%s", cursor), "invalid",
                "cursor");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/builds?cursor=%s", cursor), "invalid",
                "cursor");
    for (size_t i = 0; i < strlen(cursor); i++) {
        memcpy(cut, cursor, sizeof cut);
        cut[i] = '\0';
        if (i)
            api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?state=final&cursor=%s", cut),
                        "invalid", "cursor");
    }
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?cursor="), "invalid", "cursor");
    /* the place it holds, moved past what the database can tell of time */
    for (const char *at = "RXYf"; *at; at++) {
        cursor[1] = *at;
        api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?state=final&cursor=%s", cursor),
                    "invalid", "cursor");
    }
}

static void names_the_argument_that_is_wrong(void **state)
{
    static const char *const bad[][2] = {
        {"limit", "0"},       {"limit", "201"},        {"limit", "ten"},
        {"build", "0"},       {"build", "9999999999"}, {"platform", "windows"},
        {"version", ""},      {"version_code", "-1"},  {"model", "%ff"},
        {"model", "a%01b"},   {"scene", ""},           {"from", "tomorrow"},
        {"to", "2024-02-30"}, {"has_jank", "maybe"},   {"has_crash", ""},
        {"state", "closed"},  {"install", "abc"},      {"min_p90_ms", "-5"},
        {"colour", "blue"},   {"excluded", "2"},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *problem =
            api_get(api, 0, ROLE_READ, 400, "/v1/sessions?%s=%s", bad[i][0], bad[i][1]);

        /* a bad escape is refused before any argument has a name */
        if (strcmp(bad[i][1], "a%01b") != 0)
            api_problem(problem, "invalid", bad[i][0]);
    }
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?from=2024-02-01&to=2024-01-01"),
                "invalid", "from");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/sessions?build=1&version=2"), "invalid",
                "build");
}

/* Plans ---------------------------------------------------------------------------------------- */

static char *plan(struct api *api, const char *args)
{
    return pg_rows(api->conninfo,
                   "SET plan_cache_mode = force_custom_plan; PREPARE list AS %s;"
                   "EXPLAIN EXECUTE list(%lld, %s, 51)",
                   query_text[Q_SESSION_LIST], (long long)api->app[0], args);
}

static void finds_an_index_for_every_filter(void **state)
{
    /* build, builds, model, models, scene, from, to, jank, crash, feedback, flagged, excluded,
     * state, install, p90, cursor */
    static const char *const filters[][2] = {
        {"no filter", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                      "NULL,NULL"},
        {"build", "1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                  "NULL"},
        {"builds", "NULL,'{1,2,3}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                   "NULL,NULL,NULL"},
        {"model", "NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                  "NULL"},
        {"models", "NULL,NULL,NULL,'{1,51}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                   "NULL,NULL,NULL"},
        {"scene", "NULL,NULL,NULL,NULL,'s5',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                  "NULL,NULL"},
        {"unknown scene", "NULL,NULL,NULL,NULL,'nowhere',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                          "NULL,NULL,NULL,NULL"},
        {"time", "NULL,NULL,NULL,NULL,NULL,1714970000000000,1714979289000000,NULL,NULL,NULL,NULL,"
                 "NULL,NULL,NULL,NULL,NULL,NULL"},
        {"has jank", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,true,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                     "NULL,NULL"},
        {"has crash", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,true,NULL,NULL,NULL,NULL,NULL,NULL,"
                      "NULL,NULL"},
        {"has feedback", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,true,NULL,NULL,NULL,NULL,"
                         "NULL,NULL,NULL"},
        {"flagged", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,true,NULL,NULL,NULL,NULL,"
                    "NULL,NULL"},
        {"excluded", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,true,NULL,NULL,NULL,"
                     "NULL,NULL"},
        {"open", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'open',NULL,NULL,"
                 "NULL,NULL"},
        {"install", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                    "sha256(int4send(9)),NULL,NULL,NULL"},
        {"P90", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,25900,NULL,"
                "NULL"},
        {"second page", "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"
                        "NULL,1714979280000000,'00000000-0000-0000-0000-000000000000'"},
    };
    struct api *api = *state;

    populate(api, 0, 20000);
    populate(api, 1, 20000);
    pg_sql(api->conninfo, "ANALYZE");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char *text = plan(api, filters[i][1]);

        if (!text[0] || strstr(text, "Seq Scan on session"))
            fail_msg("%s:\n%s", filters[i][0], text);
        free(text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_nothing_at_first),
        TEST(shows_an_uploaded_session_in_list_and_summary),
        TEST(takes_an_id_with_the_dashes_of_a_uuid),
        TEST(tells_an_unknown_session_from_a_malformed_id),
        TEST(filters_by_every_property),
        TEST(shows_flags_by_name),
        TEST(pages_through_all_without_loss_or_repetition),
        TEST(pages_through_sessions_of_one_moment),
        TEST(refuses_a_cursor_that_is_not_of_this_list),
        TEST(names_the_argument_that_is_wrong),
        TEST(finds_an_index_for_every_filter),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
