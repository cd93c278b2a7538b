/* Stacks while frames are long, whatever lock the frame holds. */
#include "src/clock.h"
#include "src/control/watchdog.h"
#include "support/stack_room.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define PATIENCE_NS (120 * 1000 * MS) /* a machine may be busy with other things */

struct fixture {
    struct fw_hook hook;
    struct fw_desk desk;
    struct fw_waker sampler;
    struct fw_log log;
    struct fw_watchdog dog;
    struct fw_desk_frame taken;
    char said[256];
    pthread_t main;
    _Atomic unsigned asked, asked_early, asked_on_main; /* for the managed stack */
    _Atomic bool slow;
};

static void say(void *user, fw_log_level level, const char *text)
{
    struct fixture *fx = user;

    (void)level;
    snprintf(fx->said, sizeof fx->said, "%s", text);
}

static void tell_managed(void *user, fw_managed_stack *out)
{
    struct fixture *fx = user;
    uint64_t began;

    atomic_fetch_add(&fx->asked, 1);
    if (fw_hook_running_ns(&fx->hook, fw_now_ns(), &began) < 20 * MS)
        atomic_fetch_add(&fx->asked_early, 1);
    if (pthread_equal(pthread_self(), fx->main))
        atomic_fetch_add(&fx->asked_on_main, 1);
    fw_managed_frame(out, FW_MANAGED_JAVA, "a.b.load(SourceFile:7)");
    fw_managed_frame(out, FW_MANAGED_JAVA, "a.b.run(SourceFile:9)");
    if (atomic_load(&fx->slow))
        usleep((FW_MANAGED_SLOW_MS + 10) * 1000u);
}

static int set_up_with(void **state, bool managed, bool native)
{
    struct fixture *fx = aligned_alloc(FW_CACHE_LINE, sizeof *fx);

    memset(fx, 0, sizeof *fx);
    fw_desk_init(&fx->desk);
    assert_true(fw_waker_init(&fx->sampler));
    fx->log = (struct fw_log){say, fx};
    fx->dog.hook = &fx->hook;
    fx->dog.desk = &fx->desk;
    fx->dog.sampler = &fx->sampler;
    fx->dog.log = &fx->log;
    atomic_store(&fx->dog.jank_stack_ms, 20);
    atomic_store(&fx->dog.stacks, true);
    fx->main = pthread_self();
    if (managed) {
        fx->dog.managed.call = tell_managed;
        fx->dog.managed.user = fx;
    }
    assert_true(fw_watchdog_start(&fx->dog, native));
    *state = fx;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, false, true);
}

static int set_up_managed(void **state)
{
    return set_up_with(state, true, true);
}

static int set_up_managed_alone(void **state)
{
    return set_up_with(state, true, false);
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    fw_watchdog_stop(&fx->dog);
    fw_watchdog_fini(&fx->dog);
    fw_waker_fini(&fx->sampler);
    fw_desk_fini(&fx->desk);
    free(fx);
    return 0;
}

static uint64_t present(struct fixture *fx)
{
    uint64_t now = fw_now_ns();

    fw_hook_present(&fx->hook, now);
    return now;
}

static size_t samples_on_desk(struct fixture *fx, uint64_t began)
{
    size_t n = 0;

    pthread_mutex_lock(&fx->desk.mutex);
    for (size_t i = 0; i < FW_DESK_FRAMES; i++)
        if (fx->desk.frame[i].began_ns == began)
            n = fx->desk.frame[i].n;
    pthread_mutex_unlock(&fx->desk.mutex);
    return n;
}

#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

/* Works until the frame has given that many stacks; false when it never does. */
KEEP static bool work_until_sampled(struct fixture *fx, uint64_t began, size_t samples,
                                    void (*work)(void))
{
    while (samples_on_desk(fx, began) < samples) {
        if (fw_now_ns() - began > PATIENCE_NS)
            return false;
        work();
    }
    return true;
}

static void nap(void)
{
    usleep(1000);
}

