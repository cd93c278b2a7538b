/* The pure and the small parts of the HTTP side: header rules, targets, routes, problems, keys,
 * buffers and the registry of active uploads. */
#include "server/http/active.h"
#include "server/http/block.h"
#include "server/http/headers.h"
#include "server/http/keys.h"
#include "server/http/problem.h"
#include "server/http/route.h"
#include "server/http/secret.h"
#include "server/http/uri.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Headers -----------------------------------------------------------------------------------------
 */

static bool check(const char *const *lines, struct body_length *body, bool *smuggling)
{
    struct http_headers h = {0};
    struct err err = {0};

    for (; *lines; lines += 2)
        headers_add(&h, lines[0], lines[1]);
    return headers_check(&h, body, smuggling, &err);
}
#define CHECK(...) check((const char *const[]){__VA_ARGS__, NULL}, &body, &smuggling)

static void a_request_has_one_length_or_a_transfer_coding(void **state)
{
    struct body_length body;
    bool smuggling;

    (void)state;
    assert_true(CHECK("Host", "h"));
    assert_true(!body.chunked && body.bytes == 0);
    assert_true(CHECK("Host", "h", "Content-Length", "17"));
    assert_true(!body.chunked && body.bytes == 17);
    assert_true(CHECK("Host", "h", "transfer-encoding", "Chunked"));
    assert_true(body.chunked);
    assert_false(CHECK("Host", "h", "Content-Length", "17", "Transfer-Encoding", "chunked"));
    assert_true(smuggling);
    assert_false(CHECK("Host", "h", "Content-Length", "17", "content-length", "17"));
    assert_true(smuggling);
    assert_false(CHECK("Host", "h", "Content-Length", "9223372036854775808"));
    assert_false(CHECK("Host", "h", "Content-Length", ""));
    assert_false(CHECK("Host", "h", "Transfer-Encoding", "chunked, identity"));
}

static void a_request_has_one_host(void **state)
{
    struct body_length body;
    bool smuggling;

    (void)state;
    assert_false(CHECK("Accept", "*"));
    assert_false(CHECK("Host", ""));
    assert_false(CHECK("Host", "a", "host", "a"));
    assert_false(CHECK("Host", "user@host"));
    assert_true(CHECK("Host", "[2001:db8::1]:8080"));
    assert_true(CHECK("Host", "frames.example.org:443"));
}

static void a_header_name_is_a_token_and_a_value_has_no_control_characters(void **state)
{
    struct body_length body;
    bool smuggling;

    (void)state;
    assert_false(CHECK("Host", "h", "X y", "1"));
    assert_true(smuggling);
    assert_false(CHECK("Host", "h", "Content-Length ", "1"));
    assert_false(CHECK("Host", "h", "", "1"));
    assert_false(CHECK("Host", "h", "X", "a\rb"));
    assert_true(CHECK("Host", "h", "X", "a\tb \303\244"));
}

/* Targets -----------------------------------------------------------------------------------------
 */

static void a_target_is_a_path_and_arguments(void **state)
{
    char text[] = "/v1/sessions?scene=a%26b+c&empty=&flag&&x=%C3%A4";
    struct uri u;
    struct err err = {0};

    (void)state;
    assert_true(uri_parse(text, &u, &err));
    assert_string_equal(u.path, "/v1/sessions");
    assert_string_equal(uri_arg(&u, "scene"), "a&b c");
    assert_string_equal(uri_arg(&u, "empty"), "");
    assert_string_equal(uri_arg(&u, "flag"), "");
    assert_string_equal(uri_arg(&u, "x"), "\303\244");
    assert_null(uri_arg(&u, "y"));
    assert_int_equal(u.n_args, 4);
}

static void a_bad_target_is_refused(void **state)
{
    static const char *const bad[] = {"",        "x",       "/a b",    "/?a=%",    "/?a=%1",
                                      "/?a=%g0", "/?a=%0a", "/?a=%00", "/?%=1",    "/?a&a",
                                      "/#",      "/\x01",   "*",       "http://h/"};
    struct uri u;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];

        snprintf(text, sizeof text, "%s", bad[i]);
        assert_false(uri_parse(text, &u, &err));
    }
}

