/* GPU times with an OpenGL that does what a driver may do, and the figures of the display. */
#include "gl/gpu_timer.h"
#include "gl/quads.h"
#include "src/control/hud.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES (2 * FW_GPU_SLOTS)

/* A GPU: timestamps stand in their queries at once, and are told when `done` says so. */
static struct {
    uint64_t now_ns, stamp[NAMES + 1];
    unsigned done;   /* queries with names up to this are there */
    bool told_early; /* a result was asked for that was not there: a real one would wait */
    int disjoint, bits;
    unsigned counters; /* timestamps asked for */
} gpu;

static void FW_GL_CALL gen_queries(int n, unsigned *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (unsigned)i + 1;
}

static void FW_GL_CALL delete_queries(int n, const unsigned *names)
{
    assert_int_equal(n, NAMES);
    assert_int_equal(names[0], 1);
}

static void FW_GL_CALL query_counter(unsigned name, unsigned target)
{
    assert_int_equal(target, GL_TIMESTAMP);
    assert_in_range(name, 1, NAMES);
    gpu.stamp[name] = gpu.now_ns;
    gpu.counters++;
}

static void FW_GL_CALL get_query_object(unsigned name, unsigned what, unsigned *out)
{
    assert_int_equal(what, GL_QUERY_RESULT_AVAILABLE);
    *out = name <= gpu.done;
}

static void FW_GL_CALL get_query_result(unsigned name, unsigned what, uint64_t *out)
{
    assert_int_equal(what, GL_QUERY_RESULT);
    gpu.told_early |= name > gpu.done;
    *out = gpu.stamp[name];
}

static void FW_GL_CALL get_integer(unsigned what, int *out)
{
    assert_int_equal(what, GL_GPU_DISJOINT);
    *out = gpu.disjoint;
    gpu.disjoint = 0;
}

static const struct fw_gl_api api = {.GetIntegerv = get_integer,
                                     .GenQueries = gen_queries,
                                     .DeleteQueries = delete_queries,
                                     .QueryCounter = query_counter,
                                     .GetQueryObjectuiv = get_query_object,
                                     .GetQueryObjectui64v = get_query_result,
                                     .timestamps = true,
                                     .disjoint = true};

static int setup(void **state)
{
    static struct fw_gpu_timer timer;

    memset(&gpu, 0, sizeof gpu);
    fw_gpu_timer_init(&timer, &api);
    *state = &timer;
    return 0;
}

static int teardown(void **state)
{
    fw_gpu_timer_fini(*state);
    return gpu.told_early;
}

static void frame(struct fw_gpu_timer *t, int64_t gpu_ns)
{
    gpu.now_ns += 1000000;
    fw_gpu_timer_begin(t);
    gpu.now_ns += (uint64_t)gpu_ns;
    fw_gpu_timer_end(t);
}

static void a_frames_time_is_told_when_it_is_there(void **state)
{
    struct fw_gpu_timer *t = *state;

    frame(t, 4200000);
    frame(t, 5000000);
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    gpu.done = 2;
    assert_int_equal(fw_gpu_timer_fetch(t), 4200);
    assert_int_equal(fw_gpu_timer_fetch(t), 0); /* once */
    gpu.done = 4;
    assert_int_equal(fw_gpu_timer_fetch(t), 5000);
    assert_int_equal(t->counts.measured, 2);
}

static void a_late_gpu_is_never_waited_for(void **state)
{
    struct fw_gpu_timer *t = *state;

    for (int i = 0; i < FW_GPU_SLOTS + 3; i++)
        frame(t, 1000000);
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    assert_int_equal(t->counts.frames, FW_GPU_SLOTS + 3);
    assert_int_equal(t->counts.skipped, 3);
    assert_int_equal(gpu.counters, NAMES);
    gpu.done = NAMES;
    assert_int_equal(fw_gpu_timer_fetch(t), 1000);
    assert_int_equal(t->counts.measured, FW_GPU_SLOTS);
    frame(t, 2000000); /* and on it goes, in the first pair */
    assert_int_equal(fw_gpu_timer_fetch(t), 2000);
}

static void what_was_on_its_way_while_the_clock_broke_is_discarded(void **state)
{
    struct fw_gpu_timer *t = *state;

    frame(t, 1000000);
    frame(t, 1000000);
    gpu.done = 2;
    gpu.disjoint = 1;
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    gpu.done = NAMES;
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    assert_int_equal(t->counts.measured, 0);
    assert_int_equal(t->counts.disjoint, 2);
    frame(t, 3000000);
    assert_int_equal(fw_gpu_timer_fetch(t), 3000);
}

static void a_time_that_cannot_be_is_not_told(void **state)
{
    struct fw_gpu_timer *t = *state;

    gpu.done = NAMES;
    gpu.now_ns = 50000000;
    frame(t, -20000000); /* backwards */
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    frame(t, 6000000000); /* Mesa's software renderer has told absolute times */
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
    assert_int_equal(t->counts.implausible, 2);
    assert_int_equal(t->counts.measured, 0);
}

static void an_end_without_a_begin_is_nothing(void **state)
{
    struct fw_gpu_timer *t = *state;

    fw_gpu_timer_end(t);
    assert_int_equal(gpu.counters, 0);
    gpu.done = NAMES;
    assert_int_equal(fw_gpu_timer_fetch(t), 0);
}

