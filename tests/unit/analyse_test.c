#include "profile/analyse.h"
#include "support/analysed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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

/* The result of the one part that the builder holds. */
static const struct session_result *analysed(void)
{
    a.n = 0;
    analysed_add(&a, b);
    analysed_run(&a);
    return &a.result;
}

/* Slices --------------------------------------------------------------------------------------- */

static void sums_valid_frames_by_scene_and_in_all(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(20000, 30000, 150000, 300000, 40000, 600000, 99000000));
    sb_scene(b, 50000, "battle", "frost"); /* from the third on */
    sb_scene(b, 540000, "lobby", "");      /* the 600 ms one, and the invalid one */

    const struct session_result *r = analysed();

    assert_int_equal(r->n_slices, 3);

    const struct slice *all = &r->slices[0], *battle = &r->slices[1], *lobby = &r->slices[2];

    assert_string_equal(all->scene, "");
    assert_string_equal(battle->scene, "battle/frost");
    assert_string_equal(lobby->scene, "lobby/");
    assert_int_equal(all->frames, 6);
    assert_int_equal(all->frame_sum_us, 1140000);
    assert_int_equal(all->frame_max_us, 600000);
    assert_int_equal(all->janks[0], 3);
    assert_int_equal(all->janks[1], 1);
    assert_int_equal(all->janks[2], 1);
    assert_int_equal(all->janks[3], 1);
    assert_int_equal(all->jank_us, 1050000);
    assert_int_equal(battle->frames, 3);
    assert_int_equal(battle->frame_sum_us, 490000);
    assert_int_equal(battle->janks[0], 2);
    assert_int_equal(battle->frame_max_us, 300000);
    assert_int_equal(lobby->frames, 1);
    assert_int_equal(lobby->janks[3], 1);
    assert_int_equal(sketch_total(&all->sketch), 6);
    assert_int_equal(all->missed_frames, 4); /* 40 ms is over 33.3 too */
    assert_int_equal(all->foreground_us, 100140000);
    assert_int_equal(battle->foreground_us, 490000);
    assert_int_equal(lobby->foreground_us, 99600000);
}

static void foreground_time_is_split_where_the_scene_changes(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 1 * SECOND, "a", "x");
    sb_lifecycle(b, 2 * SECOND, LIFE_BACKGROUND, 0);
    sb_scene(b, 3 * SECOND, "b", "x"); /* changes in the background */
    sb_lifecycle(b, 4 * SECOND, LIFE_FOREGROUND, 0);
    sb_scene(b, 7 * SECOND, "a", "x");
    sb_end(b, 10 * SECOND, END_STOPPED);

    const struct session_result *r = analysed();

    assert_int_equal(r->slices[0].foreground_us, 8 * SECOND);
    assert_int_equal(r->slices[1].foreground_us, (1 + 3) * SECOND); /* a */
    assert_int_equal(r->slices[2].foreground_us, 3 * SECOND);       /* b */
}

static int ascending(const void *x, const void *y)
{
    uint32_t p = *(const uint32_t *)x, q = *(const uint32_t *)y;

    return p < q ? -1 : p > q;
}

static void percentiles_are_within_one_percent_of_a_sort_of_the_frames(void **state)
{
    enum { N = 5000 };
    static uint32_t times[N];
    const double quantiles[] = {0.5, 0.9, 0.95, 0.99};

    (void)state;
    srand(11);
    for (size_t i = 0; i < N; i++)
        times[i] = (uint32_t)(1400 + rand() % 600 + rand() % 800) * 10;
    sb_part(b, 0, 0);
    sb_frames(b, 0, times, N);

    const struct session_result *r = analysed();

    qsort(times, N, sizeof *times, ascending);
    for (size_t i = 0; i < 4; i++) {
        double exact = times[(size_t)(quantiles[i] * (N - 1) + 0.5)];

        assert_true(fabs(sketch_quantile_us(&r->slices[0].sketch, quantiles[i]) / exact - 1) <
                    0.01);
    }
}

static void a_session_is_slow_when_over_a_quarter_of_its_later_frames_is(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        sb_part(b, 0, 0);
        sb_steady(b, 0, 100, 51000); /* the first minute does not count */
        sb_steady(b, 60 * SECOND, 75, 50000);
        sb_steady(b, 70 * SECOND, (size_t)(25 + slow), 50010);

        const struct session_result *r = analysed();

        assert_int_equal(r->slices[0].slow_frame_base, 100 + slow);
        assert_int_equal(r->slices[0].slow_frames, 25 + slow);
        assert_int_equal(r->slow_session, slow);
    }
}

