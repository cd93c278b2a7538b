/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/normal.h"
#include "support/control.h"

#include <math.h>

/* Equal to within `relative` of the expected value. */
static void assert_close(double is, double expected, double relative)
{
    if (!(fabs(is - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g within %g", is, expected, relative);
}

/* Expected values of this file: mpmath 1.3 at 50 to 60 digits, from erfc, betainc and binomial
 * sums. */

static void ln_cdf_is_right_from_the_far_tail_to_one(void **state)
{
    static const double known[][2] = {
        {-1000000.0, -500000000014.734449}, {-1000, -500007.826694812184},
        {-100, -5005.52420869420509},       {-38.5, -745.695270290411081},
        {-20, -203.917155371097264},        {-8, -35.0134371599145499},
        {-5.5, -17.7793763526252605},       {-5, -15.0649983939887257},
        {-4.9999, -15.0644797484285304},    {-3, -6.60772622151034954},
        {-1, -1.84102164500926351},         {-0.1, -0.776154592730273326},
        {0, -0.693147180559945309},         {0.5, -0.368946415288656393},
        {2, -0.0230129093289634885},        {5, -2.86651612963763593e-7},
        {8, -6.22096057427178606e-16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_close(normal_ln_cdf(known[i][0]), known[i][1], 1e-14);
    assert_true(isfinite(normal_ln_cdf(-1e150)));
    assert_true(normal_ln_cdf(40) <= 0);
}

static void ln_cdf_never_falls(void **state)
{
    double before = -INFINITY;

    (void)state;
    for (double x = -60; x < 10; x += 1e-3) {
        double now = normal_ln_cdf(x);

        assert_true(now >= before);
        before = now;
    }
}

static void quantile_is_the_inverse_of_the_cdf(void **state)
{
    static const double known[][2] = {
        {1e-300, -37.0470962993611992}, {1e-20, -9.26234008979840758},
        {1e-10, -6.3613409024040562},   {0.001, -3.09023230616781354},
        {0.005, -2.57582930354890075},  {0.025, -1.95996398454005421},
        {0.1, -1.28155156554460044},    {0.75, 0.674489750196081743},
        {0.975, 1.95996398454005386},   {0.999999, 4.75342430881708777},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_close(normal_quantile(known[i][0]), known[i][1], 1e-14);
    assert_close(normal_quantile(0.4999), -0.000250662830088007492, 1e-11);
    assert_true(normal_quantile(0.5) == 0);
    assert_true(normal_quantile(0) == -INFINITY);
    assert_true(normal_quantile(1) == INFINITY);
    for (double p = 0.01; p < 1; p += 0.01)
        assert_close(normal_cdf(normal_quantile(p)), p, 1e-13);
}

static void beta_cdf_is_right_for_small_and_for_very_large_parameters(void **state)
{
    static const double known[][4] = {
        {0.5, 0.5, 0.3, 0.369010119565545375},          {1, 1, 0.25, 0.25},
        {2.5, 3.5, 0.01, 0.000106720902174978184},      {20, 5, 0.9, 0.914925114121329241},
        {3, 400, 0.001, 0.00799082192882291813},        {1000, 1200, 0.45, 0.334662342671541316},
        {0.01, 7, 0.2, 0.998916293444836292},           {7.3, 2.1, 0.999, 0.99998288756741254},
        {150000, 150000, 0.5005, 0.708058679905584387}, {1e6, 30, 0.99998, 0.978175649244655459},
        {30, 1e6, 4e-5, 0.956790426393029256},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_close(beta_cdf(known[i][0], known[i][1], known[i][2]), known[i][3], 1e-8);
    for (size_t i = 0; i < 8; i++) /* moderate ones: nearly to the last digit */
        assert_close(beta_cdf(known[i][0], known[i][1], known[i][2]), known[i][3], 1e-12);
    assert_true(beta_cdf(2, 3, 0) == 0);
    assert_true(beta_cdf(2, 3, 1) == 1);
}

static void clopper_pearson_bounds_are_those_of_the_tables(void **state)
{
    /* x, n, z, low, high; the first is R's binom.test(8, 20) */
    static const double known[][5] = {
        {8, 20, 1.959963984540054, 0.1911900607253072, 0.6394574126925103},
        {0, 10, 1.959963984540054, 0.0, 0.3084971078187608},
        {10, 10, 2.576, 0.5886749574847785, 1.0},
        {3.7, 41.2, 2.576, 0.01404049437933846, 0.2654363929971807},
        {0.4, 2.6, 2.576, 4.496234665210309e-7, 0.9292187408531067},
        {250, 520, 2.576, 0.423761377352595, 0.5381355681761328},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct interval is = clopper_pearson(known[i][0], known[i][1], known[i][2]);

        assert_close(is.low, known[i][3], 1e-10);
        assert_close(is.high, known[i][4], 1e-10);
    }
    assert_true(clopper_pearson(0, 0, 2).low == 0 && clopper_pearson(0, 0, 2).high == 1);
}

/* P(X >= from) of a binomial, summed term by term. */
static double binomial_tail(int n, int from, double p)
{
    double sum = 0;

    for (int k = from; k <= n; k++) {
        double ways = 1;

        for (int j = 1; j <= k; j++)
            ways *= (n - k + j) / (double)j;
        sum += ways * pow(p, k) * pow(1 - p, n - k);
    }
    return sum;
}

static void at_a_bound_the_data_seen_has_just_the_chance_asked_for(void **state)
{
    double miss = normal_cdf(-2.576);

    (void)state;
    for (int n = 1; n <= 30; n++)
        for (int x = 1; x < n; x++) {
            struct interval is = clopper_pearson(x, n, 2.576);

            assert_close(binomial_tail(n, x, is.low), miss, 1e-9);
            assert_close(1 - binomial_tail(n, x + 1, is.high), miss, 1e-9);
        }
}

static void gamma_is_the_factorial(void **state)
{
    double ln = 0;

    (void)state;
    for (int n = 2; n < 200; n++) {
        ln += log(n);
        assert_close(ln_gamma(n + 1), ln, 1e-13);
    }
    assert_close(ln_gamma(0.5), 0.5 * log(M_PI), 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ln_cdf_is_right_from_the_far_tail_to_one),
        cmocka_unit_test(ln_cdf_never_falls),
        cmocka_unit_test(quantile_is_the_inverse_of_the_cdf),
        cmocka_unit_test(beta_cdf_is_right_for_small_and_for_very_large_parameters),
        cmocka_unit_test(clopper_pearson_bounds_are_those_of_the_tables),
        cmocka_unit_test(at_a_bound_the_data_seen_has_just_the_chance_asked_for),
        cmocka_unit_test(gamma_is_the_factorial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
