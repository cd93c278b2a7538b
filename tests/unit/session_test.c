#include "profile/session.h"
#include "support/analysed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
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

/* The session of the one part that the builder holds. */
static const struct session *merged(void)
{
    analysed_add(&a, b);
    analysed_run(&a);
    return &a.session;
}

static void assert_states(const struct session *s, const char *states)
{
    assert_int_equal(s->n_frames, strlen(states));
    for (size_t i = 0; states[i]; i++)
        if ("VBSIO"[s->frames[i].state] != states[i])
            fail_msg("frame %zu is %c, expected %c", i, "VBSIO"[s->frames[i].state], states[i]);
}

static void parts_of_one_session_make_one_row_of_frames(void **state)
{
    (void)state;
    sb_part(b, 1, 30 * SECOND);
    sb_steady(b, 30 * SECOND, 3, 16670);
    analysed_add(&a, b);
    sb_part(b, 0, 0);
    sb_steady(b, 0, 2, 33330);
    analysed_add(&a, b);
    analysed_run(&a);
    assert_int_equal(a.session.n_parts, 2);
    assert_int_equal(a.session.header.part, 0);
    assert_states(&a.session, "VVVVV");
    assert_int_equal(a.session.frames[1].start_us, 33330);
    assert_int_equal(a.session.frames[2].start_us, 30 * SECOND);
    assert_int_equal(a.session.frames[4].interval_us, 16670);
    assert_int_equal(a.session.end_us, 30 * SECOND + 3 * 16670);
}

static void parts_of_two_sessions_are_refused(void **state)
{
    struct session_builder *other = sb_new(43);
    struct session s = {.n_parts = 77};
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    analysed_add(&a, b);
    sb_part(other, 1, 0);
    analysed_add(&a, other);
    assert_false(session_merge(a.files, 2, a.mem, &s, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_false(session_merge(a.files, 0, a.mem, &s, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(s.n_parts, 77);
    sb_free(other);
}

static void of_files_with_one_part_number_the_most_complete_counts(void **state)
{
    size_t n;

    (void)state;
    sb_part(b, 0, 0);
    sb_steady(b, 0, 10, 16670);

    size_t whole = sb_slice(b);

    sb_steady(b, SECOND, 5, 16670);
    analysed_add(&a, b);

    const unsigned char *bytes = sb_bytes(b, &n);
    struct err err;

    /* The same file, cut: as sent before the crash. */
    assert_true(part_decode(bytes, whole + 3, &part_limits_default, a.mem, &a.parts[1], &err));
    a.files[1] = (struct session_part){&a.parts[1], {9}};
    a.n = 2;
    analysed_run(&a);
    assert_int_equal(a.session.n_frames, 15);
    assert_int_equal(a.session.n_superseded, 1);
    assert_int_equal(a.session.n_truncated, 0);
    a.n = 1;
    a.files[0] = a.files[1];
    analysed_run(&a);
    assert_int_equal(a.session.n_frames, 10);
    assert_int_equal(a.session.n_truncated, 1);
}

static void of_equally_long_files_the_greater_sha256_counts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        sb_part(b, 0, 0);
        sb_step(b, i, "step");
        analysed_add(&a, b);
    }
    assert_int_equal(a.parts[0].whole_bytes, a.parts[1].whole_bytes);

    uint64_t greater = memcmp(a.files[0].sha256, a.files[1].sha256, 32) > 0 ? 0 : 1;

    analysed_run(&a);
    assert_int_equal(a.session.n_steps, 1);
    assert_int_equal(a.session.steps[0].t_us, greater);
}

static void a_part_of_another_build_or_device_is_left_out_and_counted(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_step(b, 1, "here");
    analysed_add(&a, b);
    b->version_name = "9.9.9";
    sb_part(b, 1, 0);
    sb_step(b, 2, "foreign build");
    analysed_add(&a, b);
    b->version_name = "1.0.0";
    b->model = "Phone 2";
    sb_part(b, 2, 0);
    sb_step(b, 3, "foreign device");
    analysed_add(&a, b);
    b->model = "Phone 1";
    b->refresh_millihertz = 120000; /* a display may change its rate */
    sb_part(b, 3, 0);
    sb_step(b, 4, "here");
    analysed_add(&a, b);
    analysed_run(&a);
    assert_int_equal(a.session.invalid[INVALID_foreign_header], 2);
    assert_int_equal(a.session.n_parts, 2);
    assert_int_equal(a.session.n_steps, 2);
    assert_int_equal(a.session.steps[1].t_us, 4);
}

static void what_any_part_says_of_its_environment_counts(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    analysed_add(&a, b);
    b->environment = ENV_DEBUGGER;
    sb_part(b, 1, 0);
    analysed_add(&a, b);
    analysed_run(&a);
    assert_int_equal(a.session.header.environment, ENV_DEBUGGER);
    assert_int_equal(a.session.header.n_evidence, 1);
}

static void frames_outside_the_foreground_are_background(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(500000, 500000, 500000, 500000, 500000, 500000, 500000));
    sb_lifecycle(b, 1200000, LIFE_BACKGROUND, 0);
    sb_lifecycle(b, 1300000, LIFE_BACKGROUND, 0); /* told twice */
    sb_lifecycle(b, 2000000, LIFE_FOREGROUND, 0);
    sb_lifecycle(b, 2100000, LIFE_FOREGROUND, 0);
    sb_lifecycle(b, 3000000, LIFE_BACKGROUND, 0);

    const struct session *s = merged();

    assert_states(s, "VVBBVVB");
    assert_int_equal(s->n_foreground, 2);
    assert_int_equal(s->foreground[0].from_us, 0);
    assert_int_equal(s->foreground[0].to_us, 1200000);
    assert_int_equal(s->foreground[1].from_us, 2000000);
    assert_int_equal(s->foreground[1].to_us, 3000000);
    assert_int_equal(s->frames_by_state[FRAME_BACKGROUND], 3);
    assert_int_equal(s->invalid[INVALID_frame_out_of_bounds], 0);
}

static void a_frame_across_a_suspension_is_suspended(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(100000, 100000, 100000, 100000));
    sb_lifecycle(b, 50000, LIFE_LOW_MEMORY, 0);
    sb_lifecycle(b, 150000, LIFE_SUSPENDED, 3600000);
    sb_lifecycle(b, 200000, LIFE_SUSPENDED, 1000); /* right where the third begins */
    assert_states(merged(), "VSSV");
}

