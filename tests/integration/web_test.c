/* The page's files over HTTP, and a browser's login in place of a key. With or without the page
 * built in: both answer. */
#include "support/api.h"

#include "server/web/web.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Files ---------------------------------------------------------------------------------------- */

static const struct api_answer *fetch(struct api *api, const char *path, const char *header)
{
    return api_send(
        api,
        (struct api_call){.method = "GET", .path = path, .headers = {header}, .undescribed = true});
}

static void every_place_of_the_page_answers_its_document(void **state)
{
    struct api *api = *state;
    static const char *const places[] = {"/",
                                         "/sessions",
                                         "/sessions/00000000000000000000000000000007",
                                         "/janks/flame",
                                         "/compare?build=3",
                                         "/alerts/1"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct api_answer *a = fetch(api, places[i], NULL);

        assert_int_equal(a->status, 200);
        assert_string_equal(a->type, "text/html; charset=utf-8");
        assert_string_equal(a->cache, "no-cache");
        assert_true(strncmp(a->policy, "default-src 'self';", 19) == 0);
    }
    assert_int_equal(fetch(api, "/nowhere", NULL)->status, 404);
    assert_int_equal(fetch(api, "/assets/nothing.js", NULL)->status, 404);
    assert_int_equal(fetch(api, "/assets/..%2f..%2fetc%2fpasswd", NULL)->status, 404);
}

static void a_document_that_the_browser_has_is_not_sent_again(void **state)
{
    struct api *api = *state;
    char header[128];

    snprintf(header, sizeof header, "If-None-Match: %s", fetch(api, "/", NULL)->etag);
    assert_int_equal(fetch(api, "/", header)->status, 304);
    assert_int_equal(api->answer.len, 0);
    assert_int_equal(fetch(api, "/", "If-None-Match: \"other\"")->status, 200);
}

static void the_best_coding_that_both_know_is_chosen(void **state)
{
    const unsigned char byte = 0;
    const struct web_file all = {.plain = {&byte, 1}, .gzip = {&byte, 1}, .zstd = {&byte, 1}},
                          plain = {.plain = {&byte, 1}};
    static const struct {
        const char *accept;
        enum web_coding coding;
    } table[] = {
        {NULL, WEB_PLAIN},
        {"", WEB_PLAIN},
        {"identity", WEB_PLAIN},
        {"gzip", WEB_GZIP},
        {"GZIP;q=0.5", WEB_GZIP},
        {"gzip, deflate, br, zstd", WEB_ZSTD},
        {"br;q=1.0, zstd;q=0, gzip;q=0.1", WEB_GZIP},
        {"zstd;q=0.000,gzip;q=0", WEB_PLAIN},
        {"gzippo, zstdlike", WEB_PLAIN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(web_coding_of(&all, table[i].accept), table[i].coding);
        assert_int_equal(web_coding_of(&plain, table[i].accept), WEB_PLAIN);
    }
}

/* Login ---------------------------------------------------------------------------------------- */

static const struct api_answer *log_in(struct api *api, enum role role)
{
    return api_send(
        api, (struct api_call){.method = "POST", .path = "/v1/login", .key = api->key[0][role]});
}

/* The Cookie header of the login, and the header with its token. */
static void keep_login(struct api *api, char cookie[512], char csrf[128])
{
    const char *set = api->answer.cookie;

    assert_int_equal(api->answer.status, 200);
    assert_non_null(strstr(set, "; HttpOnly"));
    assert_non_null(strstr(set, "; SameSite=Strict"));
    assert_non_null(strstr(set, "; Path=/v1;"));
    snprintf(cookie, 512, "Cookie: other=1; %.*s", (int)strcspn(set, ";"), set);
    snprintf(csrf, 128, "X-Framewatch-Csrf: %s", api_text(api->answer.json, "csrf"));
}

static int ask(struct api *api, const char *method, const char *path, const char *cookie,
               const char *csrf)
{
    return api_send(api, (struct api_call){.method = method,
                                           .path = path,
                                           .body = strcmp(method, "PUT") == 0 ? "{}" : NULL,
                                           .headers = {cookie, csrf}})
        ->status;
}

static void a_login_stands_for_its_key(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    assert_string_equal(api_text(api->answer.json, "role"), "read");
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 200);
    assert_int_equal(ask(api, "GET", "/v1/keys", cookie, NULL), 403);
    assert_int_equal(ask(api, "GET", "/v1/sessions", NULL, NULL), 401);
}