static void a_session_in_a_touched_process_is_excluded(void **state)
{
    const uint32_t excluding[] = {ENV_ROOTED, ENV_DEBUGGER, ENV_EMULATOR, ENV_REPACKAGED};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        b->environment = excluding[i];
        sb_part(b, 0, 0);
        assert_true(analysed()->excluded);
    }
    b->environment = ENV_DEVELOPER_MODE;
    sb_part(b, 0, 0);
    assert_false(analysed()->excluded);
}

static void tells_crash_and_feedback(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    assert_false(analysed()->has_crash);
    assert_false(a.result.has_feedback);
    sb_crash(b, 1, 11, "SIGSEGV", 0);
    sb_feedback(b, 2, "lag", "slow");
    assert_true(analysed()->has_crash);
    assert_true(a.result.has_feedback);
}

/* Summary ----------------------------------------------------------------------------------------
 */

static void a_summary_stands_in_only_where_there_are_no_frames(void **state)
{
    struct sketch whole = {.count = {[139] = 590, [300] = 10}};
    struct sketch battle = {.count = {[139] = 300, [300] = 10}};
    struct part_scene_summary scenes[] = {{"lobby", "hall", 3000, {0, 0, 0}, NULL},
                                          {"battle", "frost", 6000, {4, 3, 2}, &battle}};
    struct part_summary summary = {.foreground_ms = 13000,
                                   .frames = 600,
                                   .frame_sum_us = 12345678,
                                   .frame_max_us = 409000,
                                   .jank_ms = 4000,
                                   .janks = {4, 3, 3},
                                   .sketch = &whole,
                                   .scenes = scenes,
                                   .n_scenes = 2,
                                   .max_battery_millicelsius = 39000,
                                   .peak_memory_kb = 900000};

    (void)state;
    sb_part(b, 0, 0);
    sb_summary(b, &summary);

    const struct session_result *r = analysed();

    assert_true(r->from_summary);
    assert_int_equal(r->n_slices, 3);
    assert_int_equal(r->slices[0].frames, 600);
    assert_int_equal(r->slices[0].frame_sum_us, 12345678);
    assert_int_equal(r->slices[0].foreground_us, 13 * SECOND);
    assert_int_equal(r->slices[0].janks[0], 10);
    assert_int_equal(r->slices[0].jank_us, 4 * SECOND);
    assert_string_equal(r->slices[1].scene, "battle/frost");
    assert_int_equal(r->slices[1].frames, 310);
    assert_int_equal(r->slices[1].janks[2], 3);
    assert_string_equal(r->slices[2].scene, "lobby/hall");
    assert_int_equal(r->peak_battery_millicelsius, 39000);
    assert_int_equal(r->peak_memory_kb, 900000);

    /* Each count at its bucket's value: 300 at about 16.1 ms, 10 at about 402 ms. */
    double expected = 300 * (sketch_bound_us(138) + sketch_bound_us(139)) / 2.0 +
                      10 * (sketch_bound_us(299) + sketch_bound_us(300)) / 2.0;

    assert_true(fabs((double)r->slices[1].frame_sum_us / expected - 1) < 0.001);

    sb_steady(b, 0, 5, 16670);
    r = analysed();
    assert_false(r->from_summary);
    assert_int_equal(r->slices[0].frames, 5);
}

/* Hardware ----------------------------------------------------------------------------------------
 */