static void frames_out_of_bounds_are_invalid_and_stay_in_the_row(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(16670, 0, 90, 100, 60000000, 60000010, 99000000, 16670));

    const struct session *s = merged();

    assert_states(s, "VIIVVIIV");
    assert_int_equal(s->invalid[INVALID_frame_out_of_bounds], 4);
    assert_int_equal(s->frames[7].start_us, 16670 + 90 + 100 + 60000000 + 60000010 + 99000000);
}

static void negative_frame_times_are_invalid(void **state)
{
    const int32_t deltas[] = {1667, -5000, 5000};

    (void)state;
    sb_part(b, 0, 0);
    sb_deltas(b, 0, deltas, 3);
    assert_states(merged(), "VIV");
}

static void frames_that_begin_before_the_row_before_ends_overlap(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(100000, 100000, 100000));
    sb_frames(b, 150000, SB_INTERVALS(100000, 100000));
    sb_frames(b, 350000, SB_INTERVALS(100000));

    const struct session *s = merged();

    /* by start: 0 v, 100 v, 150 o, 200 v, 250 o, 350 v */
    assert_states(s, "VVOVOV");
    assert_int_equal(s->invalid[INVALID_frame_overlap], 2);
    for (size_t i = 1; i < s->n_frames; i++)
        assert_true(s->frames[i - 1].start_us <= s->frames[i].start_us);
}

static void rounding_between_rows_is_no_overlap(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(16670));
    sb_frames(b, 16664, SB_INTERVALS(16670));

    const struct session *s = merged();

    assert_states(s, "VV");
    assert_true(s->frames[0].row_start);
    assert_false(s->frames[1].row_start);
}

static void states_add_up_to_the_frames(void **state)
{
    int64_t sum = 0;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 60, 5);
    sb_frames(b, 30 * SECOND, SB_INTERVALS(0, 16670, 99000000, 16670));
    sb_lifecycle(b, 10 * SECOND, LIFE_BACKGROUND, 0);
    sb_lifecycle(b, 12 * SECOND, LIFE_FOREGROUND, 0);
    sb_lifecycle(b, 20 * SECOND, LIFE_SUSPENDED, 10);

    const struct session *s = merged();

    for (size_t i = 0; i < 5; i++)
        sum += s->frames_by_state[i];
    assert_int_equal(sum, s->n_frames);
    assert_true(s->frames_by_state[FRAME_BACKGROUND] > 50);
    assert_int_equal(s->frames_by_state[FRAME_SUSPENDED], 1);
    assert_true(s->frames_by_state[FRAME_OVERLAP] > 0);
}

