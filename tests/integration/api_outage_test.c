/* What the API does while its database is away. A cluster of its own: it is killed. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int own_cluster(void **state)
{
    struct err err;

    (void)state;
    if (!pg_start((struct pg_options){.own = true}, &err))
        fail_msg("%s", err.text);
    return 0;
}

static const struct api_answer *get(struct api *api, const char *path)
{
    return api_send(
        api, (struct api_call){.method = "GET", .path = path, .key = api->key[0][ROLE_READ]});
}

/* The database is back when it lets people in, and then the next request finds it; the first may
 * have come too early. */
static void expect_soon(struct api *api, const char *path)
{
    for (int i = 0; i < 20; i++)
        if (get(api, path)->status == 200)
            return;
    fail_msg("%s is %d still", path, api->answer.status);
}

static void says_so_while_it_is_away_and_serves_again_when_it_is_back(void **state)
{
    struct api *api = *state;

    assert_int_equal(get(api, "/v1/sessions")->status, 200);
    pg_kill9();
    assert_int_equal(get(api, "/v1/sessions")->status, 503);
    api_problem(api->answer.json, "database", "");
    assert_true(api->answer.retry_after[0] != '\0');
    assert_int_equal(get(api, "/readyz")->status, 503);
    assert_int_equal(get(api, "/healthz")->status, 200);
    assert_int_equal(get(api, "/v1/openapi.json")->status, 200);
    assert_int_equal(get(api, "/metrics")->status, 200);
    assert_non_null(strstr((const char *)api->answer.body, "framewatch_database_up 0\n"));
    assert_null(strstr((const char *)api->answer.body, "framewatch_jobs{"));

    pg_restart();
    expect_soon(api, "/readyz");
    expect_soon(api, "/v1/sessions");
    for (int i = 0; i < 8; i++)
        if (strstr((const char *)get(api, "/metrics")->body, "framewatch_database_up 1\n"))
            return;
    fail_msg("/metrics still says that the database is away");
}

static void connections_closed_while_idle_cost_no_answer(void **state)
{
    struct api *api = *state;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++)
            if (get(api, i % 2 ? "/v1/sessions" : "/readyz")->status != 200)
                fail_msg("round %d, request %d is %d", round, i, api->answer.status);
        pg_end_backends(api->conninfo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_closed_while_idle_cost_no_answer, api_setup,
                                        api_teardown),
        cmocka_unit_test_setup_teardown(says_so_while_it_is_away_and_serves_again_when_it_is_back,
                                        api_setup, api_teardown),
    };

    return cmocka_run_group_tests(tests, own_cluster, pg_group_teardown);
}
