/* A player's wish to have the data of an install deleted. */
#include "server/db/partition.h"
#include "support/api.h"
#include "support/session_builder.h"

#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct retention keep = {.raw_days = 10, .session_days = 20, .batch = 2};

static void play(struct api *api, unsigned app, uint64_t number, const char *install, char id[33])
{
    struct session_builder *b = sb_new(number);

    sb_part(b, 0, 0);

    uint64_t t = sb_steady(b, 0, 100, 16660);
    uint32_t stack = sb_text_stack(b, "main", "a", "b", NULL);
    sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
    sb_crash(b, t, 11, "SIGSEGV", stack);
    sb_feedback(b, t, "lag", "it lags");
    sb_end(b, t, END_STOPPED);
    api_upload(api, app, b, install);
    to_hex(b->session_id, sizeof b->session_id, id);
    sb_free(b);
}

static void maintain(struct api *api)
{
    struct retention_report report = {0};
    struct err err = {0};
    struct db *db = db_open(api->conninfo, &err);

    if (!db || !retention_run(db, &keep, &report, &err))
        fail_msg("retention: %s", err.text);
    db_close(db);
}

static void ask(struct api *api, unsigned app, const char *install)
{
    char body[128];

    snprintf(body, sizeof body, "{\"install\":\"%s\"}", install);
    api_post(api, app, ROLE_INGEST, 202, "/v1/erasures", body);
}

static int64_t rows_of_sessions(struct api *api)
{
    return pg_i64(api->conninfo,
                  "SELECT (SELECT count(*) FROM session) + (SELECT count(*) FROM session_part) + "
                  "(SELECT count(*) FROM jank_event) + (SELECT count(*) FROM crash) + "
                  "(SELECT count(*) FROM feedback) + (SELECT count(*) FROM upload_chunk)");
}

static void the_sessions_of_that_install_go_with_all_they_have(void **state)
{
    struct api *api = *state;
    char mine[3][33], other[33], elsewhere[33];

    play(api, 0, 100, "other install", other);
    play(api, 1, 200, "mine", elsewhere);
    int64_t others = rows_of_sessions(api);
    for (uint64_t i = 0; i < 3; i++)
        play(api, 0, 1 + i, "mine", mine[i]);
    ask(api, 0, "mine");
    maintain(api);
    for (int i = 0; i < 3; i++)
        api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%s", mine[i]);
    api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", other);
    api_get(api, 1, ROLE_READ, 200, "/v1/sessions/%s", elsewhere);
    assert_int_equal(rows_of_sessions(api), others);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload WHERE install_hash IS NULL "
                                           "AND metadata = '' AND state = 'deleted'"),
                     3);
}

static void what_arrives_late_goes_too_and_the_request_ends_in_time(void **state)
{
    struct api *api = *state;
    char id[33];

    ask(api, 0, "mine");
    ask(api, 0, "mine");
    maintain(api);
    play(api, 0, 1, "mine", id);
    maintain(api);
    api_get(api, 0, ROLE_READ, 404, "/v1/sessions/%s", id);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM erasure"), 1);
    pg_sql(api->conninfo, "UPDATE erasure SET asked_at = now() - interval '21 days'");
    maintain(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM erasure"), 0);
}

static void an_install_is_a_text_of_1_to_256_bytes(void **state)
{
    struct api *api = *state;

    api_problem(api_post(api, 0, ROLE_INGEST, 400, "/v1/erasures", "{}"), "invalid", "install");
    api_problem(api_post(api, 0, ROLE_INGEST, 400, "/v1/erasures", "{\"install\":\"\"}"), "invalid",
                "install");
}

/* On the connections that serve it a refused request of another app must leave nothing behind that
 * a wish that was accepted could be lost with. */
static void an_accepted_wish_is_kept_whatever_was_refused_before(void **state)
{
    struct api *api = *state;
    char install[32];

    ask(api, 0, "first"); /* the key is known from now on */
    for (int i = 0; i < 16; i++) {
        api_post(api, 1, ROLE_ADMIN, 409, "/v1/alerts/999999/acknowledge", "{}");
        api_send(api, (struct api_call){.method = "PUT",
                                        .path = "/v1/alert-rules",
                                        .key = api->key[1][ROLE_ADMIN],
                                        .body = "{\"items\":[{\"theta\":0.6},{\"theta\":0.7}]}"});
        assert_int_equal(api->answer.status, 400);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(install, sizeof install, "install %d", i);
        ask(api, 0, install);
    }
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM erasure"), 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_sessions_of_that_install_go_with_all_they_have),
        TEST(what_arrives_late_goes_too_and_the_request_ends_in_time),
        TEST(an_install_is_a_text_of_1_to_256_bytes),
        TEST(an_accepted_wish_is_kept_whatever_was_refused_before),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
