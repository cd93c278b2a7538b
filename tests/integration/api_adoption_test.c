/* Which builds are played, day by day: counted by hand from the sessions that were sent. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Rows as the worker writes them, of one app: build, tier, day, group, sessions. */
static void add(struct api *api, unsigned app, int64_t build, int tier, const char *scene,
                const char *day, int group, int sessions)
{
    pg_sql(
        api->conninfo,
        "INSERT INTO frame_rollup SELECT %lld * 64 + %d, %lld, %d, '%s', '%s', %d, 1, 0, 0, 0, 0, "
        "0, 0, 0, 0, 0, 0, 0, 0, ''",
        (long long)api->app[app], group, (long long)build, tier, scene, day, sessions);
}

static int64_t make_build(struct api *api, unsigned app, const char *platform, int code)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "INSERT INTO build (app_id, platform, version_name, version_code) VALUES (%lld, '%s', "
             "'1.%d', %d)",
             (long long)api->app[app], platform, code, code);
    pg_sql(api->conninfo, "%s", sql);
    return pg_i64(api->conninfo, "SELECT max(build_id) FROM build");
}

static int64_t sessions_on(const json_t *item, const char *day)
{
    const json_t *d;
    size_t i;

    json_array_foreach(json_object_get(item, "days"), i,
                       d) if (strcmp(api_text(d, "day"), day) == 0) return api_i64(d, "sessions");
    return 0;
}

static void tells_the_sessions_of_each_build_by_day(void **state)
{
    struct api *api = *state;
    int64_t old = make_build(api, 0, "android", 1), new = make_build(api, 0, "android", 2);
    int64_t ios = make_build(api, 0, "ios", 3), strange = make_build(api, 1, "android", 4);

    add(api, 0, old, 0, "", "2026-03-01", 0, 70);
    add(api, 0, old, 3, "", "2026-03-01", 63, 5);
    add(api, 0, old, 3, "city/harbor", "2026-03-01", 63, 5); /* a part of the same sessions */
    add(api, 0, old, 9, "", "2026-03-03", 7, 20);
    add(api, 0, new, 2, "", "2026-03-03", 7, 60);
    add(api, 0, new, 2, "", "2026-03-04", 7, 0); /* taken back */
    add(api, 0, ios, 1, "", "2026-03-03", 7, 9);
    add(api, 1, strange, 1, "", "2026-03-03", 7, 9);

    json_t *list =
        api_get(api, 0, ROLE_READ, 200, "/v1/adoption?build=%lld&to=2026-03-05", (long long)old);
    json_t *items = json_object_get(list, "items");

    assert_int_equal(json_array_size(items), 2);
    assert_int_equal(api_i64(json_array_get(items, 0), "build_id"), new);
    assert_int_equal(json_array_size(json_object_get(json_array_get(items, 0), "days")), 1);
    assert_int_equal(sessions_on(json_array_get(items, 0), "2026-03-03"), 60);
    assert_int_equal(sessions_on(json_array_get(items, 1), "2026-03-01"), 75);
    assert_int_equal(sessions_on(json_array_get(items, 1), "2026-03-03"), 20);

    list = api_get(api, 0, ROLE_READ, 200, "/v1/adoption?build=%lld&to=2026-03-04&days=2",
                   (long long)old);
    items = json_object_get(list, "items");
    assert_int_equal(sessions_on(json_array_get(items, 1), "2026-03-01"), 0);
    assert_int_equal(sessions_on(json_array_get(items, 1), "2026-03-03"), 20);
}

static void an_old_build_that_is_asked_for_is_among_the_newest(void **state)
{
    struct api *api = *state;
    int64_t old = make_build(api, 0, "android", 1);

    for (int i = 0; i < 60; i++)
        make_build(api, 0, "android", 100 + i);

    json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/adoption?build=%lld", (long long)old);
    json_t *items = json_object_get(list, "items");

    assert_int_equal(json_array_size(items), 40);
    assert_int_equal(api_i64(json_array_get(items, 0), "version_code"), 159);
    assert_int_equal(api_i64(json_array_get(items, 39), "build_id"), old);
}

static void refuses_what_it_cannot_answer(void **state)
{
    struct api *api = *state;
    int64_t strange = make_build(api, 1, "android", 4);

    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/adoption"), "invalid", "build");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/adoption?build=1&days=400"), "invalid",
                "days");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/adoption?build=1&to=yesterday"), "invalid",
                "to");
    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/adoption?build=%lld", (long long)strange),
                "not_found", "");
    api_problem(api_get(api, 0, ROLE_INGEST, 403, "/v1/adoption?build=1"), "forbidden", "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_the_sessions_of_each_build_by_day),
        TEST(an_old_build_that_is_asked_for_is_among_the_newest),
        TEST(refuses_what_it_cannot_answer),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
