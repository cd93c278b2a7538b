#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLACK                                                                                      \
    "{\"name\":\"chat\",\"kind\":\"slack\",\"secrets\":{\"url\":"                                  \
    "\"https://hooks.slack.com/services/T0/B0/XXXXXXXXXXXXXXXX\"}}"
#define GITLAB                                                                                     \
    "{\"name\":\"tracker\",\"kind\":\"gitlab\",\"settings\":{\"url\":"                             \
    "\"https://gitlab.example.org\",\"project\":\"game/client\"},\"secrets\":{\"token\":"          \
    "\"glpat-0123456789abcdef\"}}"

static json_t *send(struct api *api, const char *method, int status, const char *path,
                    const char *body)
{
    const struct api_answer *a = api_send(
        api, (struct api_call){
                 .method = method, .path = path, .key = api->key[0][ROLE_ADMIN], .body = body});

    if (a->status != status)
        fail_msg("%s %s: %d %.*s", method, path, a->status, (int)a->len, (const char *)a->body);
    return a->json;
}

static int64_t make(struct api *api, const char *body)
{
    return api_i64(api_post(api, 0, ROLE_ADMIN, 201, "/v1/channels", body), "id");
}

static const char *path_of(int64_t id, const char *more)
{
    static char path[96];

    snprintf(path, sizeof path, "/v1/channels/%lld%s", (long long)id, more);
    return path;
}

static bool answer_holds(struct api *api, const char *text)
{
    return memmem(api->answer.body, api->answer.len, text, strlen(text)) != NULL;
}

static void shows_a_channel_without_its_secrets(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK);
    json_t *c = api_get(api, 0, ROLE_ADMIN, 200, "%s", path_of(id, ""));

    assert_string_equal(api_text(c, "target"), "https://hooks.slack.com:443");
    assert_string_equal(api_text(c, "takes"), "alert");
    assert_string_equal(json_string_value(json_array_get(json_object_get(c, "secrets_set"), 0)),
                        "url");
    assert_int_equal(api_i64(c, "rate_per_min"), 60);
    assert_false(answer_holds(api, "XXXX"));
    api_get(api, 0, ROLE_ADMIN, 200, "/v1/channels");
    assert_false(answer_holds(api, "XXXX"));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM channel WHERE position('XXXX' IN "
                                           "settings::text || encode(secrets, 'escape')) > 0"),
                     0);
}

static void writes_changes_down_without_secrets(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK);
    char *rows;

    send(api, "PUT", 200, path_of(id, ""), SLACK);
    send(api, "POST", 202, path_of(id, "/test"), NULL);
    send(api, "DELETE", 204, path_of(id, ""), NULL);
    rows =
        pg_rows(api->conninfo, "SELECT action FROM audit WHERE action LIKE 'channel.%%' ORDER BY "
                               "audit_id");
    assert_string_equal(rows, "channel.create\nchannel.update\nchannel.test\nchannel.delete\n");
    free(rows);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE detail::text LIKE "
                                           "'%%XXXX%%'"),
                     0);
}

static void keeps_secrets_that_a_change_does_not_give(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, GITLAB);
    json_t *c;

    c = send(api, "PUT", 200, path_of(id, ""),
             "{\"name\":\"renamed\",\"kind\":\"gitlab\",\"enabled\":false,\"settings\":{\"url\":"
             "\"https://gitlab.example.org/\",\"project\":\"game/other\"},\"rate_per_min\":7}");
    assert_string_equal(api_text(c, "name"), "renamed");
    assert_int_equal(api_i64(c, "rate_per_min"), 7);
    assert_int_equal(json_array_size(json_object_get(c, "secrets_set")), 1);
    send(api, "PUT", 400, path_of(id, ""),
         "{\"name\":\"renamed\",\"kind\":\"gitlab\",\"settings\":{\"url\":"
         "\"https://gitlab.example.org\",\"project\":\"a/b\"},\"secrets\":{\"token\":null}}");
    api_problem(api->answer.json, "invalid", "secrets.token");
}

static void does_not_send_a_kept_secret_elsewhere(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, GITLAB);

    send(api, "PUT", 400, path_of(id, ""),
         "{\"name\":\"tracker\",\"kind\":\"gitlab\",\"settings\":{\"url\":"
         "\"https://evil.example.org\",\"project\":\"game/client\"}}");
    api_problem(api->answer.json, "invalid", "secrets");
    send(api, "PUT", 200, path_of(id, ""),
         "{\"name\":\"tracker\",\"kind\":\"gitlab\",\"settings\":{\"url\":"
         "\"https://new.example.org\",\"project\":\"game/client\"},\"secrets\":{\"token\":"
         "\"another-token\"}}");
}