static void sums_hardware_of_the_foreground(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 3000, 16670);
    for (unsigned i = 0; i < 10; i++)
        sb_hardware(
            b, i * 5 * SECOND,
            SB_VALUES({HW_pss_kb, 500000 + i * 1000}, {HW_rss_kb, 999999},
                      {HW_battery_millicelsius, 30000 + i * 1000}, {HW_thread_count, 50 + i},
                      {HW_thermal_status, i < 6   ? 0
                                          : i < 8 ? 2
                                                  : 3}),
            SB_CORES(500000, 500000, 500000, 500000, 2000000 - i * 100000, 1000000, 0, 1000000));
    sb_lifecycle(b, 46 * SECOND, LIFE_BACKGROUND, 0);
    sb_hardware(b, 47 * SECOND, SB_VALUES({HW_pss_kb, 900000}, {HW_thread_count, 400}), SB_NONE);

    const struct session_result *r = analysed();

    assert_int_equal(r->peak_memory_kb, 509000);
    assert_int_equal(r->peak_threads, 59);
    assert_int_equal(r->peak_battery_millicelsius, 39000);
    assert_int_equal(r->mean_battery_millicelsius, 34500);
    /* Fastest of the four big cores: 2000, 1900 ... 1100 MHz; the fifth of ten from below */
    assert_int_equal(r->median_khz, 1500000);
    /* While hot: 1400, 1300, 1200, 1100; P10 */
    assert_int_equal(r->throttled_khz, 1100000);
    /* Status 3 at 40 and 45 s: five seconds, and one until background */
    assert_int_equal(r->throttled_us, 6 * SECOND);
}

static void memory_is_the_platforms_own_quantity(void **state)
{
    const char *const platform[] = {"android", "linux", "ios", "unknown"};
    const int64_t expected[] = {111, 222, 333, 111};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        b->platform = platform[i];
        sb_part(b, 0, 0);
        sb_hardware(b, 0,
                    SB_VALUES({HW_pss_kb, 111}, {HW_rss_kb, 222}, {HW_phys_footprint_kb, 333}),
                    SB_NONE);
        sb_step(b, SECOND, "a session has a length");
        assert_int_equal(analysed()->peak_memory_kb, expected[i]);
    }
}

static void what_no_sample_told_is_zero(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 10, 16670);

    const struct session_result *r = analysed();

    assert_int_equal(r->peak_memory_kb, 0);
    assert_int_equal(r->median_khz, 0);
    assert_int_equal(r->throttled_khz, 0);
    assert_int_equal(r->mean_battery_millicelsius, 0);
    assert_int_equal(r->throttled_us, 0);
}

static void one_hot_sample_does_not_throttle_for_hours(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_hardware(b, 0, SB_VALUES({HW_thermal_status, 4}), SB_NONE);
    sb_step(b, 3600 * SECOND, "an hour later");
    assert_int_equal(analysed()->throttled_us, 10 * SECOND);
}

/* Events
 * ------------------------------------------------------------------------------------------- */

static void every_jank_is_an_event_with_its_stacks_and_hardware(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");

    uint32_t stack = sb_text_stack(b, "main", "Inventory.sort", "Game.tick", NULL);
    uint64_t t = sb_steady(b, 0, 300, 16670); /* until 5.001 s */

    for (unsigned i = 0; i < 10; i++)
        sb_hardware(b, i * SECOND, SB_VALUES({HW_thread_count, 90}), SB_NONE);
    sb_jank(b, t + 3, 299990, 2, SB_SAMPLES({t + 110000, stack}, {t + 210000, stack}));
    t = sb_frames(b, t, SB_INTERVALS(300000));
    t = sb_steady(b, t, 100, 16670);
    t = sb_frames(b, t, SB_INTERVALS(90000)); /* PerfDog alone */

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 2);
    assert_int_equal(r->n_events_dropped, 0);

    const struct jank_event *e = &r->events[0];

    assert_int_equal(e->start_us, 5001000);
    assert_int_equal(e->duration_us, 300000);
    assert_int_equal(e->level, JANK_NORMAL);
    assert_true(e->from_frames && e->perfdog_jank && e->perfdog_big);
    assert_string_equal(a.session.scenes[e->scene].key, "battle/frost");
    assert_int_equal(e->n_samples, 2);
    assert_string_equal(e->samples[0].stack->frames[0].text, "Inventory.sort");
    assert_int_equal(e->hardware_from, 4); /* from 3.001 s: the sample at 4 s */
    assert_int_equal(e->hardware_to, 7);   /* to 6.301 s: 6 s is the last within */
    assert_int_equal(r->events[1].level, JANK_NONE);
    assert_true(r->events[1].perfdog_jank);
    assert_int_equal(r->events[1].n_samples, 0);
}

