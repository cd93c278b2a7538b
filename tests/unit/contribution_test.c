#include "profile/contribution.h"
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
    srand(2024);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sb_free(b);
    analysed_fini(&a);
    return 0;
}

static struct buf written(const struct contribution *c)
{
    struct buf out;

    buf_init(&out, 1 << 24);
    contribution_write(c, &out);
    assert_true(buf_ok(&out));
    return out;
}

static void assert_equal(const struct contribution *x, const struct contribution *y)
{
    struct buf p = written(x), q = written(y);

    assert_int_equal(p.len, q.len);
    assert_memory_equal(p.at, q.at, p.len);
    buf_fini(&p);
    buf_fini(&q);
}

static const struct contribution *of_the_builder(void)
{
    a.n = 0;
    analysed_add(&a, b);
    analysed_run(&a);
    return &a.contribution;
}

static void sums_of_a_session_are_its_slices(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 30000, "battle", "frost");
    sb_frames(b, 0, SB_INTERVALS(20000, 20000, 150000, 300000, 600000, 40000));
    sb_hardware(b, 0, SB_VALUES({HW_battery_millicelsius, 36960}), SB_CORES(2419200));

    const struct contribution *c = of_the_builder();

    assert_int_equal(c->n_slices, 2);

    const struct rollup_delta *all = &c->slices[0], *battle = &c->slices[1];

    assert_string_equal(all->scene, "");
    assert_int_equal(all->sessions, 1);
    assert_int_equal(all->excluded_sessions, 0);
    assert_int_equal(all->frames, 6);
    assert_int_equal(all->frame_sum_us, 1130000);
    assert_int_equal(all->foreground_us, 1130000);
    assert_int_equal(all->janks_minor, 1);
    assert_int_equal(all->janks_normal, 1);
    assert_int_equal(all->janks_severe, 1);
    assert_int_equal(all->jank_us, 1050000);
    assert_int_equal(all->perfdog_janks, 1);
    assert_int_equal(all->perfdog_stutter_us, 150000);
    assert_int_equal(all->missed_frames, 4);
    assert_string_equal(battle->scene, "battle/frost");
    assert_int_equal(battle->sessions, 1);
    assert_int_equal(battle->frames, 4);
    assert_int_equal(battle->slow_sessions, 0);

    double ln = log(sketch_quantile_us(&all->sketch, 0.9) / 1000);

    assert_int_equal(c->model.sessions, 1);
    assert_int_equal(c->model.ln_p90_e6, llround(ln * 1e6));
    assert_int_equal(c->model.ln_p90_sq_e6, llround(ln * ln * 1e6));
    assert_int_equal(c->model.median_mhz, 2419);
    assert_int_equal(c->model.median_mhz_sessions, 1);
    assert_int_equal(c->model.throttled_mhz_sessions, 0);
    assert_int_equal(c->model.mean_battery_decicelsius, 369);
    assert_int_equal(c->model.mean_battery_sessions, 1);
}

/* What a summary does not tell must not be divided by what it tells. */
static void what_a_summary_gives_is_told_apart(void **state)
{
    struct sketch times = {.count = {[139] = 590, [300] = 10}};
    struct part_summary summary = {.foreground_ms = 13000,
                                   .frames = 600,
                                   .frame_sum_us = 12345678,
                                   .frame_max_us = 409000,
                                   .jank_ms = 4000,
                                   .janks = {4, 3, 3},
                                   .sketch = &times};

    (void)state;
    sb_part(b, 0, 0);
    sb_summary(b, &summary);

    const struct rollup_delta *all = of_the_builder()->slices;

    assert_int_equal(all->sessions, 1);
    assert_int_equal(all->summary_sessions, 1);
    assert_int_equal(all->frames, 600);
    assert_int_equal(all->summary_frames, 600);
    assert_int_equal(all->foreground_us, 13000000);
    assert_int_equal(all->summary_foreground_us, 13000000);
    sb_steady(b, 0, 5, 16670); /* the files came after all */
    all = of_the_builder()->slices;
    assert_int_equal(all->frames, 5);
    assert_int_equal(all->summary_sessions + all->summary_frames + all->summary_foreground_us, 0);
}