static void says_what_is_wrong_with_a_channel(void **state)
{
    static const struct {
        const char *body, *field;
    } bad[] = {
        {"{\"name\":\"\",\"kind\":\"slack\"}", "name"},
        {"{\"name\":\"a\",\"kind\":\"carrier pigeon\"}", "kind"},
        {"{\"name\":\"a\",\"kind\":\"slack\"}", "secrets.url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"secrets\":[]}", "secrets"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"filter\":{\"min_severity\":\"bad\"}}",
         "filter.min_severity"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"filter\":{\"states\":[\"bad\"]}}", "filter.states"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"filter\":{\"tiers\":\"low\"}}", "filter.tiers"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"quiet\":{\"from\":\"22:00\",\"to\":\"24:00\"}}",
         "quiet.to"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"quiet\":{\"from\":\"22:00\",\"to\":\"22:00\"}}",
         "quiet.to"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"quiet\":{\"from\":\"1:0\",\"to\":\"22:00\"}}",
         "quiet.from"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"rate_per_min\":0}", "rate_per_min"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"more\":1}", "more"},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        api_post(api, 0, ROLE_ADMIN, 400, "/v1/channels", bad[i].body);
        api_problem(api->answer.json, "invalid", bad[i].field);
    }
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM channel"), 0);
}

static void names_are_unique_until_the_channel_is_gone(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK), other = make(api, GITLAB);

    api_post(api, 0, ROLE_ADMIN, 409, "/v1/channels", SLACK);
    send(api, "PUT", 409, path_of(other, ""),
         "{\"name\":\"chat\",\"kind\":\"gitlab\",\"settings\":{\"url\":"
         "\"https://gitlab.example.org\",\"project\":\"a/b\"}}");
    send(api, "PUT", 400, path_of(other, ""), SLACK); /* another kind */
    api_problem(api->answer.json, "invalid", "kind");
    send(api, "DELETE", 204, path_of(id, ""), NULL);
    send(api, "DELETE", 404, path_of(id, ""), NULL);
    make(api, SLACK);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM channel WHERE deleted_at IS NOT NULL "
                            "AND secrets = ''"),
                     1);
}

static void filter_and_quiet_hours_come_back_as_they_went_in(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, "{\"name\":\"chat\",\"kind\":\"slack\",\"secrets\":{\"url\":"
                           "\"https://hooks.slack.com/x\"},\"filter\":{\"min_severity\":\"warn\","
                           "\"tiers\":[\"low\",\"mid\"],\"metrics\":[\"frame_p90\"],\"states\":"
                           "[\"open\"],\"reports\":true},\"quiet\":{\"from\":\"22:30\",\"to\":"
                           "\"07:05\",\"utc_offset_min\":-210,\"loud_severity\":\"alert\"}}");
    json_t *c = api_get(api, 0, ROLE_ADMIN, 200, "%s", path_of(id, "")),
           *expected =
               json_loads("{\"filter\":{\"min_severity\":\"warn\",\"tiers\":[\"low\",\"mid\"],"
                          "\"metrics\":[\"frame_p90\"],\"states\":[\"open\"],\"reports\":true},"
                          "\"quiet\":{\"from\":\"22:30\",\"to\":\"07:05\",\"utc_offset_min\":"
                          "-210,\"loud_severity\":\"alert\"}}",
                          0, NULL);

    assert_true(json_equal(json_object_get(c, "filter"), json_object_get(expected, "filter")));
    assert_true(json_equal(json_object_get(c, "quiet"), json_object_get(expected, "quiet")));
    json_decref(expected);
}

static void a_test_is_queued_and_can_be_followed(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK), delivery;
    json_t *d = send(api, "POST", 202, path_of(id, "/test"), NULL);

    delivery = api_i64(d, "id");
    d = api_get(api, 0, ROLE_ADMIN, 200, "/v1/deliveries/%lld", (long long)delivery);
    assert_string_equal(api_text(d, "kind"), "test");
    assert_string_equal(api_text(d, "state"), "pending");
    assert_string_equal(api_text(json_object_get(d, "body"), "title"),
                        "Test message of Framewatch");
    send(api, "POST", 404, path_of(id + 1, "/test"), NULL);
}

