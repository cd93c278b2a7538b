/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/verdict.h"
#include "support/rng.h"

#include <math.h>
#include <string.h>

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

/* The same count and exposure in every group: no more spread than even, so phi is 1. */
static struct rates even(int64_t count, int64_t exposure)
{
    struct rates s = {0};

    for (unsigned g = 0; g < INSTALL_GROUPS; g++)
        rates_add(&s, g, count, exposure);
    return s;
}

static void overdispersion_is_that_of_a_hand_computed_case(void **state)
{
    struct rates s = {0};
    struct rate_totals t;

    (void)state;
    /* rate 20/100; expected 5 each; squares 25 + 9 + 1 + 81 = 116; phi = 4/3 116/20 */
    rates_add(&s, 0, 0, 25);
    rates_add(&s, 1, 2, 25);
    rates_add(&s, 2, 4, 25);
    rates_add(&s, 3, 14, 25);
    assert_true(rates_totals(&s, &t));
    assert_near(t.phi, 4.0 / 3 * 116 / 20, 1e-12);
    assert_near(t.rate, 0.2, 1e-15);
    assert_int_equal(t.count, 20);
    assert_int_equal(t.g, 4);
    s = even(10, 100);
    assert_true(rates_totals(&s, &t) && t.phi == 1);
}

static void bounds_of_a_ratio_are_those_of_its_share(void **state)
{
    struct rates a = even(4, 1000), b = even(2, 500); /* 256 in 64,000; 128 in 32,000: ratio 1 */
    struct rate_ratio r;
    struct interval pi = clopper_pearson(128, 384, 2.576);

    (void)state;
    assert_true(rates_compare(&a, &b, 2.576, &r));
    assert_near(r.ratio, 1, 1e-15);
    assert_near(r.bounds.low, pi.low / (1 - pi.low) * 2, 1e-12);
    assert_near(r.bounds.high, pi.high / (1 - pi.high) * 2, 1e-12);
    assert_near(r.expected, 128, 1e-9);
    assert_near(r.information, 128, 1e-9);
    assert_near(r.ln_ratio.mean, log(128.5 / 256.5 * 2), 1e-12);
    assert_near(r.ln_ratio.var, 1 / 128.5 + 1 / 256.5, 1e-12);
}

static void arms_without_events_or_exposure_are_told(void **state)
{
    struct rates none = {0}, quiet = even(0, 1000), some = even(3, 1000), negative = even(3, 1000);
    struct rate_ratio r;

    (void)state;
    assert_false(rates_compare(&none, &some, 2.576, &r) || rates_compare(&some, &none, 2.576, &r));
    negative.count[5] = -1;
    assert_false(rates_compare(&some, &negative, 2.576, &r));
    assert_true(rates_compare(&quiet, &quiet, 2.576, &r));
    assert_true(r.ratio == 1 && r.bounds.low == 0 && r.bounds.high == INFINITY);
    assert_true(rates_compare(&quiet, &some, 2.576, &r));
    assert_true(r.ratio == INFINITY && r.bounds.low > 1 && r.bounds.high == INFINITY);
    assert_true(rates_compare(&some, &quiet, 2.576, &r));
    assert_true(r.ratio == 0 && r.bounds.low == 0 && r.bounds.high < 0.05);
}

#define REPEATS 300

/* The variance of ln ratio that groups tell against the one seen, installs being on both builds and
 * unlike each other, and what is expected of them being estimated from a past of their own. */
static void variance_of_ln_ratio_is_the_one_seen(void **state)
{
    struct rng r = rng_of(21, 0);
    double d = 0, d2 = 0, told = 0;

    (void)state;
    for (int k = 0; k < REPEATS; k++) {
        struct rates old_arm = {0}, new_arm = {0};
        struct rate_ratio rr;

        for (unsigned i = 0; i < 300; i++) {
            unsigned group = (unsigned)(rng_next(&r) % INSTALL_GROUPS);
            double own = rng_gamma(&r, 2) / 2;
            int64_t past = rng_poisson(&r, 6 * own);

            rates_add(&old_arm, group, rng_poisson(&r, 3 * own), rate_expected_own(3, past, 6));
            if (i % 2)
                rates_add(&new_arm, group, rng_poisson(&r, 4 * own), rate_expected_own(4, past, 6));
        }
        assert_true(rates_compare(&old_arm, &new_arm, 2.576, &rr));
        d += rr.ln_ratio.mean;
        d2 += rr.ln_ratio.mean * rr.ln_ratio.mean;
        told += rr.ln_ratio.var;
    }

    double mean = d / REPEATS, seen = (d2 - d * mean) / (REPEATS - 1);

    assert_near(mean, 0, 4 * sqrt(seen / REPEATS));
    assert_near(told / REPEATS / seen, 1, 0.3);
}

/* Installs that jank as before, their past being short and their time on the new build shorter or
 * longer: how far from 0, and how far by its own account? */