static void a_context_without_timestamps_asks_for_none(void **state)
{
    struct fw_gl_api without = api;
    struct fw_gpu_timer t;

    (void)state;
    without.timestamps = false;
    fw_gpu_timer_init(&t, &without);
    frame(&t, 1000000);
    assert_int_equal(fw_gpu_timer_fetch(&t), 0);
    assert_int_equal(t.counts.timestamps, 0);
    assert_int_equal(gpu.counters, 0);
    fw_gpu_timer_fini(&t);
}

static void *no_function(const char *name)
{
    (void)name;
    return NULL;
}

static void what_is_no_opengl_is_refused(void **state)
{
    fw_gl_counts counts = {.size = sizeof counts, .frames = 7};

    (void)state;
    assert_null(fw_gl_new(NULL, no_function));
    assert_null(fw_gl_new(NULL, NULL));
    fw_gl_frame_begin(NULL);
    fw_gl_frame_end(NULL);
    fw_gl_overlay(NULL, 0, 0, 100, 100, 1);
    fw_gl_read_counts(NULL, &counts);
    assert_int_equal(counts.frames, 0);
    fw_gl_free(NULL);
}

/* Figures ----------------------------------------------------------------------------------------
 */

static void the_last_frames_are_shown_oldest_first(void **state)
{
    struct fw_ring *r = calloc(1, sizeof *r);
    fw_hud_figures f = {0};
    uint64_t t = 1000000000;

    (void)state;
    fw_ring_figures(r, &f);
    assert_int_equal(f.n_frames, 0);
    fw_ring_push(r, t);
    fw_ring_figures(r, &f);
    assert_int_equal(f.n_frames, 0); /* one present is no frame yet */
    for (int i = 0; i < 300; i++)
        fw_ring_push(r, t += 20000000);
    fw_ring_push(r, t += 40000000);
    fw_ring_figures(r, &f);
    assert_int_equal(f.n_frames, FW_HUD_FRAMES);
    assert_int_equal(f.frame_us[0], 20000);
    assert_int_equal(f.frame_us[FW_HUD_FRAMES - 1], 40000);
    /* 48 frames of 20 ms and one of 40 ms are a second */
    assert_int_equal(f.fps_milli, 49000);
    free(r);
}

static void a_hole_in_the_row_is_not_a_frame(void **state)
{
    struct fw_ring *r = calloc(1, sizeof *r);
    fw_hud_figures f = {0};

    (void)state;
    fw_ring_push(r, 1000000000);
    fw_ring_push(r, 1016000000);
    r->mark = FW_RING_ROW_START;
    fw_ring_push(r, 2000000000);
    fw_ring_push(r, 2010000000);
    fw_ring_figures(r, &f);
    assert_int_equal(f.n_frames, 1);
    assert_int_equal(f.frame_us[0], 10000);
    fw_ring_push(r, 9000000000); /* the game was away */
    memset(&f, 0, sizeof f);
    fw_ring_figures(r, &f);
    assert_int_equal(f.n_frames, 0);
    free(r);
}

static void a_look_that_lacks_a_value_leaves_the_one_before(void **state)
{
    struct fw_board b;
    struct fw_wire_hardware h;
    fw_hud_figures f = {0};

    (void)state;
    fw_board_init(&b);
    fw_board_read(&b, &f);
    assert_int_equal(f.memory_kb, -1);
    assert_int_equal(f.temperature_millicelsius, -1);
    assert_int_equal(f.gpu_time_us, -1);
    fw_wire_hardware_init(&h);
    fw_board_gpu_time(&b, 4200);
    h.rss_kb = 300000;
    h.battery_millicelsius = 38500;
    fw_board_hardware(&b, &h);
    fw_wire_hardware_init(&h);
    h.process_cpu_permille = 230;
    fw_board_hardware(&b, &h);
    fw_board_gpu_time(&b, 0);
    fw_board_jank(&b);
    fw_board_read(&b, &f);
    assert_int_equal(f.memory_kb, 300000);
    assert_int_equal(f.temperature_millicelsius, 38500);
    assert_int_equal(f.process_cpu_permille, 230);
    assert_int_equal(f.total_cpu_permille, -1);
    assert_int_equal(f.gpu_time_us, 4200);
    assert_int_equal(f.janks, 1);
}

static void a_full_display_is_cut_never_overrun(void **state)
{
    struct fw_quads *q = calloc(1, sizeof *q);
    const struct fw_color color = {1, 2, 3, 4};

    (void)state;
    for (int i = 0; i < 2000; i++)
        fw_quads_text(q, 0, 0, 1, color, "FPS 8 ~\xff");
    assert_int_equal(q->n, FW_QUADS * FW_QUAD_VERTICES);
    free(q);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_frames_time_is_told_when_it_is_there),
        TEST(a_late_gpu_is_never_waited_for),
        TEST(what_was_on_its_way_while_the_clock_broke_is_discarded),
        TEST(a_time_that_cannot_be_is_not_told),
        TEST(an_end_without_a_begin_is_nothing),
        cmocka_unit_test(a_context_without_timestamps_asks_for_none),
        cmocka_unit_test(what_is_no_opengl_is_refused),
        cmocka_unit_test(the_last_frames_are_shown_oldest_first),
        cmocka_unit_test(a_hole_in_the_row_is_not_a_frame),
        cmocka_unit_test(a_look_that_lacks_a_value_leaves_the_one_before),
        cmocka_unit_test(a_full_display_is_cut_never_overrun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