static void dropped_frames_add_up_whether_or_not_frames_follow(void **state)
{
    (void)state;
    b->frames_dropped = 7;
    sb_part(b, 0, 0);
    sb_frames(b, 5, SB_INTERVALS(16670));
    sb_frames(b, SECOND, SB_NONE);
    sb_frames(b, MAX_SESSION_US + 1, SB_NONE);
    assert_int_equal(merged()->dropped_frames, 14);
    assert_int_equal(a.session.n_frames, 1);
    assert_int_equal(a.session.invalid[INVALID_time_out_of_range], 1);
}

/* Janks ---------------------------------------------------------------------------------------- */

static void assert_flags(const struct session *s, const char *perfdog, const char *levels)
{
    for (size_t i = 0; perfdog[i]; i++) {
        const struct frame *f = &s->frames[i];
        char is = f->perfdog_big ? 'B' : f->perfdog_jank ? 'J' : '.';

        if (is != perfdog[i] || f->jank != (uint8_t)(levels[i] - '0'))
            fail_msg("frame %zu is %c level %d, expected %c level %c", i, is, f->jank, perfdog[i],
                     levels[i]);
    }
}

static void levels_are_over_100_250_and_500_ms(void **state)
{
    (void)state;
    b->target_interval_us = 0;
    sb_part(b, 0, 0);
    sb_frames(b, 0,
              SB_INTERVALS(100000, 100010, 250000, 250010, 500000, 500010, 60000000, 60000010));

    const struct session *s = merged();
    const uint8_t expected[] = {0, 1, 1, 2, 2, 3, 3, 0};

    for (size_t i = 0; i < 8; i++)
        assert_int_equal(s->frames[i].jank, expected[i]);
}

static void perfdog_jank_is_twice_the_three_before_and_over_84_ms(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    /* mean of three is 40: 84 is not over 84; then 80+: not over; 84.01 > 2 x 40 */
    sb_frames(b, 0, SB_INTERVALS(40000, 40000, 40000, 84000));
    sb_frames(b, SECOND, SB_INTERVALS(40000, 40000, 40000, 84010));
    /* mean 50: 100 is not over twice, 100.01 is */
    sb_frames(b, 2 * SECOND, SB_INTERVALS(50000, 50000, 50000, 100000));
    sb_frames(b, 3 * SECOND, SB_INTERVALS(50000, 50000, 50000, 100010));
    /* 16.67: 84.01 is a jank, 125 no big one, 125.01 is */
    sb_frames(b, 4 * SECOND, SB_INTERVALS(16670, 16670, 16670, 125000));
    sb_frames(b, 5 * SECOND, SB_INTERVALS(16670, 16670, 16670, 125010));
    /* mean 60: 180 is a jank but not over three times */
    sb_frames(b, 6 * SECOND, SB_INTERVALS(60000, 60000, 60000, 180000));
    sb_frames(b, 7 * SECOND, SB_INTERVALS(60000, 60000, 60000, 180010));
    assert_flags(merged(),
                 "......"
                 ".J"
                 "......"
                 ".J"
                 ".."
                 ".J"
                 ".."
                 ".B"
                 ".."
                 ".J"
                 ".."
                 ".B",
                 "000"
                 "0"
                 "000"
                 "0"
                 "000"
                 "0"
                 "000"
                 "1"
                 "000"
                 "1"
                 "000"
                 "1"
                 "000"
                 "1"
                 "000"
                 "1");
}

static void consecutive_perfdog_janks_count_once(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    /* 200 > 2 x 16.67; 300 > 2 x 77.8 and > 3 x 77.8; 300 again: not over 2 x 172 */
    sb_frames(b, 0, SB_INTERVALS(16670, 16670, 16670, 200000, 300000, 300000, 16670));

    const struct session *s = merged();

    assert_flags(s, "...B...", "0001220");
    assert_int_equal(a.result.slices[0].perfdog_janks, 1);
    assert_int_equal(a.result.slices[0].perfdog_stutter_us, 200000);
    assert_int_equal(a.result.slices[0].janks[0], 3);
    assert_int_equal(a.result.slices[0].jank_us, 800000);
}

