#include "support/api.h"
#include "support/scrub_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID "00000000000000000000000000000007"
#define CRASHES "/v1/sessions/" ID "/crashes"
#define FEEDBACK "/v1/sessions/" ID "/feedback"

static const char crash[] =
    "{\"t_us\":4000000,\"signal\":11,\"reason\":\"SIGSEGV at 0x0\",\"stack\":["
    "{\"module\":\"libgame.so\",\"debug_id\":\"a1b2c3d4e5f60718\",\"offset\":\"0x1f40\"},"
    "{\"text\":\"Game.update\"}]}";
static const char feedback[] = "{\"category\":\"performance\",\"text\":\"Ruckelt \\u2026 sehr\"}";

static json_t *session(struct api *api)
{
    return api_get(api, 0, ROLE_READ, 200, "/v1/sessions/" ID);
}

static void shows_a_posted_crash_in_its_session(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 7, 5, id);
    assert_true(json_is_false(json_object_get(session(api), "has_crash")));
    api_post(api, 0, ROLE_INGEST, 201, CRASHES, crash);

    const json_t *s = session(api);
    const json_t *c = json_array_get(json_object_get(s, "crashes"), 0);
    const json_t *stack = json_object_get(c, "stack");

    assert_true(json_is_true(json_object_get(s, "has_crash")));
    assert_string_equal(api_text(c, "source"), "posted");
    assert_string_equal(api_text(c, "reason"), "SIGSEGV at 0x0");
    assert_int_equal(api_i64(c, "t_us"), 4000000);
    assert_int_equal(api_i64(c, "signal"), 11);
    assert_string_equal(api_text(json_array_get(stack, 0), "offset"), "0x1f40");
    assert_string_equal(api_text(json_array_get(stack, 1), "text"), "Game.update");

    s = api_get(api, 0, ROLE_READ, 200, "/v1/sessions?has_crash=true");
    assert_int_equal(json_array_size(json_object_get(s, "items")), 1);
}

static void shows_posted_feedback_in_its_session(void **state)
{
    struct api *api = *state;
    char id[33];

    api_play(api, 0, 7, 5, id);
    api_post(api, 0, ROLE_ADMIN, 201, FEEDBACK, feedback);

    const json_t *s = session(api);
    const json_t *f = json_array_get(json_object_get(s, "feedback"), 0);

    assert_true(json_is_true(json_object_get(s, "has_feedback")));
    assert_string_equal(api_text(f, "text"), "Ruckelt … sehr");
    assert_true(json_is_null(json_object_get(f, "t_us")));
    s = api_get(api, 0, ROLE_READ, 200, "/v1/sessions?has_feedback=true");
    assert_int_equal(json_array_size(json_object_get(s, "items")), 1);
}

/* What was posted last, as it is kept. */
static void assert_kept(struct api *api, const char *column, const char *table, const char *text)
{
    char sql[512];

    /* the texts have no quote */
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s = '%s'", table, column, text);
    if (pg_i64(api->conninfo, "%s", sql) != 1)
        fail_msg("not kept as %s of %s: %s", column, table, text);
    snprintf(sql, sizeof sql, "DELETE FROM %s", table);
    pg_sql(api->conninfo, "%s", sql);
}

static void assert_scrubs(struct api *api, const struct scrub_vector *v, size_t n)
{
    char body[512];

    for (size_t i = 0; i < n; i++) {
        snprintf(body, sizeof body, "{\"reason\":\"%s\"}", v[i].in);
        api_post(api, 0, ROLE_INGEST, 201, CRASHES, body);
        assert_kept(api, "reason", "crash", v[i].out);
        snprintf(body, sizeof body, "{\"category\":\"c\",\"text\":\"%s\"}", v[i].in);
        api_post(api, 0, ROLE_INGEST, 201, FEEDBACK, body);
        assert_kept(api, "body", "feedback", v[i].out);
    }
}
#define ASSERT_SCRUBS(api, list) assert_scrubs(api, list, sizeof(list) / sizeof *(list))

static void texts_of_games_are_scrubbed_by_the_device_s_rules(void **state)
{
    struct api *api = *state;

    ASSERT_SCRUBS(api, scrub_mails);
    ASSERT_SCRUBS(api, scrub_numbers);
    ASSERT_SCRUBS(api, scrub_urls);
    api_post(api, 0, ROLE_INGEST, 201, FEEDBACK, "{\"category\":\"13800138000\",\"text\":\"t\"}");
    assert_kept(api, "category", "feedback", "[number]");
    api_post(api, 0, ROLE_ADMIN, 201, CRASHES, "{\"reason\":\"ticket 12345678\"}");
    assert_kept(api, "reason", "crash", "ticket 12345678");
}