static void changing_something_with_a_login_needs_its_token(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_ADMIN);
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "PUT", "/v1/config", cookie, NULL), 403);
    api_problem(api->answer.json, "forbidden", "X-Framewatch-Csrf");
    assert_int_equal(ask(api, "PUT", "/v1/config", cookie, "X-Framewatch-Csrf: 00"), 403);
    assert_int_equal(ask(api, "PUT", "/v1/config", cookie, csrf), 200);
    assert_int_equal(ask(api, "PUT", "/v1/config", NULL, csrf), 401);
}

static void a_login_that_was_not_given_opens_nothing(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    cookie[strlen(cookie) - 1] ^= 1;
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 401);
    api_problem(api->answer.json, "unauthorized", "Cookie");
}

static void logging_out_takes_the_cookie_away(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "DELETE", "/v1/login", cookie, csrf), 204);
    assert_non_null(strstr(api->answer.cookie, "fw_login=; "));
    assert_non_null(strstr(api->answer.cookie, "; Max-Age=0;"));
}

static void a_cookie_copied_before_the_logout_opens_nothing_on_any_server(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128], other[512], other_csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    log_in(api, ROLE_READ);
    keep_login(api, other, other_csrf);
    assert_string_not_equal(cookie, other);
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 200);
    assert_int_equal(ask(api, "DELETE", "/v1/login", cookie, csrf), 204);
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 401);
    api_problem(api->answer.json, "unauthorized", "Cookie");
    assert_int_equal(ask(api, "DELETE", "/v1/login", cookie, csrf), 401);
    assert_int_equal(ask(api, "GET", "/v1/sessions", other, NULL), 200);
    api_restart(api); /* another server of the database */
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 401);
    assert_int_equal(ask(api, "GET", "/v1/sessions", other, NULL), 200);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM logout"), 1);
}

static void a_login_makes_no_other_login(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "POST", "/v1/login", cookie, csrf), 401);
    api_problem(api->answer.json, "unauthorized", "Authorization");
    assert_string_equal(api->answer.cookie, "");
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 200);
}

static void logins_past_their_end_are_forgotten_by_the_next_logout(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "DELETE", "/v1/login", cookie, csrf), 204);
    pg_sql(api->conninfo, "UPDATE logout SET ends_at = now() - interval '1 second'");
    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    assert_int_equal(ask(api, "DELETE", "/v1/login", cookie, csrf), 204);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM logout"), 1);
}

static void an_ingest_key_does_not_log_in(void **state)
{
    struct api *api = *state;

    assert_int_equal(log_in(api, ROLE_INGEST)->status, 403);
    assert_string_equal(api->answer.cookie, "");
}

static void a_revoked_key_ends_its_logins(void **state)
{
    struct api *api = *state;
    char cookie[512], csrf[128];

    log_in(api, ROLE_READ);
    keep_login(api, cookie, csrf);
    pg_sql(api->conninfo, "UPDATE api_key SET revoked_at = now() WHERE role = 'read'");
    api_restart(api); /* the cache of keys knows it for some seconds more */
    assert_int_equal(ask(api, "GET", "/v1/sessions", cookie, NULL), 401);
}

/* Codings of the API's answers ----------------------------------------------------------------- */

static const struct api_answer *ask_coded(struct api *api, const char *path, const char *accept)
{
    return api_send(api, (struct api_call){.method = "GET",
                                           .path = path,
                                           .key = api->key[0][ROLE_ADMIN],
                                           .headers = {accept},
                                           .undescribed = true});
}

