/* Who may ask what: keys, roles, and two apps that share a session id. */
#include "support/api.h"

#include "server/api/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID "00000000000000000000000000000007"

/* The route's pattern with something in its places. */
static void path_of(const struct route *route, const char *id, char *out, size_t size)
{
    const char *brace = strchr(route->pattern, '{');
    bool session = strstr(route->pattern, "/sessions/") != NULL;

    if (!brace) {
        snprintf(out, size, "%s", route->pattern);
        return;
    }
    snprintf(out, size, "%.*s%s%s", (int)(brace - route->pattern), route->pattern,
             session ? ID : id, strchr(brace, '}') + 1);

    char *second = strchr(out, '{');

    if (second)
        snprintf(second, size - (size_t)(second - out), "0");
}

static const struct api_answer *ask(struct api *api, const struct route *route, const char *key)
{
    char path[256];

    path_of(route, "1", path, sizeof path);
    return api_send(api, (struct api_call){.method = route->method,
                                           .path = path,
                                           .key = key,
                                           .body = route->body_limit ? "{}" : NULL});
}

static void refuses_every_route_without_a_key_or_with_a_made_up_one(void **state)
{
    struct api *api = *state;

    for (size_t i = 0; i < api_routes_n; i++) {
        if (api_routes[i].role == ROLE_NONE)
            continue;
        assert_int_equal(ask(api, &api_routes[i], NULL)->status, 401);
        api_problem(api->answer.json, "unauthorized", "Authorization");
        assert_int_equal(ask(api, &api_routes[i],
                             "fw_admin_"
                             "made_up")
                             ->status,
                         401);
    }
}

static void lets_each_role_do_what_the_table_says(void **state)
{
    struct api *api = *state;

    for (size_t i = 0; i < api_routes_n; i++)
        for (unsigned role = ROLE_INGEST; role <= ROLE_ADMIN; role++) {
            const struct route *route = &api_routes[i];
            bool may = route->role == ROLE_NONE || role == ROLE_ADMIN || route->role == role;
            int status = ask(api, route, api->key[0][role])->status;

            if (may != (status != 401 && status != 403))
                fail_msg("%s %s as role %u: %d", route->method, route->pattern, role, status);
        }
}

static void refuses_a_revoked_key(void **state)
{
    struct api *api = *state;

    pg_sql(api->conninfo, "UPDATE api_key SET revoked_at = now() WHERE role = 'read'");
    api_problem(api_get(api, 0, ROLE_READ, 401, "/v1/sessions"), "unauthorized", "Authorization");
    api_get(api, 0, ROLE_ADMIN, 200, "/v1/sessions");
}

/* Two apps, one session id ----------------------------------------------------------------------
 */

static const char *const below[] = {"", "/timeline", "/janks", "/trace", "/raw", "/raw/0"};

/* One session of app 0 with everything in it that app 1 must not see. */
static void make_secret_session(struct api *api)
{
    struct session_builder *b = sb_new(7);

    b->version_name = "secret-version";
    b->model = "secret-model";
    sb_part(b, 0, 0);
    sb_scene(b, 0, "secret", "scene");
    sb_feedback(b, 1000000, "secret", "secret words");
    sb_crash(b, 2000000, 11, "secret crash", sb_text_stack(b, "main", "secret.frame", NULL));
    sb_end(b, sb_play(b, 0, 30, 1), END_STOPPED);
    api_upload(api, 0, b, "secret install");
    sb_free(b);
    api_post(api, 0, ROLE_INGEST, 201, "/v1/sessions/" ID "/crashes",
             "{\"reason\":\"secret posted\"}");
    api_post(api, 0, ROLE_INGEST, 201, "/v1/sessions/" ID "/feedback",
             "{\"text\":\"secret posted\"}");
    api_post(api, 0, ROLE_ADMIN, 201, "/v1/builds",
             "{\"platform\":\"ios\",\"version_name\":\"secret\",\"version_code\":1,"
             "\"git_commit\":\"secret\"}");
    api_send(api, (struct api_call){.method = "PUT",
                                    .path = "/v1/config",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = "{\"scenes\":[\"secret\"]}"});
    pg_sql(api->conninfo,
           "INSERT INTO quarantine (app_id, source, reason, ref, day, count, detail)"
           " VALUES (%lld, 'part', 'secret', gen_random_uuid(), CURRENT_DATE, 1, 'secret')",
           (long long)api->app[0]);
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, state, last_error)"
           " VALUES ('part', 1, gen_random_uuid(), %lld, CURRENT_DATE, 'dead', 'secret')",
           (long long)api->app[0]);
}

