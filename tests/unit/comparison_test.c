/* A figure of a build against its baseline, from sums made by hand. */
#include "server/jobs/reports/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A counted metric by the device model: in each install group 10 sessions, which expect what they
 * showed on the baseline. */
static struct figure janks(int64_t base, int64_t now)
{
    static struct group_sums sums[3]; /* of the build, of its baseline before, beside */
    const struct comparison_slice slice = {.scene = "",
                                           .installs = 640,
                                           .installs_base = 640,
                                           .now = &sums[0],
                                           .base = &sums[1],
                                           .before = &sums[1],
                                           .beside = &sums[2]};
    const int64_t events[] = {now, base};
    struct figure f;

    memset(sums, 0, sizeof sums);
    for (unsigned side = 0; side < 2; side++)
        for (unsigned g = 0; g < COMPARISON_GROUPS; g++) {
            int64_t *to = sums[side].at[g][METRIC_janks];

            to[SUM_N] = to[SUM_X_N] = 10;
            to[SUM_EXPOSURE] = 600000;
            to[SUM_X_EXPECTED] = 1000000;
            to[SUM_VALUE] = to[SUM_X_VALUE] =
                events[side] / COMPARISON_GROUPS + (g < events[side] % COMPARISON_GROUPS);
        }
    comparison_figure(&slice, METRIC_janks, BASIS_NONE, &f);
    return f;
}

static void counts_are_compared_from_twenty_events_on_both_sides_together(void **state)
{
    (void)state;
    assert_int_equal(janks(10, 10).basis, BASIS_MODELS);
    assert_int_equal(janks(0, 20).basis, BASIS_MODELS);
    assert_int_equal(janks(20, 0).basis, BASIS_MODELS);
    assert_int_equal(janks(9, 10).basis, BASIS_NONE);
}

static void without_an_event_there_is_a_figure_and_no_change(void **state)
{
    struct figure f = janks(0, 0);

    (void)state;
    assert_int_equal(f.basis, BASIS_NONE);
    assert_true(f.value == 0 && f.base == 0);
    assert_true(isnan(f.change) && isnan(f.low) && isnan(f.high));
}

static void a_change_of_counts_is_the_ratio_of_the_rates(void **state)
{
    struct figure f = janks(640, 1280);

    (void)state;
    assert_true(fabs(f.change - 1) < 0.002); /* one half is added to both */
    assert_true(f.low > 0 && f.high > f.change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_compared_from_twenty_events_on_both_sides_together),
        cmocka_unit_test(without_an_event_there_is_a_figure_and_no_change),
        cmocka_unit_test(a_change_of_counts_is_the_ratio_of_the_rates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
