#include "profile/timeline.h"

#include "support/golden.h"
#include "unit/views_fixture.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define CAP ((size_t)64 << 20)

static json_t *parse(const struct buf *b)
{
    json_error_t error;
    json_t *tree = json_loadb((const char *)b->at, b->len, JSON_REJECT_DUPLICATES, &error);

    if (!tree)
        fail_msg("not JSON at %d: %s", error.position, error.text);
    return tree;
}

static json_t *timeline(const struct fixture *f, uint64_t from, uint64_t to, unsigned buckets)
{
    struct buf b;
    struct err err = {0};

    buf_init(&b, CAP);
    if (!timeline_write(&f->s, &f->r, from, to, buckets, &b, &err))
        fail_msg("%s: %s", err.field, err.text);

    json_t *tree = parse(&b);

    buf_fini(&b);
    return tree;
}

static int64_t at(const json_t *o, const char *name, size_t i)
{
    const json_t *v = json_array_get(json_object_get(o, name), i);

    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static size_t count(const json_t *o, const char *name)
{
    assert_true(json_is_array(json_object_get(o, name)));
    return json_array_size(json_object_get(o, name));
}

static bool in_window(const struct frame *x, uint64_t from, uint64_t to)
{
    return x->start_us < to && (x->start_us >= from || x->start_us + x->interval_us > from);
}

static void gives_every_frame_when_no_buckets_are_asked_for(void **state)
{
    struct fixture *f = *state;
    json_t *t = timeline(f, 0, 0, 0), *frames = json_object_get(t, "frames");

    assert_null(json_object_get(t, "buckets"));
    assert_int_equal(count(frames, "start_us"), FIXTURE_FRAMES);
    assert_int_equal(json_integer_value(json_object_get(t, "frame_count")), FIXTURE_FRAMES);
    for (size_t i = 0; i < FIXTURE_FRAMES; i++) {
        assert_int_equal(at(frames, "start_us", i), f->frames[i].start_us);
        assert_int_equal(at(frames, "interval_us", i), f->frames[i].interval_us);
        assert_int_equal(at(frames, "state", i), f->frames[i].state);
    }
    json_decref(t);
}

static void gives_every_frame_when_the_buckets_would_be_more(void **state)
{
    json_t *t = timeline(*state, 0, 500000, 50);

    assert_non_null(json_object_get(t, "frames"));
    assert_null(json_object_get(t, "buckets"));
    json_decref(t);
    t = timeline(*state, 0, 0, FIXTURE_FRAMES - 1);
    assert_non_null(json_object_get(t, "buckets"));
    json_decref(t);
}

struct expected {
    int64_t n, excluded, sum, max, min;
};

static struct expected expect(const struct fixture *f, uint64_t from, uint64_t to)
{
    struct expected e = {.max = -1, .min = INT64_MAX};

    for (size_t i = 0; i < f->s.n_frames; i++) {
        const struct frame *x = &f->s.frames[i];

        if (!in_window(x, from, to))
            continue;
        if (x->state != FRAME_VALID) {
            e.excluded++;
            continue;
        }
        e.n++;
        e.sum += x->interval_us;
        e.max = x->interval_us > e.max ? x->interval_us : e.max;
        e.min = x->interval_us < e.min ? x->interval_us : e.min;
    }
    return e;
}

static struct expected sum_buckets(const json_t *b)
{
    struct expected e = {.max = -1, .min = INT64_MAX};

    for (size_t i = 0; i < count(b, "n"); i++) {
        e.excluded += at(b, "excluded", i);
        if (!at(b, "n", i)) {
            assert_true(json_is_null(json_array_get(json_object_get(b, "max_us"), i)));
            continue;
        }
        e.n += at(b, "n", i);
        e.sum += at(b, "n", i) * at(b, "mean_us", i);
        e.max = at(b, "max_us", i) > e.max ? at(b, "max_us", i) : e.max;
        e.min = at(b, "min_us", i) < e.min ? at(b, "min_us", i) : e.min;
        assert_true(at(b, "min_us", i) <= at(b, "mean_us", i));
        assert_true(at(b, "mean_us", i) <= at(b, "max_us", i));
    }
    return e;
}

static void check_window(const struct fixture *f, uint64_t from, uint64_t to, unsigned buckets)
{
    json_t *t = timeline(f, from, to, buckets), *b = json_object_get(t, "buckets");
    struct expected want = expect(f, from, to), got;

    if (!b) {
        assert_true(want.n + want.excluded <= buckets || !buckets);
        assert_int_equal(count(json_object_get(t, "frames"), "state"), want.n + want.excluded);
        json_decref(t);
        return;
    }
    got = sum_buckets(b);
    assert_int_equal(count(b, "t_us"), buckets);
    assert_int_equal(at(b, "t_us", 0), from);
    for (size_t i = 1; i < buckets; i++)
        assert_true(at(b, "t_us", i) >= at(b, "t_us", i - 1));
    assert_true(at(b, "t_us", buckets - 1) < (int64_t)to);
    assert_int_equal(got.n, want.n);
    assert_int_equal(got.excluded, want.excluded);
    assert_int_equal(got.max, want.max);
    assert_int_equal(got.min, want.min);
    assert_true(llabs(got.sum - want.sum) <= want.n); /* means are rounded */
    json_decref(t);
}

static void keeps_every_spike_and_every_frame_at_any_zoom_and_window(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 20240506;

    for (int round = 0; round < 300; round++) {
        uint64_t from = (uint64_t)rand_r(&seed) % f->s.end_us,
                 to = from + 1 + (uint64_t)rand_r(&seed) % (f->s.end_us - from);

        check_window(f, from, to, 1 + (unsigned)rand_r(&seed) % 200);
    }
    check_window(f, 0, f->s.end_us + 1, 1);
    check_window(f, 5, 6, 3);
}

static void shows_a_long_frame_from_its_middle(void **state)
{
    struct fixture *f = *state;
    const struct frame *jank = &f->frames[500];
    json_t *t = timeline(f, jank->start_us + 1000, jank->start_us + 2000, 0);

    assert_int_equal(count(json_object_get(t, "frames"), "start_us"), 1);
    assert_int_equal(at(json_object_get(t, "frames"), "interval_us", 0), 720000);
    assert_int_equal(count(t, "janks"), 1);
    json_decref(t);
}

static const json_t *series(const json_t *t, const char *name)
{
    const json_t *all = json_object_get(t, "hardware");

    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *s = json_array_get(all, i);

        if (strcmp(json_string_value(json_object_get(s, "name")), name) == 0)
            return s;
    }
    return NULL;
}

