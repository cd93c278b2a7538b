/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/expectation.h"
#include "stats/groups.h"
#include "support/control.h"
#include "support/rng.h"

#include <math.h>

#define REPEATS 400

static void assert_near(double is, double expected, double within)
{
    if (!(fabs(is - expected) <= within))
        fail_msg("%.17g is not %.17g within %g", is, expected, within);
}

/* By hand: mean 0.00975, V = 4/3 (2500^2 + 27000^2 + 42000^2 + 17500^2) 1e-12 / 40^2 = 2.338e-6.
 * Over single sessions, on random input: stats_reference_test.c. */
static void mean_and_variance_are_those_of_the_reference(void **state)
{
    const int64_t n[4] = {10, 12, 8, 10}, sum[4] = {100000, 90000, 120000, 80000};
    struct groups s = {0};
    struct estimate e;

    (void)state;
    for (unsigned g = 0; g < 4; g++)
        groups_add(&s, 16 * g, n[g], sum[g]);
    assert_true(groups_mean(&s, &e));
    assert_near(e.mean, 0.00975, 1e-15);
    assert_near(e.var,
                4.0 / 3 * (2500. * 2500 + 27000. * 27000 + 42000. * 42000 + 17500. * 17500) *
                    1e-12 / 1600,
                1e-18);
    assert_int_equal(e.n, 40);
    assert_int_equal(e.g, 4);
}

static void one_group_alone_has_no_variance(void **state)
{
    struct groups s = {0};
    struct estimate e = {.n = -7};

    (void)state;
    assert_false(groups_mean(&s, &e));
    groups_add(&s, 3, 50, 1000);
    assert_false(groups_mean(&s, &e));
    groups_add(&s, 4, -1, 0);
    assert_false(groups_mean(&s, &e));
    assert_int_equal(e.n, -7);
}

static void what_is_added_can_be_taken_away(void **state)
{
    struct groups a = {0}, sum = {0};

    (void)state;
    for (unsigned g = 0; g < INSTALL_GROUPS; g++) {
        groups_add(&a, g, g, 1000 * g);
        groups_add(&sum, g, 7, -3);
        groups_add(&sum, g + INSTALL_GROUPS, g, 1000 * g); /* the same group */
        groups_add(&sum, g, -7, 3);
    }
    assert_memory_equal(&sum, &a, sizeof a);
}

static void installs_are_told_from_the_groups_that_they_fill(void **state)
{
    struct rng r = rng_of(13, 0);

    (void)state;
    assert_int_equal(groups_installs(0), 0);
    assert_int_equal(groups_installs(1), 1);
    assert_int_equal(groups_installs(24), 29); /* 29.84 */
    assert_int_equal(groups_installs(25), 31); /* 31.45 */
    assert_int_equal(groups_installs(INSTALL_GROUPS), 308);
    for (unsigned k = 1; k <= INSTALL_GROUPS; k++) {
        assert_true(groups_installs(k) > groups_installs(k - 1));
        assert_true(groups_installs(k) >= k); /* there are as many at the least */
    }
    for (unsigned n = 10; n <= 90; n += 20) {
        double told = 0;

        for (int k = 0; k < REPEATS; k++) {
            struct groups s = {0};

            for (unsigned i = 0; i < n; i++)
                groups_add(&s, (unsigned)(rng_next(&r) % INSTALL_GROUPS), 1 + i % 3, 0);
            told += 0.5 + (double)groups_installs(groups_filled(&s)); /* it is rounded down */
        }
        assert_near(told / REPEATS / n, 1, 0.06);
    }
}

/* Sessions of made-up installs: deviation of the install + noise, in 1e-6. */
static void play(struct rng *r, struct groups *s, unsigned group, double install, int sessions)
{
    for (int i = 0; i < sessions; i++)
        groups_add(s, group, 1, llround(1e6 * (install + 0.1 * rng_normal(r))));
}

/* The variance that groups tell against the one seen over many repetitions. Installs play ten
 * sessions of one kind each, so by sessions alone it would be far too small. */
