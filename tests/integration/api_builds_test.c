#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char full[] =
    "{\"platform\":\"android\",\"version_name\":\"2.0.0\",\"version_code\":200,"
    "\"build_uid\":\"ci-1\",\"package\":\"org.example.game\",\"git_commit\":\"4f2a9c1\","
    "\"debug_ids\":[\"a1b2c3d4e5f60718\",\"00112233445566778899aabbccddeeff\"],"
    "\"released_at\":\"2024-05-06T09:08:09+02:00\"}";

static json_t *post(struct api *api, int status, const char *body)
{
    return api_post(api, 0, ROLE_ADMIN, status, "/v1/builds", body);
}

static int64_t audits(struct api *api)
{
    return pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action = 'build.register'");
}

static void registers_a_build_once(void **state)
{
    struct api *api = *state;
    const json_t *b = post(api, 201, full);
    int64_t id = api_i64(b, "id");

    assert_true(json_is_true(json_object_get(b, "registered")));
    assert_string_equal(api_text(b, "package"), "org.example.game");
    assert_string_equal(api_text(b, "git_commit"), "4f2a9c1");
    assert_string_equal(api_text(b, "released_at"), "2024-05-06T07:08:09.000Z");
    assert_int_equal(json_array_size(json_object_get(b, "debug_ids")), 2);

    assert_int_equal(api_i64(post(api, 200, full), "id"), id);
    assert_int_equal(audits(api), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE actor = 'fw_admin_0'"),
                     1);

    b = api_get(api, 0, ROLE_READ, 200, "/v1/builds/%lld", (long long)id);
    assert_string_equal(api_text(b, "build_uid"), "ci-1");
}

static void keeps_what_a_later_call_leaves_out(void **state)
{
    struct api *api = *state;
    const json_t *b;

    post(api, 201, full);
    b = post(api, 200,
             "{\"platform\":\"android\",\"version_name\":\"2.0.0\",\"version_code\":200,"
             "\"build_uid\":\"ci-1\",\"git_commit\":\"abcdef0\",\"package\":null}");
    assert_string_equal(api_text(b, "git_commit"), "abcdef0");
    assert_string_equal(api_text(b, "package"), "org.example.game");
    assert_string_equal(api_text(b, "released_at"), "2024-05-06T07:08:09.000Z");
    assert_int_equal(json_array_size(json_object_get(b, "debug_ids")), 2);
    assert_int_equal(audits(api), 2);
}

static void registers_a_build_that_a_session_named_before(void **state)
{
    struct api *api = *state;
    const json_t *b;
    char id[33];
    int64_t build;

    api_play(api, 0, 1, 5, id);
    b = json_array_get(json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/builds"), "items"), 0);
    build = api_i64(b, "id");
    assert_true(json_is_false(json_object_get(b, "registered")));
    b = post(api, 200,
             "{\"platform\":\"android\",\"version_name\":\"1.0.0\",\"version_code\":100,"
             "\"build_uid\":\"build-100\"}");
    assert_int_equal(api_i64(b, "id"), build);
    assert_true(json_is_true(json_object_get(b, "registered")));
}

static void lists_newest_build_first_by_filter_and_page(void **state)
{
    struct api *api = *state;
    const json_t *list;
    char body[256], cursor[128];

    for (int i = 0; i < 5; i++) {
        snprintf(body, sizeof body,
                 "{\"platform\":\"%s\",\"version_name\":\"1.%d\",\"version_code\":%d}",
                 i % 2 ? "ios" : "android", i, 100 + i);
        post(api, 201, body);
    }
    list = api_get(api, 0, ROLE_READ, 200, "/v1/builds?limit=3");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 3);
    assert_string_equal(api_text(json_array_get(json_object_get(list, "items"), 0), "version_name"),
                        "1.4");
    snprintf(cursor, sizeof cursor, "%s", api_text(list, "next"));
    list = api_get(api, 0, ROLE_READ, 200, "/v1/builds?limit=3&cursor=%s", cursor);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 2);
    assert_string_equal(api_text(json_array_get(json_object_get(list, "items"), 0), "version_name"),
                        "1.1");
    assert_true(json_is_null(json_object_get(list, "next")));
    list = api_get(api, 0, ROLE_READ, 200, "/v1/builds?platform=ios");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 2);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/builds?version=1.2&version_code=102");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 1);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/builds?registered=false");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
}

static void names_the_member_that_is_wrong(void **state)
{
#define KEY "\"platform\":\"android\",\"version_name\":\"1\",\"version_code\":1"
    static const char *const bad[][2] = {
        {"{}", "platform"},
        {"{\"platform\":\"android\",\"version_code\":1}", "version_name"},
        {"{\"platform\":\"amiga\",\"version_name\":\"1\",\"version_code\":1}", "platform"},
        {"{\"platform\":\"ios\",\"version_name\":\"1\",\"version_code\":-1}", "version_code"},
        {"{\"platform\":\"ios\",\"version_name\":\"1\",\"version_code\":\"1\"}", "version_code"},
        {"{" KEY ",\"debug_ids\":\"aa\"}", "debug_ids"},
        {"{" KEY ",\"debug_ids\":[\"abc\"]}", "debug_ids"},
        {"{" KEY ",\"debug_ids\":[\"ABCDEF0011\"]}", "debug_ids"},
        {"{" KEY ",\"debug_ids\":[7]}", "debug_ids"},
        {"{" KEY ",\"released_at\":\"soon\"}", "released_at"},
        {"{" KEY ",\"released_at\":5}", "released_at"},
        {"{" KEY ",\"colour\":\"red\"}", "colour"},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        api_problem(post(api, 400, bad[i][0]), "invalid", bad[i][1]);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM build"), 0);
    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/builds/4711"), "not_found", "");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/builds/latest"), "invalid", "id");
}

static void needs_are_told_of_its_largest_stacks(void **state)
{
    struct api *api = *state;
    long long id = api_i64(post(api, 201, full), "id");
    json_t *needs;

    pg_sql(api->conninfo,
           "INSERT INTO stack_total (app_id, hash, kind, build_id, events, jank_us)"
           " SELECT %lld, substr(sha256(convert_to(i::text, 'UTF8')), 1, 16), k, %lld,"
           " 1 + (i = 20100)::int, 0 FROM generate_series(1, 20100) i, generate_series(0, 1) k",
           (long long)api->app[0], id);
    needs = api_get(api, 0, ROLE_READ, 200, "/v1/builds/%lld/symbols", id);
    assert_int_equal(api_i64(needs, "events"), 2 * (20000 + 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(registers_a_build_once),
        TEST(keeps_what_a_later_call_leaves_out),
        TEST(registers_a_build_that_a_session_named_before),
        TEST(lists_newest_build_first_by_filter_and_page),
        TEST(needs_are_told_of_its_largest_stacks),
        TEST(names_the_member_that_is_wrong),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
