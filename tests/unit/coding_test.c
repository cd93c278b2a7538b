/* Answers sent smaller: what comes out of zlib and zstd is what went in, and what must not be coded
 * is not. */
#include "server/http/coding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#define LONG (64u * 1024)

static unsigned char text[LONG];

static void fill(void)
{
    for (size_t i = 0; i < LONG; i++)
        text[i] = (unsigned char)("{\"frame\":1234567,"[i * i % 17]);
}

static void make(struct http_reply *r, const char *type, const unsigned char *bytes, size_t n)
{
    struct buf b;

    reply_init(r);
    buf_init(&b, LONG);
    buf_put(&b, bytes, n);
    assert_true(reply_take(r, 200, type, &b));
}

static const char *header(const struct http_reply *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (strcmp(r->header[i].name, name) == 0)
            return r->header[i].value;
    return NULL;
}

static void zstd_gives_back_what_went_in(void **state)
{
    static unsigned char back[LONG];
    struct http_reply r;

    (void)state;
    make(&r, "application/json", text, LONG);
    coding_reply(&r, "gzip, zstd");
    assert_string_equal(header(&r, "Content-Encoding"), "zstd");
    assert_string_equal(header(&r, "Vary"), "Accept-Encoding");
    assert_true(r.len < LONG / 2);
    assert_int_equal(ZSTD_decompress(back, LONG, r.body, r.len), LONG);
    assert_memory_equal(back, text, LONG);
    reply_fini(&r);
}

static void gzip_gives_back_what_went_in(void **state)
{
    static unsigned char back[LONG];
    struct http_reply r;

    (void)state;
    make(&r, "text/csv; charset=utf-8", text, LONG);
    coding_reply(&r, "gzip;q=0.5, br");
    assert_string_equal(header(&r, "Content-Encoding"), "gzip");

    z_stream z = {.next_in = r.body, .avail_in = (uInt)r.len, .next_out = back, .avail_out = LONG};

    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, LONG);
    assert_memory_equal(back, text, LONG);
    inflateEnd(&z);
    reply_fini(&r);
}

static void who_accepts_nothing_gets_it_plain_but_is_told_that_it_varies(void **state)
{
    static const char *const accepts[] = {NULL, "", "identity", "br", "gzip;q=0, zstd;q=0.0"};

    (void)state;
    for (size_t i = 0; i < sizeof accepts / sizeof *accepts; i++) {
        struct http_reply r;

        make(&r, "application/json", text, LONG);
        coding_reply(&r, accepts[i]);
        assert_null(header(&r, "Content-Encoding"));
        assert_string_equal(header(&r, "Vary"), "Accept-Encoding");
        assert_int_equal(r.len, LONG);
        reply_fini(&r);
    }
}

static void a_weight_of_nothing_refuses_however_it_is_written(void **state)
{
    static const char *const refused[] = {"gzip;q=0",   "gzip ; q=0.",       "gzip;Q=0",
                                          "GZIP;Q=0.0", "gzip;q=0.0;x=1",    "gzip;x=1;q=0.000",
                                          "gzip;q=0,*", "br, gzip;\tq=0;q=1"};
    static const char *const taken[] = {"gzip",           "gzip;q=0.001",     "gzip;q=0.01;x=0",
                                        "x;q=0, gzip",    "gzip, zstd;q=0",   "gzip;Q=1;x=\"q=0\"",
                                        "gzip;quality=0", "\t gzip ;q=0.900", ",,gzip;;q=1"};

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(coding_accepts(refused[i], "gzip"));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(coding_accepts(taken[i], "gzip"));
}

static void what_does_not_shrink_stays_plain(void **state)
{
    static unsigned char noise[4096];
    struct http_reply r;
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
    for (int zstd = 0; zstd < 2; zstd++) {
        make(&r, "text/plain", noise, sizeof noise);
        coding_reply(&r, zstd ? "zstd" : "gzip");
        assert_null(header(&r, "Content-Encoding"));
        assert_int_equal(r.len, sizeof noise);
        assert_memory_equal(r.body, noise, sizeof noise);
        reply_fini(&r);
    }
}

static void short_answers_errors_secrets_and_tagged_ones_are_left_alone(void **state)
{
    static const struct {
        const char *type;
        size_t len;
        int status;
        const char *name, *value;
    } table[] = {
        {"application/json", CODING_BYTES_MIN - 1, 200, NULL, NULL},
        {"application/json", LONG, 404, NULL, NULL},
        {"application/zstd", LONG, 200, NULL, NULL},
        {NULL, LONG, 200, NULL, NULL},
        {"application/json", LONG, 200, "ETag", "\"a\""},
        {"application/json", LONG, 200, "Cache-Control", "no-store"},
        {"text/html", LONG, 200, "Content-Encoding", "zstd"},
        {"text/html", LONG, 200, "Vary", "Accept-Encoding"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_reply r;

        make(&r, table[i].type, text, table[i].len);
        r.status = table[i].status;
        if (table[i].name)
            reply_put(&r, table[i].name, table[i].value);
        coding_reply(&r, "zstd, gzip");
        assert_int_equal(r.len, table[i].len);
        assert_int_equal(r.n_headers, table[i].name ? 1 : 0);
        reply_fini(&r);
    }
}

static void a_private_answer_may_be_coded(void **state)
{
    struct http_reply r;

    (void)state;
    make(&r, "application/json", text, CODING_BYTES_MIN);
    reply_put(&r, "Cache-Control", "private, no-cache");
    coding_reply(&r, "gzip");
    assert_string_equal(header(&r, "Content-Encoding"), "gzip");
    reply_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zstd_gives_back_what_went_in),
        cmocka_unit_test(gzip_gives_back_what_went_in),
        cmocka_unit_test(who_accepts_nothing_gets_it_plain_but_is_told_that_it_varies),
        cmocka_unit_test(a_weight_of_nothing_refuses_however_it_is_written),
        cmocka_unit_test(what_does_not_shrink_stays_plain),
        cmocka_unit_test(short_answers_errors_secrets_and_tagged_ones_are_left_alone),
        cmocka_unit_test(a_private_answer_may_be_coded),
    };

    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