static void variance_by_groups_is_the_variance_seen(void **state)
{
    struct rng r = rng_of(11, 0);
    double d = 0, d2 = 0, told = 0, told_apart = 0;

    (void)state;
    for (int k = 0; k < REPEATS; k++) {
        struct groups now = {0}, base = {0};
        struct estimate e, a, b;

        for (unsigned i = 0; i < 200; i++) {
            unsigned group = (unsigned)(rng_next(&r) % INSTALL_GROUPS);
            double install = 0.2 * rng_normal(&r);

            play(&r, &now, group, install, 10);
            if (i % 4) /* three in four on both builds */
                play(&r, &base, group, install, 10);
        }
        assert_true(groups_difference(&now, &base, &e));
        assert_true(groups_mean(&now, &a) && groups_mean(&base, &b));
        assert_near(e.mean, a.mean - b.mean, 1e-12);
        d += e.mean;
        d2 += e.mean * e.mean;
        told += e.var;
        told_apart += (a.var + b.var);
    }

    double seen = (d2 - d * d / REPEATS) / (REPEATS - 1);

    assert_near(told / REPEATS / seen, 1, 0.25);
    assert_true(told_apart / REPEATS / seen > 3); /* blind to installs on both sides */
}

static void with_installs_on_one_side_each_variances_add(void **state)
{
    struct rng r = rng_of(12, 0);
    struct groups now = {0}, base = {0};
    struct estimate a, b, e;

    (void)state;
    for (unsigned g = 0; g < 32; g++) {
        play(&r, &now, g, 0, 20);
        play(&r, &base, 32 + g, 0, 20);
    }
    assert_true(groups_mean(&now, &a) && groups_mean(&base, &b));
    assert_true(groups_difference(&now, &base, &e));
    assert_int_equal(e.g, 64);
    /* but for G/(G-1), which is 32/31 apart and 64/63 together */
    assert_near(e.var, (a.var + b.var) * (64.0 / 63) / (32.0 / 31), 1e-12);
}

static void pairs_see_the_change_and_not_the_installs(void **state)
{
    struct paired p = {0}, none = {0};
    struct estimate e;

    (void)state;
    for (unsigned i = 0; i < 100; i++) { /* installs differ hugely, each is slower by 0.1 */
        int64_t base = 1000 * (int64_t)i * i;

        paired_add(&p, i % INSTALL_GROUPS, 2, 2 * (base + 100000), 3, 3 * base);
    }
    paired_add(&p, 0, 0, 0, 5, 5000000); /* one side only: no pair */
    paired_add(&p, 0, 5, 5000000, 0, 0);
    assert_true(paired_mean(&p, &e));
    assert_near(e.mean, 0.1, 1e-9);
    assert_int_equal(e.n, 100);
    assert_false(paired_mean(&none, &e));
}

static void a_pair_weighs_by_its_sessions_up_to_a_limit(void **state)
{
    struct paired p = {0};

    (void)state;
    paired_add(&p, 0, 1, 0, 1, 0);
    assert_int_equal(p.d.n[0], 500);
    paired_add(&p, 1, 4, 400, 1, 0);
    assert_int_equal(p.d.n[1], 800);
    assert_int_equal(p.d.sum_e6[1], 80000);
    paired_add(&p, 2, 1000, 0, 100, 0);
    assert_int_equal(p.d.n[2], 5000);
}

static void logarithms_are_rounded_and_limited(void **state)
{
    int64_t y = 5;

    (void)state;
    assert_true(ln_e6(1, &y) && y == 0);
    assert_true(ln_e6(33.4, &y) && y == 3508556); /* ln 33.4 = 3.508555900... (bc -l) */
    assert_true(ln_e6(1e300, &y) && y == LN_LIMIT_E6);
    assert_true(ln_e6(1e-300, &y) && y == -LN_LIMIT_E6);
    y = 5;
    assert_false(ln_e6(0, &y) || ln_e6(-1, &y) || ln_e6(NAN, &y) || ln_e6(INFINITY, &y));
    assert_int_equal(y, 5);
}

