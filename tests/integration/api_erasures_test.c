/* A player's wish to have the data of an install deleted. */
#include "server/db/partition.h"
#include "support/api.h"
#include "support/session_builder.h"

#include "base/digest.h"
#include "server/http/tus_headers.h"

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
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload"), 2);
}

/* What one upload of three bytes says of itself; its answer's status. */
struct piece {
    const char *file, *install, *kind, *concat; /* kind NULL: session; concat NULL: none */
    int length;                                 /* of the whole; the body has three bytes */
};

static void send_piece(struct api *api, unsigned app, struct piece p)
{
    char file[128], install[128], encoded[48], kind[64] = "", metadata[512], length[48];
    char concat[320];

    base64_encode(p.file, strlen(p.file), file);
    base64_encode(p.install, strlen(p.install), install);
    if (p.kind) {
        base64_encode(p.kind, strlen(p.kind), encoded);
        snprintf(kind, sizeof kind, ",kind %s", encoded);
    }
    snprintf(metadata, sizeof metadata, "Upload-Metadata: fileid %s%s%s%s", file,
             *p.install ? ",install " : "", install, kind);
    snprintf(length, sizeof length, "Upload-Length: %d", p.length);
    snprintf(concat, sizeof concat, "Upload-Concat: %s", p.concat ? p.concat : "");
    bool whole = p.concat && strncmp(p.concat, "final", 5) == 0;
    api_send(api, (struct api_call){
                      .method = "POST",
                      .path = "/v1/uploads",
                      .key = api->key[app][p.kind ? ROLE_ADMIN : ROLE_INGEST],
                      .body = whole ? NULL : "abc",
                      .content_type = whole ? NULL : "application/offset+octet-stream",
                      .headers = {"Tus-Resumable: 1.0.0", metadata, p.concat ? concat : length,
                                  p.concat && !whole ? length : NULL}});
    if (api->answer.status != 201)
        fail_msg("%s: status %d: %.*s", p.file, api->answer.status, (int)api->answer.len,
                 (const char *)api->answer.body);
}

/* Where the upload just made is. */
static void place(const struct api *api, char path[64])
{
    const char *at = strstr(api->answer.location, "/v1/uploads/");

    assert_non_null(at);
    snprintf(path, 64, "%.63s", at);
}

static int64_t uploads_with_bytes(struct api *api)
{
    return pg_i64(api->conninfo,
                  "SELECT (SELECT count(*) FROM upload) + (SELECT count(*) FROM upload_chunk)");
}

static void uploads_that_no_session_was_made_of_go_too(void **state)
{
    struct api *api = *state;
    char path[64], given_up[64];

    send_piece(api, 0, (struct piece){"others", "other install", NULL, NULL, 3});
    send_piece(api, 1, (struct piece){"elsewhere", "mine", NULL, NULL, 3});
    send_piece(api, 0, (struct piece){"library", "mine", "symbols", NULL, 1000});
    int64_t others = uploads_with_bytes(api);

    send_piece(api, 0, (struct piece){"half sent", "mine", NULL, NULL, 1000});
    place(api, path);
    send_piece(api, 0, (struct piece){"undecodable", "mine", NULL, NULL, 3});
    send_piece(api, 0, (struct piece){"given up", "mine", NULL, NULL, 1000});
    place(api, given_up);
    api_send(api, (struct api_call){.method = "DELETE",
                                    .path = given_up,
                                    .key = api->key[0][ROLE_INGEST],
                                    .headers = {"Tus-Resumable: 1.0.0"}});
    api_work(api);
    ask(api, 0, "mine");
    maintain(api);
    assert_int_equal(uploads_with_bytes(api), others);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload WHERE kind = 'symbols'"),
                     1);

    /* the rest of it has nowhere to go, and from its beginning it goes again */
    api_send(api, (struct api_call){.method = "PATCH",
                                    .path = path,
                                    .key = api->key[0][ROLE_INGEST],
                                    .body = "def",
                                    .content_type = "application/offset+octet-stream",
                                    .headers = {"Tus-Resumable: 1.0.0", "Upload-Offset: 3"}});
    assert_int_equal(api->answer.status, 404);
    send_piece(api, 0, (struct piece){"half sent", "mine", NULL, NULL, 1000});
    maintain(api);
    assert_int_equal(uploads_with_bytes(api), others);
}

static void what_an_upload_was_joined_of_goes_with_it(void **state)
{
    struct api *api = *state;
    char concat[256], path[64];
    size_t n;

    send_piece(api, 0, (struct piece){"first", "", NULL, "partial", 3});
    place(api, path);
    n = (size_t)snprintf(concat, sizeof concat, "final;%s", path);
    send_piece(api, 0, (struct piece){"second", "", NULL, "partial", 3});
    place(api, path);
    snprintf(concat + n, sizeof concat - n, " %s", path);
    send_piece(api, 0, (struct piece){"whole", "mine", NULL, concat, 0});
    assert_int_equal(uploads_with_bytes(api), 7);
    api_work(api);
    ask(api, 0, "mine");
    maintain(api);
    assert_int_equal(uploads_with_bytes(api), 0);
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
        TEST(uploads_that_no_session_was_made_of_go_too),
        TEST(what_an_upload_was_joined_of_goes_with_it),
        TEST(what_arrives_late_goes_too_and_the_request_ends_in_time),
        TEST(an_install_is_a_text_of_1_to_256_bytes),
        TEST(an_accepted_wish_is_kept_whatever_was_refused_before),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
