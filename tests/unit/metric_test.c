#include "profile/metric.h"

#include "stats/expectation.h"
#include "support/analysed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

static struct session_builder *b;
static struct analysed a;

static int begin(void **state)
{
    (void)state;
    b = sb_new(42);
    analysed_init(&a);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sb_free(b);
    analysed_fini(&a);
    return 0;
}

static const struct metric_row *row_of(const char *scene)
{
    a.n = 0;
    analysed_add(&a, b);
    analysed_run(&a);
    for (size_t i = 0; i < a.contribution.n_rows; i++)
        if (strcmp(a.contribution.rows[i].scene, scene) == 0)
            return &a.contribution.rows[i];
    return NULL;
}

static void assert_ln(const struct metric_row *row, enum metric m, double value)
{
    assert_int_equal(row->sum[m][SUM_N], 1);
    assert_true(fabs(1e-6 * (double)row->sum[m][SUM_VALUE] - log(value)) < 0.02);
}

static void assert_count(const struct metric_row *row, enum metric m, int64_t count,
                         int64_t exposure)
{
    assert_int_equal(row->sum[m][SUM_N], 1);
    assert_int_equal(row->sum[m][SUM_VALUE], count);
    assert_int_equal(row->sum[m][SUM_EXPOSURE], exposure);
}

static void a_session_tells_each_figure_once(void **state)
{
    uint64_t t;

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");
    t = sb_steady(b, 0, 100, 20000);
    t = sb_frames(b, t, SB_INTERVALS(300000));
    sb_hardware(b, t - 1000, SB_VALUES({HW_pss_kb, 512000}, {HW_battery_millicelsius, 40000}),
                SB_CORES(2400000));

    const struct metric_row *all = row_of("");

    assert_non_null(all);
    assert_ln(all, METRIC_p50, 20);
    assert_ln(all, METRIC_mean, 2300.0 / 101);
    assert_ln(all, METRIC_memory_pss, 500);
    assert_ln(all, METRIC_temperature, 40);
    assert_count(all, METRIC_janks, 1, 2300);
    assert_count(all, METRIC_janks_normal, 1, 2300);
    assert_count(all, METRIC_jank_ms, 300, 2300);
    assert_count(all, METRIC_missed_frames, 1, 101);
    assert_int_equal(all->sum[METRIC_memory_footprint][SUM_N], 0); /* another platform's */
    assert_int_equal(all->sum[METRIC_throttled][SUM_N], 0);        /* it tells no thermal status */
    assert_int_equal(all->sum[METRIC_slow_sessions][SUM_N], 0);    /* too short */
    for (unsigned m = 0; m < METRICS_N; m++)
        for (unsigned k = SUM_X_N; k < METRIC_SUMS; k++)
            assert_int_equal(all->sum[m][k], 0);
}

/* Hot and full at the end of the lobby; the status taken there speaks on into the battle. */
static void a_scene_tells_what_the_phone_was_like_while_it_was_there(void **state)
{
    uint64_t t;

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "lobby", "");
    sb_hardware(b, 0, SB_VALUES({HW_pss_kb, 512000}, {HW_battery_millicelsius, 40000}), SB_NONE);
    t = sb_steady(b, 0, 100, 20000);
    sb_hardware(
        b, t - 500000,
        SB_VALUES({HW_pss_kb, 409600}, {HW_battery_millicelsius, 42000}, {HW_thermal_status, 3}),
        SB_NONE);
    sb_scene(b, t, "battle", "frost");
    t = sb_steady(b, t, 50, 20000);
    sb_hardware(
        b, t - 200000,
        SB_VALUES({HW_pss_kb, 307200}, {HW_battery_millicelsius, 44000}, {HW_thermal_status, 0}),
        SB_NONE);
    sb_scene(b, t, "shop", "");
    sb_steady(b, t, 50, 20000);

    const struct metric_row *lobby = row_of("lobby/"), *battle = row_of("battle/frost"),
                            *shop = row_of("shop/"), *all = row_of("");

    assert_ln(lobby, METRIC_memory_pss, 500);
    assert_ln(lobby, METRIC_temperature, 41);
    assert_count(lobby, METRIC_throttled, 500, 2000);
    assert_ln(battle, METRIC_memory_pss, 300);
    assert_ln(battle, METRIC_temperature, 44);
    assert_count(battle, METRIC_throttled, 800, 1000);
    assert_count(shop, METRIC_throttled, 0, 1000);
    assert_int_equal(shop->sum[METRIC_memory_pss][SUM_N], 0); /* no sample fell into it */
    assert_int_equal(shop->sum[METRIC_temperature][SUM_N], 0);
    assert_ln(all, METRIC_memory_pss, 500);
    assert_ln(all, METRIC_temperature, 42);
    assert_count(all, METRIC_throttled, 1300, 4000);
}