static bool mentions(struct fixture *fx, const struct fw_desk_sample *s, const void *function,
                     size_t size)
{
    for (size_t i = 0; i < s->n; i++) {
        uint64_t base =
            s->module[i] == FW_DESK_NO_MODULE ? 0 : fx->desk.module[s->module[i]].load_address;
        uint64_t address = s->offset[i] + base, begin = (uint64_t)(uintptr_t)function;

        if (address > begin && address < begin + size)
            return true;
    }
    return false;
}

static void a_long_frame_gives_stacks_while_it_lasts(void **state)
{
    struct fixture *fx = *state;
    uint64_t began = present(fx);

    assert_true(work_until_sampled(fx, began, 2, nap));
    present(fx);
    assert_true(fw_desk_take(&fx->desk, began, &fx->taken));
    assert_in_range(fx->taken.n, 2, FW_DESK_SAMPLES);
    assert_in_range(fx->taken.sample[0].t_ns - began, 20 * MS, PATIENCE_NS);
    assert_true(fx->taken.sample[1].t_ns - fx->taken.sample[0].t_ns >= 19 * MS);
    assert_true(mentions(fx, &fx->taken.sample[0], (const void *)work_until_sampled, 512));
    assert_true(atomic_load(&fx->dog.jank_ns) == began);
    assert_false(fw_desk_take(&fx->desk, began, &fx->taken)); /* taken is taken */
}

static void a_frame_gives_at_most_eight_stacks(void **state)
{
    struct fixture *fx = *state;
    uint64_t began = present(fx);

    assert_true(work_until_sampled(fx, began, FW_DESK_SAMPLES, nap));
    for (uint64_t until = fw_now_ns() + 60 * MS; fw_now_ns() < until;)
        nap();
    assert_int_equal(samples_on_desk(fx, began), FW_DESK_SAMPLES);
}

static void a_frame_that_was_long_before_stacks_were_wanted_gives_them(void **state)
{
    struct fixture *fx = *state;

    atomic_store(&fx->dog.stacks, false);
    uint64_t began = present(fx), before = atomic_load(&fx->dog.wakeups);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && atomic_load(&fx->dog.wakeups) < before + FW_DESK_SAMPLES + 2;)
        nap();
    assert_int_equal(samples_on_desk(fx, began), 0);
    atomic_store(&fx->dog.stacks, true);
    fw_waker_wake(&fx->dog.waker);
    assert_true(work_until_sampled(fx, began, 2, nap));
}

static void short_frames_are_never_interrupted(void **state)
{
    struct fixture *fx = *state;
    uint64_t worst = 0, last = present(fx), first = last;

    for (int i = 0; i < 150; i++) {
        usleep(4000);
        uint64_t now = present(fx);
        if (now - last > worst)
            worst = now - last;
        last = now;
    }
    fw_hook_block(&fx->hook, FW_BLOCK_BACKGROUND);
    uint64_t end = fw_now_ns();
    if (end - last > worst)
        worst = end - last;
    if (worst < 19 * MS) /* else the machine itself was too busy for short frames */
        assert_int_equal(atomic_load(&fx->dog.capture.sent), 0);
    if (worst < 10 * MS) /* it sleeps for 20 ms less the age of the frame: not one a frame */
        assert_in_range(atomic_load(&fx->dog.wakeups), 1, (end - first) / (10 * MS) + 2);
}

static void nothing_is_taken_in_the_background(void **state)
{
    struct fixture *fx = *state;

    present(fx);
    fw_hook_block(&fx->hook, FW_BLOCK_BACKGROUND);
    for (uint64_t until = fw_now_ns() + 100 * MS; fw_now_ns() < until;)
        nap();
    assert_in_range(atomic_load(&fx->dog.capture.sent), 0, 1); /* 1: blocked too late */
    fw_hook_unblock(&fx->hook, FW_BLOCK_BACKGROUND);
    fw_waker_wake(&fx->dog.waker);
    uint64_t began = present(fx);
    assert_true(work_until_sampled(fx, began, 1, nap));
}

/* The loader calls back with its lock held; the frame is long inside. */
static struct fixture *in_loader;
static uint64_t in_loader_began;
static bool in_loader_sampled;

static int long_frame_in_loader(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)info, (void)size, (void)user;
    in_loader_began = present(in_loader);
    in_loader_sampled = work_until_sampled(in_loader, in_loader_began, 3, nap);
    return 1;
}