static void arguments_are_bounded(void **state)
{
    char text[256] = "/?a0";
    struct uri u;
    struct err err = {0};

    (void)state;
    for (unsigned i = 1; i <= URI_ARGS_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "&a%u", i);
    assert_false(uri_parse(text, &u, &err));
}

/* Routes
 * -------------------------------------------------------------------------------------------------
 */

static bool no_handler(struct req *r, struct err *err)
{
    (void)r;
    (void)err;
    return false;
}

static const struct route some_routes[] = {
    {"GET", "/a", ROLE_NONE, 0, no_handler, "a", false},
    {"GET", "/a/{id}", ROLE_NONE, 0, no_handler, "a_id", false},
    {"POST", "/a/{id}", ROLE_NONE, 0, no_handler, "a_id_post", false},
    {"GET", "/a/{id}/b/{c}", ROLE_NONE, 0, no_handler, "a_b", false},
    {"HEAD", "/h", ROLE_NONE, 0, no_handler, "h", false},
};

static const char *route_name(const char *method, const char *path, struct route_match *m)
{
    static char scratch[256];
    struct routes r = {0};

    r.n = 1;
    r.table[0] = (struct route_table){some_routes, sizeof some_routes / sizeof *some_routes, 0};
    routes_find(&r, method, path, scratch, m);
    return m->route ? m->route->name : "";
}

static void a_route_is_found_by_method_and_path(void **state)
{
    struct route_match m;

    (void)state;
    assert_string_equal(route_name("GET", "/a", &m), "a");
    assert_string_equal(route_name("GET", "/a/x%20y", &m), "a_id");
    assert_string_equal(m.param[0], "x y");
    assert_string_equal(route_name("GET", "/a/1/b/2", &m), "a_b");
    assert_string_equal(m.param[0], "1");
    assert_string_equal(m.param[1], "2");
    assert_string_equal(route_name("HEAD", "/a/1", &m), "a_id");
    assert_string_equal(m.param[0], "1");
    assert_string_equal(route_name("HEAD", "/h", &m), "h");
}

static void what_is_no_route_is_told_apart_from_another_method(void **state)
{
    static const char *const none[] = {"/",       "/a/", "/a/1/",  "/a/1/b",
                                       "/a//b/2", "/A",  "/a/%zz", "/a/%00"};
    struct route_match m;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_string_equal(route_name("GET", none[i], &m), "");
        assert_string_equal(m.allow, "");
    }
    assert_string_equal(route_name("PUT", "/a/1", &m), "");
    assert_string_equal(m.allow, "GET, POST");
}

/* Problems
 * ------------------------------------------------------------------------------------------------
 */

static void a_fault_of_ours_tells_no_details(void **state)
{
    struct err err = {0};
    struct buf b;

    (void)state;
    err_set(&err, ERR_DB, "relation \"secret\" does not exist");
    buf_init(&b, 4096);
    struct problem p = problem_of(&err);

    problem_write(&b, &p, "id");
    buf_byte(&b, '\0');
    assert_int_equal(p.status, 503);
    assert_null(strstr((char *)b.at, "relation"));
    buf_fini(&b);
}

static void a_problem_is_json_whatever_is_in_it(void **state)
{
    struct err err = {0};
    struct buf b;
    json_t *json;

    (void)state;
    err_field(&err, ERR_INVALID, "a\"b", "\x01 \xff \\ \"");
    buf_init(&b, 4096);
    struct problem p = problem_of(&err);

    problem_write(&b, &p, "id");
    json = json_loadb((char *)b.at, b.len, 0, NULL);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), 400);
    assert_string_equal(json_string_value(json_object_get(json, "field")), "a\"b");
    json_decref(json);
    buf_fini(&b);
}

/* Keys and secrets --------------------------------------------------------------------------------
 */

