#include "src/collect/collectors.h"
#include "src/control/config.h"
#include "src/control/json.h"
#include "src/report/policy.h"
#include "src/report/remote_config.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

static bool parse(struct fw_config *c, const char *json)
{
    /* In memory of its own size, so that a read past the end is seen. */
    size_t n = strlen(json);
    char *copy = malloc(n ? n : 1);

    memcpy(copy, json, n);
    fw_config_init(c);
    bool ok = fw_config_parse(c, copy, n);
    free(copy);
    return ok;
}

static const char whole[] =
    "{\"version\": 3, \"enabled\": false, \"metrics\": {\"frames\": false, \"hardware\": false,"
    "\"stacks\": false, \"steps\": false, \"positions\": false, \"memory\": false,"
    "\"host\": false, \"cpu\": true}, \"hardware_period_ms\": 2000,"
    "\"slice_ms\": 10000, \"jank_stack_ms\": 250, \"scenes\": [\"battle/*\", \"city/harbour\"],"
    "\"upload\": {\"daily_bytes\": 5, \"monthly_bytes\": 6, \"wifi_only\": false}, "
    "\"config_period_s\": 60}";

static void every_field_is_read(void **state)
{
    struct fw_config c;

    (void)state;
    assert_true(parse(&c, whole));
    assert_int_equal(c.version, 3);
    assert_false(c.enabled || c.frames || c.hardware || c.stacks || c.steps || c.positions);
    assert_int_equal(c.hardware_period_ms, 2000);
    assert_int_equal(c.slice_ms, 10000);
    assert_int_equal(c.jank_stack_ms, 250);
    assert_int_equal(c.n_scenes, 2);
    assert_string_equal(c.scene[1], "city/harbour");
    assert_false(c.all_scenes);
    assert_int_equal(c.daily_bytes, 5);
    assert_int_equal(c.monthly_bytes, 6);
    assert_int_equal(c.collectors_off, 1u << FW_MEMORY | 1u << FW_HOST);
    assert_false(c.wifi_only);
    assert_int_equal(c.config_period_s, 60);
}

static void absent_wrong_and_unknown_fields_mean_the_defaults(void **state)
{
    struct fw_config c, d;

    (void)state;
    fw_config_init(&d);
    assert_true(parse(&c, "{}"));
    assert_memory_equal(&c, &d, sizeof c);
    assert_true(parse(
        &c, "{\"enabled\": 0, \"slice_ms\": \"1\", \"scenes\": 7, \"upload\": [1], \"metrics\":"
            "null, \"new\": {\"a\": [1, {\"b\": null}], \"c\": -1.5e3}, \"jank_stack_ms\": 1.5,"
            "\"a key longer than any that is known to this version of the library\": true}"));
    assert_memory_equal(&c, &d, sizeof c);
}

static void numbers_are_clamped_to_their_bounds(void **state)
{
    struct fw_config c;

    (void)state;
    assert_true(parse(&c,
                      "{\"hardware_period_ms\": 1, \"slice_ms\": 999999999, \"jank_stack_ms\": -3,"
                      "\"config_period_s\": 0, \"upload\": {\"daily_bytes\": -1}}"));
    assert_int_equal(c.hardware_period_ms, 1000);
    assert_int_equal(c.slice_ms, 300000);
    assert_int_equal(c.jank_stack_ms, 50);
    assert_int_equal(c.config_period_s, 60);
    assert_int_equal(c.daily_bytes, 0);
}

static void malformed_documents_change_nothing(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "7",
                                      "{",
                                      "{}x",
                                      "{\"version\"}",
                                      "{\"version\":}",
                                      "{\"version\": 1,}",
                                      "{,\"version\": 1}",
                                      "{\"version\": 01}",
                                      "{\"version\": 1 \"enabled\": true}",
                                      "{\"enabled\": tru}",
                                      "{\"scenes\": [\"a\" \"b\"]}",
                                      "{\"scenes\": [\"\\ud800\"]}",
                                      "{\"scenes\": [\"\\u0000\"]}",
                                      "{\"scenes\": [\"\\x\"]}",
                                      "{\"scenes\": [\"a\nb\"]}",
                                      "{\"scenes\": [\"a",
                                      "{\"x\": -}",
                                      "{\"x\": 1.}",
                                      "{\"x\": 1e}",
                                      "{\"x\": .5}"};
    struct fw_config c, d;

    (void)state;
    fw_config_init(&d);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (parse(&c, bad[i]))
            fail_msg("accepted: %s", bad[i]);
        assert_memory_equal(&c, &d, sizeof c);
    }
}