/* Bytes of format 2: of the model nine columns, one slice "" with fourteen, an empty sketch, no
 * rows, no cells. */
static void the_form_without_summaries_is_read(void **state)
{
    unsigned char old[64] = {2};
    struct arena *mem = arena_new(1 << 20);
    struct contribution c;
    struct err err;
    size_t n = 1 + 9;

    (void)state;
    old[n++] = 1;
    old[n++] = 0;
    for (int i = 0; i < 14; i++)
        old[n++] = (unsigned char)(2 * (i + 1));
    old[n++] = 1;
    old[n++] = 1; /* layout */
    n += 2;
    assert_true(contribution_read(old, n, mem, &c, &err));
    assert_int_equal(c.n_slices, 1);
    assert_int_equal(c.slices[0].sessions, 1);
    assert_int_equal(c.slices[0].missed_frames, 14);
    assert_int_equal(c.slices[0].summary_sessions, 0);
    arena_free(mem);
}

static void an_excluded_session_adds_its_count_alone(void **state)
{
    (void)state;
    b->environment = ENV_EMULATOR;
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);

    const struct contribution *c = of_the_builder();
    const struct rollup_delta only = {.scene = "", .excluded_sessions = 1};

    assert_int_equal(c->n_slices, 1);
    assert_equal(c, &(struct contribution){.slices = (struct rollup_delta *)&only, .n_slices = 1});
}

static void a_session_without_frames_counts_but_has_no_percentile(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "never", "seen");

    const struct contribution *c = of_the_builder();

    assert_int_equal(c->n_slices, 1); /* no time was spent in the scene */
    assert_int_equal(c->slices[0].sessions, 1);
    assert_int_equal(c->slices[0].frames, 0);
    assert_int_equal(c->model.sessions, 0);
}

static void a_slow_session_counts_once(void **state)
{
    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");
    sb_steady(b, 60 * SECOND, 100, 60000);
    of_the_builder();
    assert_int_equal(a.contribution.slices[0].slow_sessions, 1);
    assert_int_equal(a.contribution.slices[1].slow_sessions, 0);
}

/* Parts of a session with everything in it, some of them sent twice in different lengths. */
static void add_parts(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        sb_part(b, i, i * 20 * SECOND);
        sb_play(b, i * 20 * SECOND, 20, i + 1);
        sb_scene(b, (i * 20 + 8) * SECOND, "battle", i % 2 ? "frost" : "fire");
        if (i == 2)
            sb_lifecycle(b, 50 * SECOND, LIFE_BACKGROUND, 0);
        if (i == 3)
            sb_lifecycle(b, 62 * SECOND, LIFE_FOREGROUND, 0);
        if (i == 4) {
            analysed_add(&a, b); /* shorter than the next file of this number */
            sb_lifecycle(b, 90 * SECOND, LIFE_SUSPENDED, 5000);
            sb_steady(b, 85 * SECOND, 40, 16670); /* overlaps */
        }
        if (i == 5)
            sb_end(b, 121 * SECOND, END_STOPPED);
        analysed_add(&a, b);
    }
    b->model = "Another phone";
    sb_part(b, 7, 0);
    sb_play(b, 0, 5, 3);
    analysed_add(&a, b);
}

