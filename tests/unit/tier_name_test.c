#include "server/jobs/tiers/tier_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void names_are_read_back(void **state)
{
    (void)state;
    for (int64_t tiers = 0; tiers <= 8; tiers++)
        for (int64_t t = -1; t <= tiers; t++) {
            char name[TIER_NAME_BYTES];
            int64_t read;

            tier_name(t, tiers, name);
            assert_true(tier_parse(name, tiers, &read));
            assert_int_equal(read, t);
        }
}

static void three_tiers_are_high_mid_and_low(void **state)
{
    static const char *const expected[] = {"all", "untiered", "high", "mid", "low"};

    (void)state;
    for (int64_t t = -1; t <= 3; t++) {
        char name[TIER_NAME_BYTES];

        tier_name(t, 3, name);
        assert_string_equal(name, expected[t + 1]);
    }
}

static void numbers_are_tiers_and_other_words_are_none(void **state)
{
    int64_t t;

    (void)state;
    assert_true(tier_parse("7", 3, &t));
    assert_int_equal(t, 7);
    assert_false(tier_parse("12", 3, &t));
    assert_false(tier_parse("best", 3, &t));
    assert_false(tier_parse("", 3, &t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(three_tiers_are_high_mid_and_low),
        cmocka_unit_test(numbers_are_tiers_and_other_words_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
