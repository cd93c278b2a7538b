#include "src/collect/collectors.h"
#include "src/control/config.h"
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* docs/remote-config.md: the defaults, in its order. */
static const char defaults[] =
    "{\"version\":0,\"enabled\":true,\"metrics\":{\"frames\":true,\"hardware\":true,"
    "\"stacks\":true,\"steps\":true,\"positions\":true,\"cpu\":true,\"frequency\":true,"
    "\"memory\":true,\"thermal\":true,\"battery\":true,\"threads\":true,\"heap\":true,"
    "\"storage\":true},\"hardware_period_ms\":5000,"
    "\"slice_ms\":30000,\"jank_stack_ms\":100,\"scenes\":[\"*\"],"
    "\"upload\":{\"daily_bytes\":2097152,\"monthly_bytes\":20971520,\"wifi_only\":true},\"config_"
    "period_s\":3600}";

static const struct api_answer *get(struct api *api, const char *header)
{
    return api_send(api, (struct api_call){.method = "GET",
                                           .path = "/v1/config",
                                           .key = api->key[0][ROLE_INGEST],
                                           .headers = {header}});
}

static const struct api_answer *put(struct api *api, const char *body, const char *header)
{
    return api_send(api, (struct api_call){.method = "PUT",
                                           .path = "/v1/config",
                                           .key = api->key[0][ROLE_ADMIN],
                                           .body = body,
                                           .headers = {header}});
}

static void answers_the_documented_defaults(void **state)
{
    const struct api_answer *a = get(*state, NULL);

    assert_int_equal(a->status, 200);
    assert_string_equal((const char *)a->body, defaults);
    assert_string_equal(a->cache, "private, no-cache");
    assert_int_equal(a->etag[0], '"'); /* a strong tag */
}

static void answers_not_modified_to_whoever_has_it(void **state)
{
    struct api *api = *state;
    char header[256];

    snprintf(header, sizeof header, "If-None-Match: %s", get(api, NULL)->etag);
    assert_int_equal(get(api, header)->status, 304);
    assert_int_equal(api->answer.len, 0);
    assert_true(api->answer.etag[0] == '"');
    assert_int_equal(put(api, "{\"enabled\":false}", NULL)->status, 200);
    assert_int_equal(get(api, header)->status, 200);
    assert_true(json_is_false(json_object_get(api->answer.json, "enabled")));
}

static void changes_with_a_new_version_and_an_audit_row(void **state)
{
    struct api *api = *state;

    assert_int_equal(
        put(api, "{\"hardware_period_ms\":2000,\"scenes\":[\"battle/*\"]}", NULL)->status, 200);
    assert_int_equal(api_i64(api->answer.json, "version"), 1);
    assert_int_equal(api_i64(get(api, NULL)->json, "hardware_period_ms"), 2000);
    assert_int_equal(put(api, "{\"version\":1,\"hardware_period_ms\":3000}", NULL)->status, 200);
    assert_int_equal(api_i64(api->answer.json, "version"), 2);
    /* what was left out took its default again */
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(api->answer.json, "scenes"), 0)), "*");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action ="
                                           " 'config.change' AND actor = 'fw_admin_0' AND"
                                           " detail = '{\"from\": 1, \"to\": 2}'"),
                     1);
}