static void the_hardware_window_holds_both_its_ends(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 10 * SECOND, SB_INTERVALS(200000));
    sb_hardware(b, 8 * SECOND - 1, SB_VALUES({HW_thread_count, 1}), SB_NONE);
    sb_hardware(b, 8 * SECOND, SB_VALUES({HW_thread_count, 2}), SB_NONE);
    sb_hardware(b, 11200000, SB_VALUES({HW_thread_count, 3}), SB_NONE);
    sb_hardware(b, 11200001, SB_VALUES({HW_thread_count, 4}), SB_NONE);

    const struct session_result *r = analysed();

    assert_int_equal(r->events[0].hardware_from, 1);
    assert_int_equal(r->events[0].hardware_to, 3);
}

static void a_jank_packet_belongs_to_the_frame_it_covers_most(void **state)
{
    (void)state;
    sb_part(b, 0, 0);

    uint32_t first = sb_text_stack(b, "main", "first", NULL);
    uint32_t second = sb_text_stack(b, "main", "second", NULL);

    /* Two janks in a row, their packets a little off. */
    sb_frames(b, 0, SB_INTERVALS(200000, 300000));
    sb_jank(b, 5, 200010, 1, SB_SAMPLES({100000, first}));
    sb_jank(b, 200015, 299000, 2, SB_SAMPLES({300000, second}));

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 2);
    assert_string_equal(r->events[0].samples[0].stack->frames[0].text, "first");
    assert_string_equal(r->events[1].samples[0].stack->frames[0].text, "second");
}

static void a_neighbours_packet_is_not_taken(void **state)
{
    (void)state;
    sb_part(b, 0, 0);

    uint32_t stack = sb_text_stack(b, "main", "second", NULL);

    sb_frames(b, 0, SB_INTERVALS(200000, 300000));
    sb_jank(b, 199995, 300005, 2, SB_SAMPLES({300000, stack}));
    assert_int_equal(analysed()->events[0].n_samples, 0);
    assert_int_equal(a.result.events[1].n_samples, 1);
}

static void a_jank_packet_where_no_frames_came_is_an_event_of_its_own(void **state)
{
    (void)state;
    sb_part(b, 0, 0);

    uint32_t stack = sb_text_stack(b, "main", "Hang.forever", NULL);
    uint64_t t = sb_steady(b, 0, 60, 16670);

    sb_jank(b, t, 5000000, 3, SB_SAMPLES({t + 100000, stack})); /* killed within it */

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 1);
    assert_false(r->events[0].from_frames);
    assert_int_equal(r->events[0].level, JANK_SEVERE);
    assert_int_equal(r->events[0].n_samples, 1);
    assert_int_equal(r->slices[0].janks[0], 0); /* counts are of frames */
}

static void a_jank_packet_that_frames_contradict_is_none(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 60, 16670);
    sb_jank(b, 300000, 200000, 1, SB_NONE);
    sb_frames(b, 2 * SECOND, SB_INTERVALS(84000));
    sb_jank(b, 2 * SECOND, 150000, 1, SB_NONE); /* the frame fills half of it */
    assert_int_equal(analysed()->n_events, 0);
}

static void jank_packets_away_from_the_foreground_are_none(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_lifecycle(b, 10 * SECOND, LIFE_BACKGROUND, 0);
    sb_lifecycle(b, 20 * SECOND, LIFE_FOREGROUND, 0);
    sb_lifecycle(b, 30 * SECOND, LIFE_SUSPENDED, 3600000);
    sb_jank(b, 5 * SECOND, 200000, 1, SB_NONE);  /* counts */
    sb_jank(b, 9900000, 200000, 1, SB_NONE);     /* reaches into the background */
    sb_jank(b, 15 * SECOND, 200000, 1, SB_NONE); /* in it */
    sb_jank(b, 29900000, 200000, 1, SB_NONE);    /* across the suspension */
    sb_jank(b, 40 * SECOND, 90000, 1, SB_NONE);  /* too short */
    sb_step(b, 50 * SECOND, "later");

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 1);
    assert_int_equal(r->events[0].start_us, 5 * SECOND);
}

static void jank_packets_that_overlap_each_other_are_one_event(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_jank(b, SECOND, 200000, 1, SB_NONE);
    sb_jank(b, SECOND, 900000, 1, SB_NONE); /* so far, later */
    sb_jank(b, SECOND + 100, 300000, 1, SB_NONE);

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 1);
    assert_int_equal(r->events[0].duration_us, 900000);
}