static void a_frame_that_holds_the_loaders_lock_is_sampled(void **state)
{
    in_loader = *state;
    dl_iterate_phdr(long_frame_in_loader, NULL);
    assert_true(in_loader_sampled);
    assert_true(fw_desk_take(&in_loader->desk, in_loader_began, &in_loader->taken));
    assert_true(
        mentions(in_loader, &in_loader->taken.sample[0], (const void *)long_frame_in_loader, 512));
}

static void churn_heap(void)
{
    void *block[64];

    for (size_t i = 0; i < 64; i++)
        block[i] = malloc(i * 997 + 1);
    malloc_trim(0); /* holds every arena's lock in turn */
    for (size_t i = 0; i < 64; i++)
        free(block[i]);
}

static void churn_loader(void)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW);

    assert_non_null(library);
    dlclose(library);
}

static void frames_full_of_malloc_and_dlopen_are_sampled_without_a_deadlock(void **state)
{
    struct fixture *fx = *state;
    const char *preload = getenv("LD_PRELOAD");

    if (preload && strstr(preload, "vgpreload"))
        skip(); /* valgrind runs one thread at a time: nobody answers in 200 ms */
    alarm(800); /* a deadlock ends the program */
    for (int round = 0; round < 40; round++) {
        uint64_t began = present(fx);

        assert_true(work_until_sampled(fx, began, 2, round % 2 ? churn_heap : churn_loader));
    }
    alarm(0);
    assert_null(atomic_load(&fx->dog.off_reason));
}

static void a_main_thread_that_never_answers_ends_the_stacks_and_the_reason_is_told(void **state)
{
    struct fixture *fx = *state;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && !atomic_load(&fx->dog.off_reason);) {
        present(fx); /* long frames, one after the other */
        for (int i = 0; i < 60; i++)
            nap();
    }
    fw_watchdog_stop(&fx->dog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_string_equal(atomic_load(&fx->dog.off_reason), "the main thread does not answer");
    assert_non_null(strstr(fx->said, "does not answer"));
    assert_true(atomic_load(&fx->dog.failures) >= 2);
    assert_int_equal(atomic_load(&fx->dog.capture.sent), 1); /* they would queue up */
}

