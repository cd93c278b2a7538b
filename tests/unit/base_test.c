#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/url_hide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_arena_latches_when_its_cap_is_passed(void **state)
{
    struct arena *a = arena_new(1000);

    (void)state;
    assert_non_null(arena_alloc(a, 900));
    assert_null(arena_alloc(a, 200));
    assert_true(arena_full(a));
    arena_reset(a);
    assert_false(arena_full(a));
    assert_non_null(arena_alloc(a, 900));
    arena_free(a);
}

static void arena_memory_is_zeroed_and_aligned(void **state)
{
    struct arena *a = arena_new(1 << 20);

    (void)state;
    for (size_t n = 1; n < 200; n++) {
        unsigned char *p = arena_alloc(a, n);

        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    arena_free(a);
}

static void an_array_too_long_to_count_is_refused(void **state)
{
    struct arena *a = arena_new(SIZE_MAX / 2);

    (void)state;
    assert_null(arena_array(a, SIZE_MAX / 4, 8));
    assert_true(arena_full(a));
    arena_free(a);
}

static void the_chosen_allocation_fails(void **state)
{
    struct arena *a = arena_new(1 << 20);

    (void)state;
    arena_fail_at(a, 3);
    assert_non_null(arena_alloc(a, 1));
    assert_non_null(arena_alloc(a, 1));
    assert_null(arena_alloc(a, 1));
    assert_null(arena_alloc(a, 1));
    arena_free(a);
}

static void a_buffer_past_its_cap_keeps_nothing_and_says_so(void **state)
{
    struct buf b;
    size_t len = 7;

    (void)state;
    buf_init(&b, 10);
    buf_text(&b, "12345");
    buf_text(&b, "1234567");
    buf_text(&b, "1");
    assert_false(buf_ok(&b));
    assert_null(buf_steal(&b, &len));
    assert_int_equal(len, 7);
}

static void assert_text(struct buf *b, const char *want)
{
    buf_byte(b, 0);
    assert_true(buf_ok(b));
    assert_string_equal((char *)b->at, want);
    buf_reset(b);
}

static void json_strings_escape_and_repair(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_json_string(&b, "a\"\\\n\x01");
    assert_text(&b, "\"a\\\"\\\\\\u000a\\u0001\"");
    buf_json_string(&b, "\xe6\xb8\xb8 \xf0\x9f\x8e\xae");
    assert_text(&b, "\"\xe6\xb8\xb8 \xf0\x9f\x8e\xae\"");
    /* a lone continuation, an overlong slash, a surrogate, a cut sequence */
    buf_json_string(&b, "\x80\xc0\xaf\xed\xa0\x80\xe6\xb8");
    assert_text(&b, "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
    buf_fini(&b);
}

static void numbers_print_exactly(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_i64(&b, INT64_MIN);
    assert_text(&b, "-9223372036854775808");
    buf_printf(&b, "%0500d", 7);
    assert_int_equal(b.len, 500);
    buf_fini(&b);
}

static void varints_survive_the_way_back(void **state)
{
    static const int64_t values[] = {0, 1, -1, 63, 64, -65, 300, INT64_MAX, INT64_MIN};
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        buf_zigzag(&b, values[i]);

        struct cursor c = cursor_over(b.at, b.len, "varint");
        uint64_t u = cursor_uleb(&c);

        assert_false(c.failed);
        assert_int_equal(cursor_left(&c), 0);
        assert_true((int64_t)(u >> 1 ^ (0 - (u & 1))) == values[i]);
        buf_reset(&b);
    }
    buf_fini(&b);
}

static void a_cursor_past_its_end_reads_zero_and_latches(void **state)
{
    struct cursor c = cursor_over("\x01\x02\x03", 3, "three");

    (void)state;
    assert_int_equal(cursor_u16le(&c), 0x0201);
    assert_int_equal(cursor_u16le(&c), 0);
    assert_true(c.failed);
    assert_int_equal(cursor_u8(&c), 0);
    assert_null(cursor_string(&c));
}

static void a_cursor_reads_both_byte_orders(void **state)
{
    static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct cursor c = cursor_over(bytes, sizeof bytes, "bytes");

    (void)state;
    assert_true(cursor_u64be(&c) == UINT64_C(0x0102030405060708));
    cursor_seek(&c, 0);
    assert_true(cursor_u64le(&c) == UINT64_C(0x0807060504030201));
    cursor_seek(&c, 9);
    assert_true(c.failed);
}

static void leb128_past_64_bits_is_refused(void **state)
{
    static const unsigned char most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    static const unsigned char more[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3};
    struct cursor c = cursor_over(most, sizeof most, "most");

    (void)state;
    assert_true(cursor_uleb(&c) == UINT64_MAX);
    assert_false(c.failed);
    c = cursor_over(more, sizeof more, "more");
    cursor_uleb(&c);
    assert_true(c.failed);
    c = cursor_over("\x80\x7f", 2, "sleb"); /* DWARF 5, table 7.8: -128 is 0x80 0x7f */
    assert_true(cursor_sleb(&c) == -128);
}

static void assert_hex(const unsigned char *bytes, size_t n, const char *want)
{
    char hex[2 * SHA256_BYTES + 1];

    to_hex(bytes, n, hex);
    assert_string_equal(hex, want);
}

static void digests_equal_the_published_vectors(void **state)
{
    unsigned char out[SHA256_BYTES];
    struct digest *d = digest_new(DIGEST_SHA1);

    (void)state;
    digest_add(d, "a", 1);
    digest_add(d, "bc", 2);
    assert_int_equal(digest_end(d, out), SHA1_BYTES);
    assert_hex(out, SHA1_BYTES, "a9993e364706816aba3e25717850c26c9cd0d89d"); /* FIPS 180 */
    digest_free(d);
    d = digest_new(DIGEST_SHA256);
    digest_add(d, "ab", 2);
    digest_add(d, "c", 1);
    assert_int_equal(digest_end(d, out), SHA256_BYTES);
    assert_hex(out, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_free(d);
    sha256("abc", 3, out);
    assert_hex(out, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    /* RFC 4231, test case 2 */
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    assert_hex(out, 32, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void crc32c_equals_its_check_value_in_any_cut(void **state)
{
    static const char text[] = "123456789abcdefghijklmnop";

    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u); /* RFC 3720, B.4 family */
    for (size_t cut = 0; cut < sizeof text; cut++)
        assert_int_equal(crc32c(crc32c(0, text, cut), text + cut, sizeof text - cut),
                         crc32c(0, text, sizeof text));
}

static void hexadecimal_is_read_strictly(void **state)
{
    unsigned char out[2] = {9, 9};

    (void)state;
    assert_true(from_hex("aB01", 2, out));
    assert_int_equal(out[0], 0xab);
    assert_false(from_hex("aB0", 2, out));
    assert_false(from_hex("aB012", 2, out));
    assert_false(from_hex("zz01", 2, out));
    assert_int_equal(out[0], 0xab);
}

static void an_error_names_its_field(void **state)
{
    struct err err;

    (void)state;
    assert_false(err_field(&err, ERR_INVALID, "limit", "%s is out of range", "limit"));
    assert_string_equal(err.field, "limit");
    assert_false(err_set(&err, ERR_BUSY, "later"));
    assert_string_equal(err.field, "");
    assert_int_equal(err.code, ERR_BUSY);
}

static void memory_is_told_as_the_machines_or_as_a_limit(void **state)
{
    struct err err;

    (void)state;
    assert_false(err_memory(&err));
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_string_equal(err.text, "out of memory");
    assert_false(err_full(&err, "a request"));
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_string_equal(err.text, "more memory is needed than a request may take");
}

static void users_and_passwords_of_urls_are_hidden(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"http://user:pw-secret@host:80/x", "http://***@host:80/x"},
        {"no answer: https://token@host", "no answer: https://***@host"},
        {"http://u:p@s@host/ and ftp://a:b@c.", "http://***@host/ and ftp://***@c."},
        {"http://u:p/w@host/", "http://***@host/"}, /* a '/' that is not encoded */
        {"http://user:pw-sec", "http://user:***"},  /* cut */
        {"http://@host http://a@", "http://@host http://*@"},
        {"http://[::1]:8080/a@b", "http://[::1]:8080/a@b"},
        {"http://u:p@[::1]:8080/", "http://***@[::1]:8080/"},
        {"http://127.0.0.1:1: refused", "http://127.0.0.1:1: refused"},
        {"(see https://host:443).", "(see https://host:443)."},
        {"https://host/@name?mail=a@b", "https://host/@name?mail=a@b"},
        {"postgresql://me:pw@db/x \"http://h\" a@b", "postgresql://***@db/x \"http://h\" a@b"},
        {"mail a@b, 1://", "mail a@b, 1://"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];

        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_string_equal(url_hide(text), cases[i].shown);
    }
}

static void an_error_hides_what_a_url_holds_even_cut(void **state)
{
    struct err err;
    char url[400] = "https://user:";

    (void)state;
    err_field(&err, ERR_INVALID, "https://u:secret@h", "%s is no file", "https://u:secret@h");
    assert_string_equal(err.field, "https://***@h");
    assert_string_equal(err.text, "https://***@h is no file");
    memset(url + strlen(url), 's', sizeof url - strlen(url) - 4);
    memcpy(url + sizeof url - 4, "@h", 3);
    err_set(&err, ERR_INVALID, "at %s", url);
    assert_string_equal(err.text, "at https://user:***");
    err_field(&err, ERR_INVALID, url, "x");
    assert_string_equal(err.field, "https://user:***");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_latches_when_its_cap_is_passed),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(an_array_too_long_to_count_is_refused),
        cmocka_unit_test(the_chosen_allocation_fails),
        cmocka_unit_test(a_buffer_past_its_cap_keeps_nothing_and_says_so),
        cmocka_unit_test(json_strings_escape_and_repair),
        cmocka_unit_test(numbers_print_exactly),
        cmocka_unit_test(varints_survive_the_way_back),
        cmocka_unit_test(a_cursor_past_its_end_reads_zero_and_latches),
        cmocka_unit_test(a_cursor_reads_both_byte_orders),
        cmocka_unit_test(leb128_past_64_bits_is_refused),
        cmocka_unit_test(digests_equal_the_published_vectors),
        cmocka_unit_test(crc32c_equals_its_check_value_in_any_cut),
        cmocka_unit_test(hexadecimal_is_read_strictly),
        cmocka_unit_test(an_error_names_its_field),
        cmocka_unit_test(users_and_passwords_of_urls_are_hidden),
        cmocka_unit_test(an_error_hides_what_a_url_holds_even_cut),
        cmocka_unit_test(memory_is_told_as_the_machines_or_as_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