/* What stands for a short thing may be longer than it. */
static void scrubbed_texts_keep_the_limit_and_whole_characters(void **state)
{
    struct api *api = *state;
    char body[320] = "{\"reason\":\"a@b.";
    size_t n = strlen(body), begin = strlen("{\"reason\":\"");

    while (n - begin < 256 - 1)
        n += (size_t)snprintf(body + n, sizeof body - n, "%s", n - begin == 4 ? " " : "é");
    snprintf(body + n, sizeof body - n, "\"}");
    api_post(api, 0, ROLE_INGEST, 201, CRASHES, body);
    assert_int_equal(pg_i64(api->conninfo, "SELECT octet_length(reason) FROM crash"), 255);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT count(*) FROM crash WHERE reason ~ '^\\[mail\\] é+$'"), 1);
}

static void keeps_what_was_posted_before_the_session_arrived(void **state)
{
    struct api *api = *state;
    char id[33];

    api_post(api, 0, ROLE_INGEST, 201, CRASHES, crash);
    api_post(api, 0, ROLE_INGEST, 201, FEEDBACK, feedback);
    api_get(api, 0, ROLE_READ, 404, "/v1/sessions/" ID);
    api_play(api, 0, 7, 5, id);

    const json_t *s = session(api);

    assert_true(json_is_true(json_object_get(s, "has_crash")));
    assert_true(json_is_true(json_object_get(s, "has_feedback")));
    assert_int_equal(json_array_size(json_object_get(s, "crashes")), 1);
    assert_int_equal(json_array_size(json_object_get(s, "feedback")), 1);
}

static void stays_when_a_later_part_is_analysed(void **state)
{
    struct api *api = *state;
    struct session_builder *b = sb_new(7);

    sb_part(b, 0, 0);
    sb_play(b, 0, 10, 1);
    api_upload(api, 0, b, "phone");
    api_post(api, 0, ROLE_INGEST, 201, CRASHES, crash);
    sb_part(b, 1, 10000000);
    sb_feedback(b, 15000000, "praise", "nice");
    sb_end(b, sb_play(b, 10000000, 10, 2), END_STOPPED);
    api_upload(api, 0, b, "phone");
    sb_free(b);

    const json_t *s = session(api);

    assert_true(json_is_true(json_object_get(s, "has_crash")));
    assert_int_equal(json_array_size(json_object_get(s, "crashes")), 1);
    assert_string_equal(api_text(json_array_get(json_object_get(s, "feedback"), 0), "source"),
                        "session");
}

static void posting_the_same_again_changes_nothing(void **state)
{
    struct api *api = *state;
    char first[33];

    snprintf(first, sizeof first, "%s",
             api_text(api_post(api, 0, ROLE_INGEST, 201, CRASHES, crash), "id"));

    /* the same content, written another way */
    const json_t *again = api_post(
        api, 0, ROLE_INGEST, 200, CRASHES,
        " {\"reason\":\"SIGSEGV at 0x0\", \"signal\":11, \"stack\":["
        "{\"offset\":\"0x1f40\",\"debug_id\":\"a1b2c3d4e5f60718\",\"module\":\"libgame.so\"},"
        "{\"text\":\"Game.update\"}], \"t_us\":4000000}");

    assert_string_equal(api_text(again, "id"), first);
    assert_true(json_is_false(json_object_get(again, "created")));
    api_post(api, 0, ROLE_INGEST, 201, CRASHES, "{\"reason\":\"another\"}");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM crash"), 2);
}