static void of_too_many_janks_the_longest_are_kept(void **state)
{
    static uint32_t times[MAX_JANK_EVENTS + 100];

    (void)state;
    for (uint32_t i = 0; i < MAX_JANK_EVENTS + 100; i++)
        times[i] = i < 100 ? 110000 : 120000;
    sb_part(b, 0, 0);
    sb_frames(b, 0, times, MAX_JANK_EVENTS + 100);

    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, MAX_JANK_EVENTS);
    assert_int_equal(r->n_events_dropped, 100);
    assert_int_equal(r->slices[0].janks[0], MAX_JANK_EVENTS + 100);
    assert_int_equal(r->events[0].duration_us, 120000);
    for (size_t i = 1; i < r->n_events; i++)
        assert_true(r->events[i - 1].start_us < r->events[i].start_us);
}

/* Causes
 * -------------------------------------------------------------------------------------------- */

/* A jank of 300 ms at 20.004 s, after steady frames. */
static void play_to_a_jank(void)
{
    sb_part(b, 0, 0);
    sb_frames(b, sb_steady(b, 0, 1200, 16670), SB_INTERVALS(300000));
}

static void assert_cause(enum jank_cause cause, const char *evidence)
{
    const struct session_result *r = analysed();

    assert_int_equal(r->n_events, 1);
    assert_string_equal(jank_cause_name[r->events[0].cause], jank_cause_name[cause]);
    if (!strstr(r->events[0].evidence, evidence))
        fail_msg("\"%s\" is not in \"%s\"", evidence, r->events[0].evidence);
}

#define CORES(little, big) SB_CORES(little, little, little, little, big, big, big, big)

static void low_clocks_on_a_hot_phone_are_throttling(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 5 * SECOND, SB_VALUES({HW_battery_millicelsius, 38000}),
                CORES(1800000, 2419000));
    sb_hardware(b, 19 * SECOND, SB_VALUES({HW_battery_millicelsius, 44100}, {HW_thermal_status, 3}),
                CORES(1800000, 1200000));
    assert_cause(CAUSE_throttled, "big cores 2419 -> 1200 MHz at 44.1 °C, thermal status 3");
}

static void low_clocks_on_a_cool_phone_are_not(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 5 * SECOND, SB_VALUES({HW_battery_millicelsius, 34000}),
                CORES(1800000, 2400000));
    sb_hardware(b, 19 * SECOND, SB_VALUES({HW_battery_millicelsius, 34500}), CORES(600000, 800000));
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void a_hot_phone_at_full_clocks_is_not_throttled(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 5 * SECOND, SB_VALUES({HW_thermal_status, 3}), CORES(1800000, 2400000));
    sb_hardware(b, 19 * SECOND, SB_VALUES({HW_thermal_status, 3}), CORES(1800000, 1930000));
    assert_cause(CAUSE_unknown, "");
    sb_hardware(b, 6 * SECOND, SB_VALUES({HW_thermal_status, 3}), CORES(1800000, 2420000));
    assert_cause(CAUSE_throttled, "2420 -> 1930"); /* 20.2 % */
}

/* iOS tells no frequencies. 600 frames at `cool_us`, 600 at `hot_us`, a jank at the end. */
static void play_while_it_grows_hot(uint32_t cool_us, uint32_t hot_us, int64_t cool, int64_t hot)
{
    uint64_t t, end;

    sb_part(b, 0, 0);
    t = sb_steady(b, 0, 600, cool_us);
    end = sb_steady(b, t, 600, hot_us);
    sb_frames(b, end, SB_INTERVALS(300000));
    for (uint64_t at = 0; at < t; at += 5 * SECOND)
        sb_hardware(b, at, SB_VALUES({HW_thermal_status, cool}), SB_NONE);
    for (uint64_t at = t; at <= end; at += SECOND)
        sb_hardware(b, at, SB_VALUES({HW_thermal_status, hot}), SB_NONE);
}

static void without_clocks_longer_frames_on_a_hot_phone_are_throttling(void **state)
{
    (void)state;
    play_while_it_grows_hot(16670, 25000, 0, 3);
    assert_cause(CAUSE_throttled, "frames 16.7 -> 25.0 ms in this scene, thermal status 3");
    play_while_it_grows_hot(16670, 25000, 0, 1); /* risen */
    assert_cause(CAUSE_throttled, "thermal status 1");
}