static void a_key_is_hashed_and_nothing_else_is_a_key(void **state)
{
    static const char *const bad[] = {NULL,
                                      "",
                                      "Bearer",
                                      "Bearer ",
                                      "Basic dXNlcjpwYXNz",
                                      "Bearer short",
                                      "Bearer 0123456789abcde\"",
                                      "Bearer 0123456789abcdef x"};
    unsigned char hash[SHA256_BYTES], want[SHA256_BYTES];
    struct err err = {0};

    (void)state;
    sha256("0123456789abcdef", 16, want);
    assert_true(key_from_header("Bearer 0123456789abcdef", hash, &err));
    assert_memory_equal(hash, want, sizeof want);
    assert_true(key_from_header("bearer   0123456789abcdef", hash, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(key_from_header(bad[i], hash, &err));
        assert_int_equal(err.code, ERR_UNAUTHORIZED);
    }
}

static void admin_may_all_and_the_others_their_own(void **state)
{
    (void)state;
    assert_true(role_allows(ROLE_ADMIN, ROLE_INGEST) && role_allows(ROLE_ADMIN, ROLE_READ));
    assert_true(role_allows(ROLE_INGEST, ROLE_INGEST) && role_allows(ROLE_READ, ROLE_READ));
    assert_false(role_allows(ROLE_INGEST, ROLE_READ) || role_allows(ROLE_READ, ROLE_INGEST));
    assert_false(role_allows(ROLE_READ, ROLE_ADMIN) || role_allows(ROLE_INGEST, ROLE_ADMIN));
    assert_true(role_allows(ROLE_NONE, ROLE_NONE));
    assert_false(role_allows(ROLE_NONE, ROLE_READ));
}

static void ids_and_hashes_differ_by_app_purpose_and_subject(void **state)
{
    struct secret a = {.len = 32}, b = {.len = 32, .bytes = {1}};
    unsigned char id[6][SHA256_BYTES] = {{0}};

    (void)state;
    secret_upload_id(&a, 1, "file", false, id[0]);
    secret_upload_id(&a, 2, "file", false, id[1]);
    secret_upload_id(&a, 1, "file", true, id[2]);
    secret_upload_id(&a, 1, "other", false, id[3]);
    secret_upload_id(&b, 1, "file", false, id[4]);
    secret_install_hash(&a, 1, "file", 4, id[5]);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(id[i], id[j], 16);
    secret_upload_id(&a, 1, "file", false, id[1]);
    assert_memory_equal(id[0], id[1], 16);
}

static void an_upload_id_is_the_documented_hmac(void **state)
{
    struct secret s = {.len = 32};
    unsigned char id[16], want[SHA256_BYTES];

    (void)state;
    secret_upload_id(&s, 258, "f", false, id);
    hmac_sha256(s.bytes, 32, "upload\0\0\0\0\0\0\1\2f", 15, want);
    assert_memory_equal(id, want, 16);
}

static void a_secret_file_is_long_enough_and_private(void **state)
{
    char path[] = "/tmp/framewatch-secret-XXXXXX";
    int fd = mkstemp(path);
    struct secret s = {.len = 7};
    struct err err = {0};

    (void)state;
    assert_int_equal(write(fd, "0123456789012345678901234567890", 31), 31);
    assert_false(secret_load(path, &s, &err));
    assert_int_equal(write(fd, "\n", 1), 1);
    assert_false(secret_load(path, &s, &err)); /* the newline does not count */
    assert_int_equal(s.len, 7);
    assert_int_equal(pwrite(fd, "12\n", 3, 31), 3);
    assert_true(secret_load(path, &s, &err));
    assert_int_equal(s.len, 33);
    assert_int_equal(fchmod(fd, 0604), 0);
    assert_false(secret_load(path, &s, &err));
    close(fd);
    unlink(path);
    assert_false(secret_load(path, &s, &err));
    assert_false(secret_load("/tmp", &s, &err));
}

/* Buffers
 * ----------------------------------------------------------------------------------------------------
 */

struct waiting {
    struct block_waiter waiter;
    unsigned called;
};

static void count_call(struct block_waiter *w)
{
    ((struct waiting *)w)->called++;
}

static void blocks_are_bounded_and_who_waits_is_told(void **state)
{
    struct err err = {0};
    struct block_pool *p = block_pool_new(4 * BLOCK_BYTES, &err);
    struct waiting a = {.waiter.ready = count_call}, b = {.waiter.ready = count_call};
    struct block *all, *one;

    (void)state;
    assert_non_null(p);
    assert_null(block_take_n(p, 5));
    all = block_take_n(p, 4);
    assert_non_null(all);
    assert_false(block_roomy(p));
    assert_null(block_take(p));
    assert_null(block_take_or_wait(p, &a.waiter));
    assert_null(block_take_or_wait(p, &b.waiter));
    one = all;
    all = all->next;
    one->next = NULL;
    block_give(p, &one);
    assert_null(one);
    assert_int_equal(a.called, 1);
    assert_int_equal(b.called, 0);
    block_give(p, &all);
    assert_int_equal(b.called, 1);
    one = block_take_or_wait(p, &a.waiter);
    assert_non_null(one);
    assert_int_equal(one->len, 0);
    memset(one->bytes, 1, BLOCK_BYTES);
    assert_true(block_roomy(p));
    block_give(p, &one);
    assert_int_equal(a.called, 1);
    block_pool_free(p);
}

/* Active uploads
 * ------------------------------------------------------------------------------------------------
 */

static struct active_node *ended, *resumed[8];
static size_t n_resumed;

static void note_end(struct active_node *n)
{
    ended = n;
}

static void note_resume(struct active_node *n)
{
    resumed[n_resumed++] = n;
}

static void the_newest_sender_gets_the_upload(void **state)
{
    struct active *a = active_new((struct active_calls){note_end, note_resume});
    struct active_node first = {.sends = true}, second = {.sends = true}, third = {.sends = true},
                       reader = {.sends = false}, other = {.sends = true, .key.shard = 5};

    (void)state;
    ended = NULL;
    n_resumed = 0;
    assert_true(active_try(a, &first));
    assert_true(active_try(a, &other));
    assert_false(active_try(a, &second));
    assert_null(ended);
    assert_false(active_enter(a, &second));
    assert_ptr_equal(ended, &first);
    ended = NULL;
    assert_false(active_enter(a, &reader));
    assert_null(ended); /* once is enough */
    assert_int_equal(n_resumed, 0);
    assert_false(active_enter(a, &third));
    assert_int_equal(n_resumed, 1);
    assert_ptr_equal(resumed[0], &second);
    assert_true(second.superseded);
    active_leave(a, &first);
    assert_int_equal(n_resumed, 3);
    assert_ptr_equal(resumed[1], &reader);
    assert_ptr_equal(resumed[2], &third);
    assert_true(third.holding && !third.superseded);
    active_leave(a, &first); /* it holds nothing any more */
    assert_false(active_try(a, &second));
    active_leave(a, &third);
    assert_true(active_try(a, &second));
    active_leave(a, &second);
    active_leave(a, &other);
    active_free(a);
}

static void a_settled_holder_is_waited_for_but_not_ended(void **state)
{
    struct active *a = active_new((struct active_calls){note_end, note_resume});
    struct active_node holder = {.sends = true}, newcomer = {.sends = true};

    (void)state;
    ended = NULL;
    n_resumed = 0;
    assert_true(active_try(a, &holder));
    active_settle(a, &holder);
    assert_false(active_enter(a, &newcomer));
    assert_null(ended);
    active_leave(a, &holder);
    assert_int_equal(n_resumed, 1);
    active_leave(a, &newcomer);
    active_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_one_length_or_a_transfer_coding),
        cmocka_unit_test(a_request_has_one_host),
        cmocka_unit_test(a_header_name_is_a_token_and_a_value_has_no_control_characters),
        cmocka_unit_test(a_target_is_a_path_and_arguments),
        cmocka_unit_test(a_bad_target_is_refused),
        cmocka_unit_test(arguments_are_bounded),
        cmocka_unit_test(a_route_is_found_by_method_and_path),
        cmocka_unit_test(what_is_no_route_is_told_apart_from_another_method),
        cmocka_unit_test(a_fault_of_ours_tells_no_details),
        cmocka_unit_test(a_problem_is_json_whatever_is_in_it),
        cmocka_unit_test(a_key_is_hashed_and_nothing_else_is_a_key),
        cmocka_unit_test(admin_may_all_and_the_others_their_own),
        cmocka_unit_test(ids_and_hashes_differ_by_app_purpose_and_subject),
        cmocka_unit_test(an_upload_id_is_the_documented_hmac),
        cmocka_unit_test(a_secret_file_is_long_enough_and_private),
        cmocka_unit_test(blocks_are_bounded_and_who_waits_is_told),
        cmocka_unit_test(the_newest_sender_gets_the_upload),
        cmocka_unit_test(a_settled_holder_is_waited_for_but_not_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