static void a_big_jank_may_follow_a_jank(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    /* 110: jank, not big. 400 > 3 x 47.8: the first of its kind in the run */
    sb_frames(b, 0, SB_INTERVALS(16670, 16670, 16670, 110000, 400000, 16670));
    merged();
    assert_true(a.session.frames[3].perfdog_jank);
    assert_false(a.session.frames[3].perfdog_big);
    assert_false(a.session.frames[4].perfdog_jank);
    assert_true(a.session.frames[4].perfdog_big);
    assert_int_equal(a.result.slices[0].perfdog_janks, 1);
    assert_int_equal(a.result.slices[0].perfdog_big_janks, 1);
    assert_int_equal(a.result.slices[0].perfdog_stutter_us, 110000);
}

static void without_history_the_cut_alone_decides(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(90000));
    sb_frames(b, 10 * SECOND, SB_INTERVALS(60000, 60000, 90000)); /* only two before it */
    sb_frames(b, 20 * SECOND, SB_INTERVALS(130000));
    sb_frames(b, 30 * SECOND, SB_INTERVALS(60000, 60000, 60000, 90000));
    assert_flags(merged(),
                 "J"
                 "..J"
                 "B"
                 "....",
                 "0"
                 "000"
                 "1"
                 "0000");
}

static void after_background_or_suspension_there_is_no_history(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0,
              SB_INTERVALS(60000, 60000, 60000, 60000, 90000, 60000, 60000, 60000, 60000, 90000));
    sb_lifecycle(b, 190000, LIFE_SUSPENDED, 1000);
    sb_lifecycle(b, 400000, LIFE_BACKGROUND, 0);
    sb_lifecycle(b, 401000, LIFE_FOREGROUND, 0);
    /*  60 60 60 [60 suspended] 90 J | 60 [60 background] 60 60 90 J: two before it */
    assert_states(merged(), "VVVSVVBVVV");
    assert_flags(&a.session, "....J....J", "0000000000");
    assert_true(a.session.frames[4].row_start);
    assert_true(a.session.frames[7].row_start);
    assert_false(a.session.frames[8].row_start);
}

static void history_goes_on_from_slice_to_slice(void **state)
{
    (void)state;
    sb_part(b, 0, 0);

    uint64_t t = sb_frames(b, 0, SB_INTERVALS(60000, 60000, 60000));

    sb_slice(b);
    sb_frames(b, t, SB_INTERVALS(90000)); /* no jank: 90 is under 2 x 60 */
    assert_flags(merged(), "....", "0000");
}

static void history_goes_on_from_part_to_part(void **state)
{
    (void)state;
    sb_part(b, 0, 0);

    uint64_t t = sb_frames(b, 0, SB_INTERVALS(60000, 60000, 60000));

    analysed_add(&a, b);
    sb_part(b, 1, t);
    sb_frames(b, t, SB_INTERVALS(90000));
    assert_flags(merged(), "....", "0000");
}

static void an_overlapping_frame_leaves_history_alone(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(60000, 60000, 60000, 90000));
    sb_frames(b, 100000, SB_INTERVALS(500000)); /* told a second time, otherwise */
    assert_states(merged(), "VVOVV");
    assert_flags(&a.session, ".....", "00000");
}

static void missed_frames_are_judged_by_their_own_target(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(16670, 30000, 33330, 33340, 50000)); /* aims at 16.667 */
    b->target_interval_us = 8333;
    sb_frames(b, SECOND, SB_INTERVALS(8330, 16670));
    b->target_interval_us = 33333;
    sb_frames(b, 2 * SECOND, SB_INTERVALS(33330, 50000, 66670));
    b->target_interval_us = 0;
    b->frames_refresh_millihertz = 90000;
    sb_frames(b, 3 * SECOND, SB_INTERVALS(11110, 22220));
    b->frames_refresh_millihertz = 0; /* the device's 60 Hz */
    sb_frames(b, 4 * SECOND, SB_INTERVALS(16670, 33330));

    const struct session *s = merged();
    const char *expected = "00111"
                           "01"
                           "001"
                           "01"
                           "01";

    for (size_t i = 0; i < s->n_frames; i++)
        if (s->frames[i].missed != (expected[i] == '1'))
            fail_msg("frame %zu of %u us, target %u: missed is %d", i, s->frames[i].interval_us,
                     s->frames[i].target_us, s->frames[i].missed);
}

static void without_a_target_no_frame_is_missed(void **state)
{
    (void)state;
    b->target_interval_us = b->frames_refresh_millihertz = b->refresh_millihertz = 0;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(16670, 500000));
    assert_false(merged()->frames[1].missed);
}