static void takes_back_what_it_gave_without_a_change(void **state)
{
    struct api *api = *state;
    char body[1024];

    assert_int_equal(put(api, "{\"slice_ms\":10000}", NULL)->status, 200);
    snprintf(body, sizeof body, "%s", (const char *)get(api, NULL)->body);
    assert_int_equal(put(api, body, NULL)->status, 200);
    assert_int_equal(api_i64(api->answer.json, "version"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit"), 1);
}

static void refuses_an_edit_of_an_older_version(void **state)
{
    struct api *api = *state;
    char header[256];

    snprintf(header, sizeof header, "If-Match: %s", get(api, NULL)->etag);
    assert_int_equal(put(api, "{\"slice_ms\":10000}", header)->status, 200);
    assert_int_equal(put(api, "{\"slice_ms\":20000}", header)->status, 412);
    api_problem(api->answer.json, "precondition_failed", "If-Match");
    assert_int_equal(put(api, "{\"slice_ms\":20000,\"version\":0}", NULL)->status, 409);
    api_problem(api->answer.json, "conflict", "version");
    assert_int_equal(put(api, "{\"slice_ms\":20000}", "If-Match: *")->status, 200);
    assert_int_equal(api_i64(get(api, NULL)->json, "slice_ms"), 20000);
}

static void refuses_what_the_schema_does_not_allow(void **state)
{
    static const char *const bad[][2] = {
        {"[]", ""},
        {"{\"enabled\":1}", "enabled"},
        {"{\"metrics\":[]}", "metrics"},
        {"{\"metrics\":{\"frames\":\"yes\"}}", "metrics.frames"},
        {"{\"metrics\":{\"smell\":true}}", "metrics.smell"},
        {"{\"hardware_period_ms\":999}", "hardware_period_ms"},
        {"{\"hardware_period_ms\":60001}", "hardware_period_ms"},
        {"{\"slice_ms\":4999}", "slice_ms"},
        {"{\"jank_stack_ms\":49}", "jank_stack_ms"},
        {"{\"config_period_s\":59}", "config_period_s"},
        {"{\"config_period_s\":3600.0}", "config_period_s"},
        {"{\"scenes\":\"*\"}", "scenes"},
        {"{\"scenes\":[]}", "scenes"},
        {"{\"scenes\":[\"\"]}", "scenes"},
        {"{\"scenes\":[7]}", "scenes"},
        {"{\"scenes\":[\"a*b\"]}", "scenes"},
        {"{\"scenes\":[\"**\"]}", "scenes"},
        {"{\"upload\":true}", "upload"},
        {"{\"upload\":{\"daily_bytes\":-1}}", "upload.daily_bytes"},
        {"{\"upload\":{\"wifi_only\":null}}", "upload.wifi_only"},
        {"{\"upload\":{\"hourly_bytes\":5}}", "upload.hourly_bytes"},
        {"{\"colour\":\"red\"}", "colour"},
        {"{\"version\":-1}", "version"},
        {"{\"enabled\":true,\"enabled\":false}", ""},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct api_answer *a = put(api, bad[i][0], NULL);

        if (a->status != 400)
            fail_msg("%s: %d", bad[i][0], a->status);
        api_problem(a->json, "invalid", bad[i][1]);
    }
    assert_string_equal((const char *)get(api, NULL)->body, defaults);
}

static void gives_the_sdk_every_member_as_it_was_put(void **state)
{
    struct api *api = *state;
    struct fw_config c, d;

    fw_config_init(&c);
    fw_config_init(&d);
    get(api, NULL);
    assert_true(fw_config_parse(&c, api->answer.body, api->answer.len));
    d.all_scenes = c.all_scenes = true;
    d.n_scenes = c.n_scenes = 0;
    memset(c.scene, 0, sizeof c.scene);
    memset(d.scene, 0, sizeof d.scene);
    assert_memory_equal(&c, &d, sizeof c); /* both sides have the same defaults */

    put(api,
        "{\"enabled\":false,\"metrics\":{\"frames\":false,\"hardware\":false,\"stacks\":false,"
        "\"steps\":false,\"positions\":false,\"heap\":false},\"hardware_period_ms\":1001,\"slice_"
        "ms\":5002,"
        "\"jank_stack_ms\":53,\"scenes\":[\"battle/*\",\"lobby/main\"],"
        "\"upload\":{\"daily_bytes\":4,\"monthly_bytes\":7,\"wifi_only\":false},\"config_period_"
        "s\":65}",
        NULL);
    assert_int_equal(api->answer.status, 200);
    get(api, NULL);
    fw_config_init(&c);
    assert_true(fw_config_parse(&c, api->answer.body, api->answer.len));
    assert_int_equal(c.version, 1);
    assert_false(c.enabled || c.frames || c.hardware || c.stacks || c.steps || c.positions);
    assert_int_equal(c.hardware_period_ms, 1001);
    assert_int_equal(c.slice_ms, 5002);
    assert_int_equal(c.jank_stack_ms, 53);
    assert_int_equal(c.daily_bytes, 4);
    assert_int_equal(c.monthly_bytes, 7);
    assert_int_equal(c.collectors_off, 1u << FW_HEAP);
    assert_false(c.wifi_only);
    assert_int_equal(c.config_period_s, 65);
    assert_true(fw_config_wants_scene(&c, "battle", "frost"));
    assert_true(fw_config_wants_scene(&c, "lobby", "main"));
    assert_false(fw_config_wants_scene(&c, "lobby", "shop"));
}

static void keeps_the_documents_of_two_apps_apart(void **state)
{
    struct api *api = *state;

    put(api, "{\"slice_ms\":10000}", NULL);
    assert_int_equal(api_i64(api_get(api, 1, ROLE_INGEST, 200, "/v1/config"), "slice_ms"), 30000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_the_documented_defaults),
        TEST(answers_not_modified_to_whoever_has_it),
        TEST(changes_with_a_new_version_and_an_audit_row),
        TEST(takes_back_what_it_gave_without_a_change),
        TEST(refuses_an_edit_of_an_older_version),
        TEST(refuses_what_the_schema_does_not_allow),
        TEST(gives_the_sdk_every_member_as_it_was_put),
        TEST(keeps_the_documents_of_two_apps_apart),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