static void depth_and_size_are_bounded(void **state)
{
    struct fw_config c;
    char deep[200] = "{\"x\": ", *large = malloc(FW_JSON_MAX_BYTES + 64);
    size_t n = strlen(deep);

    (void)state;
    memset(deep + n, '[', 80);
    memset(deep + n + 80, ']', 80);
    memcpy(deep + n + 160, "}", 2);
    assert_false(parse(&c, deep));
    memset(deep + n, '[', 10);
    memset(deep + n + 10, ']', 10);
    memcpy(deep + n + 20, "}", 2);
    assert_true(parse(&c, deep));
    memset(large, ' ', FW_JSON_MAX_BYTES + 63);
    memcpy(large, "{", 1);
    memcpy(large + FW_JSON_MAX_BYTES + 62, "}", 2);
    assert_false(parse(&c, large));
    free(large);
}

static void any_truncation_and_mutation_is_survived(void **state)
{
    uint32_t random = 7;
    size_t n = strlen(whole);
    char text[sizeof whole];
    struct fw_config c;

    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        memcpy(text, whole, cut);
        text[cut] = 0;
        assert_false(parse(&c, text));
    }
    for (int round = 0; round < 20000; round++) {
        memcpy(text, whole, sizeof whole);
        for (int k = 0; k < 3; k++) {
            random = random * 1664525u + 1013904223u;
            text[(random >> 10) % n] = (char)(random >> 24 ? random >> 24 : 'x');
        }
        if (parse(&c, text)) {
            assert_in_range(c.hardware_period_ms, 1000, 60000);
            assert_in_range(c.slice_ms, 5000, 300000);
            assert_in_range(c.n_scenes, 0, FW_MAX_SCENES);
        }
    }
}

static void texts_are_decoded(void **state)
{
    struct fw_json j;
    char text[32];
    static const char json[] = "\"a\\u00e9\\ud83d\\ude00\\n\\/\"";

    (void)state;
    fw_json_begin(&j, json, sizeof json - 1);
    assert_true(fw_json_text(&j, text, sizeof text));
    assert_string_equal(text, "a\xc3\xa9\xf0\x9f\x98\x80\n/");
    assert_true(fw_json_done(&j));
}

static void patterns_choose_scenes(void **state)
{
    struct fw_config c;

    (void)state;
    assert_true(parse(&c, whole));
    assert_true(fw_config_wants_scene(&c, "battle", "frost"));
    assert_true(fw_config_wants_scene(&c, "battle", ""));
    assert_true(fw_config_wants_scene(&c, "city", "harbour"));
    assert_false(fw_config_wants_scene(&c, "city", "harbours"));
    assert_false(fw_config_wants_scene(&c, "battles", "x"));
    assert_false(fw_config_wants_scene(&c, "", ""));
    assert_true(parse(&c, "{\"scenes\": [\"x\", \"*\"]}"));
    assert_true(fw_config_wants_scene(&c, "", ""));
    assert_true(parse(&c, "{\"scenes\": []}"));
    assert_true(fw_config_wants_scene(&c, "any", "where"));
}

/* Policy. */

struct folder {
    char path[64];
    struct fw_log log;
    struct fw_store store;
};

static int set_up(void **state)
{
    struct folder *f = calloc(1, sizeof *f);

    snprintf(f->path, sizeof f->path, "/tmp/sdk_config_XXXXXX");
    assert_non_null(mkdtemp(f->path));
    assert_true(fw_store_open(&f->store, f->path, &f->log));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct folder *f = *state;
    DIR *d = opendir(f->path);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(f->store.dir, e->d_name, 0);
    closedir(d);
    rmdir(f->path);
    fw_store_close(&f->store);
    free(f);
    return 0;
}