static void deliveries_page_and_filter(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK);
    json_t *list;
    char next[256];

    pg_sql(api->conninfo,
           "INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, state) SELECT "
           "%lld, %lld, 'alert', (n / 2)::text, n, '{}', CASE WHEN n %% 5 = 0 THEN 'dead' ELSE "
           "'sent' END FROM generate_series(1, 25) n",
           (long long)api->app[0], (long long)id);
    list = api_get(api, 0, ROLE_ADMIN, 200, "/v1/deliveries?limit=20");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 20);
    snprintf(next, sizeof next, "%s", api_text(list, "next"));
    list = api_get(api, 0, ROLE_ADMIN, 200, "/v1/deliveries?limit=20&cursor=%s", next);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 5);
    list = api_get(api, 0, ROLE_ADMIN, 200, "/v1/deliveries?state=dead");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 5);
    list = api_get(api, 0, ROLE_ADMIN, 200, "/v1/deliveries?subject=6&channel=%lld", (long long)id);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 2);
    list = api_get(api, 1, ROLE_ADMIN, 200, "/v1/deliveries");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    api_get(api, 0, ROLE_ADMIN, 400, "/v1/deliveries?state=lost");
}

static void only_a_dead_delivery_is_sent_again(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK), delivery;
    char path[64];
    json_t *d;

    pg_sql(
        api->conninfo,
        "INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, state, attempts) "
        "VALUES (%lld, %lld, 'alert', '7', 1, '{}', 'dead', 20)",
        (long long)api->app[0], (long long)id);
    delivery = pg_i64(api->conninfo, "SELECT delivery_id FROM delivery");
    snprintf(path, sizeof path, "/v1/deliveries/%lld/retry", (long long)delivery);
    d = send(api, "POST", 200, path, NULL);
    assert_string_equal(api_text(d, "state"), "pending");
    assert_int_equal(api_i64(d, "attempts"), 0);
    send(api, "POST", 409, path, NULL);
    api_send(api,
             (struct api_call){.method = "POST", .path = path, .key = api->key[1][ROLE_ADMIN]});
    assert_int_equal(api->answer.status, 404);
}

static void tickets_are_listed_to_readers(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, GITLAB);
    json_t *list;

    pg_sql(
        api->conninfo,
        "INSERT INTO ticket (app_id, channel_id, key, marker, wanted, wanted_hash, state) SELECT "
        "%lld, %lld, 'key' || n, 'm', '{\"title\":\"t\",\"owner\":\"\"}', '', CASE WHEN n = 1 "
        "THEN 'open' ELSE 'wanted' END FROM generate_series(1, 3) n",
        (long long)api->app[0], (long long)id);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/tickets");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 3);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/tickets?state=open&key=key1");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 1);
    list = api_get(api, 1, ROLE_READ, 200, "/v1/tickets");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
}

static void channels_are_for_admins_of_their_app(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK);

    api_get(api, 0, ROLE_READ, 403, "/v1/channels");
    api_get(api, 0, ROLE_READ, 403, "/v1/deliveries");
    api_post(api, 0, ROLE_READ, 403, "/v1/channels", SLACK);
    api_get(api, 1, ROLE_ADMIN, 404, "%s", path_of(id, ""));
}

static void the_outbox_shows_in_metrics(void **state)
{
    struct api *api = *state;
    int64_t id = make(api, SLACK);

    pg_sql(api->conninfo,
           "INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, state) VALUES "
           "(%lld, %lld, 'alert', '7', 1, '{}', 'dead')",
           (long long)api->app[0], (long long)id);
    api_send(api, (struct api_call){.method = "GET", .path = "/metrics"});
    assert_true(answer_holds(api, "framewatch_deliveries{via=\"slack\",state=\"dead\"} 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)
        T(the_outbox_shows_in_metrics), /* first: the gauges are asked for every ten seconds */
        T(shows_a_channel_without_its_secrets),
        T(writes_changes_down_without_secrets),
        T(keeps_secrets_that_a_change_does_not_give),
        T(does_not_send_a_kept_secret_elsewhere),
        T(says_what_is_wrong_with_a_channel),
        T(names_are_unique_until_the_channel_is_gone),
        T(filter_and_quiet_hours_come_back_as_they_went_in),
        T(a_test_is_queued_and_can_be_followed),
        T(deliveries_page_and_filter),
        T(only_a_dead_delivery_is_sent_again),
        T(tickets_are_listed_to_readers),
        T(channels_are_for_admins_of_their_app),
#undef T
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
