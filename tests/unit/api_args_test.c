#include "server/api/args.h"
#include "server/api/etag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static int64_t us_of(const char *text)
{
    int64_t us = -1;

    if (!time_parse(text, &us))
        fail_msg("refused: %s", text);
    return us;
}

static void reads_every_day_as_the_system_calendar_does(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 2932896; day += 13) { /* to 9999-12-31 */
        time_t t = (time_t)(day * 86400);
        struct tm utc;
        char text[32];

        gmtime_r(&t, &utc);
        strftime(text, sizeof text, "%Y-%m-%d", &utc);
        assert_int_equal(us_of(text), day * INT64_C(86400000000));
    }
}

static void reads_clock_fraction_and_zone(void **state)
{
    (void)state;
    assert_int_equal(us_of("2024-05-06T07:08:09Z"), INT64_C(1714979289000000));
    assert_int_equal(us_of("2024-05-06t07:08:09.5z"), INT64_C(1714979289500000));
    assert_int_equal(us_of("2024-05-06T07:08:09.1234567Z"), INT64_C(1714979289123456));
    assert_int_equal(us_of("2024-05-06T09:08:09+02:00"), INT64_C(1714979289000000));
    assert_int_equal(us_of("2024-05-06T09:08:09 02:00"), INT64_C(1714979289000000));
    assert_int_equal(us_of("2024-05-06T03:38:09-03:30"), INT64_C(1714979289000000));
    assert_int_equal(us_of("2024-02-29"), INT64_C(1709164800000000));
}

static void reads_milliseconds_since_1970(void **state)
{
    (void)state;
    assert_int_equal(us_of("0"), 0);
    assert_int_equal(us_of("1714979289123"), INT64_C(1714979289123000));
    assert_int_equal(us_of("253402300799999"), INT64_C(253402300799999000));
}

static void refuses_what_is_no_time(void **state)
{
    static const char *const bad[] = {"",
                                      "-1",
                                      "yesterday",
                                      "2023-02-29",
                                      "2024-13-01",
                                      "2024-00-10",
                                      "2024-04-31",
                                      "1969-12-31",
                                      "1970-01-01T00:00:00+01:00",
                                      "2024-05-06T07:08:09",
                                      "2024-05-06T24:00:00Z",
                                      "2024-05-06T07:60:00Z",
                                      "2024-05-06T07:08:09.Z",
                                      "2024-05-06T07:08Z",
                                      "2024-05-06T07:08:09Zz",
                                      "2024-05-06T07:08:09+2:00",
                                      "2024-5-6",
                                      "253402300800000",
                                      "99999999999999999999",
                                      "12e3"};
    int64_t us = 42;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (time_parse(bad[i], &us))
            fail_msg("taken: %s", bad[i]);
}

static void compares_tags_weakly_for_reading_and_strongly_for_writing(void **state)
{
    static const char tag[] = "\"abc\"";

    (void)state;
    assert_true(etag_in("\"abc\"", tag, true));
    assert_true(etag_in("\"abc\"", tag, false));
    assert_true(etag_in("W/\"abc\"", tag, true));
    assert_false(etag_in("W/\"abc\"", tag, false));
    assert_true(etag_in("\"x\", W/\"y\" ,\"abc\"", tag, false));
    assert_true(etag_in(" * ", tag, false));
    assert_false(etag_in("\"abcd\"", tag, true));
    assert_false(etag_in("\"ab\"", tag, true));
    assert_false(etag_in("abc", tag, true));
    assert_false(etag_in("\"abc", tag, true));
    assert_false(etag_in("", tag, true));
    assert_false(etag_in("W/", tag, true));
    assert_true(etag_in("\"a,c\", \"abc\"", tag, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_day_as_the_system_calendar_does),
        cmocka_unit_test(reads_clock_fraction_and_zone),
        cmocka_unit_test(reads_milliseconds_since_1970),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(compares_tags_weakly_for_reading_and_strongly_for_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