#define DAY 86400000ll

static struct fw_allowance may(const struct fw_config *c, fw_network network, int charging)
{
    struct fw_budget b = {0};

    return fw_may_send(c, network, charging, &b, DAY);
}

static void wifi_and_wire_carry_everything_and_others_summaries(void **state)
{
    struct fw_config c;

    (void)state;
    fw_config_init(&c);
    assert_true(may(&c, FW_NETWORK_WIFI, 0).files);
    assert_true(may(&c, FW_NETWORK_WIFI, 0).bytes == UINT64_MAX);
    assert_true(may(&c, FW_NETWORK_WIRED, -1).bytes == UINT64_MAX);
    assert_true(may(&c, FW_NETWORK_CELLULAR, 0).summaries);
    assert_false(may(&c, FW_NETWORK_CELLULAR, 0).files);
    assert_false(may(&c, FW_NETWORK_UNKNOWN, -1).files);
    assert_true(may(&c, FW_NETWORK_CELLULAR, 1).files);
    assert_int_equal(may(&c, FW_NETWORK_CELLULAR, 1).bytes, c.daily_bytes);
    assert_false(may(&c, FW_NETWORK_NONE, 1).summaries);
    c.wifi_only = false;
    assert_true(may(&c, FW_NETWORK_CELLULAR, 0).files);
    c.enabled = false;
    assert_false(may(&c, FW_NETWORK_WIFI, 1).files || may(&c, FW_NETWORK_WIFI, 1).summaries);
}

static uint64_t left(const struct fw_config *c, const struct fw_budget *b, int64_t wall_ms)
{
    return fw_may_send(c, FW_NETWORK_CELLULAR, 0, b, wall_ms).bytes;
}

static void a_metered_day_has_a_budget_that_outlives_the_launch(void **state)
{
    struct folder *f = *state;
    struct fw_budget b;
    struct fw_config c;

    fw_config_init(&c);
    c.daily_bytes = 1000;
    fw_budget_load(&b, &f->store);
    assert_int_equal(left(&c, &b, 5 * DAY), 1000);
    fw_budget_spend(&b, &f->store, 5 * DAY, 600);
    fw_budget_load(&b, &f->store);
    assert_int_equal(left(&c, &b, 5 * DAY + 7), 400);
    fw_budget_spend(&b, &f->store, 5 * DAY + 8, 500);
    assert_int_equal(left(&c, &b, 5 * DAY + 9), 0);
    assert_int_equal(left(&c, &b, 6 * DAY), 1000);
    assert_true(fw_store_write(&f->store, "budget", "rubbish", 7));
    fw_budget_load(&b, &f->store);
    assert_int_equal(b.day_bytes, 0);
}

static void a_month_has_one_too(void **state)
{
    struct folder *f = *state;
    struct fw_budget b;
    struct fw_config c;

    fw_config_init(&c);
    c.daily_bytes = 1000;
    c.monthly_bytes = 2500;
    fw_budget_load(&b, &f->store);
    for (int64_t day = 0; day < 2; day++)
        fw_budget_spend(&b, &f->store, day * DAY, 1000);
    fw_budget_load(&b, &f->store);
    assert_int_equal(left(&c, &b, 2 * DAY), 500);
    fw_budget_spend(&b, &f->store, 2 * DAY, 500);
    assert_int_equal(left(&c, &b, 30 * DAY), 0); /* 31 January 1970 */
    assert_int_equal(left(&c, &b, 31 * DAY), 1000);
}

static void a_clock_set_back_opens_no_new_day(void **state)
{
    struct folder *f = *state;
    struct fw_budget b;
    struct fw_config c;

    fw_config_init(&c);
    c.daily_bytes = 1000;
    fw_budget_load(&b, &f->store);
    fw_budget_spend(&b, &f->store, 900 * DAY, 1000);
    assert_int_equal(left(&c, &b, 5 * DAY), 0);
    fw_budget_spend(&b, &f->store, 5 * DAY, 0);
    assert_int_equal(left(&c, &b, 5 * DAY), 0);
    assert_int_equal(left(&c, &b, 6 * DAY), 1000); /* and a clock once far ahead locks nobody out */
}