static void a_game_that_aims_lower_when_it_is_hot_is_not_throttled(void **state)
{
    const uint32_t target_us = b->target_interval_us;

    (void)state;
    sb_part(b, 0, 0);
    sb_hardware(b, 0, SB_VALUES({HW_thermal_status, 0}), SB_NONE);
    uint64_t t = sb_steady(b, 0, 600, 16670);
    b->target_interval_us = 33333;
    uint64_t end = sb_steady(b, t, 300, 33330);
    sb_frames(b, end, SB_INTERVALS(300000));
    b->target_interval_us = target_us;
    for (; t <= end; t += SECOND)
        sb_hardware(b, t, SB_VALUES({HW_thermal_status, 3}), SB_NONE);
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void without_clocks_heat_alone_or_longer_frames_alone_are_not(void **state)
{
    (void)state;
    play_while_it_grows_hot(16670, 16670, 0, 4);
    assert_cause(CAUSE_unknown, "nothing stands out");
    play_while_it_grows_hot(16670, 25000, 0, 0);
    assert_cause(CAUSE_unknown, "nothing stands out");
    play_while_it_grows_hot(16670, 25000, 3, 3); /* hot from the start: nothing to compare with */
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void a_heavier_scene_on_a_hot_phone_is_not_throttling(void **state)
{
    (void)state;
    play_while_it_grows_hot(16670, 25000, 0, 3);
    sb_scene(b, 600 * 16670, "battle", "frost");
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void a_warning_of_low_memory_is_pressure(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_lifecycle(b, 18500000, LIFE_LOW_MEMORY, 0);
    assert_cause(CAUSE_memory_pressure, "low memory at 18.5 s");
}

static void growing_swap_is_memory_pressure(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 15 * SECOND, SB_VALUES({HW_swap_kb, 100 * 1024}), SB_NONE);
    sb_hardware(b, 20 * SECOND, SB_VALUES({HW_swap_kb, 130 * 1024}), SB_NONE);
    assert_cause(CAUSE_memory_pressure, "swap grew by 30 MB to 130 MB");
}

static void anonymous_memory_near_the_phones_is_pressure(void **state)
{
    (void)state;
    b->ram_mb = 2048;
    play_to_a_jank();
    sb_hardware(b, 20 * SECOND, SB_VALUES({HW_rss_anon_kb, 1200 * 1024}, {HW_swap_kb, 100 * 1024}),
                SB_NONE);
    assert_cause(CAUSE_memory_pressure, "1300 MB of anonymous memory and swap on 2048 MB of RAM");
}

static void many_new_threads_are_an_explosion(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 15 * SECOND, SB_VALUES({HW_thread_count, 90}), SB_NONE);
    sb_hardware(b, 20500000, SB_VALUES({HW_thread_count, 140}), SB_NONE);
    assert_cause(CAUSE_thread_explosion, "threads 90 -> 140");
}

static void a_falling_java_heap_is_garbage_collection(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 15 * SECOND, SB_VALUES({HW_java_heap_kb, 182 * 1024}), SB_NONE);
    sb_hardware(b, 20500000, SB_VALUES({HW_java_heap_kb, 131 * 1024}), SB_NONE);
    assert_cause(CAUSE_garbage_collection, "Java heap 182 -> 131 MB");
}

static void a_collector_in_the_stack_is_garbage_collection(void **state)
{
    (void)state;
    play_to_a_jank();

    uint32_t stack = sb_text_stack(b, "main", "memset", "luaC_fullgc", "Game.tick", NULL);

    sb_jank(b, 20004000, 300000, 2, SB_SAMPLES({20110000, stack}));
    sb_lifecycle(b, 18500000, LIFE_LOW_MEMORY, 0); /* seen directly comes first */
    assert_cause(CAUSE_garbage_collection, "in luaC_fullgc");
}

/* The innermost managed frames are looked at, however many native ones are further in. */
static void a_collector_that_native_frames_stand_before_is_garbage_collection(void **state)
{
    struct sb_stack_frame frames[12 + 9] = {{0}};
    const size_t n = sizeof frames / sizeof *frames;
    uint32_t stack;

    (void)state;
    play_to_a_jank();
    for (size_t i = 0; i < 12; i++)
        frames[i] = (struct sb_stack_frame){.offset = 0x1000 + i};
    for (size_t i = 12; i < n; i++)
        frames[i].text = i == 12 + 7 ? "java.lang.System.gc" : "Game.tick"; /* the eighth */
    stack = sb_stack(b, "main", frames, n);
    sb_jank(b, 20004000, 300000, 2, SB_SAMPLES({20110000, stack}));
    assert_cause(CAUSE_garbage_collection, "in java.lang.System.gc");
}