static void shows_another_app_nothing(void **state)
{
    struct api *api = *state;
    const json_t *list;
    int64_t build, job;

    make_secret_session(api);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        api_problem(api_get(api, 1, ROLE_READ, 404, "/v1/sessions/" ID "%s", below[i]), "not_found",
                    "");
    list = api_get(api, 1, ROLE_READ, 200, "/v1/sessions");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    build = pg_i64(api->conninfo, "SELECT min(build_id) FROM build");
    list = api_get(api, 1, ROLE_READ, 200, "/v1/sessions?build=%lld", (long long)build);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    api_get(api, 1, ROLE_READ, 404, "/v1/builds/%lld", (long long)build);
    list = api_get(api, 1, ROLE_READ, 200, "/v1/slices?build=%lld", (long long)build);
    assert_int_equal(api_i64(json_object_get(list, "counts"), "sessions"), 0);
    assert_int_equal(api_i64(list, "rows"), 0);
    for (size_t i = 0; i < 3; i++) {
        static const char *const lists[] = {"/v1/builds", "/v1/quarantine", "/v1/jobs"};

        list = api_get(api, 1, ROLE_ADMIN, 200, "%s", lists[i]);
        assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    }
    api_get(api, 1, ROLE_INGEST, 200, "/v1/config");
    assert_null(strstr((const char *)api->answer.body, "secret"));

    job = pg_i64(api->conninfo, "SELECT job_id FROM job WHERE state = 'dead'");
    char path[64];

    snprintf(path, sizeof path, "/v1/jobs/%lld/retry", (long long)job);
    api_post(api, 1, ROLE_ADMIN, 404, path, NULL);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE state = 'dead'"), 1);
}

static void keeps_two_sessions_of_one_id_apart(void **state)
{
    struct api *api = *state;
    char id[33];

    make_secret_session(api);
    api_play(api, 1, 7, 10, id);
    assert_string_equal(id, ID);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        json_t *theirs;

        api_get(api, 1, ROLE_READ, 200, "/v1/sessions/" ID "%s", below[i]);
        if (memmem(api->answer.body, api->answer.len, "secret", 6))
            fail_msg("%s shows what another app sent", below[i]);
        theirs = json_incref(api->answer.json);
        api_get(api, 0, ROLE_READ, 200, "/v1/sessions/" ID "%s", below[i]);
        assert_false(theirs && json_equal(api->answer.json, theirs));
        json_decref(theirs);
    }
    assert_string_equal(
        api_text(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/" ID), "version_name"),
        "secret-version");
}

static void keeps_what_two_apps_post_to_one_id_apart(void **state)
{
    struct api *api = *state;
    const json_t *s;
    char id[33];

    api_play(api, 0, 7, 5, id);
    api_play(api, 1, 7, 5, id);
    api_post(api, 1, ROLE_INGEST, 201, "/v1/sessions/" ID "/crashes", "{\"reason\":\"mine\"}");
    s = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/" ID);
    assert_true(json_is_false(json_object_get(s, "has_crash")));
    assert_int_equal(json_array_size(json_object_get(s, "crashes")), 0);
    api_post(api, 0, ROLE_INGEST, 201, "/v1/sessions/" ID "/crashes", "{\"reason\":\"mine\"}");
    s = api_get(api, 1, ROLE_READ, 200, "/v1/sessions/" ID);
    assert_int_equal(json_array_size(json_object_get(s, "crashes")), 1);
}

static void says_what_is_wrong_with_the_same_members_always(void **state)
{
    struct api *api = *state;
    const json_t *problem = api_get(api, 0, ROLE_READ, 404, "/v1/sessions/" ID);

    assert_string_equal(api->answer.type, "application/problem+json");
    assert_string_equal(api_text(problem, "request_id"), api->answer.request_id);
    assert_int_equal(api_i64(problem, "status"), 404);
    api_send(api, (struct api_call){.method = "DELETE",
                                    .path = "/v1/builds",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .undescribed = true});
    assert_int_equal(api->answer.status, 405);
    assert_string_equal(api->answer.type, "application/problem+json");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refuses_every_route_without_a_key_or_with_a_made_up_one),
        TEST(lets_each_role_do_what_the_table_says),
        TEST(refuses_a_revoked_key),
        TEST(shows_another_app_nothing),
        TEST(keeps_two_sessions_of_one_id_apart),
        TEST(keeps_what_two_apps_post_to_one_id_apart),
        TEST(says_what_is_wrong_with_the_same_members_always),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