/* Fetching. */

struct answer {
    int status;
    const char *etag, *body;
    char if_none_match[128];
};

static int exchange(void *user, fw_http_request *r)
{
    struct answer *a = user;

    assert_string_equal(r->method, "GET");
    assert_string_equal(r->url, "http://h/v1/config");
    a->if_none_match[0] = 0;
    for (const char *const *h = r->headers; *h; h++)
        if (!strncasecmp(*h, "If-None-Match: ", 15))
            snprintf(a->if_none_match, sizeof a->if_none_match, "%s", *h + 15);
    if (!a->status)
        return -1;
    r->status = a->status;
    if (a->etag)
        r->on_header(r->sink, "ETag", a->etag);
    if (a->body)
        r->on_body(r->sink, a->body, strlen(a->body));
    return 0;
}

static void a_document_is_kept_with_its_etag_and_survives_a_failed_fetch(void **state)
{
    struct folder *f = *state;
    struct answer a = {.status = 200, .etag = "\"v3\"", .body = whole};
    struct fw_server server = {.url = "http://h", .api_key = "k", .transport = {exchange, &a}};
    struct fw_remote_config c;
    struct fw_config base;

    fw_config_init(&base);
    fw_remote_config_load(&c, &base, &f->store);
    assert_true(c.config.enabled);
    assert_true(fw_remote_config_fetch(&c, &base, &server, &f->store));
    assert_string_equal(a.if_none_match, "");
    assert_false(c.config.enabled);

    /* The next launch begins with it. */
    fw_remote_config_load(&c, &base, &f->store);
    assert_false(c.config.enabled);
    assert_int_equal(c.config.n_scenes, 2);

    a = (struct answer){.status = 304};
    assert_false(fw_remote_config_fetch(&c, &base, &server, &f->store));
    assert_string_equal(a.if_none_match, "\"v3\"");
    a = (struct answer){.status = 0};
    assert_false(fw_remote_config_fetch(&c, &base, &server, &f->store));
    a = (struct answer){.status = 200, .etag = "\"v4\"", .body = "<html>captive portal</html>"};
    assert_false(fw_remote_config_fetch(&c, &base, &server, &f->store));
    assert_int_equal(c.config.version, 3);
    assert_string_equal(c.etag, "\"v3\"");
}

static void version_0_leaves_the_games_own_rates(void **state)
{
    struct folder *f = *state;
    struct answer a = {
        .status = 200, .etag = "\"0\"", .body = "{\"version\": 0, \"slice_ms\": 30000}"};
    struct fw_server server = {.url = "http://h", .api_key = "k", .transport = {exchange, &a}};
    struct fw_remote_config c;
    struct fw_config base;

    fw_config_init(&base);
    base.slice_ms = 1000;
    fw_remote_config_load(&c, &base, &f->store);
    assert_true(fw_remote_config_fetch(&c, &base, &server, &f->store));
    assert_int_equal(c.config.slice_ms, 1000);
    a.body = "{\"version\": 1, \"slice_ms\": 30000}";
    assert_true(fw_remote_config_fetch(&c, &base, &server, &f->store));
    assert_int_equal(c.config.slice_ms, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(absent_wrong_and_unknown_fields_mean_the_defaults),
        cmocka_unit_test(numbers_are_clamped_to_their_bounds),
        cmocka_unit_test(malformed_documents_change_nothing),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(any_truncation_and_mutation_is_survived),
        cmocka_unit_test(texts_are_decoded),
        cmocka_unit_test(patterns_choose_scenes),
        cmocka_unit_test(wifi_and_wire_carry_everything_and_others_summaries),
        cmocka_unit_test_setup_teardown(a_month_has_one_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_set_back_opens_no_new_day, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_metered_day_has_a_budget_that_outlives_the_launch, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_document_is_kept_with_its_etag_and_survives_a_failed_fetch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_0_leaves_the_games_own_rates, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