static void long_answers_come_smaller_to_who_can_read_them(void **state)
{
    struct api *api = *state;
    char id[33], path[64];

    api_play(api, 0, 7, 20, id);
    snprintf(path, sizeof path, "/v1/sessions/%s/timeline", id);

    size_t plain = ask_coded(api, path, NULL)->len;

    assert_true(plain > 4096);
    assert_string_equal(api->answer.coding, "");
    assert_string_equal(api->answer.vary, "Accept-Encoding");
    ask_coded(api, path, "Accept-Encoding: gzip");
    assert_string_equal(api->answer.coding, "gzip");
    assert_string_equal(api->answer.vary, "Accept-Encoding");
    assert_true(api->answer.len < plain / 2);
    assert_memory_equal(api->answer.body, "\x1f\x8b", 2);
    ask_coded(api, path, "Accept-Encoding: gzip, zstd");
    assert_string_equal(api->answer.coding, "zstd");
    assert_memory_equal(api->answer.body, "\x28\xb5\x2f\xfd", 4);
    ask_coded(api, path, "Accept-Encoding: gzip;q=0, identity");
    assert_int_equal(api->answer.len, plain);
}

static void short_answers_secrets_and_bytes_with_a_digest_come_as_they_are(void **state)
{
    struct api *api = *state;
    char id[33], path[64];

    api_play(api, 0, 7, 20, id);
    ask_coded(api, "/v1/sessions/00000000000000000000000000000000", "Accept-Encoding: gzip");
    assert_int_equal(api->answer.status, 404);
    assert_string_equal(api->answer.coding, "");
    snprintf(path, sizeof path, "/v1/sessions/%s/raw/0", id);
    ask_coded(api, path, "Accept-Encoding: gzip, zstd");
    assert_int_equal(api->answer.status, 200);
    assert_string_not_equal(api->answer.etag, "");
    assert_string_equal(api->answer.coding, "");
    log_in(api, ROLE_READ);
    assert_string_equal(api->answer.cache, "no-store");
    assert_string_equal(api->answer.coding, "");
}

/* Keys ----------------------------------------------------------------------------------------- */

static void lists_the_keys_of_the_app_without_the_keys(void **state)
{
    struct api *api = *state;
    json_t *list = api_get(api, 0, ROLE_ADMIN, 200, "/v1/keys"), *items;

    items = json_object_get(list, "items");
    assert_int_equal(json_array_size(items), 3);
    for (size_t i = 0; i < 3; i++) {
        const char *hint = api_text(json_array_get(items, i), "hint");
        bool found = false;

        for (unsigned role = ROLE_INGEST; role <= ROLE_ADMIN; role++)
            found = found || (strncmp(api->key[0][role], hint, strlen(hint)) == 0 &&
                              strlen(hint) < strlen(api->key[0][role]));
        assert_true(found);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_place_of_the_page_answers_its_document),
        TEST(a_document_that_the_browser_has_is_not_sent_again),
        cmocka_unit_test(the_best_coding_that_both_know_is_chosen),
        TEST(a_login_stands_for_its_key),
        TEST(changing_something_with_a_login_needs_its_token),
        TEST(a_login_that_was_not_given_opens_nothing),
        TEST(logging_out_takes_the_cookie_away),
        TEST(a_cookie_copied_before_the_logout_opens_nothing_on_any_server),
        TEST(a_login_makes_no_other_login),
        TEST(logins_past_their_end_are_forgotten_by_the_next_logout),
        TEST(an_ingest_key_does_not_log_in),
        TEST(a_revoked_key_ends_its_logins),
        TEST(long_answers_come_smaller_to_who_can_read_them),
        TEST(short_answers_secrets_and_bytes_with_a_digest_come_as_they_are),
        TEST(lists_the_keys_of_the_app_without_the_keys),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