static void only_valid_frames_are_janks(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(16670, 400000, 99000000, 16670));
    sb_lifecycle(b, 100000, LIFE_SUSPENDED, 400);

    const struct session *s = merged();

    assert_states(s, "VSIV");
    assert_flags(s, "....", "0000");
    assert_int_equal(a.result.n_events, 0);
}

/* Scenes ----------------------------------------------------------------------------------------
 */

static void a_frame_belongs_to_the_scene_it_began_in(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_frames(b, 0, SB_INTERVALS(100000, 100000, 100000, 100000, 100000));
    sb_scene(b, 100000, "lobby", "hall");
    sb_scene(b, 250000, "battle", "frost");
    sb_scene(b, 350000, "", "");
    sb_scene(b, 380000, "lobby", "hall");

    const struct session *s = merged();

    assert_int_equal(s->n_scenes, 3);
    assert_string_equal(s->scenes[0].key, "");
    assert_string_equal(s->scenes[1].key, "battle/frost");
    assert_string_equal(s->scenes[2].key, "lobby/hall");
    assert_string_equal(s->scenes[2].mode, "lobby");
    assert_string_equal(s->scenes[2].map, "hall");

    const uint16_t frames[] = {0, 2, 2, 1, 2}, changes[] = {2, 1, 0, 2};

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(s->frames[i].scene, frames[i]);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(s->change_scene[i], changes[i]);
}

static void no_two_scenes_share_a_key(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 1, "a/b", "c");
    sb_scene(b, 2, "a", "b/c");
    sb_scene(b, 3, "a%2Fb", "c");
    sb_scene(b, 4, "a", "");
    sb_scene(b, 5, "", "a");

    const struct session *s = merged();

    assert_int_equal(s->n_scenes, 6);
    for (size_t i = 1; i < s->n_scenes; i++)
        assert_true(strcmp(s->scenes[i - 1].key, s->scenes[i].key) < 0);
    assert_string_equal(s->scenes[s->change_scene[0]].key, "a%2Fb/c");
    assert_string_equal(s->scenes[s->change_scene[0]].mode, "a/b");
    assert_string_equal(s->scenes[s->change_scene[1]].key, "a/b/c");
    assert_string_equal(s->scenes[s->change_scene[2]].key, "a%252Fb/c");
}

static void scenes_past_the_limit_become_one(void **state)
{
    char map[16];

    (void)state;
    sb_part(b, 0, 0);
    for (unsigned i = 0; i < MAX_SESSION_SCENES + 40; i++) {
        snprintf(map, sizeof map, "%u", i % (MAX_SESSION_SCENES + 20));
        sb_scene(b, i * 1000, i % 2 ? "!" : "zone", map);
    }

    const struct session *s = merged();
    size_t other = 0, folded = 0;

    assert_int_equal(s->n_scenes, MAX_SESSION_SCENES + 2);
    while (strcmp(s->scenes[other].key, "%other") != 0)
        other++;
    for (size_t i = 0; i < s->n_scene_changes; i++)
        folded += s->change_scene[i] == other;
    assert_int_equal(folded, 20);
    assert_int_equal(s->invalid[INVALID_too_many_scenes], 20);
    assert_int_not_equal(s->change_scene[MAX_SESSION_SCENES - 1], other);
    assert_int_equal(s->change_scene[MAX_SESSION_SCENES], other);
}

/* Of more stacks than a session may hold the longest janks keep theirs, in whatever order they
 * come. */
static void stacks_are_those_of_the_longest_janks(void **state)
{
    const struct session *s = NULL;
    size_t samples = 0;

    (void)state;
    sb_part(b, 0, 0);
    uint32_t stack = sb_text_stack(b, "main", "Game.tick", NULL);
    struct sb_sample sample[10];

    for (size_t i = 0; i < 10; i++)
        sample[i] = (struct sb_sample){i, stack};
    /* 450 janks of 10 stacks: 50 janks lose theirs, those of 100 ms */
    for (uint64_t i = 0; i < 450; i++)
        sb_jank(b, i * SECOND, i % 9 == 3 ? 100000 : 200000 + i, 1, sample, 10);
    sb_jank(b, 450 * SECOND, 150000, 1, sample, 5);
    s = merged();
    for (size_t i = 0; i < s->n_janks; i++) {
        bool loses = s->janks[i].duration_us <= 150000;

        samples += s->janks[i].n_samples;
        assert_int_equal(s->janks[i].n_samples > 0, !loses);
    }
    assert_int_equal(samples, MAX_SESSION_SAMPLES);
    assert_int_equal(s->invalid[INVALID_too_many_stacks], 505);
}

