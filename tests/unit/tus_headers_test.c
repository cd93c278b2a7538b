/* Parsers of tus headers: what the protocol's text and RFC 4648 say, and what nobody should send.
 */
#include "server/http/tus_headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct arena *mem;
    struct err err;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fx->mem = arena_new(64 * 1024);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    arena_free(fx->mem);
    free(fx);
    return 0;
}

/* base64 ------------------------------------------------------------------------------------------
 */

static void base64_agrees_with_the_vectors_of_rfc_4648(void **state)
{
    static const char *const vector[][2] = {{"", ""},
                                            {"f", "Zg=="},
                                            {"fo", "Zm8="},
                                            {"foo", "Zm9v"},
                                            {"foob", "Zm9vYg=="},
                                            {"fooba", "Zm9vYmE="},
                                            {"foobar", "Zm9vYmFy"}};
    unsigned char bytes[16];
    char text[16];
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        base64_encode(vector[i][0], strlen(vector[i][0]), text);
        assert_string_equal(text, vector[i][1]);
        assert_true(base64_decode(text, strlen(text), bytes, &n));
        assert_int_equal(n, strlen(vector[i][0]));
        assert_memory_equal(bytes, vector[i][0], n);
    }
}

static void each_byte_string_has_one_base64_text(void **state)
{
    static const char *const bad[] = {"Zg",   "Zg=",      "Zg===",  "Zh==", "Zm9=", "Z===",
                                      "====", "Zg==Zg==", "Zm9v\n", "Zm-_", "Zm 9", "=Zm9"};
    unsigned char bytes[16];
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(base64_decode(bad[i], strlen(bad[i]), bytes, &n));
}

/* Upload-Metadata ---------------------------------------------------------------------------------
 */

static void metadata_is_pairs_of_key_and_base64(void **state)
{
    struct fixture *fx = *state;
    struct tus_metadata m;

    assert_true(tus_metadata_parse("filename d29ybGRfZG9taW5hdGlvbl9wbGFuLnBkZg==,is_confidential",
                                   fx->mem, &m, &fx->err));
    assert_int_equal(m.n, 2);
    assert_string_equal((const char *)tus_metadata_find(&m, "filename")->value,
                        "world_domination_plan.pdf");
    assert_int_equal(tus_metadata_find(&m, "is_confidential")->len, 0);
    assert_null(tus_metadata_find(&m, "Filename"));
    assert_string_equal(tus_metadata_format(&m, "", fx->mem),
                        "filename d29ybGRfZG9taW5hdGlvbl9wbGFuLnBkZg==,is_confidential");
}

static void no_metadata_is_no_pairs(void **state)
{
    struct fixture *fx = *state;
    static const char *const empty[] = {NULL, "", " ", "\t "};
    struct tus_metadata m;

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_true(tus_metadata_parse(empty[i], fx->mem, &m, &fx->err));
        assert_int_equal(m.n, 0);
        assert_string_equal(tus_metadata_format(&m, "", fx->mem), "");
    }
}

static void spaces_around_commas_do_not_count(void **state)
{
    struct fixture *fx = *state;
    struct tus_metadata m;

    assert_true(tus_metadata_parse(" a YQ== , b ,\tc Yw==", fx->mem, &m, &fx->err));
    assert_string_equal(tus_metadata_format(&m, "", fx->mem), "a YQ==,b,c Yw==");
}

static void the_install_id_is_replaced_in_what_is_echoed(void **state)
{
    struct fixture *fx = *state;
    struct tus_metadata m;

    assert_true(tus_metadata_parse("a YQ==,install c2VjcmV0,b", fx->mem, &m, &fx->err));
    assert_string_equal(tus_metadata_format(&m, "hash", fx->mem), "a YQ==,install aGFzaA==,b");
}

static void metadata_past_a_limit_is_refused(void **state)
{
    struct fixture *fx = *state;
    struct tus_metadata m = {.n = 99};
    char longer[TUS_METADATA_MAX + 2], many[256] = "k0", key[80];

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_false(tus_metadata_parse(longer, fx->mem, &m, &fx->err));
    assert_int_equal(fx->err.code, ERR_TOO_BIG);
    for (unsigned i = 1; i < TUS_METADATA_KEYS_MAX; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",k%u", i);
    assert_true(tus_metadata_parse(many, fx->mem, &m, &fx->err));
    assert_int_equal(m.n, TUS_METADATA_KEYS_MAX);
    snprintf(many + strlen(many), sizeof many - strlen(many), ",z");
    assert_false(tus_metadata_parse(many, fx->mem, &m, &fx->err));
    memset(key, 'k', TUS_METADATA_KEY_MAX + 1);
    key[TUS_METADATA_KEY_MAX + 1] = '\0';
    assert_false(tus_metadata_parse(key, fx->mem, &m, &fx->err));
    assert_true(tus_metadata_parse(key + 1, fx->mem, &m, &fx->err));
}

static void metadata_survives_each_failing_allocation(void **state)
{
    struct fixture *fx = *state;
    struct tus_metadata m;

    for (size_t nth = 1;; nth++) {
        struct arena *mem = arena_new(64 * 1024);

        arena_fail_at(mem, nth);

        bool ok = tus_metadata_parse("a YQ==,b Yg==,install eA==", mem, &m, &fx->err);

        if (ok && !arena_full(mem))
            ok = tus_metadata_format(&m, "h", mem) != NULL;
        arena_fail_at(mem, 0);
        assert_true(ok || arena_full(mem));
        arena_free(mem);
        if (ok)
            break;
        assert_true(nth < 100);
    }
}