static void installs_against_their_own_past_show_no_change_that_is_not_there(void **state)
{
    struct rng r = rng_of(22, 0);
    double d = 0, d2 = 0, told = 0;

    (void)state;
    for (int k = 0; k < REPEATS; k++) {
        struct rates now = {0};
        struct estimate e;

        for (unsigned i = 0; i < 300; i++) {
            unsigned group = (unsigned)(rng_next(&r) % INSTALL_GROUPS);
            double own = 0.3 * rng_gamma(&r, 2) / 2; /* most have no event at all */
            int64_t hours = 1 + i % 4;

            rates_add(&now, group, rng_poisson(&r, own * (double)hours),
                      rate_expected_own(hours, rng_poisson(&r, 3 * own), 3));
        }
        assert_true(rates_own_change(&now, &e));
        d += e.mean;
        d2 += e.mean * e.mean;
        told += e.var;
    }

    double mean = d / REPEATS, seen = (d2 - d * mean) / (REPEATS - 1);

    assert_near(mean, 0, 0.015);
    assert_near(told / REPEATS / seen, 1, 0.3);
}

static void expected_events_are_shrunken_to_the_tier(void **state)
{
    (void)state;
    /* Tier: 200 events in 1,000 hours, so the prior is 100 hours with 20 events. */
    assert_int_equal(rate_expected(2, 0, 0, 200, 1000), 400000);
    assert_int_equal(rate_expected(2, 40, 100, 200, 1000),
                     600000); /* (20 + 40) / (100 + 100) x 2 */
    assert_int_equal(rate_expected(2, 5, 10, 0, 1000), 0);
    assert_int_equal(rate_expected(0, 5, 10, 200, 1000), 0);
    assert_int_equal(rate_expected_own(2, 3, 12), 500000);
    assert_int_equal(rate_expected_own(2, 0, 12), 0);
    assert_int_equal(rate_expected_own(9, 1, 2), -1); /* too short a past */
    assert_int_equal(rate_expected_own(8, 1, 2), 4000000);
    assert_int_equal(rate_expected_own(9, 0, 0), -1);
}

static void looks_come_at_doublings(void **state)
{
    (void)state;
    assert_int_equal(verdict_looks(19.99), 0);
    assert_int_equal(verdict_looks(20), 1);
    assert_int_equal(verdict_looks(39), 1);
    assert_int_equal(verdict_looks(40), 2);
    assert_int_equal(verdict_looks(160), 4);
    assert_int_equal(verdict_looks(320), 5);
    assert_int_equal(verdict_looks(1e9), 5);
    assert_int_equal(verdict_looks(NAN), 0);
}

static enum verdict_label verdict_of(int64_t count_old, int64_t count_new)
{
    struct rates old_arm = even(count_old, 1000), new_arm = even(count_new, 1000);
    struct verdict v;

    assert_true(verdict_judge(&old_arm, &new_arm, &v));
    return v.label;
}

static void labels_are_tried_in_order(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(10, 20), VERDICT_REGRESSED);
    assert_int_equal(verdict_of(10, 1), VERDICT_FIXED);
    assert_int_equal(verdict_of(10, 0), VERDICT_FIXED);
    assert_int_equal(verdict_of(10, 5), VERDICT_IMPROVED);
    assert_int_equal(verdict_of(10, 10), VERDICT_NOT_FIXED);
    assert_string_equal(verdict_text(VERDICT_NOT_FIXED), "not_fixed");
    assert_string_equal(verdict_text(VERDICT_TOO_LITTLE), "too_little_data");
}

static void too_little_data_is_a_verdict(void **state)
{
    struct rates old_arm = even(10, 1000), new_arm = {0}, none = {0};
    struct verdict v;

    (void)state;
    rates_add(&new_arm, 0, 0, 1900); /* 19 expected: before the first look, 0 or not */
    assert_true(verdict_judge(&old_arm, &new_arm, &v));
    assert_int_equal(v.label, VERDICT_TOO_LITTLE);
    assert_int_equal(v.looks, 0);
    rates_add(&new_arm, 1, 0, 200); /* 21 expected and none seen: fixed at once */
    assert_true(verdict_judge(&old_arm, &new_arm, &v));
    assert_int_equal(v.label, VERDICT_IMPROVED);
    assert_int_equal(v.looks, 1);
    assert_false(verdict_judge(&old_arm, &none, &v));
    assert_int_equal(v.label, VERDICT_TOO_LITTLE);
    assert_int_equal(v.looks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overdispersion_is_that_of_a_hand_computed_case),
        cmocka_unit_test(bounds_of_a_ratio_are_those_of_its_share),
        cmocka_unit_test(arms_without_events_or_exposure_are_told),
        cmocka_unit_test(variance_of_ln_ratio_is_the_one_seen),
        cmocka_unit_test(installs_against_their_own_past_show_no_change_that_is_not_there),
        cmocka_unit_test(expected_events_are_shrunken_to_the_tier),
        cmocka_unit_test(looks_come_at_doublings),
        cmocka_unit_test(labels_are_tried_in_order),
        cmocka_unit_test(too_little_data_is_a_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
