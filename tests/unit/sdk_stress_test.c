/* A game that does everything at once, and long frames under the locks that a taker of stacks must
 * not need. FW_ROUNDS: rounds of each lock (10,000; 200 where a sanitizer slows each down). */
#include "src/clock.h"
#include "src/control/context.h"
#include "src/control/watchdog.h"
#include "support/stack_room.h"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#if !defined(VALGRIND_COUNT_ERRORS)
#define VALGRIND_COUNT_ERRORS 0
#endif

#define MS 1000000ull
#define PATIENCE_NS (120 * 1000 * MS) /* a machine may be busy with other things */
#define THREADS 8
#define CALLS 2000

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OTHER_ALLOCATOR 1
#endif
#endif

#if defined(OTHER_ALLOCATOR)
#define ROUNDS 200
#else
#define ROUNDS 10000
#endif

/* ---- the locks ---- */

struct fixture {
    struct fw_hook hook;
    struct fw_desk desk;
    struct fw_waker sampler;
    struct fw_log log;
    struct fw_watchdog dog;
};

static void say_nothing(void *user, fw_log_level level, const char *text)
{
    (void)user, (void)level, (void)text;
}

static int start_dog(void **state)
{
    struct fixture *fx = aligned_alloc(FW_CACHE_LINE, sizeof *fx);

    memset(fx, 0, sizeof *fx);
    fw_desk_init(&fx->desk);
    assert_true(fw_waker_init(&fx->sampler));
    fx->log = (struct fw_log){say_nothing, NULL};
    fx->dog.hook = &fx->hook;
    fx->dog.desk = &fx->desk;
    fx->dog.sampler = &fx->sampler;
    fx->dog.log = &fx->log;
    atomic_store(&fx->dog.jank_stack_ms, 1);
    atomic_store(&fx->dog.stacks, true);
    assert_true(fw_watchdog_start(&fx->dog, true));
    *state = fx;
    return 0;
}

static int stop_dog(void **state)
{
    struct fixture *fx = *state;

    fw_watchdog_stop(&fx->dog);
    fw_watchdog_fini(&fx->dog);
    fw_waker_fini(&fx->sampler);
    fw_desk_fini(&fx->desk);
    free(fx);
    return 0;
}

static bool sampled(struct fixture *fx, uint64_t began)
{
    bool found = false;

    pthread_mutex_lock(&fx->desk.mutex);
    for (size_t i = 0; i < FW_DESK_FRAMES; i++)
        found = found || (fx->desk.frame[i].began_ns == began && fx->desk.frame[i].n);
    pthread_mutex_unlock(&fx->desk.mutex);
    return found;
}

/* Frames that last until the stack of one has been laid down: all of it, unwinding and modules,
 * while whoever called us holds what it holds. A frame is given up after 3 s: a machine that gave
 * us no time spoils all its samples, and in the end makes the watchdog think that nobody answers.
 */
static bool long_frame(struct fixture *fx)
{
    uint64_t began, first = fw_now_ns();

    do {
        began = fw_now_ns();
        atomic_store(&fx->dog.off_reason, NULL);
        fw_hook_present(&fx->hook, began);
        while (!sampled(fx, began) && fw_now_ns() - began < 3000 * MS)
            ;
    } while (!sampled(fx, began) && fw_now_ns() - first < PATIENCE_NS);
    return sampled(fx, began);
}

static unsigned long rounds(void)
{
    const char *text = getenv("FW_ROUNDS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 0;

    return n ? n : ROUNDS;
}

static int under_loader(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)info, (void)size;
    return long_frame(user) ? 1 : -1;
}

static void stacks_are_taken_while_the_main_thread_holds_the_loaders_lock(void **state)
{
    for (unsigned long i = rounds(); i; i--)
        assert_int_equal(dl_iterate_phdr(under_loader, *state), 1);
}

/* The allocator's lock is one of ours before glibc's own: while the main thread holds it, whoever
 * else allocates or frees waits. Sanitizers bring an allocator of their own. */
#if !defined(OTHER_ALLOCATOR)
static _Atomic int holder; /* thread; 0 nobody */

static void pass(void)
{
    int who;

    while ((who = atomic_load(&holder)) != 0 && who != (int)gettid())
        sched_yield();
}

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n);
extern void __libc_free(void *old);

void *malloc(size_t n)
{
    pass();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    pass();
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    pass();
    return __libc_realloc(old, n);
}

void free(void *old)
{
    pass();
    __libc_free(old);
}

static void stacks_are_taken_while_the_main_thread_holds_the_allocators_lock(void **state)
{
    for (unsigned long i = rounds(); i; i--) {
        atomic_store(&holder, (int)gettid());

        bool ok = long_frame(*state);
        atomic_store(&holder, 0);
        assert_true(ok);
    }
}
#endif

/* ---- the game ---- */

struct game {
    char path[64];
    fw_options options;
    fw_context *fw;
    _Atomic bool stop;
    _Atomic unsigned busy;
};

static fw_network no_network(void *user)
{
    (void)user;
    return FW_NETWORK_NONE;
}

/* The server is down. */
static int no_transport(void *user, fw_http_request *request)
{
    (void)user;
    request->status = 0;
    return 0;
}

static void host_values(void *user, fw_host_values *v)
{
    (void)user;
    v->pss_kb = 100000;
}

