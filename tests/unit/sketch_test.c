/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sketch a, b;

static int empty(void **state)
{
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    return 0;
}

static void bounds_follow_the_formula(void **state)
{
    (void)state;
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++)
        assert_int_equal(sketch_bound_us(k), floorl(1000 * powl(101.0L / 99, k) + 0.5L));
    assert_int_equal(sketch_bound_us(551), 61106123);
}

static void assert_holds(uint32_t t_us)
{
    unsigned k = sketch_bucket(t_us);

    assert_true(k < SKETCH_BUCKETS);
    if (k > 0)
        assert_true(sketch_bound_us(k - 1) < t_us);
    if (k < SKETCH_BUCKETS - 1)
        assert_true(t_us <= sketch_bound_us(k));
}

static void every_time_falls_into_the_bucket_that_holds_it(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 200000; t++)
        assert_holds(t);
    for (uint32_t t = 200000; t < 62000000; t += 97)
        assert_holds(t);
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        assert_int_equal(sketch_bucket(sketch_bound_us(k)), k);
        assert_int_equal(sketch_bucket(sketch_bound_us(k) + 1), k < 551 ? k + 1 : 551);
    }
    assert_int_equal(sketch_bucket(UINT32_MAX), 551);
}

static int ascending(const void *x, const void *y)
{
    uint32_t p = *(const uint32_t *)x, q = *(const uint32_t *)y;

    return p < q ? -1 : p > q;
}

#define N 20000

/* Every quantile of the sketch against the sorted times themselves. */
static void assert_quantiles(uint32_t times[N], double within)
{
    memset(&a, 0, sizeof a);
    for (size_t i = 0; i < N; i++)
        sketch_add(&a, times[i]);
    qsort(times, N, sizeof *times, ascending);
    for (double q = 0.01; q < 1; q += 0.01) {
        double exact = times[(size_t)(q * (N - 1) + 0.5)], got = sketch_quantile_us(&a, q);

        assert_true(fabs(got / exact - 1) <= within);
    }
}

static double uniform(void)
{
    return (double)rand() / RAND_MAX;
}

static void quantiles_of_spread_times_are_within_one_percent_of_a_sort(void **state)
{
    static uint32_t times[N];

    (void)state;
    srand(7);
    for (size_t i = 0; i < N; i++)
        times[i] = (uint32_t)(1000 * pow(60000, uniform()));
    assert_quantiles(times, 0.0105);
    for (size_t i = 0; i < N; i++)
        times[i] = (uint32_t)(12000 + 9000 * (uniform() + uniform() + uniform()));
    assert_quantiles(times, 0.0105);
}

static void quantiles_of_locked_times_stay_within_their_bucket(void **state)
{
    static uint32_t times[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        times[i] = i % 10 ? 16667 : i % 100 ? 33333 : 50000;
    assert_quantiles(times, 2.0 / 99);
}

static void quantile_interpolates_within_the_bucket_of_its_rank(void **state)
{
    (void)state;
    a.count[100] = 4; /* ranks 0..3 */
    a.count[200] = 1;

    double low = sketch_bound_us(99), high = sketch_bound_us(100);

    /* rank q (n - 1) + 1/2 = 2.5 of 4 in the bucket */
    assert_true(fabs(sketch_quantile_us(&a, 0.5) - low * pow(high / low, 2.5 / 4)) < 1e-6);
    assert_true(sketch_quantile_us(&a, 1) > sketch_bound_us(199));
    assert_true(sketch_quantile_us(&a, 1) <= sketch_bound_us(200));
}

static void quantiles_of_nothing_are_zero(void **state)
{
    (void)state;
    assert_true(sketch_quantile_us(&a, 0.5) == 0);
    a.count[3] = -2;
    assert_true(sketch_quantile_us(&a, 0.5) == 0);
}

static void quantiles_outside_zero_to_one_are_its_ends(void **state)
{
    (void)state;
    sketch_add(&a, 5000);
    sketch_add(&a, 50000);
    assert_true(sketch_quantile_us(&a, -3) == sketch_quantile_us(&a, 0));
    assert_true(sketch_quantile_us(&a, 7) == sketch_quantile_us(&a, 1));
    assert_true(sketch_quantile_us(&a, NAN) == sketch_quantile_us(&a, 0));
}

static void fill(struct sketch *s, unsigned seed)
{
    srand(seed);
    for (size_t i = 0; i < 3000; i++)
        sketch_add(s, (uint32_t)(5000 + rand() % 90000));
}

static void merging_in_any_order_is_the_sketch_of_all(void **state)
{
    struct sketch ab = {0}, ba = {0}, all = {0};

    (void)state;
    fill(&a, 1);
    fill(&b, 2);
    fill(&all, 1);
    fill(&all, 2);
    sketch_merge(&ab, &a, 1);
    sketch_merge(&ab, &b, 1);
    sketch_merge(&ba, &b, 1);
    sketch_merge(&ba, &a, 1);
    assert_memory_equal(&ab, &all, sizeof all);
    assert_memory_equal(&ba, &all, sizeof all);
    assert_int_equal(sketch_total(&all), 6000);
    sketch_merge(&ab, &b, -1);
    assert_memory_equal(&ab, &a, sizeof a);
}

static void sparse_form_reads_back_equal(void **state)
{
    struct buf out;
    struct err err;

    (void)state;
    fill(&a, 3);
    a.count[0] = -5;
    a.count[551] = INT64_MIN;
    a.count[550] = INT64_MAX;
    buf_init(&out, 1 << 16);
    sketch_write(&a, &out);
    assert_true(buf_ok(&out));
    assert_true(sketch_read(out.at, out.len, 1, &b, &err));
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(sketch_read(out.at, out.len, -1, &b, &err));
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++)
        assert_int_equal(b.count[k], 0);
    buf_fini(&out);
}

static void sparse_form_of_nothing_is_its_layout_alone(void **state)
{
    struct buf out;
    struct err err;

    (void)state;
    buf_init(&out, 16);
    sketch_write(&a, &out);
    assert_int_equal(out.len, 1);
    assert_true(sketch_read(out.at, out.len, 1, &b, &err));
    assert_true(sketch_read("", 0, 1, &b, &err));
    assert_int_equal(sketch_total(&b), 0);
    buf_fini(&out);
}

static void malformed_sparse_form_changes_nothing(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\x02\x05\x02", 3},                                      /* another layout */
        {"\x01\x05", 2},                                          /* a bucket without a count */
        {"\x01\x05\x02\x00\x02", 5},                              /* the same bucket twice */
        {"\x01\xa8\x04\x02", 4},                                  /* bucket 552 */
        {"\x01\x05\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12}, /* a number cut */
        {"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", 12}, /* 2^64 - 1 buckets on */
        {"\x01\x05\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x02", 14}, /* more than 64 bits */
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err.code = ERR_NONE;
        assert_false(sketch_read(bad[i].bytes, bad[i].n, 1, &a, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, empty)
    const struct CMUnitTest tests[] = {
        T(bounds_follow_the_formula),
        T(every_time_falls_into_the_bucket_that_holds_it),
        T(quantiles_of_spread_times_are_within_one_percent_of_a_sort),
        T(quantiles_of_locked_times_stay_within_their_bucket),
        T(quantile_interpolates_within_the_bucket_of_its_rank),
        T(quantiles_of_nothing_are_zero),
        T(quantiles_outside_zero_to_one_are_its_ends),
        T(merging_in_any_order_is_the_sketch_of_all),
        T(sparse_form_reads_back_equal),
        T(sparse_form_of_nothing_is_its_layout_alone),
        T(malformed_sparse_form_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