static void says_null_where_a_value_is_out_of_bounds(void **state)
{
    json_t *t = timeline(*state, 0, 0, 0);
    const json_t *s = series(t, "battery_millicelsius");

    assert_int_equal(count(s, "t_us"), FIXTURE_HARDWARE);
    assert_int_equal(count(s, "value"), FIXTURE_HARDWARE);
    assert_true(json_is_null(json_array_get(json_object_get(s, "value"), 4)));
    assert_int_equal(at(s, "value", 3), 33100);
    assert_string_equal(json_string_value(json_object_get(s, "unit")), "m°C");

    const json_t *core = json_array_get(json_object_get(t, "cores"), 2);

    assert_true(json_is_null(json_array_get(json_object_get(core, "khz"), 5)));
    assert_int_equal(json_integer_value(json_object_get(core, "cluster_max_khz")), 1804800);
    json_decref(t);
}

static void leaves_out_what_never_arrived(void **state)
{
    json_t *t = timeline(*state, 0, 0, 0);

    assert_null(series(t, "phys_footprint_kb"));
    assert_int_equal(count(t, "hardware"), 3);
    assert_int_equal(count(t, "cores"), 8);
    json_decref(t);
}

static void follows_the_table_of_hardware_fields(void **state)
{
    struct fixture *f = *state;

    f->hardware[0].present = (1u << HW_COUNT) - 1;

    json_t *t = timeline(f, 0, 0, 0);

    assert_int_equal(count(t, "hardware"), HW_COUNT);
    for (unsigned i = 0; i < HW_COUNT; i++)
        assert_non_null(series(t, hardware_info[i].name));
    json_decref(t);
}

static void thins_hardware_but_keeps_its_extremes(void **state)
{
    enum { SAMPLES = 5000 };
    struct fixture *f = *state;
    struct hardware_sample *many = calloc(SAMPLES, sizeof *many);
    unsigned seed = 7;

    assert_non_null(many);
    for (unsigned i = 0; i < SAMPLES; i++) {
        many[i].t_us = i * 2000;
        many[i].present = 1u << HW_pss_kb;
        many[i].value[HW_pss_kb] = 1000 + rand_r(&seed) % 1000;
    }
    many[1234].value[HW_pss_kb] = 9999;
    many[4321].value[HW_pss_kb] = 1;
    many[777].invalid = many[777].present;
    many[777].present = 0;
    f->s.hardware = many;
    f->s.n_hardware = SAMPLES;

    json_t *t = timeline(f, 0, 0, 100);
    const json_t *s = series(t, "pss_kb");
    int64_t low = INT64_MAX, high = 0;
    bool odd = false;

    assert_true(count(s, "value") <= 201);
    for (size_t i = 0; i < count(s, "value"); i++) {
        const json_t *v = json_array_get(json_object_get(s, "value"), i);

        odd = odd || json_is_null(v);
        if (json_is_integer(v)) {
            low = json_integer_value(v) < low ? json_integer_value(v) : low;
            high = json_integer_value(v) > high ? json_integer_value(v) : high;
        }
        assert_true(i == 0 || at(s, "t_us", i) > at(s, "t_us", i - 1));
    }
    assert_int_equal(high, 9999);
    assert_int_equal(low, 1);
    assert_true(odd);
    json_decref(t);
    free(many);
}