/* Upload-Concat -----------------------------------------------------------------------------------
 */

#define ID "00112233445566778899aabbccddeeff"

static void a_final_upload_lists_urls(void **state)
{
    struct fixture *fx = *state;
    struct tus_partials p;
    unsigned char id[16];

    assert_true(from_hex(ID, 16, id));
    assert_true(tus_concat_parse(NULL, "/v1/uploads/", fx->mem, &p, &fx->err));
    assert_int_equal(p.concat, CONCAT_NONE);
    assert_true(tus_concat_parse("partial", "/v1/uploads/", fx->mem, &p, &fx->err));
    assert_int_equal(p.concat, CONCAT_PARTIAL);
    assert_true(tus_concat_parse("final;/v1/uploads/" ID " https://a.example:8/v1/uploads/" ID,
                                 "/v1/uploads/", fx->mem, &p, &fx->err));
    assert_int_equal(p.concat, CONCAT_FINAL);
    assert_int_equal(p.n, 2);
    assert_memory_equal(p.id[0], id, 16);
    assert_memory_equal(p.id[1], id, 16);
}

static void what_is_no_list_of_our_urls_is_refused(void **state)
{
    struct fixture *fx = *state;
    static const char *const bad[] = {
        "",
        "final",
        "final;",
        "final; ",
        "finale;/v1/uploads/" ID,
        "final;/v1/uploads/" ID "0",
        "final;/v1/uploads/g0112233445566778899aabbccddeeff",
        "final;/v2/uploads/" ID,
        "final;http:///v1/uploads/" ID,
        "final;http://host",
        "final;/v1/uploads/" ID "," ID,
        "final;http://h/x/v1/uploads/" ID,
        "partial ",
    };
    struct tus_partials p;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(tus_concat_parse(bad[i], "/v1/uploads/", fx->mem, &p, &fx->err));
        assert_string_equal(fx->err.field, "Upload-Concat");
    }
}

static void the_number_of_partial_uploads_is_bounded(void **state)
{
    struct fixture *fx = *state;
    char *list = calloc(1, 8 + (TUS_PARTIALS_MAX + 1) * 45), *at = stpcpy(list, "final;");
    struct tus_partials p;

    for (unsigned i = 0; i < TUS_PARTIALS_MAX; i++)
        at = stpcpy(at, "/v1/uploads/" ID " ");
    assert_true(tus_concat_parse(list, "/v1/uploads/", fx->mem, &p, &fx->err));
    assert_int_equal(p.n, TUS_PARTIALS_MAX);
    stpcpy(at, "/v1/uploads/" ID);
    assert_false(tus_concat_parse(list, "/v1/uploads/", fx->mem, &p, &fx->err));
    assert_int_equal(fx->err.code, ERR_TOO_BIG);
    free(list);
}

/* Checksums, numbers, dates -----------------------------------------------------------------------
 */

static void a_checksum_is_an_algorithm_and_its_bytes(void **state)
{
    struct fixture *fx = *state;
    struct tus_checksum sum;

    assert_true(tus_checksum_parse("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", &sum, &fx->err));
    assert_int_equal(sum.kind, CHECKSUM_SHA1);
    assert_int_equal(sum.len, 20);
    assert_int_equal(sum.value[0], 0x2a);
    assert_true(tus_checksum_parse("crc32c yZRlqg==", &sum, &fx->err));
    assert_int_equal(sum.kind, CHECKSUM_CRC32C);
    assert_int_equal(sum.len, 4);
    assert_true(
        tus_checksum_parse("sha256 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", &sum, &fx->err));
    assert_int_equal(sum.len, 32);
    assert_false(tus_checksum_parse("sha2 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", &sum, &fx->err));
    assert_false(tus_checksum_parse("sha1  Kq5sNclPz7QV2+lfQIuc6R7oRu0=", &sum, &fx->err));
}

static void a_number_is_decimal_digits_that_fit(void **state)
{
    struct fixture *fx = *state;
    static const char *const bad[] = {
        "", "-0", "+1", " 1", "1 ", "1.0", "0x1", "1e3", "9223372036854775808", "\xd9\xa1"};
    int64_t v = 7;

    assert_true(tus_number_parse("N", NULL, &v, &fx->err));
    assert_int_equal(v, 7);
    assert_true(tus_number_parse("N", "9223372036854775807", &v, &fx->err));
    assert_true(v == INT64_MAX);
    assert_true(tus_number_parse("N", "007", &v, &fx->err));
    assert_int_equal(v, 7);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tus_number_parse("N", bad[i], &v, &fx->err));
    assert_int_equal(v, 7);
}

static void a_date_is_that_of_rfc_9110(void **state)
{
    char text[HTTP_DATE_BYTES];

    (void)state;
    http_date(784111777, text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    http_date(0, text);
    assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(base64_agrees_with_the_vectors_of_rfc_4648),
        T(each_byte_string_has_one_base64_text),
        T(metadata_is_pairs_of_key_and_base64),
        T(no_metadata_is_no_pairs),
        T(spaces_around_commas_do_not_count),
        T(the_install_id_is_replaced_in_what_is_echoed),
        T(metadata_past_a_limit_is_refused),
        T(metadata_survives_each_failing_allocation),
        T(a_final_upload_lists_urls),
        T(what_is_no_list_of_our_urls_is_refused),
        T(the_number_of_partial_uploads_is_bounded),
        T(a_checksum_is_an_algorithm_and_its_bytes),
        T(a_number_is_decimal_digits_that_fit),
        T(a_date_is_that_of_rfc_9110),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