static void any_order_and_any_repetition_of_parts_contribute_the_same_bytes(void **state)
{
    struct arena *own = arena_new((size_t)64 << 20);
    struct buf expected;
    struct err err;

    (void)state;
    add_parts();
    analysed_run(&a);
    expected = written(&a.contribution);
    assert_true(expected.len > 200);
    for (unsigned round = 0; round < 60; round++) {
        struct session_part files[3 * ANALYSED_PARTS];
        struct session s;
        struct session_result r;
        struct contribution c;
        size_t n = 0;

        for (size_t i = 0; i < a.n; i++) /* each at least once, some more often */
            for (int copies = 1 + rand() % 3; copies > 0; copies--)
                files[n++] = a.files[i];
        for (size_t i = n - 1; i > 0; i--) {
            size_t k = (size_t)rand() % (i + 1);
            struct session_part swapped = files[i];

            files[i] = files[k];
            files[k] = swapped;
        }
        arena_reset(own);
        assert_true(session_merge(files, n, own, &s, &err));
        assert_int_equal(s.n_parts, a.session.n_parts);
        assert_int_equal(s.n_superseded, a.session.n_superseded);
        assert_memory_equal(s.invalid, a.session.invalid, sizeof s.invalid);
        assert_int_equal(s.n_frames, a.session.n_frames);
        assert_memory_equal(s.frames, a.session.frames, s.n_frames * sizeof *s.frames);
        assert_true(session_analyse(&s, own, &r, &err));
        assert_int_equal(r.n_events, a.result.n_events);
        assert_true(contribution_of(&r, own, &c, &err));

        struct buf got = written(&c);

        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.at, expected.at, got.len);
        buf_fini(&got);
    }
    assert_int_equal(a.session.n_superseded, 1);
    assert_int_equal(a.session.invalid[INVALID_foreign_header], 1);
    buf_fini(&expected);
    arena_free(own);
}

/* Adds a difference to a sum, as the database does: by scene, columns and sketch. */
static void add_to(struct contribution *sum, const struct contribution *d)
{
    struct contribution none = {0}, minus, plus;
    struct err err;

    assert_true(contribution_diff(&none, d, a.mem, &minus, &err));
    assert_true(contribution_diff(sum, &minus, a.mem, &plus, &err));
    *sum = plus;
}

static void differences_of_growing_sessions_add_up_to_the_last(void **state)
{
    struct contribution sum = {0}, before = {0}, d;
    struct err err;

    (void)state;
    add_parts();

    size_t n = a.n;

    for (size_t i = 1; i <= n; i++) {
        a.n = i;
        analysed_run(&a);
        assert_true(contribution_diff(&a.contribution, &before, a.mem, &d, &err));
        add_to(&sum, &d);
        before = a.contribution;
    }
    assert_equal(&sum, &a.contribution);

    /* It turns out to be an emulator: all that it added goes again. */
    a.result.excluded = true;
    assert_true(contribution_of(&a.result, a.mem, &a.contribution, &err));
    assert_true(contribution_diff(&a.contribution, &before, a.mem, &d, &err));
    add_to(&sum, &d);
    assert_equal(&sum, &a.contribution);
}

static void a_difference_to_itself_is_empty(void **state)
{
    struct contribution d;
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);
    of_the_builder();
    assert_true(contribution_diff(&a.contribution, &a.contribution, a.mem, &d, &err));
    assert_int_equal(d.n_slices, 0);
    assert_equal(&d, &(struct contribution){0});
}

static void a_difference_leaves_out_what_did_not_change(void **state)
{
    struct rollup_delta now[] = {{.scene = "a", .frames = 5}, {.scene = "c", .frames = 7}};
    struct rollup_delta before[] = {{.scene = "a", .frames = 5}, {.scene = "b", .frames = 2}};
    struct contribution d;
    struct err err;

    (void)state;
    now[1].sketch.count[3] = 7;
    assert_true(contribution_diff(&(struct contribution){.slices = now, .n_slices = 2},
                                  &(struct contribution){.slices = before, .n_slices = 2}, a.mem,
                                  &d, &err));
    assert_int_equal(d.n_slices, 2);
    assert_string_equal(d.slices[0].scene, "b");
    assert_int_equal(d.slices[0].frames, -2);
    assert_string_equal(d.slices[1].scene, "c");
    assert_int_equal(d.slices[1].frames, 7);
    assert_int_equal(d.slices[1].sketch.count[3], 7);
}