/* Bounds ----------------------------------------------------------------------------------------
 */

static void values_out_of_bounds_are_invalid_and_counted(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_hardware(b, 1,
                SB_VALUES({HW_battery_millicelsius, 0}, {HW_skin_millicelsius, 41000},
                          {HW_process_cpu_permille, 1001}, {HW_thread_count, 0}, {HW_pss_kb, -1},
                          {HW_main_wait_us, -1}, {HW_rss_anon_kb, 0}),
                SB_CORES(0, 99000000, 1800000, 9999, 10000, 6000000, 6000001));

    const struct session *s = merged();
    const struct hardware_sample *h = &s->hardware[0];

    assert_int_equal(h->present, 1u << HW_skin_millicelsius | 1u << HW_rss_anon_kb);
    assert_int_equal(h->invalid, 1u << HW_battery_millicelsius | 1u << HW_process_cpu_permille |
                                     1u << HW_thread_count | 1u << HW_pss_kb |
                                     1u << HW_main_wait_us);
    assert_int_equal(s->invalid[INVALID_hardware_out_of_bounds], 5);
    assert_int_equal(h->invalid_cores, 1u << 1 | 1u << 3 | 1u << 6);
    assert_int_equal(h->core_khz[1], 0);
    assert_int_equal(h->core_khz[2], 1800000);
    assert_int_equal(s->invalid[INVALID_core_khz_out_of_bounds], 3);
    assert_int_equal(a.parts[0].hardware[0].core_khz[1], 99000000); /* parts stay as they came */
}

static void bounds_are_inclusive_in_every_line_of_the_table(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    for (unsigned f = 0; f < HW_COUNT; f++) {
        enum hardware_field field = (enum hardware_field)f;

        sb_hardware(b, f * 10, SB_VALUES({field, hardware_info[f].low}), SB_NONE);
        sb_hardware(b, f * 10 + 1, SB_VALUES({field, hardware_info[f].high}), SB_NONE);
        if (f != HW_charging) /* true and false are all it can be */
            sb_hardware(b, f * 10 + 2, SB_VALUES({field, hardware_info[f].high + 1}), SB_NONE);
    }

    const struct session *s = merged();

    for (size_t i = 0; i < s->n_hardware; i++) {
        const struct hardware_sample *h = &s->hardware[i];

        assert_int_equal(h->invalid != 0, h->t_us % 10 == 2);
        assert_int_equal(h->present != 0, h->t_us % 10 != 2);
    }
    assert_int_equal(s->invalid[INVALID_hardware_out_of_bounds], HW_COUNT - 1);
}

static void a_sample_told_twice_is_one(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_hardware(b, 5, SB_VALUES({HW_thread_count, 90}), SB_CORES(1000000));
    sb_hardware(b, 5, SB_VALUES({HW_thread_count, 90}), SB_CORES(1000000));
    sb_hardware(b, 5, SB_VALUES({HW_thread_count, 91}), SB_CORES(1000000));
    assert_int_equal(merged()->n_hardware, 2);
}

static void what_happens_after_a_week_is_left_out_and_counted(void **state)
{
    uint64_t week = MAX_SESSION_US;

    (void)state;
    sb_part(b, 0, 0);
    sb_step(b, week, "last");
    sb_step(b, week + 1, "too late");
    sb_hardware(b, UINT64_MAX, SB_VALUES({HW_thread_count, 90}), SB_NONE);
    sb_steady(b, UINT64_MAX - 5, 3, 16670);
    sb_steady(b, week - 16670, 4, 16670); /* the last two begin past it */
    sb_end(b, week + 5, END_STOPPED);

    const struct session *s = merged();

    assert_int_equal(s->n_steps, 1);
    assert_int_equal(s->n_hardware, 0);
    assert_int_equal(s->n_frames, 2);
    assert_false(s->ended);
    assert_int_equal(s->invalid[INVALID_time_out_of_range], 1 + 1 + 3 + 2 + 1);
    assert_int_equal(s->end_us, week);
}