static void models_with_few_sessions_stand_near_their_tier(void **state)
{
    const struct moments tier = {100, 300000000, 0}, none = {0}, all = {200, 400000000, 0};
    const struct moments few = {5, 20000000, 0}, many = {2000, 8000000000, 0};
    int64_t mu = 0;

    (void)state;
    assert_true(expectation_model(&none, &tier, &all, &mu) && mu == 3000000);
    assert_true(expectation_model(&few, &tier, &all, &mu) && mu == 3200000); /* (20 + 60) / 25 */
    assert_true(expectation_model(&many, &tier, &all, &mu));
    assert_int_equal(mu, 3990099); /* 8060 / 2020 */
    assert_true(expectation_model(&none, &none, &all, &mu) && mu == 2000000);
    assert_false(expectation_model(&none, &none, &none, &mu));
}

static void installs_are_shrunken_by_kappa(void **state)
{
    const struct variances v = {0.02, 0.04};

    (void)state;
    assert_int_equal(expectation_install(3000000, 0, 0, &v), 3000000);
    /* kappa = 2 x 0.02 / (2 x 0.02 + 0.04) = 1/2 */
    assert_int_equal(expectation_install(3000000, 2, 2 * 3200000, &v), 3100000);
    assert_int_equal(expectation_install(3000000, 6, 6 * 3200000, &v), 3150000);
}

static void own_pasts_are_whole_and_weighed(void **state)
{
    struct expected none = expectation_own(3000000, 0, 0),
                    two = expectation_own(3000000, 2, 6400000);

    (void)state;
    assert_true(none.x_e6 == 3000000 && none.weight == 0);
    assert_true(two.x_e6 == 3200000 && two.weight == 500);
    assert_int_equal(expectation_own(0, 98, 0).weight, 980);
    assert_int_equal(expectation_residual(3300000, two.x_e6), 100000);
    assert_int_equal(expectation_residual(30000000, 0), RESIDUAL_LIMIT_E6);
    assert_int_equal(expectation_residual(-30000000, 0), -RESIDUAL_LIMIT_E6);
}

static void variances_between_and_within_installs_are_told_apart(void **state)
{
    struct rng r = rng_of(5, 0);
    struct variance_sums sums = {0};
    struct variances v;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        double install = 0.15 * rng_normal(&r);
        struct moments m = {0};

        for (int k = 0; k <= i % 7; k++)
            moments_add(&m, llround(1e6 * (3 + install + 0.2 * rng_normal(&r))));
        variance_add(&sums, &m, 3000000);
    }
    v = variance_components(&sums);
    assert_near(v.session, 0.04, 0.002);
    assert_near(v.install, 0.0225, 0.002);
}

static void without_data_variances_are_the_defaults(void **state)
{
    struct variance_sums sums = {0};
    struct variances v = variance_components(&sums);

    (void)state;
    assert_true(v.install == 0.02 && v.session == 0.04);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_variance_are_those_of_the_reference),
        cmocka_unit_test(one_group_alone_has_no_variance),
        cmocka_unit_test(what_is_added_can_be_taken_away),
        cmocka_unit_test(installs_are_told_from_the_groups_that_they_fill),
        cmocka_unit_test(variance_by_groups_is_the_variance_seen),
        cmocka_unit_test(with_installs_on_one_side_each_variances_add),
        cmocka_unit_test(pairs_see_the_change_and_not_the_installs),
        cmocka_unit_test(a_pair_weighs_by_its_sessions_up_to_a_limit),
        cmocka_unit_test(logarithms_are_rounded_and_limited),
        cmocka_unit_test(models_with_few_sessions_stand_near_their_tier),
        cmocka_unit_test(installs_are_shrunken_by_kappa),
        cmocka_unit_test(own_pasts_are_whole_and_weighed),
        cmocka_unit_test(variances_between_and_within_installs_are_told_apart),
        cmocka_unit_test(without_data_variances_are_the_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