static void the_stored_form_reads_back_equal(void **state)
{
    struct contribution read;
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 300, 1);
    of_the_builder();
    a.contribution.slices[1].frames = INT64_MIN;
    a.contribution.slices[1].jank_us = INT64_MAX;

    struct buf stored = written(&a.contribution);

    assert_true(contribution_read(stored.at, stored.len, a.mem, &read, &err));
    assert_int_equal(read.n_slices, 3);
    assert_equal(&read, &a.contribution);
    assert_int_equal(read.slices[1].frames, INT64_MIN);
    buf_fini(&stored);
}

static void no_bytes_are_the_empty_contribution(void **state)
{
    struct contribution read = {.n_slices = 77};
    struct err err;

    (void)state;
    assert_true(contribution_read(NULL, 0, a.mem, &read, &err));
    assert_int_equal(read.n_slices, 0);
    assert_equal(&read, &(struct contribution){0});
}

static void bytes_that_are_no_contribution_are_refused(void **state)
{
    struct contribution read = {.n_slices = 77};
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);
    of_the_builder();

    struct buf stored = written(&a.contribution);

    for (size_t cut = 1; cut < stored.len; cut++) {
        assert_false(contribution_read(stored.at, cut, a.mem, &read, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    buf_byte(&stored, 0);
    assert_false(
        contribution_read(stored.at, stored.len, a.mem, &read, &err)); /* a byte too many */
    stored.at[0] = 4;
    assert_false(contribution_read(stored.at, stored.len, a.mem, &read, &err));
    assert_non_null(strstr(err.text, "format 4"));
    assert_int_equal(read.n_slices, 77);
    buf_fini(&stored);

    struct rollup_delta twice[] = {{.scene = "a"}, {.scene = "a"}};

    stored = written(&(struct contribution){.slices = twice, .n_slices = 2});
    assert_false(contribution_read(stored.at, stored.len, a.mem, &read, &err));
    buf_fini(&stored);
}

static void flipped_bits_are_read_as_something_or_refused(void **state)
{
    struct arena *own = arena_new(16 << 20);
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);
    of_the_builder();

    struct buf stored = written(&a.contribution);

    for (size_t bit = 0; bit < stored.len * 8; bit++) {
        struct contribution read;

        arena_reset(own);
        stored.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (!contribution_read(stored.at, stored.len, own, &read, &err))
            assert_int_equal(err.code, ERR_INVALID);
        stored.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    buf_fini(&stored);
    arena_free(own);
}

static void any_failed_allocation_is_told(void **state)
{
    struct arena *own = arena_new(16 << 20);
    struct contribution c;
    struct err err;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);
    of_the_builder();

    struct buf stored = written(&a.contribution);

    arena_fail_at(own, 1);
    assert_false(contribution_of(&a.result, own, &c, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    arena_reset(own);
    arena_fail_at(own, 1);
    assert_false(contribution_diff(&a.contribution, &a.contribution, own, &c, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    for (size_t nth = 1;; nth++) {
        arena_reset(own);
        arena_fail_at(own, nth);
        if (contribution_read(stored.at, stored.len, own, &c, &err))
            break;
        assert_int_equal(err.code, ERR_TOO_BIG);
    }
    buf_fini(&stored);
    arena_free(own);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(sums_of_a_session_are_its_slices),
        T(what_a_summary_gives_is_told_apart),
        T(the_form_without_summaries_is_read),
        T(an_excluded_session_adds_its_count_alone),
        T(a_session_without_frames_counts_but_has_no_percentile),
        T(a_slow_session_counts_once),
        T(any_order_and_any_repetition_of_parts_contribute_the_same_bytes),
        T(differences_of_growing_sessions_add_up_to_the_last),
        T(a_difference_to_itself_is_empty),
        T(a_difference_leaves_out_what_did_not_change),
        T(the_stored_form_reads_back_equal),
        T(no_bytes_are_the_empty_contribution),
        T(bytes_that_are_no_contribution_are_refused),
        T(flipped_bits_are_read_as_something_or_refused),
        T(any_failed_allocation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
