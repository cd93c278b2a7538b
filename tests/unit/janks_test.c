#include "profile/timeline.h"

#include "support/golden.h"
#include "unit/views_fixture.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CAP ((size_t)16 << 20)

static json_t *janks(const struct fixture *f)
{
    struct buf b;

    buf_init(&b, CAP);
    janks_write(&f->s, &f->r, &b);
    assert_true(buf_ok(&b));

    json_t *tree = json_loadb((const char *)b.at, b.len, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(tree);
    buf_fini(&b);
    return tree;
}

static const json_t *jank(const json_t *tree, size_t i)
{
    return json_array_get(json_object_get(tree, "janks"), i);
}

static const char *text(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    assert_non_null(s);
    return s;
}

static int64_t number(const json_t *o, const char *name)
{
    assert_true(json_is_integer(json_object_get(o, name)));
    return json_integer_value(json_object_get(o, name));
}

static void tells_cause_and_evidence_of_each_jank(void **state)
{
    json_t *t = janks(*state);

    assert_int_equal(json_array_size(json_object_get(t, "janks")), 3);
    assert_string_equal(text(jank(t, 0), "cause"), "throttled");
    assert_string_equal(text(jank(t, 0), "evidence"), "big cores 2419 -> 1210 MHz at 36.6 °C");
    assert_string_equal(text(jank(t, 0), "level_name"), "normal");
    assert_string_equal(text(jank(t, 0), "scene"), "lobby/town");
    assert_int_equal(number(jank(t, 0), "duration_us"), 310000);
    assert_string_equal(text(jank(t, 1), "cause"), "unknown");
    assert_string_equal(text(jank(t, 1), "evidence"), "");
    assert_true(json_is_false(json_object_get(jank(t, 1), "from_frames")));
    json_decref(t);
}

static const json_t *stack_of(const json_t *tree, const char *hash)
{
    const json_t *all = json_object_get(tree, "stacks");

    for (size_t i = 0; i < json_array_size(all); i++)
        if (strcmp(text(json_array_get(all, i), "hash"), hash) == 0)
            return json_array_get(all, i);
    return NULL;
}

static void every_sample_names_a_stack_that_is_told(void **state)
{
    json_t *t = janks(*state);
    const json_t *samples = json_object_get(jank(t, 0), "samples");

    assert_int_equal(json_array_size(samples), 2);
    for (size_t i = 0; i < 2; i++)
        assert_non_null(stack_of(t, text(json_array_get(samples, i), "stack")));

    const json_t *frames =
        json_object_get(stack_of(t, text(json_array_get(samples, 0), "stack")), "frames");

    assert_int_equal(json_array_size(frames), 3);
    assert_string_equal(text(json_array_get(frames, 0), "module"), "libgame.so");
    assert_string_equal(text(json_array_get(frames, 0), "debug_id"), "deadbeef");
    assert_string_equal(text(json_array_get(frames, 0), "offset"), "0x1f30");
    assert_string_equal(text(json_array_get(frames, 1), "text"), "Game.Scene.LoadAll(\"frost\")");
    assert_string_equal(text(json_array_get(frames, 2), "offset"), "0x7f0011223344");
    assert_null(json_object_get(json_array_get(frames, 2), "module"));
    json_decref(t);
}

static void shows_the_hardware_around_a_jank_and_nothing_else(void **state)
{
    json_t *t = janks(*state);
    const json_t *series = json_array_get(json_object_get(jank(t, 0), "hardware"), 0);

    assert_string_equal(text(series, "name"), "battery_millicelsius");
    assert_int_equal(json_array_size(json_object_get(series, "t_us")), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(series, "t_us"), 0)),
                     1800000);
    assert_int_equal(json_array_size(json_object_get(jank(t, 2), "hardware")), 0);
    json_decref(t);
}

static void says_how_many_janks_were_too_many_to_keep(void **state)
{
    struct fixture *f = *state;

    f->r.n_events_dropped = 17;

    json_t *t = janks(f);

    assert_int_equal(number(t, "dropped"), 17);
    json_decref(t);
}

static void a_session_without_janks_has_empty_lists(void **state)
{
    struct fixture *f = *state;

    f->r.n_events = 0;
    f->s.n_stacks = 0;

    json_t *t = janks(f);

    assert_true(json_is_array(json_object_get(t, "janks")));
    assert_int_equal(json_array_size(json_object_get(t, "stacks")), 0);
    json_decref(t);
}

static void matches_its_golden_text(void **state)
{
    struct fixture *f = *state;
    struct buf b;

    buf_init(&b, CAP);
    janks_write(&f->s, &f->r, &b);
    buf_byte(&b, '\n');
    golden_check("views", "janks.json", b.at, b.len);
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
        TEST(tells_cause_and_evidence_of_each_jank),
        TEST(every_sample_names_a_stack_that_is_told),
        TEST(shows_the_hardware_around_a_jank_and_nothing_else),
        TEST(says_how_many_janks_were_too_many_to_keep),
        TEST(a_session_without_janks_has_empty_lists),
        TEST(matches_its_golden_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