static void refuses_what_is_malformed_and_names_the_field(void **state)
{
    static const struct {
        const char *path, *body, *field;
        int status;
    } bad[] = {
        {CRASHES, "{}", "reason", 400},
        {CRASHES, "[]", "", 400},
        {CRASHES, "{\"reason\":\"x\"", "", 400},
        {CRASHES, "{\"reason\":\"x\",\"reason\":\"y\"}", "", 400},
        {CRASHES, "{\"reason\":7}", "reason", 400},
        {CRASHES, "{\"reason\":\"a\\u0000b\"}", "", 400},
        {CRASHES, "{\"reason\":\"x\",\"colour\":1}", "colour", 400},
        {CRASHES, "{\"reason\":\"x\",\"t_us\":-1}", "t_us", 400},
        {CRASHES, "{\"reason\":\"x\",\"t_us\":1.5}", "t_us", 400},
        {CRASHES, "{\"reason\":\"x\",\"signal\":4096}", "signal", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":{}}", "stack", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[1]}", "stack", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[{}]}", "stack", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[{\"offset\":\"12\"}]}", "stack.offset", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[{\"offset\":\"0x\"}]}", "stack.offset", 400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[{\"text\":\"a\",\"offset\":\"0x1\"}]}", "stack",
         400},
        {CRASHES, "{\"reason\":\"x\",\"stack\":[{\"offset\":\"0x1\",\"debug_id\":\"abc\"}]}",
         "stack.debug_id", 400},
        {FEEDBACK, "{\"category\":\"x\"}", "text", 400},
        {FEEDBACK, "{\"text\":\"x\",\"mood\":\"bad\"}", "mood", 400},
        {FEEDBACK, "{\"text\":\"x\",\"category\":\"123456789012345678901234567890123\"}",
         "category", 400},
    };
    struct api *api = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        api_problem(api_post(api, 0, ROLE_INGEST, bad[i].status, bad[i].path, bad[i].body),
                    "invalid", bad[i].field);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM crash"), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM feedback"), 0);
}

static void refuses_what_is_too_big(void **state)
{
    struct api *api = *state;
    char *body = malloc(70001);

    memset(body, ' ', 70000);
    body[70000] = '\0';
    memcpy(body, "{\"reason\":\"x\"}", 14);
    api_problem(api_post(api, 0, ROLE_INGEST, 413, CRASHES, body), "too_big", "");

    struct buf text;

    buf_init(&text, 70000);
    buf_text(&text, "{\"reason\":\"x\",\"stack\":[{\"text\":\"f\"}");
    for (int i = 0; i < 256; i++)
        buf_printf(&text, ",{\"text\":\"f%d\"}", i);
    buf_text(&text, "]}");
    buf_byte(&text, '\0');
    api_problem(api_post(api, 0, ROLE_INGEST, 413, CRASHES, (const char *)text.at), "too_big",
                "stack");
    buf_fini(&text);
    free(body);
}

static void counts_what_is_posted_past_a_session_s_limit(void **state)
{
    struct api *api = *state;
    char body[64];

    for (int i = 0; i < 100; i++) {
        snprintf(body, sizeof body, "{\"text\":\"number %d\"}", i);
        api_post(api, 0, ROLE_INGEST, 201, FEEDBACK, body);
    }
    api_problem(api_post(api, 0, ROLE_INGEST, 413, FEEDBACK, "{\"text\":\"one more\"}"), "too_big",
                "");
    api_post(api, 0, ROLE_INGEST, 413, FEEDBACK, "{\"text\":\"and more\"}");
    api_post(api, 0, ROLE_INGEST, 200, FEEDBACK, "{\"text\":\"number 5\"}");
    api_post(api, 0, ROLE_INGEST, 201, CRASHES, "{\"reason\":\"a crash still has room\"}");

    const json_t *q = api_get(api, 0, ROLE_READ, 200, "/v1/quarantine?source=feedback");
    const json_t *row = json_array_get(json_object_get(q, "items"), 0);

    assert_string_equal(api_text(row, "reason"), "too_many_in_session");
    assert_int_equal(api_i64(row, "count"), 2);
    assert_int_equal(api_i64(row, "things"), 1);
    assert_string_equal(api_text(json_array_get(json_object_get(row, "recent"), 0), "ref"), ID);
}

static void wants_json_and_says_so(void **state)
{
    struct api *api = *state;

    api_send(api, (struct api_call){.method = "POST",
                                    .path = CRASHES,
                                    .key = api->key[0][ROLE_INGEST],
                                    .body = crash,
                                    .content_type = "text/plain"});
    assert_int_equal(api->answer.status, 400);
    api_problem(api->answer.json, "invalid", "Content-Type");
    api_problem(api_post(api, 0, ROLE_INGEST, 400, "/v1/sessions/xyz/crashes", crash), "invalid",
                "id");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shows_a_posted_crash_in_its_session),
        TEST(shows_posted_feedback_in_its_session),
        TEST(texts_of_games_are_scrubbed_by_the_device_s_rules),
        TEST(scrubbed_texts_keep_the_limit_and_whole_characters),
        TEST(keeps_what_was_posted_before_the_session_arrived),
        TEST(stays_when_a_later_part_is_analysed),
        TEST(posting_the_same_again_changes_nothing),
        TEST(refuses_what_is_malformed_and_names_the_field),
        TEST(refuses_what_is_too_big),
        TEST(counts_what_is_posted_past_a_session_s_limit),
        TEST(wants_json_and_says_so),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