static void shows_only_what_happened_in_the_window(void **state)
{
    json_t *t = timeline(*state, 4500000, 7600000, 0);

    assert_int_equal(count(t, "scenes"), 1);
    assert_int_equal(count(t, "steps"), 0);
    assert_int_equal(count(t, "lifecycle"), 3);
    assert_int_equal(count(t, "background"), 1);
    assert_int_equal(count(t, "foreground"), 2);
    assert_int_equal(count(t, "crashes"), 0);
    assert_int_equal(count(json_object_get(t, "positions"), "x"), 0);
    json_decref(t);
    t = timeline(*state, 9000000, 0, 0);
    assert_int_equal(count(t, "crashes"), 1);
    assert_int_equal(count(t, "feedback"), 1);
    json_decref(t);
}

static void a_moment_at_the_very_end_is_in_the_window(void **state)
{
    struct fixture *f = *state;
    struct part_step last = {f->s.end_us, "quit"};

    f->s.steps = &last;
    f->s.n_steps = 1;

    json_t *t = timeline(f, 0, 0, 0);

    assert_int_equal(count(t, "steps"), 1);
    json_decref(t);
}

static void names_where_the_target_changes(void **state)
{
    json_t *t = timeline(*state, 0, 0, 10), *targets = json_object_get(t, "targets");

    assert_int_equal(json_array_size(targets), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(targets, 1), "target_us")),
                     33333);
    json_decref(t);
}

static void an_empty_session_is_an_empty_timeline(void **state)
{
    struct fixture *f = *state;
    struct session nothing = {.header = f->s.header};
    struct session_result none = {0};
    struct buf b;
    struct err err = {0};

    buf_init(&b, CAP);
    assert_true(timeline_write(&nothing, &none, 0, 0, 100, &b, &err));
    json_decref(parse(&b));
    buf_fini(&b);
}

static void is_json_whatever_the_texts_hold(void **state)
{
    struct fixture *f = *state;
    const struct part_feedback odd = {1000, NULL, "\xff\xc0\x80 \xed\xa0\x80 \x01\x7f\\\""};

    f->s.feedback = (struct part_feedback *)&odd;
    f->s.header.app = NULL;

    json_t *t = timeline(f, 0, 0, 0);

    assert_int_equal(count(t, "feedback"), 1);
    json_decref(t);
}

static void refuses(const struct fixture *f, uint64_t from, uint64_t to, unsigned buckets,
                    const char *field)
{
    struct buf b;
    struct err err = {0};

    buf_init(&b, CAP);
    assert_false(timeline_write(&f->s, &f->r, from, to, buckets, &b, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_string_equal(err.field, field);
    assert_int_equal(b.len, 0);
    buf_fini(&b);
}

static void names_the_argument_at_fault(void **state)
{
    struct fixture *f = *state;

    refuses(f, f->s.end_us + 1, 0, 0, "from_us");
    refuses(f, UINT64_MAX, UINT64_MAX, 0, "from_us");
    refuses(f, 1000, 1000, 0, "to_us");
    refuses(f, 1000, 999, 0, "to_us");
    refuses(f, 0, 0, TIMELINE_MAX_BUCKETS + 1, "buckets");
}

static void an_answer_that_does_not_fit_is_too_big_at_every_length(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct buf b;

    for (size_t cap = 0; cap < 60000; cap += 997) {
        buf_init(&b, cap);
        if (!timeline_write(&f->s, &f->r, 0, 0, 20, &b, &err))
            assert_int_equal(err.code, ERR_TOO_BIG);
        buf_fini(&b);
    }
}

static void matches_its_golden_text(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct buf b;

    buf_init(&b, CAP);
    assert_true(timeline_write(&f->s, &f->r, 0, 0, 24, &b, &err));
    buf_byte(&b, '\n');
    golden_check("views", "timeline.json", b.at, b.len);
    buf_fini(&b);
}

static int begin(void **state)
{
    struct fixture *f = malloc(sizeof *f);

    if (f)
        fixture_fill(f);
    *state = f;
    return f ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_every_frame_when_no_buckets_are_asked_for),
        TEST(gives_every_frame_when_the_buckets_would_be_more),
        TEST(keeps_every_spike_and_every_frame_at_any_zoom_and_window),
        TEST(shows_a_long_frame_from_its_middle),
        TEST(says_null_where_a_value_is_out_of_bounds),
        TEST(leaves_out_what_never_arrived),
        TEST(follows_the_table_of_hardware_fields),
        TEST(thins_hardware_but_keeps_its_extremes),
        TEST(shows_only_what_happened_in_the_window),
        TEST(a_moment_at_the_very_end_is_in_the_window),
        TEST(names_where_the_target_changes),
        TEST(an_empty_session_is_an_empty_timeline),
        TEST(is_json_whatever_the_texts_hold),
        TEST(names_the_argument_at_fault),
        TEST(an_answer_that_does_not_fit_is_too_big_at_every_length),
        TEST(matches_its_golden_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
