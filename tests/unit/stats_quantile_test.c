/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/quantile.h"
#include "support/rng.h"

#include <math.h>
#include <string.h>

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

static struct sketch slice[INSTALL_GROUPS], base[INSTALL_GROUPS];

static int empty(void **state)
{
    (void)state;
    memset(slice, 0, sizeof slice);
    memset(base, 0, sizeof base);
    return 0;
}

static void mean_and_share_are_those_of_the_frames(void **state)
{
    struct sketch s = {0};
    double sum = 0;

    (void)state;
    for (uint32_t i = 1; i <= 100000; i++) { /* 10.01 .. 1,010 ms */
        uint32_t t = 10000 + 10 * i;

        sketch_add(&s, t);
        sum += t;
    }
    assert_near(sketch_mean_us(&s) / (sum / 100000), 1, 0.001);
    for (uint32_t t = 20000; t < 1000000; t += 7777)
        assert_near(sketch_share_above(&s, t), (1010000.0 - t) / 1000000, 0.001);
    assert_true(sketch_share_above(&s, 1000) == 1);
    assert_true(sketch_share_above(&s, 62000000) == 0);
    assert_true(sketch_share_above(&s, UINT32_MAX) == 0);
}

static void at_a_buckets_bound_a_share_is_exact(void **state)
{
    struct sketch s = {0};

    (void)state;
    for (uint32_t t = 5000; t < 50000; t++)
        sketch_add(&s, t);
    for (unsigned k = sketch_bucket(6000); k < sketch_bucket(49000); k++) {
        uint32_t bound = sketch_bound_us(k);

        assert_near(sketch_share_above(&s, bound), (49999.0 - bound) / 45000, 1e-12);
    }
}

static void an_empty_sketch_has_no_mean_and_no_share(void **state)
{
    struct sketch s = {0}, other = {0};
    struct quantile q;

    (void)state;
    assert_true(sketch_mean_us(&s) == 0 && sketch_share_above(&s, 1) == 0);
    assert_true(sketch_equal(&s, &other) && !sketch_negative(&s));
    other.count[551] = -1;
    assert_true(!sketch_equal(&s, &other) && sketch_negative(&other));
    assert_false(quantile_of(slice, 0.9, 1.96, &q));
    sketch_add(&slice[0], 16000); /* one group: no variance */
    assert_false(quantile_of(slice, 0.9, 1.96, &q));
    sketch_add(&slice[9], 16000);
    assert_true(quantile_of(slice, 0.9, 1.96, &q));
    slice[3].count[7] = -1;
    assert_false(quantile_of(slice, 0.9, 1.96, &q));
}

/* Installs of their own speed with sessions of their own, 50 frames each. */
static void play(struct rng *r, struct sketch group[INSTALL_GROUPS], double ln_ms, int installs)
{
    for (int i = 0; i < installs; i++) {
        unsigned g = (unsigned)(rng_next(r) % INSTALL_GROUPS);
        double install = 0.2 * rng_normal(r);

        for (int session = 0; session < 4; session++) {
            double own = ln_ms + install + 0.15 * rng_normal(r);

            for (int f = 0; f < 50; f++)
                sketch_add(&group[g], (uint32_t)(1000 * exp(own + 0.25 * rng_normal(r))));
        }
    }
}

#define REPEATS 120
#define Z90 1.281551565544600 /* the standard normal's P90 */

static void intervals_by_sessions_hold_the_true_quantile(void **state)
{
    struct rng r = rng_of(8, 0);
    const double sd = sqrt(0.2 * 0.2 + 0.15 * 0.15 + 0.25 * 0.25);
    const double truth = 1000 * exp(3 + Z90 * sd);
    int held = 0, held_by_frames = 0;

    (void)state;
    for (int k = 0; k < REPEATS; k++) {
        struct quantile q;

        empty(NULL);
        play(&r, slice, 3, 150);
        assert_true(quantile_of(slice, 0.9, 1.96, &q));
        held += q.interval_us.low <= truth && truth <= q.interval_us.high;
        assert_int_equal(q.frames, 150 * 4 * 50);

        /* What one would get from the number of frames: share +- 1.96 sqrt(q (1-q) / frames). */
        struct sketch all = {0};
        double half = 1.96 * sqrt(0.09 / 30000);

        for (unsigned g = 0; g < INSTALL_GROUPS; g++)
            sketch_merge(&all, &slice[g], 1);
        held_by_frames += sketch_quantile_us(&all, 0.9 - half) <= truth &&
                          truth <= sketch_quantile_us(&all, 0.9 + half);
    }
    assert_true(held >= REPEATS * 90 / 100);
    assert_true(held_by_frames < REPEATS * 50 / 100);
}

static void changes_of_quantiles_have_intervals(void **state)
{
    struct rng r = rng_of(9, 0);
    int held = 0;

    (void)state;
    for (int k = 0; k < REPEATS; k++) {
        struct quantile now, then;

        empty(NULL);
        play(&r, slice, 3.1, 120);
        play(&r, base, 3, 120);
        assert_true(quantile_of(slice, 0.5, 1.96, &now) && quantile_of(base, 0.5, 1.96, &then));

        struct quantile_change c = quantile_compare(&now, &then, 1.96);

        held += c.interval.low <= expm1(0.1) && expm1(0.1) <= c.interval.high;
        assert_true(c.interval.low < c.change && c.change < c.interval.high);
    }
    assert_true(held >= REPEATS * 90 / 100);
}

static void locked_frames_have_a_quantile_without_doubt(void **state)
{
    struct quantile q;

    (void)state;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++)
        for (int i = 0; i < 100; i++)
            sketch_add(&slice[g], 16667);
    assert_true(quantile_of(slice, 0.9, 1.96, &q));
    assert_near(q.us / 16667, 1, 0.02);
    assert_near(q.interval_us.high / q.interval_us.low, 1, 0.02);
}

static void shares_of_sessions_have_intervals_even_at_none(void **state)
{
    int64_t with[INSTALL_GROUPS] = {0}, all[INSTALL_GROUPS];
    struct interval i, exact = clopper_pearson(0, 128, 1.96);
    double share = -1;

    (void)state;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++)
        all[g] = 2;
    assert_true(share_of(with, all, 1.96, &share, &i));
    assert_true(share == 0 && i.low == 0);
    assert_near(i.high, exact.high, 1e-12);
    for (unsigned g = 0; g < 32; g++)
        with[g] = 2; /* whole groups agree: half the sessions tell nothing new */
    assert_true(share_of(with, all, 1.96, &share, &i));
    exact = clopper_pearson(32 * 63 / 64.0, 63, 1.96);
    assert_near(share, 0.5, 1e-15);
    assert_near(i.low, exact.low, 1e-9);
    with[0] = 3;
    assert_false(share_of(with, all, 1.96, &share, &i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_share_are_those_of_the_frames),
        cmocka_unit_test(at_a_buckets_bound_a_share_is_exact),
        cmocka_unit_test_setup(an_empty_sketch_has_no_mean_and_no_share, empty),
        cmocka_unit_test(intervals_by_sessions_hold_the_true_quantile),
        cmocka_unit_test(changes_of_quantiles_have_intervals),
        cmocka_unit_test_setup(locked_frames_have_a_quantile_without_doubt, empty),
        cmocka_unit_test(shares_of_sessions_have_intervals_even_at_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