static void a_scene_is_slow_by_its_own_frames_after_the_first_minute(void **state)
{
    uint64_t t;

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "lobby", "");
    t = sb_steady(b, 0, 100, 20000);
    sb_scene(b, 61000000, "battle", "frost");
    t = sb_steady(b, 61000000, 100, 60000);
    sb_scene(b, t, "shop", "");
    sb_steady(b, t, 200, 20000);
    assert_int_equal(row_of("lobby/")->sum[METRIC_slow_sessions][SUM_N], 0); /* it was too early */
    assert_count(row_of("battle/frost"), METRIC_slow_sessions, 1, 1);
    assert_count(row_of("shop/"), METRIC_slow_sessions, 0, 1);
    assert_count(row_of(""), METRIC_slow_sessions, 1, 1);
}

static void few_frames_say_nothing_of_percentiles(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, METRIC_MIN_FRAMES - 1, 20000);

    const struct metric_row *all = row_of("");

    assert_non_null(all);
    assert_int_equal(all->sum[METRIC_p50][SUM_N], 0);
    assert_int_equal(all->sum[METRIC_janks][SUM_N], 1);
}

static void an_excluded_session_tells_nothing(void **state)
{
    (void)state;
    b->environment = ENV_ROOTED;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 200, 20000);
    assert_null(row_of(""));
    assert_int_equal(a.contribution.n_cells, 0);
}

static void memory_is_of_the_platform(void **state)
{
    (void)state;
    b->platform = "ios";
    sb_part(b, 0, 0);
    sb_hardware(b, sb_steady(b, 0, 100, 20000) - 1000,
                SB_VALUES({HW_pss_kb, 100000}, {HW_phys_footprint_kb, 204800}), SB_NONE);

    const struct metric_row *all = row_of("");

    assert_ln(all, METRIC_memory_footprint, 200);
    assert_int_equal(all->sum[METRIC_memory_pss][SUM_N], 0);
}

static void every_metric_has_a_name_that_finds_it(void **state)
{
    (void)state;
    for (unsigned m = 0; m < METRICS_N; m++) {
        enum metric found;

        assert_true(metric_named(metric_info[m].name, &found));
        assert_int_equal(found, m);
    }
    assert_false(metric_named("p100", &(enum metric){0}));
}

/* Sums as bytes ---------------------------------------------------------------------------------
 */

static void sums_are_read_as_they_were_written_and_add_up(void **state)
{
    int64_t sum[METRICS_N][METRIC_SUMS] = {{0}}, twice[METRICS_N][METRIC_SUMS] = {{0}};
    struct buf bytes;
    struct err err;

    (void)state;
    sum[METRIC_p50][SUM_VALUE] = INT64_MAX;
    sum[METRIC_slow_sessions][SUM_OWN_WEIGHT] = -7;
    buf_init(&bytes, 4096);
    metric_sums_write(sum, &bytes);
    assert_true(metric_sums_add(bytes.at, bytes.len, twice, &err));
    assert_memory_equal(sum, twice, sizeof sum);
    assert_true(metric_sums_add(bytes.at, bytes.len, twice, &err));
    assert_int_equal(twice[METRIC_slow_sessions][SUM_OWN_WEIGHT], -14);
    buf_fini(&bytes);
}