static void a_slow_gpu_is_gpu_bound(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 20400000, SB_VALUES({HW_gpu_time_us, 250000}), SB_NONE);
    assert_cause(CAUSE_gpu_bound, "GPU 250 ms of a frame of 300 ms");
}

static void gpu_time_of_a_longer_frame_does_not_explain_a_jank(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 20400000, SB_VALUES({HW_gpu_time_us, 700000}), SB_NONE);
    assert_cause(CAUSE_unknown, "nothing stands out");
    sb_hardware(b, 20600000, SB_VALUES({HW_gpu_time_us, 310000}), SB_NONE);
    assert_cause(CAUSE_gpu_bound, "GPU 310 ms of a frame of 300 ms");
}

static void main_thread(uint64_t t_us, int64_t ran_us, int64_t waited_us)
{
    sb_hardware(b, t_us, SB_VALUES({HW_main_cpu_us, ran_us}, {HW_main_wait_us, waited_us}),
                SB_NONE);
}

static void a_main_thread_without_a_core_waits(void **state)
{
    (void)state;
    play_to_a_jank();
    main_thread(20050000, 1000000, 500000);
    main_thread(20250000, 1060000, 640000);
    assert_cause(CAUSE_main_waiting, "main thread waited 140 of 200 ms for a core");
}

static void a_main_thread_that_neither_runs_nor_could_is_blocked(void **state)
{
    (void)state;
    play_to_a_jank();
    main_thread(20050000, 1000000, 500000);
    main_thread(20250000, 1012000, 501000);
    assert_cause(CAUSE_main_waiting, "main thread ran 12 of 200 ms: blocked");
}

static void a_main_thread_that_runs_throughout_is_cpu_bound(void **state)
{
    (void)state;
    play_to_a_jank();
    main_thread(20050000, 1000000, 500000);
    main_thread(20250000, 1190000, 501000);
    assert_cause(CAUSE_cpu_bound, "main thread ran 190 of 200 ms");
}

static void samples_far_around_a_jank_say_nothing_of_its_main_thread(void **state)
{
    (void)state;
    play_to_a_jank();
    main_thread(19000000, 1000000, 500000); /* 2.2 s around 300 ms */
    main_thread(21200000, 1010000, 501000);
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void counters_that_run_backwards_say_nothing(void **state)
{
    (void)state;
    play_to_a_jank();
    main_thread(20050000, 1000000, 500000);
    main_thread(20250000, 900000, 100000);
    assert_cause(CAUSE_unknown, "");
}

static void a_stack_that_waits_is_a_waiting_main_thread(void **state)
{
    (void)state;
    play_to_a_jank();

    uint32_t stack = sb_text_stack(b, "main", "java.lang.Object.wait", "Save.flush", NULL);

    sb_jank(b, 20004000, 300000, 2, SB_SAMPLES({20110000, stack}));
    assert_cause(CAUSE_main_waiting, "in java.lang.Object.wait");
}

static void busy_cores_are_cpu_bound(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 20100000, SB_VALUES({HW_total_cpu_permille, 960}), SB_NONE);
    assert_cause(CAUSE_cpu_bound, "all cores together 96 % busy");
}

static void without_samples_the_cause_is_unknown(void **state)
{
    (void)state;
    play_to_a_jank();
    assert_cause(CAUSE_unknown, "no hardware sample near it");
}

static void invalid_values_are_no_evidence(void **state)
{
    (void)state;
    play_to_a_jank();
    sb_hardware(b, 5 * SECOND, SB_NONE, CORES(1800000, 99000000));
    sb_hardware(b, 20 * SECOND,
                SB_VALUES({HW_battery_millicelsius, 200000}, {HW_thermal_status, 77},
                          {HW_total_cpu_permille, 5000}, {HW_gpu_time_us, 4000000000}),
                CORES(1800000, 1200000));
    assert_cause(CAUSE_unknown, "nothing stands out");
}

