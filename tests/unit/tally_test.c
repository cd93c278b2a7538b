#include "profile/tally.h"
#include "support/analysed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t last_one(const void *session_id, size_t len, const char *scene, size_t n)
{
    (void)session_id;
    (void)len;
    (void)scene;
    return n - 1;
}

static struct tally tally_of_all(struct analysed *a)
{
    struct tally t;
    struct err err = {0};

    analysed_run(a);
    if (!tally_of(&a->session, &a->result, NULL, 0, last_one, a->mem, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

/* Frames around a jank of that length; returns the time after it. */
static uint64_t jank(struct session_builder *b, uint64_t t, uint32_t us, const uint32_t *stacks,
                     size_t n)
{
    struct sb_sample samples[8];

    t = sb_steady(b, t, 60, 16670);
    for (size_t i = 0; i < n; i++)
        samples[i] = (struct sb_sample){t + 20000 * (i + 1), stacks[i]};
    sb_jank(b, t, us, 2, samples, n);
    return sb_frames(b, t, SB_INTERVALS(us, 16670));
}

struct fixture {
    struct analysed a;
    struct session_builder *b;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    analysed_init(&f->a);
    f->b = sb_new(1);
    sb_part(f->b, 0, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    sb_free(f->b);
    analysed_fini(&f->a);
    free(f);
    return 0;
}

static void janks_count_by_stack_scene_and_cause(void **state)
{
    struct fixture *f = *state;
    uint32_t load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    uint32_t draw = sb_text_stack(f->b, "main", "draw", "tick", NULL);
    struct tally t;
    uint64_t at;

    sb_scene(f->b, 0, "battle", "frost");
    at = jank(f->b, 0, 300000, &load, 1);
    at = jank(f->b, at, 400000, &load, 1);
    at = jank(f->b, at, 200000, &draw, 1);
    sb_scene(f->b, at, "battle", "dust");
    at = jank(f->b, at, 300000, &load, 1);
    sb_end(f->b, at, END_STOPPED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_int_equal(t.n_lines, 3);
    for (size_t i = 0; i < t.n_lines; i++)
        if (strcmp(t.lines[i].scene, "battle/frost") == 0 && t.lines[i].events == 2) {
            assert_int_equal(t.lines[i].jank_us, 700000);
            assert_int_equal(t.lines[i].duration_us, 400000); /* the longest is its example */
            assert_true(t.lines[i].first);
        }
    assert_true(t.counts);
    assert_int_equal(t.n_scenes, 2);
    assert_int_equal(t.n_clean, 0);
    assert_string_equal(t.os, f->b->os_version);
}

static void a_jank_counts_under_the_sample_that_shares_most(void **state)
{
    struct fixture *f = *state;
    uint32_t alone = sb_text_stack(f->b, "main", "gc", "tick", NULL);
    uint32_t here = sb_text_stack(f->b, "main", "read", "load", "enter", "tick", NULL);
    uint32_t there = sb_text_stack(f->b, "main", "parse", "load", "enter", "tick", NULL);
    const uint32_t stacks[] = {alone, here, there};
    const struct jank_event *e;

    sb_end(f->b, jank(f->b, 0, 300000, stacks, 3), END_STOPPED);
    analysed_add(&f->a, f->b);
    analysed_run(&f->a);
    assert_int_equal(f->a.result.n_events, 1);
    e = &f->a.result.events[0];
    assert_int_equal(e->n_samples, 3);
    assert_int_equal(tally_representative(e), 1); /* of `here` and `there` the earlier */
}

static void a_jank_without_a_stack_counts_under_none(void **state)
{
    struct fixture *f = *state;
    struct tally t;

    sb_end(f->b, jank(f->b, 0, 300000, NULL, 0), END_STOPPED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_int_equal(f->a.result.n_events, 1);
    assert_int_equal(t.n_lines, 0);
    assert_int_equal(t.n_clean, 0); /* nor is it a session without janks */
    assert_true(t.counts);
}

static void a_crash_counts_under_its_own_stack(void **state)
{
    struct fixture *f = *state;
    uint32_t load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    struct tally t;
    uint64_t at = jank(f->b, 0, 300000, &load, 1);

    sb_crash(f->b, at, 11, "SIGSEGV", load);
    sb_end(f->b, at, END_RECOVERED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_int_equal(t.n_lines, 2);
    assert_int_equal(t.lines[0].kind, TALLY_JANK);
    assert_int_equal(t.lines[1].kind, TALLY_CRASH);
    assert_memory_equal(t.lines[0].hash, t.lines[1].hash, TALLY_HASH_BYTES);
    assert_int_equal(t.lines[1].jank_us, 0);
}

static void posted_crashes_count_with_their_scene_and_untimed_ones_without(void **state)
{
    struct fixture *f = *state;
    const struct tally_crash posted[] = {
        {.hash = {1}, .timed = true, .t_us = 3000000},
        {.hash = {1}, .timed = true, .t_us = 4000000},
        {.hash = {1}},
        {.hash = {2}, .timed = true, .t_us = 500000},
    };
    struct err err = {0};
    struct tally t;

    sb_scene(f->b, 1000000, "battle", "frost");
    sb_step(f->b, 2000000, "buy");
    sb_end(f->b, sb_steady(f->b, 0, 300, 16667), END_STOPPED);
    analysed_add(&f->a, f->b);
    analysed_run(&f->a);
    assert_true(tally_of(&f->a.session, &f->a.result, posted, 4, last_one, f->a.mem, &t, &err));
    assert_int_equal(t.n_lines, 3);
    for (size_t i = 0; i < t.n_lines; i++)
        assert_int_equal(t.lines[i].kind, TALLY_CRASH);
    assert_string_equal(t.lines[0].scene, "");
    assert_int_equal(t.lines[0].events, 1);
    assert_int_equal(t.lines[0].start_us, 0);
    assert_false(t.lines[0].first);
    assert_string_equal(t.lines[1].scene, "battle/frost");
    assert_int_equal(t.lines[1].events, 2);
    assert_int_equal(t.lines[1].start_us, 3000000);
    assert_int_equal(t.lines[1].steps.n, 1);
    assert_string_equal(t.lines[2].scene, "");
    assert_int_equal(t.lines[2].hash[0], 2);
    assert_true(t.lines[2].first);
    assert_int_equal(t.lines[2].steps.n, 0);
}

static void posted_crashes_past_the_limit_are_left_out(void **state)
{
    struct fixture *f = *state;
    struct tally_crash *many = calloc(MAX_JANK_EVENTS + 1, sizeof *many);
    struct err err = {0};
    struct tally t;

    assert_non_null(many);
    sb_crash(f->b, 1000000, 11, "SIGSEGV", sb_text_stack(f->b, "main", "load", "tick", NULL));
    sb_end(f->b, sb_steady(f->b, 0, 300, 16667), END_RECOVERED);
    analysed_add(&f->a, f->b);
    analysed_run(&f->a);
    assert_true(tally_of(&f->a.session, &f->a.result, many, MAX_JANK_EVENTS + 1, last_one, f->a.mem,
                         &t, &err));
    assert_int_equal(t.n_lines, 2);
    assert_int_equal(t.lines[0].events + t.lines[1].events, MAX_JANK_EVENTS);
    free(many);
}

static void the_steps_are_those_before_the_first_jank_of_a_scene(void **state)
{
    struct fixture *f = *state;
    uint32_t load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    static const char *const names[] = {"0", "1", "2", "3", "4",  "5",
                                        "6", "7", "8", "9", "10", "11"};
    struct tally t;
    uint64_t at;

    for (size_t i = 0; i < 12; i++)
        sb_step(f->b, 1000 * (i + 1), names[i]);
    at = jank(f->b, 0, 300000, &load, 1);
    sb_step(f->b, at, "late");
    at = jank(f->b, at, 500000, &load, 1);
    sb_end(f->b, at, END_STOPPED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_int_equal(t.n_lines, 1);
    assert_int_equal(t.lines[0].events, 2);
    assert_int_equal(t.lines[0].steps.n, TALLY_STEPS);
    assert_string_equal(t.lines[0].steps.at[0], "2");
    assert_string_equal(t.lines[0].steps.at[TALLY_STEPS - 1], "11");
}

static void a_session_without_janks_gives_a_window_of_each_scene(void **state)
{
    struct fixture *f = *state;
    struct tally t;

    sb_scene(f->b, 0, "lobby", "");
    sb_step(f->b, 1000, "open");
    sb_scene(f->b, 500000, "battle", "frost");
    sb_step(f->b, 600000, "start");
    sb_step(f->b, 700000, "shoot");
    sb_end(f->b, sb_steady(f->b, 0, 100, 16670), END_STOPPED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_int_equal(t.n_lines, 0);
    assert_int_equal(t.n_clean, 2);
    for (size_t i = 0; i < 2; i++) {
        bool battle = strcmp(t.clean[i].scene, "battle/frost") == 0;

        assert_int_equal(t.clean[i].steps.n, battle ? 3 : 1); /* across scenes, up to the moment */
        assert_string_equal(t.clean[i].steps.at[t.clean[i].steps.n - 1], battle ? "shoot" : "open");
    }
}

static void an_excluded_session_counts_nowhere(void **state)
{
    struct fixture *f = *state;
    uint32_t load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    struct tally t;
    struct buf bytes;

    f->b->environment = ENV_ROOTED;
    sb_part(f->b, 0, 0);
    load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    sb_end(f->b, jank(f->b, 0, 300000, &load, 1), END_STOPPED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    assert_false(t.counts);
    buf_init(&bytes, 100);
    tally_write(&t, &bytes);
    assert_int_equal(bytes.len, 0);
    buf_fini(&bytes);
}

/* Stored form ------------------------------------------------------------------------------------
 */

static void make_some(struct fixture *f, struct buf *out)
{
    uint32_t load = sb_text_stack(f->b, "main", "load", "tick", NULL);
    struct tally t;
    uint64_t at;

    sb_scene(f->b, 0, "battle", "frost");
    sb_step(f->b, 10, "open");
    at = jank(f->b, 0, 300000, &load, 1);
    sb_crash(f->b, at, 11, "x", load);
    sb_end(f->b, at, END_RECOVERED);
    analysed_add(&f->a, f->b);
    t = tally_of_all(&f->a);
    buf_init(out, 1 << 16);
    tally_write(&t, out);
}

static void what_is_read_is_what_was_written(void **state)
{
    struct fixture *f = *state;
    struct buf first, again;
    struct err err;
    struct tally t;

    make_some(f, &first);
    assert_true(tally_read(first.at, first.len, f->a.mem, &t, &err));
    buf_init(&again, 1 << 16);
    tally_write(&t, &again);
    assert_int_equal(first.len, again.len);
    assert_memory_equal(first.at, again.at, first.len);
    buf_fini(&first);
    buf_fini(&again);
}

static void damaged_bytes_are_refused_or_read_within_bounds(void **state)
{
    struct fixture *f = *state;
    struct buf bytes;
    struct err err;
    struct tally t;

    make_some(f, &bytes);
    for (size_t n = 1; n < bytes.len; n++)
        assert_false(tally_read(bytes.at, n, f->a.mem, &t, &err));
    for (size_t i = 0; i < bytes.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct arena *mem = arena_new(1 << 20);

            bytes.at[i] ^= (unsigned char)(1 << bit);
            if (!tally_read(bytes.at, bytes.len, mem, &t, &err))
                assert_true(err.text[0]);
            bytes.at[i] ^= (unsigned char)(1 << bit);
            arena_free(mem);
        }
    buf_fini(&bytes);
}

static void out_of_memory_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct buf bytes;
    bool ok = false;

    make_some(f, &bytes);
    for (size_t nth = 1; !ok && nth < 100; nth++) {
        struct arena *mem = arena_new(1 << 20);
        struct err err = {0};
        struct tally t;

        arena_fail_at(mem, nth);
        ok = tally_read(bytes.at, bytes.len, mem, &t, &err);
        assert_true(ok || err.text[0]);
        arena_free(mem);
    }
    assert_true(ok);
    buf_fini(&bytes);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(janks_count_by_stack_scene_and_cause),
        T(a_jank_counts_under_the_sample_that_shares_most),
        T(a_jank_without_a_stack_counts_under_none),
        T(a_crash_counts_under_its_own_stack),
        T(posted_crashes_count_with_their_scene_and_untimed_ones_without),
        T(posted_crashes_past_the_limit_are_left_out),
        T(the_steps_are_those_before_the_first_jank_of_a_scene),
        T(a_session_without_janks_gives_a_window_of_each_scene),
        T(an_excluded_session_counts_nowhere),
        T(what_is_read_is_what_was_written),
        T(damaged_bytes_are_refused_or_read_within_bounds),
        T(out_of_memory_is_an_error),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