static void a_main_thread_that_answers_late_keeps_its_stacks(void **state)
{
    struct fixture *fx = *state;
    sigset_t all, before;
    uint64_t began;

    sigfillset(&all);
    for (int i = 0; i < 4; i++) {
        uint64_t failures = atomic_load(&fx->dog.failures);

        pthread_sigmask(SIG_BLOCK, &all, &before); /* as if it did not get the processor */
        present(fx);
        for (uint64_t until = fw_now_ns() + PATIENCE_NS;
             fw_now_ns() < until && atomic_load(&fx->dog.failures) == failures;)
            nap();
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    began = present(fx);
    assert_true(work_until_sampled(fx, began, 1, nap));
    assert_null(atomic_load(&fx->dog.off_reason));
}

static bool has_managed(struct fixture *fx, const struct fw_desk_sample *s)
{
    const struct fw_desk_texts *t = fw_desk_texts_of(&fx->desk, s);

    return t && t->n == 2 && !strcmp(t->bytes, "a.b.load(SourceFile:7)");
}

/* Takes a frame whose first two stacks have managed frames. Calls that the machine made slow, which
 * is busy with other things, leave them out: then another long frame is made. */
static bool take_told(struct fixture *fx, uint64_t began)
{
    for (uint64_t until = fw_now_ns() + PATIENCE_NS; fw_now_ns() < until;) {
        assert_true(fw_desk_take(&fx->desk, began, &fx->taken));
        if (fx->taken.sample[0].n && has_managed(fx, &fx->taken.sample[0]) &&
            has_managed(fx, &fx->taken.sample[1]))
            return true;
        fw_desk_give_back(&fx->desk, &fx->taken);
        atomic_store(&fx->dog.managed.off_reason, NULL);
        began = present(fx);
        assert_true(work_until_sampled(fx, began, 2, nap));
    }
    return false;
}

static void
the_game_is_asked_for_its_managed_stack_while_a_frame_is_long_and_only_then(void **state)
{
    struct fixture *fx = *state;
    uint64_t began = 0, worst = 0, last = present(fx);

    for (int i = 0; i < 50; i++, last = began) {
        usleep(4000);
        began = present(fx);
        worst = began - last > worst ? began - last : worst;
    }
    if (worst < 19 * MS) /* else the machine itself was too busy for short frames */
        assert_int_equal(atomic_load(&fx->asked), 0);
    assert_true(work_until_sampled(fx, began, 2, nap));
    assert_true(atomic_load(&fx->asked) >= 2);
    if (worst < 19 * MS) /* else a frame may have ended just before the call */
        assert_int_equal(atomic_load(&fx->asked_early), 0);
    assert_int_equal(atomic_load(&fx->asked_on_main), 0);
    assert_true(take_told(fx, began));
    assert_true(mentions(fx, &fx->taken.sample[0], (const void *)work_until_sampled, 512));
    fw_desk_give_back(&fx->desk, &fx->taken);
}

static void managed_stacks_come_where_the_main_thread_may_not_be_signalled(void **state)
{
    struct fixture *fx = *state;
    uint64_t began = present(fx);

    assert_true(work_until_sampled(fx, began, 1, nap));
    assert_true(fw_desk_take(&fx->desk, began, &fx->taken));
    assert_int_equal(fx->taken.sample[0].n, 0);
    assert_true(fx->taken.sample[0].t_ns - began >= 20 * MS);
    assert_true(has_managed(fx, &fx->taken.sample[0]));
    assert_int_equal(atomic_load(&fx->dog.capture.sent), 0);
    fw_desk_give_back(&fx->desk, &fx->taken);
}

static void a_game_that_answers_slowly_is_not_asked_again_and_native_stacks_go_on(void **state)
{
    struct fixture *fx = *state;
    uint64_t began;

    atomic_store(&fx->slow, true);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS;
         fw_now_ns() < until && !atomic_load(&fx->dog.managed.off_reason);)
        assert_true(work_until_sampled(fx, present(fx), 3, nap));
    assert_int_equal(atomic_load(&fx->asked), FW_MANAGED_MAX_SLOW);
    assert_non_null(strstr(fx->said, "managed stacks are off"));
    atomic_store(&fx->slow, false);
    began = present(fx);
    assert_true(work_until_sampled(fx, began, 2, nap));
    assert_int_equal(atomic_load(&fx->asked), FW_MANAGED_MAX_SLOW);
    assert_true(fw_desk_take(&fx->desk, began, &fx->taken));
    assert_null(fw_desk_texts_of(&fx->desk, &fx->taken.sample[0]));
    assert_null(atomic_load(&fx->dog.off_reason));
}

#define DOG_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define MANAGED_TEST(f) cmocka_unit_test_setup_teardown(f, set_up_managed, tear_down)

int main(void)
{
    stack_room();

    const struct CMUnitTest tests[] = {
        DOG_TEST(a_long_frame_gives_stacks_while_it_lasts),
        DOG_TEST(a_frame_gives_at_most_eight_stacks),
        DOG_TEST(a_frame_that_was_long_before_stacks_were_wanted_gives_them),
        DOG_TEST(short_frames_are_never_interrupted),
        DOG_TEST(nothing_is_taken_in_the_background),
        DOG_TEST(a_frame_that_holds_the_loaders_lock_is_sampled),
        DOG_TEST(frames_full_of_malloc_and_dlopen_are_sampled_without_a_deadlock),
        DOG_TEST(a_main_thread_that_answers_late_keeps_its_stacks),
        MANAGED_TEST(the_game_is_asked_for_its_managed_stack_while_a_frame_is_long_and_only_then),
        cmocka_unit_test_setup_teardown(
            managed_stacks_come_where_the_main_thread_may_not_be_signalled, set_up_managed_alone,
            tear_down),
        MANAGED_TEST(a_game_that_answers_slowly_is_not_asked_again_and_native_stacks_go_on),
        DOG_TEST(a_main_thread_that_never_answers_ends_the_stacks_and_the_reason_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