static void evidence_is_clean_text_however_long_the_frame(void **state)
{
    char longer[400] = "System.gc";

    (void)state;
    for (size_t i = 9; i + 2 < sizeof longer; i += 2)
        memcpy(longer + i, "\xc3\xa9", 2);
    play_to_a_jank();

    uint32_t stack = sb_text_stack(b, "main", longer, NULL);

    sb_jank(b, 20004000, 300000, 2, SB_SAMPLES({20110000, stack}));
    assert_cause(CAUSE_garbage_collection, "in System.gc");

    const char *text = a.result.events[0].evidence;

    assert_true(strlen(text) < 256);
    assert_true(text[strlen(text) - 1] == '?' || text[strlen(text) - 1] == '\xa9');
}

static void any_failed_allocation_is_told(void **state)
{
    struct arena *own = arena_new(64 << 20);
    struct session_result r = {.n_slices = 77};
    struct err err;
    size_t nth = 1;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 120, 1);
    sb_lifecycle(b, 11500000, LIFE_LOW_MEMORY, 0);
    analysed();
    for (;; nth++) {
        arena_reset(own);
        arena_fail_at(own, nth);
        if (session_analyse(&a.session, own, &r, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
        assert_int_equal(r.n_slices, 77);
    }
    assert_true(nth > 6);
    arena_free(own);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(sums_valid_frames_by_scene_and_in_all),
        T(foreground_time_is_split_where_the_scene_changes),
        T(percentiles_are_within_one_percent_of_a_sort_of_the_frames),
        T(a_session_is_slow_when_over_a_quarter_of_its_later_frames_is),
        T(a_session_in_a_touched_process_is_excluded),
        T(tells_crash_and_feedback),
        T(a_summary_stands_in_only_where_there_are_no_frames),
        T(sums_hardware_of_the_foreground),
        T(memory_is_the_platforms_own_quantity),
        T(what_no_sample_told_is_zero),
        T(one_hot_sample_does_not_throttle_for_hours),
        T(every_jank_is_an_event_with_its_stacks_and_hardware),
        T(the_hardware_window_holds_both_its_ends),
        T(a_jank_packet_belongs_to_the_frame_it_covers_most),
        T(a_neighbours_packet_is_not_taken),
        T(a_jank_packet_where_no_frames_came_is_an_event_of_its_own),
        T(a_jank_packet_that_frames_contradict_is_none),
        T(jank_packets_away_from_the_foreground_are_none),
        T(jank_packets_that_overlap_each_other_are_one_event),
        T(of_too_many_janks_the_longest_are_kept),
        T(low_clocks_on_a_hot_phone_are_throttling),
        T(low_clocks_on_a_cool_phone_are_not),
        T(a_hot_phone_at_full_clocks_is_not_throttled),
        T(without_clocks_longer_frames_on_a_hot_phone_are_throttling),
        T(without_clocks_heat_alone_or_longer_frames_alone_are_not),
        T(a_game_that_aims_lower_when_it_is_hot_is_not_throttled),
        T(a_heavier_scene_on_a_hot_phone_is_not_throttling),
        T(a_warning_of_low_memory_is_pressure),
        T(growing_swap_is_memory_pressure),
        T(anonymous_memory_near_the_phones_is_pressure),
        T(many_new_threads_are_an_explosion),
        T(a_falling_java_heap_is_garbage_collection),
        T(a_collector_in_the_stack_is_garbage_collection),
        T(a_collector_that_native_frames_stand_before_is_garbage_collection),
        T(a_slow_gpu_is_gpu_bound),
        T(gpu_time_of_a_longer_frame_does_not_explain_a_jank),
        T(a_main_thread_without_a_core_waits),
        T(a_main_thread_that_neither_runs_nor_could_is_blocked),
        T(a_main_thread_that_runs_throughout_is_cpu_bound),
        T(samples_far_around_a_jank_say_nothing_of_its_main_thread),
        T(counters_that_run_backwards_say_nothing),
        T(a_stack_that_waits_is_a_waiting_main_thread),
        T(busy_cores_are_cpu_bound),
        T(without_samples_the_cause_is_unknown),
        T(invalid_values_are_no_evidence),
        T(evidence_is_clean_text_however_long_the_frame),
        T(any_failed_allocation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