static void an_absurd_wall_clock_is_counted(void **state)
{
    const int64_t bad[] = {
        0, -1, INT64_MIN, INT64_MAX, INT64_C(1420070399999), INT64_C(4102444800001)};
    const int64_t good[] = {INT64_C(1420070400000), INT64_C(4102444800000)};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        b->wall_start_ms = bad[i];
        sb_part(b, 0, 0);
        a.n = 0;
        assert_int_equal(merged()->invalid[INVALID_clock_skew], 1);
    }
    for (size_t i = 0; i < 2; i++) {
        b->wall_start_ms = good[i];
        sb_part(b, 0, 0);
        a.n = 0;
        assert_int_equal(merged()->invalid[INVALID_clock_skew], 0);
    }
}

static void positions_that_are_no_numbers_are_left_out(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_position(b, 1, NAN, 1);
    sb_position(b, 2, 1, INFINITY);
    sb_position(b, 3, 1, 2);

    const struct session *s = merged();

    assert_int_equal(s->n_positions, 1);
    assert_int_equal(s->invalid[INVALID_position_not_finite], 2);
}

static void janks_no_frame_can_have_are_left_out(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_jank(b, 5, 0, 1, SB_NONE);
    sb_jank(b, 6, UINT64_MAX, 3, SB_NONE);
    sb_jank(b, 7, 150000, 1, SB_NONE);

    const struct session *s = merged();

    assert_int_equal(s->n_janks, 1);
    assert_int_equal(s->invalid[INVALID_jank_out_of_bounds], 2);
    assert_int_equal(s->end_us, 150007);
}

static void unknown_packets_are_counted(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_raw_packet(b, "\xfa\x07\x01x", 4);
    assert_int_equal(merged()->invalid[INVALID_unknown_packet], 1);
}

/* The whole
 * ---------------------------------------------------------------------------------------- */

static void time_of_a_part_that_has_not_come_is_no_foreground(void **state)
{
    (void)state;
    sb_part(b, 1, 30 * SECOND);
    sb_steady(b, 30 * SECOND, 60, 16670);
    analysed_add(&a, b);
    sb_part(b, 4, 120 * SECOND);
    sb_step(b, 121 * SECOND, "only this");
    analysed_add(&a, b);
    analysed_run(&a);
    assert_int_equal(a.session.n_foreground, 2);
    assert_int_equal(a.session.foreground[0].from_us, 30 * SECOND);
    assert_int_equal(a.session.foreground[0].to_us, 30 * SECOND + 60 * 16670);
    assert_int_equal(a.session.foreground[1].from_us, 120 * SECOND);
    assert_int_equal(a.session.foreground[1].to_us, 121 * SECOND);
    sb_part(b, 2, 31 * SECOND); /* what is between its neighbours is known now */
    analysed_add(&a, b);
    sb_part(b, 3, 90 * SECOND);
    analysed_add(&a, b);
    analysed_run(&a);
    assert_int_equal(a.session.n_foreground, 1);
    assert_int_equal(a.session.foreground[0].from_us, 30 * SECOND);
    assert_int_equal(a.session.foreground[0].to_us, 121 * SECOND);
}

static void lists_are_in_time_order_whatever_the_parts(void **state)
{
    (void)state;
    sb_part(b, 1, 0);
    sb_step(b, 30, "d");
    sb_step(b, 10, "b");
    analysed_add(&a, b);
    sb_part(b, 0, 0);
    sb_step(b, 20, "c");
    sb_step(b, 10, "a"); /* same moment, lower part: first */
    analysed_add(&a, b);
    analysed_run(&a);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(a.session.steps[i].name[0], "abcd"[i]);
}

static void equal_stacks_of_all_parts_are_listed_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        sb_part(b, i, 0);
        sb_text_stack(b, "main", "A.b", "C.d", NULL);
        sb_text_stack(b, "main", i == 2 ? "X.y" : "E.f", NULL);
        analysed_add(&a, b);
    }
    analysed_run(&a);
    assert_int_equal(a.session.n_stacks, 3);
    assert_true(memcmp(a.session.stacks[0].hash, a.session.stacks[1].hash, 16) < 0);
    assert_true(memcmp(a.session.stacks[1].hash, a.session.stacks[2].hash, 16) < 0);
}

static void the_end_and_the_summary_are_those_of_the_highest_part(void **state)
{
    struct sketch sketch = {.count = {[139] = 60}};
    struct part_summary summary = {.foreground_ms = 1000,
                                   .frames = 60,
                                   .frame_sum_us = 1000000,
                                   .frame_max_us = 16800,
                                   .sketch = &sketch};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        sb_part(b, i, 0);
        sb_summary(b, &summary);
        sb_end(b, i + 1, i ? END_RECOVERED : END_STOPPED);
        analysed_add(&a, b);
    }
    analysed_run(&a);
    assert_true(a.session.ended);
    assert_int_equal(a.session.end_reason, END_RECOVERED);
    assert_ptr_equal(a.session.summary, a.parts[1].summary);
}