static int make_game(void **state)
{
    struct game *g = calloc(1, sizeof *g);

    snprintf(g->path, sizeof g->path, "/tmp/fw-stress-XXXXXX");
    assert_non_null(mkdtemp(g->path));
    fw_options_init(&g->options);
    g->options.server_url = "http://127.0.0.1:9";
    g->options.api_key = "none";
    g->options.storage_path = g->path;
    g->options.app = "stress";
    g->options.version_name = "1";
    g->options.hardware_period_ms = 100;
    g->options.slice_ms = 200;
    g->options.jank_stack_ms = 5;
    g->options.network = no_network;
    g->options.transport = no_transport;
    g->options.host_values = host_values;
    *state = g;
    return 0;
}

static int end_game(void **state)
{
    struct game *g = *state;
    char command[96];

    snprintf(command, sizeof command, "rm -r %s", g->path);
    assert_int_equal(system(command), 0);
    free(g);
    return 0;
}

/* One of everything that any thread may call. */
static void call_something(fw_context *fw, unsigned i)
{
    const fw_attribute attribute[] = {{"players", i}, {"ping", 40}};
    char text[64];

    switch (i % 10) {
    case 0:
        snprintf(text, sizeof text, "map-%u", i % 7);
        fw_scene(fw, i % 20 ? "arena" : NULL, text, attribute, i % 3);
        break;
    case 1:
        fw_position(fw, (float)i, -(float)i);
        break;
    case 2:
        fw_step(fw, "open-door");
        break;
    case 3:
        fw_background(fw);
        break;
    case 4:
        fw_foreground(fw);
        break;
    case 5:
        fw_low_memory(fw);
        break;
    case 6:
        fw_gpu_time(fw, 5000 + i);
        break;
    case 7:
        fw_feedback(fw, "bug", "mail me at somebody@example.org, or 0123456789");
        break;
    case 8:
        fw_target(fw, i % 2 ? 16667 : 33333, 60000);
        break;
    default:
        fw_session_id(fw, text);
        break;
    }
}

static void *caller(void *user)
{
    struct game *g = user;
    unsigned i = 0;

    fw_thread_begin(g->fw);
    while (i < CALLS || !atomic_load(&g->stop)) {
        call_something(g->fw, i++);
        free(malloc(i % 5000 + 1));
        if (i == CALLS)
            atomic_fetch_sub(&g->busy, 1);
        if (i % 64 == 0)
            usleep(500);
    }
    fw_thread_end(g->fw);
    return NULL;
}

/* A clock that jumps: the engine's own present times, back and far ahead. */
static void odd_frame(fw_context *fw, unsigned i)
{
    uint64_t now = fw_now_ns();

    if (i % 50 == 7)
        fw_frame_at(fw, now - 3600ull * 1000 * MS);
    else if (i % 50 == 9)
        fw_frame_at(fw, now + 3600ull * 1000 * MS);
    else if (i % 50 == 11)
        fw_frame_at(fw, 0);
    else
        fw_frame(fw);
}

/* Ends a child that left other threads behind. What only those threads' registers and stacks knew
 * of is a leak to a checker that looks at the child's end, so that it must not: another program
 * takes the child's place. */
static _Noreturn void leave_unlooked_at(void)
{
    if (VALGRIND_COUNT_ERRORS)
        _exit(2);
    execl("/bin/true", "true", NULL);
    _exit(3);
}

/* The child goes on with a copy of everything but the threads; what it calls must neither hang nor
 * write into the parent's files. */
static bool forked_child_lives(fw_context *fw)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        for (unsigned i = 0; i < 30; i++) {
            fw_frame(fw);
            call_something(fw, i);
        }
        leave_unlooked_at();
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void play(struct game *g, fw_hud_figures *figures)
{
    for (unsigned i = 0; atomic_load(&g->busy); i++) {
        odd_frame(g->fw, i);
        figures->size = sizeof *figures;
        fw_hud(g->fw, figures);
        usleep(i % 40 ? 1000 : 12000); /* some frames are long */
        if (i % 100 == 30)
            assert_true(forked_child_lives(g->fw));
        if (i % 150 == 60)
            fw_reset_install_id(g->fw);
        if (i % 150 == 90) {
            fw_consent(g->fw, 0);
            fw_consent(g->fw, 1);
        }
    }
}

static void eight_threads_call_everything_and_the_session_ends_whole(void **state)
{
    struct game *g = *state;
    fw_hud_figures figures;
    pthread_t thread[THREADS];
    char id[33];

    g->fw = fw_start(&g->options);
    assert_non_null(g->fw);
    atomic_store(&g->busy, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, caller, g), 0);
    play(g, &figures);
    assert_true(forked_child_lives(g->fw));
    atomic_store(&g->stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fw_foreground(g->fw);
    fw_session_id(g->fw, id);
    assert_int_equal(strlen(id), 32);
    fw_stop(g->fw);

    char path[160];
    snprintf(path, sizeof path, "%s/%s-0000.open", g->path, id);
    assert_int_not_equal(access(path, F_OK), 0); /* finished */
}

int main(void)
{
    stack_room();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            stacks_are_taken_while_the_main_thread_holds_the_loaders_lock, start_dog, stop_dog),
#if !defined(OTHER_ALLOCATOR)
        cmocka_unit_test_setup_teardown(
            stacks_are_taken_while_the_main_thread_holds_the_allocators_lock, start_dog, stop_dog),
#endif
        cmocka_unit_test_setup_teardown(eight_threads_call_everything_and_the_session_ends_whole,
                                        make_game, end_game),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
