/* The browser's login: what its cookie says and who can make one. */
#include "server/http/login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1700000000

static const struct secret secret = {.len = 32, .bytes = "0123456789abcdef0123456789abcdef"};
static const struct secret other = {.len = 32, .bytes = "0123456789abcdef0123456789abcdeF"};
static const unsigned char key[SHA256_BYTES] = {1, 2, 3, 0xff};

static void seal(int64_t end_s, char token[LOGIN_TOKEN_CHARS + 1])
{
    struct login login = {.id = {7, 8, 9}, .end_s = end_s};

    memcpy(login.key_hash, key, sizeof key);
    login_seal(&secret, &login, token);
}

static void a_token_opens_to_the_key_it_was_sealed_with(void **state)
{
    char token[LOGIN_TOKEN_CHARS + 1];
    struct login login;

    (void)state;
    seal(NOW + 60, token);
    assert_int_equal(strlen(token), LOGIN_TOKEN_CHARS);
    assert_true(login_open(&secret, token, NOW, &login));
    assert_memory_equal(login.key_hash, key, sizeof key);
    assert_memory_equal(login.id, "\7\10\11\0", 4);
    assert_int_equal(login.end_s, NOW + 60);
}

static void a_token_ends_at_its_end(void **state)
{
    char token[LOGIN_TOKEN_CHARS + 1];
    struct login login;

    (void)state;
    seal(NOW, token);
    assert_true(login_open(&secret, token, NOW - 1, &login));
    assert_false(login_open(&secret, token, NOW, &login));
}

static void a_token_of_another_server_or_with_any_digit_changed_opens_nothing(void **state)
{
    char token[LOGIN_TOKEN_CHARS + 1];
    struct login login;

    (void)state;
    seal(NOW + 60, token);
    assert_false(login_open(&other, token, NOW, &login));
    assert_false(login_open(&secret, "", NOW, &login));
    for (size_t i = 0; i < LOGIN_TOKEN_CHARS; i++) {
        char was = token[i];

        token[i] = was == '0' ? '1' : '0';
        assert_false(login_open(&secret, token, NOW, &login));
        token[i] = was;
    }
    token[LOGIN_TOKEN_CHARS - 1] = '\0';
    assert_false(login_open(&secret, token, NOW, &login));
}

static void the_csrf_token_belongs_to_one_login(void **state)
{
    char token[LOGIN_TOKEN_CHARS + 1], later[LOGIN_TOKEN_CHARS + 1], csrf[LOGIN_CSRF_CHARS + 1];

    (void)state;
    seal(NOW + 60, token);
    seal(NOW + 61, later);
    login_csrf(&secret, token, csrf);
    assert_true(login_csrf_ok(&secret, token, csrf));
    assert_false(login_csrf_ok(&secret, later, csrf));
    assert_false(login_csrf_ok(&other, token, csrf));
    assert_false(login_csrf_ok(&secret, token, NULL));
    assert_false(login_csrf_ok(&secret, token, ""));
    csrf[0] ^= 1;
    assert_false(login_csrf_ok(&secret, token, csrf));
}

static bool find(const char *cookies, char token[LOGIN_TOKEN_CHARS + 1])
{
    struct http_headers h = {0};

    headers_add(&h, "Accept", "*/*");
    headers_add(&h, "cookie", cookies);
    return login_cookie(&h, token);
}

static void the_cookie_is_found_among_others_and_only_whole(void **state)
{
    char token[LOGIN_TOKEN_CHARS + 1], found[LOGIN_TOKEN_CHARS + 1], line[1024];

    (void)state;
    seal(NOW + 60, token);
    snprintf(line, sizeof line, LOGIN_COOKIE "=%s", token);
    assert_true(find(line, found));
    assert_string_equal(found, token);
    snprintf(line, sizeof line, "a=b; " LOGIN_COOKIE "=short; " LOGIN_COOKIE "=%s; c=d", token);
    assert_true(find(line, found));
    assert_string_equal(found, token);
    snprintf(line, sizeof line, "x" LOGIN_COOKIE "=%s", token);
    assert_false(find(line, found));
    snprintf(line, sizeof line, LOGIN_COOKIE "=%s0", token);
    assert_false(find(line, found));
    assert_false(find("", found));
    assert_false(find("; ;;", found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_opens_to_the_key_it_was_sealed_with),
        cmocka_unit_test(a_token_ends_at_its_end),
        cmocka_unit_test(a_token_of_another_server_or_with_any_digit_changed_opens_nothing),
        cmocka_unit_test(the_csrf_token_belongs_to_one_login),
        cmocka_unit_test(the_cookie_is_found_among_others_and_only_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