static void a_summary_that_contradicts_itself_is_left_out(void **state)
{
    struct sketch sketch = {.count = {[139] = 60}};
    const struct part_summary good = {.foreground_ms = 1000,
                                      .frames = 60,
                                      .frame_sum_us = 1000000,
                                      .frame_max_us = 16800,
                                      .sketch = &sketch};
    struct part_summary bad[6];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].frames = 61;
    bad[1].foreground_ms = UINT64_MAX;
    bad[2].frame_sum_us = UINT64_MAX;
    bad[3].janks[1] = 61;
    bad[4].frame_max_us = UINT64_MAX;
    bad[5].jank_ms = 1001;
    for (size_t i = 0; i < 6; i++) {
        a.n = 0;
        sb_part(b, 0, 0);
        sb_summary(b, &bad[i]);
        assert_null(merged()->summary);
        assert_int_equal(a.session.invalid[INVALID_summary_out_of_bounds], 1);
    }
    a.n = 0;
    sb_part(b, 0, 0);
    sb_summary(b, &good);
    assert_non_null(merged()->summary);
}

static void any_failed_allocation_is_told(void **state)
{
    struct arena *own = arena_new(64 << 20);
    struct session s = {.n_parts = 77};
    struct err err;
    size_t nth = 1;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        sb_part(b, i, 0);
        sb_play(b, (1 - i) * 5 * SECOND, 12, i + 1); /* out of order, so that sorts copy */
        analysed_add(&a, b);
    }
    for (;; nth++) {
        arena_reset(own);
        arena_fail_at(own, nth);
        if (session_merge(a.files, a.n, own, &s, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
        assert_int_equal(s.n_parts, 77);
    }
    assert_true(nth > 20);
    arena_free(own);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(parts_of_one_session_make_one_row_of_frames),
        T(parts_of_two_sessions_are_refused),
        T(of_files_with_one_part_number_the_most_complete_counts),
        T(of_equally_long_files_the_greater_sha256_counts),
        T(a_part_of_another_build_or_device_is_left_out_and_counted),
        T(what_any_part_says_of_its_environment_counts),
        T(frames_outside_the_foreground_are_background),
        T(a_frame_across_a_suspension_is_suspended),
        T(frames_out_of_bounds_are_invalid_and_stay_in_the_row),
        T(negative_frame_times_are_invalid),
        T(frames_that_begin_before_the_row_before_ends_overlap),
        T(rounding_between_rows_is_no_overlap),
        T(states_add_up_to_the_frames),
        T(dropped_frames_add_up_whether_or_not_frames_follow),
        T(levels_are_over_100_250_and_500_ms),
        T(perfdog_jank_is_twice_the_three_before_and_over_84_ms),
        T(consecutive_perfdog_janks_count_once),
        T(a_big_jank_may_follow_a_jank),
        T(without_history_the_cut_alone_decides),
        T(after_background_or_suspension_there_is_no_history),
        T(history_goes_on_from_slice_to_slice),
        T(history_goes_on_from_part_to_part),
        T(an_overlapping_frame_leaves_history_alone),
        T(missed_frames_are_judged_by_their_own_target),
        T(without_a_target_no_frame_is_missed),
        T(only_valid_frames_are_janks),
        T(a_frame_belongs_to_the_scene_it_began_in),
        T(no_two_scenes_share_a_key),
        T(scenes_past_the_limit_become_one),
        T(stacks_are_those_of_the_longest_janks),
        T(values_out_of_bounds_are_invalid_and_counted),
        T(bounds_are_inclusive_in_every_line_of_the_table),
        T(a_sample_told_twice_is_one),
        T(what_happens_after_a_week_is_left_out_and_counted),
        T(an_absurd_wall_clock_is_counted),
        T(positions_that_are_no_numbers_are_left_out),
        T(janks_no_frame_can_have_are_left_out),
        T(unknown_packets_are_counted),
        T(time_of_a_part_that_has_not_come_is_no_foreground),
        T(lists_are_in_time_order_whatever_the_parts),
        T(equal_stacks_of_all_parts_are_listed_once),
        T(the_end_and_the_summary_are_those_of_the_highest_part),
        T(a_summary_that_contradicts_itself_is_left_out),
        T(any_failed_allocation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