static void cut_sums_are_refused_and_change_nothing(void **state)
{
    int64_t sum[METRICS_N][METRIC_SUMS] = {{0}}, none[METRICS_N][METRIC_SUMS] = {{0}};
    struct buf bytes;
    struct err err;

    (void)state;
    sum[METRIC_p50][SUM_VALUE] = 12345678;
    sum[METRIC_janks][SUM_N] = 3;
    buf_init(&bytes, 4096);
    metric_sums_write(sum, &bytes);
    memset(sum, 0, sizeof sum);
    for (size_t n = 2; n < bytes.len; n++)
        if (metric_sums_add(bytes.at, n, sum, &err))
            memset(sum, 0, sizeof sum); /* the end of a metric is an end */
        else
            assert_memory_equal(sum, none, sizeof sum);
    bytes.at[0] = 9;
    assert_false(metric_sums_add(bytes.at, bytes.len, sum, &err));
    buf_fini(&bytes);
}

/* Squares of a map ------------------------------------------------------------------------------
 */

static void squares_count_visits_and_janks(void **state)
{
    uint64_t t = 0;

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "city", "harbor");
    for (int i = 0; i < 3; i++) { /* there, away, there again */
        sb_position(b, t, i == 1 ? 5.0f : -0.5f, 1.0f);
        t = sb_steady(b, t, 60, 16670);
    }
    sb_frames(b, t, SB_INTERVALS(200000));
    row_of("");
    assert_int_equal(a.contribution.n_cells, 2);

    const struct map_cell *left = &a.contribution.cells[0], *right = &a.contribution.cells[1];

    assert_string_equal(left->scene, "city/harbor");
    assert_int_equal(left->level, 0);
    assert_int_equal(left->x, -1);
    assert_int_equal(left->visits, 2);
    assert_int_equal(left->janky_visits, 1);
    assert_int_equal(left->jank_ms, 200);
    assert_int_equal(right->x, 5);
    assert_int_equal(right->visits, 1);
    assert_int_equal(right->jank_ms, 0);
    assert_in_range(right->dwell_ms, 999, 1001);
}

static void a_wide_walk_is_kept_in_larger_squares(void **state)
{
    uint64_t t = 0;
    int64_t visits = 0;

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "city", "harbor");
    for (int i = 0; i < 4 * CELLS_PER_MAP; i++) {
        sb_position(b, t, (float)i * 3, 0);
        t = sb_steady(b, t, 2, 16670);
    }
    row_of("");
    assert_in_range(a.contribution.n_cells, CELLS_PER_MAP / 2, CELLS_PER_MAP);
    for (size_t i = 0; i < a.contribution.n_cells; i++) {
        assert_int_equal(a.contribution.cells[i].level, a.contribution.cells[0].level);
        visits += a.contribution.cells[i].visits;
    }
    assert_int_equal(visits, a.contribution.n_cells); /* each entered once */
}

static void an_old_position_speaks_no_more(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "city", "harbor");
    sb_position(b, 0, 1, 1);
    sb_steady(b, 0, 1200, 16670); /* 20 s */
    row_of("");
    assert_int_equal(a.contribution.n_cells, 1);
    assert_in_range(a.contribution.cells[0].dwell_ms, CELL_HOLDS_US / 1000 - 20,
                    CELL_HOLDS_US / 1000 + 20);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_session_tells_each_figure_once),
        T(a_scene_tells_what_the_phone_was_like_while_it_was_there),
        T(a_scene_is_slow_by_its_own_frames_after_the_first_minute),
        T(few_frames_say_nothing_of_percentiles),
        T(an_excluded_session_tells_nothing),
        T(memory_is_of_the_platform),
        T(every_metric_has_a_name_that_finds_it),
        T(sums_are_read_as_they_were_written_and_add_up),
        T(cut_sums_are_refused_and_change_nothing),
        T(squares_count_visits_and_janks),
        T(a_wide_walk_is_kept_in_larger_squares),
        T(an_old_position_speaks_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
