/* Calls of the public header from the game's callbacks: each call from each callback on each thread
 * it runs on, while a session begins, runs and ends. None hangs (an alarm would end the program) or
 * harms; what cannot be done is refused and told. */
#include "src/clock.h"
#include "src/control/context.h"
#include "src/thread.h"
#include "support/stack_room.h"

#include <zstd.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define PATIENCE_S 300 /* a machine may be busy with other things */
#define LONG_FRAME_US 300000u
#define SLOW_US ((FW_MANAGED_SLOW_MS + 10) * 1000u)
#define ROUNDS 3 /* of all calls, from one callback on one thread */
#define CALLS_THAT_ARE_REFUSED 6

enum callback {
    TRANSPORT,
    NETWORK,
    LOG,
    HOST_VALUES,
    ENVIRONMENT,
    MANAGED_STACK,
    ALLOCATE,
    RELEASE,
    CALLBACKS
};
static const char *const callback_name[] = {"transport",   "network",     "log",
                                            "host_values", "environment", "managed_stack",
                                            "allocate",    "release"};

enum place { MAIN, SAMPLE, WATCH, UPLOAD, PLACES };
static const char *const place_name[] = {"main", "fw-sample", "fw-watch", "fw-upload"};

struct game {
    char path[64];
    fw_options options;
    pthread_t main;
    _Atomic(fw_context *) fw;
    atomic_bool stopping; /* within fw_stop() */
    _Atomic(fw_managed_stack *) kept;
    atomic_uint rounds[CALLBACKS][PLACES];
    atomic_size_t blocks;            /* of memory, not released */
    _Atomic(const char *) complaint; /* the first that went wrong */

    pthread_mutex_t mutex; /* guards said */
    char said[8192];
};

static _Thread_local bool within[CALLBACKS];

static void complain(struct game *g, const char *text)
{
    const char *none = NULL;

    atomic_compare_exchange_strong(&g->complaint, &none, text);
}

static void expect(struct game *g, bool is_so, const char *text)
{
    if (!is_so)
        complain(g, text);
}

static bool in_time(uint64_t since_ns)
{
    return fw_now_ns() - since_ns < PATIENCE_S * 1000 * MS;
}

static enum place named(const char *name)
{
    for (enum place p = SAMPLE; p < PLACES; p++)
        if (!strcmp(name, place_name[p]))
            return p;
    return PLACES;
}

/* A thread of the SDK's may run before it has its name. */
static enum place here(struct game *g)
{
    enum place place = PLACES;
    char name[16] = "";

    if (pthread_equal(pthread_self(), g->main))
        return MAIN;
    for (uint64_t begin = fw_now_ns(); place == PLACES && in_time(begin);) {
        prctl(PR_GET_NAME, name);
        place = named(name);
        if (place == PLACES)
            usleep(1000);
    }
    expect(g, place != PLACES, "a thread without a name");
    return place == PLACES ? MAIN : place;
}

/* The SDK's threads run before fw_start() has told the handle. */
static fw_context *handle(struct game *g)
{
    bool waits = !pthread_equal(pthread_self(), g->main);
    fw_context *fw;

    for (uint64_t begin = fw_now_ns(); !(fw = atomic_load(&g->fw)) && waits;) {
        expect(g, in_time(begin), "no handle");
        if (!in_time(begin))
            break;
        usleep(1000);
    }
    return fw;
}

/* What begins and ends sessions, and what belongs to the main thread. */
static void make_refused_calls(struct game *g, fw_context *fw, enum place place)
{
    fw_hud_figures hud = {.size = sizeof hud};
    bool gone = !fw || (place == MAIN && atomic_load(&g->stopping));

    expect(g, !fw_start(&g->options), "a second session began");
    expect(g, !fw_stop(fw) || gone, "fw_stop");
    expect(g, !fw_consent(fw, 1) || gone, "fw_consent(1)");
    expect(g, !fw_consent(fw, 0) || gone, "fw_consent(0)");
    expect(g, !fw_reset_install_id(fw) || gone, "fw_reset_install_id");
    expect(g, !fw_delete_data(fw) || gone, "fw_delete_data");
    expect(g, !fw_hud(fw, &hud) && !hud.n_frames && hud.janks == -1, "fw_hud");
    fw_frame(fw);
    fw_frame_at(fw, fw_now_ns());
}

static void make_other_calls(struct game *g, fw_context *fw, fw_managed_stack *stack,
                             const char *step)
{
    const fw_attribute players = {"players", 5};
    fw_options o;
    char id[33];

    fw_step(fw, step);
    fw_target(fw, 16667, 60000);
    fw_scene(fw, "battle", "frost", &players, 1);
    fw_position(fw, 1, 2);
    fw_background(fw);
    fw_foreground(fw);
    fw_low_memory(fw);
    fw_gpu_time(fw, 5000);
    fw_feedback(fw, "lag", "it lags");
    fw_thread_begin(fw);
    fw_thread_end(fw);
    fw_thread_begin(fw); /* and never ended */
    fw_options_init(&o);
    fw_managed_frame(stack, FW_MANAGED_LUA, "main.lua:1: in function 'x'");
    fw_session_id(fw, id);
    expect(g, strlen(id) == 32 || !*id, "fw_session_id");
    expect(g, *fw_version(), "fw_version");
}

static void make_calls(struct game *g, enum callback from, fw_managed_stack *stack)
{
    fw_context *fw = handle(g);
    enum place place = here(g);
    char step[64], before[33], after[33];

    if (!fw || atomic_load(&g->rounds[from][place]) >= ROUNDS)
        return;
    snprintf(step, sizeof step, "%s on %s", callback_name[from], place_name[place]);
    fw_session_id(fw, before);
    make_refused_calls(g, fw, place);
    fw_session_id(fw, after);
    expect(g, !*before || !*after || !strcmp(before, after), "another session");
    make_other_calls(g, fw, stack, step);
    atomic_fetch_add(&g->rounds[from][place], 1);
}

/* A callback that calls the SDK is not called by what it calls. */
static void enter(struct game *g, enum callback from, fw_managed_stack *stack)
{
    expect(g, !within[from], "a callback within itself");
    if (within[from])
        return;
    within[from] = true;
    make_calls(g, from, stack);
    within[from] = false;
}

/* The game's callbacks. */

static int on_transport(void *user, fw_http_request *r)
{
    struct game *g = user;

    enter(g, TRANSPORT, atomic_load(&g->kept));
    r->status = 503;
    if (strstr(r->url, "/v1/config")) {
        r->status = 200;
        r->on_header(r->sink, "ETag", "\"x\"");
        r->on_body(r->sink, "{\"version\": 2}", 14);
    }
    return 0;
}

static fw_network on_network(void *user)
{
    struct game *g = user;

    enter(g, NETWORK, atomic_load(&g->kept));
    return FW_NETWORK_WIFI;
}

static void on_log(void *user, fw_log_level level, const char *text)
{
    struct game *g = user;
    size_t n;

    (void)level;
    pthread_mutex_lock(&g->mutex);
    n = strlen(g->said);
    snprintf(g->said + n, sizeof g->said - n, "%s\n", text);
    pthread_mutex_unlock(&g->mutex);
    enter(g, LOG, atomic_load(&g->kept));
}

static void on_host_values(void *user, fw_host_values *values)
{
    struct game *g = user;

    values->pss_kb = 1000;
    enter(g, HOST_VALUES, atomic_load(&g->kept));
}

static size_t on_environment(void *user, fw_evidence *out, size_t max)
{
    struct game *g = user;

    (void)out, (void)max;
    enter(g, ENVIRONMENT, atomic_load(&g->kept));
    return 0;
}

/* Slow, so that the watchdog logs: it gives the game up. */
static void on_managed_stack(void *user, fw_managed_stack *out)
{
    struct game *g = user;

    atomic_store(&g->kept, out);
    enter(g, MANAGED_STACK, out);
    usleep(SLOW_US);
}

static void *on_allocate(void *user, size_t bytes)
{
    struct game *g = user;
    void *memory = malloc(bytes);

    enter(g, ALLOCATE, atomic_load(&g->kept));
    if (memory)
        atomic_fetch_add(&g->blocks, 1);
    return memory;
}

/* The memory may be that of the handle itself. */
static void on_release(void *user, void *memory)
{
    struct game *g = user;

    enter(g, RELEASE, atomic_load(&g->kept));
    free(memory);
    atomic_fetch_sub(&g->blocks, 1);
    enter(g, RELEASE, atomic_load(&g->kept));
}

/* Fixture. */

static int set_up(void **state)
{
    struct game *g = calloc(1, sizeof *g);

    alarm(2 * PATIENCE_S); /* a call that hangs */
    stack_room();
    pthread_mutex_init(&g->mutex, NULL);
    g->main = pthread_self();
    snprintf(g->path, sizeof g->path, "/tmp/sdk_callback_XXXXXX");
    assert_non_null(mkdtemp(g->path));
    fw_options_init(&g->options);
    g->options.server_url = "http://server.example";
    g->options.api_key = "key";
    g->options.storage_path = g->path;
    g->options.app = "Game";
    g->options.hardware_period_ms = 200;
    g->options.jank_stack_ms = 20;
    g->options.user = g;
    *state = g;
    return 0;
}

static void empty_folder(const char *path)
{
    DIR *d = opendir(path);

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

static int tear_down(void **state)
{
    struct game *g = *state;

    alarm(0);
    empty_folder(g->path);
    rmdir(g->path);
    pthread_mutex_destroy(&g->mutex);
    free(g);
    return 0;
}

static void give_all_callbacks(fw_options *o)
{
    o->transport = on_transport;
    o->network = on_network;
    o->log = on_log;
    o->host_values = on_host_values;
    o->environment = on_environment;
    o->managed_stack = on_managed_stack;
    o->allocate = on_allocate;
    o->release = on_release;
}

static fw_context *start(struct game *g)
{
    fw_context *fw = fw_start(&g->options);

    assert_non_null(fw);
    atomic_store(&g->fw, fw);
    return fw;
}

static void stop(struct game *g)
{
    atomic_store(&g->stopping, true);
    assert_int_equal(fw_stop(atomic_load(&g->fw)), 1);
    atomic_store(&g->stopping, false);
    atomic_store(&g->fw, NULL);
}

static bool seen(struct game *g, enum callback from, enum place place)
{
    return atomic_load(&g->rounds[from][place]) > 0;
}

static void forget_rounds(struct game *g)
{
    for (size_t c = 0; c < CALLBACKS; c++)
        for (size_t p = 0; p < PLACES; p++)
            atomic_store(&g->rounds[c][p], 0);
}

/* Long frames until all calls were made from there. */
static void await(struct game *g, enum callback from, enum place place)
{
    for (uint64_t begin = fw_now_ns(); !seen(g, from, place);) {
        if (!in_time(begin))
            fail_msg("no call of %s on %s", callback_name[from], place_name[place]);
        fw_frame(atomic_load(&g->fw));
        for (unsigned us = 0; us < LONG_FRAME_US && !seen(g, from, place); us += 1000)
            usleep(1000);
    }
}

static bool has_said(struct game *g, const char *text)
{
    pthread_mutex_lock(&g->mutex);
    bool found = strstr(g->said, text);
    pthread_mutex_unlock(&g->mutex);
    return found;
}

static unsigned times_said(struct game *g, const char *text)
{
    unsigned n = 0;

    for (const char *at = g->said; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void assert_no_complaint(struct game *g)
{
    const char *complaint = atomic_load(&g->complaint);

    if (complaint)
        fail_msg("%s", complaint);
}

/* Tests. */

static void await_all_of_a_session(struct game *g)
{
    await(g, ENVIRONMENT, SAMPLE);
    await(g, LOG, SAMPLE);
    await(g, HOST_VALUES, SAMPLE);
    await(g, NETWORK, SAMPLE);
    await(g, NETWORK, UPLOAD);
    await(g, TRANSPORT, UPLOAD);
    await(g, ALLOCATE, UPLOAD);
    await(g, RELEASE, UPLOAD);
    await(g, MANAGED_STACK, WATCH);
    await(g, LOG, WATCH);
}

/* The folder is a file for a while, so that the main thread has something to tell. */
static void fail_to_begin(struct game *g)
{
    fw_context *fw = atomic_load(&g->fw);
    char aside[80];
    FILE *f;

    snprintf(aside, sizeof aside, "%s.aside", g->path);
    assert_int_equal(fw_consent(fw, 0), 1);
    assert_int_equal(rename(g->path, aside), 0);
    f = fopen(g->path, "w");
    assert_non_null(f);
    fclose(f);
    forget_rounds(g);
    assert_int_equal(fw_consent(fw, 1), 1);
    assert_true(has_said(g, "storage folder"));
    assert_true(seen(g, LOG, MAIN));
    assert_int_equal(unlink(g->path), 0);
    assert_int_equal(rename(aside, g->path), 0);
}

static void all_calls_from_all_callbacks_are_defined(void **state)
{
    static const char *const refused[CALLS_THAT_ARE_REFUSED] = {
        "fw_stop is refused",        "fw_consent is refused", "fw_reset_install_id is refused",
        "fw_delete_data is refused", "fw_frame is refused",   "fw_hud is refused"};
    struct game *g = *state;

    give_all_callbacks(&g->options);
    fw_context *fw = start(g);
    await_all_of_a_session(g);

    forget_rounds(g);
    assert_int_equal(fw_reset_install_id(fw), 1); /* ends one session and begins another */
    assert_true(seen(g, ALLOCATE, MAIN) && seen(g, RELEASE, MAIN));
    await_all_of_a_session(g);

    fail_to_begin(g);
    assert_int_equal(fw_consent(fw, 1), 1);
    await(g, HOST_VALUES, SAMPLE);

    stop(g);
    assert_int_equal(atomic_load(&g->blocks), 0);
    for (size_t i = 0; i < CALLS_THAT_ARE_REFUSED; i++)
        assert_int_equal(times_said(g, refused[i]), 1);
    assert_no_complaint(g);
}

/* Without a session a thread has the server forget: there, too, nobody waits for himself. */
static void on_log_of_the_eraser(void *user, fw_log_level level, const char *text)
{
    struct game *g = user;

    (void)level, (void)text;
    if (here(g) != UPLOAD)
        return;
    make_refused_calls(g, atomic_load(&g->fw), UPLOAD);
    atomic_fetch_add(&g->rounds[LOG][UPLOAD], 1);
}

static int refuse_to_forget(void *user, fw_http_request *r)
{
    struct game *g = user;

    if (strstr(r->url, "/v1/erasures")) {
        make_refused_calls(g, atomic_load(&g->fw), UPLOAD);
        atomic_fetch_add(&g->rounds[TRANSPORT][UPLOAD], 1);
    }
    r->status = 503;
    return 0;
}

static void calls_from_the_thread_that_has_the_server_forget_are_defined(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->options.transport = refuse_to_forget;
    g->options.log = on_log_of_the_eraser;
    fw = start(g);
    assert_int_equal(fw_delete_data(fw), 1);
    await(g, TRANSPORT, UPLOAD);
    await(g, LOG, UPLOAD);
    assert_int_equal(fw_consent(fw, 1), 1);
    stop(g);
    assert_no_complaint(g);
}

/* What arrives in the session's files. */
static bool recorded(const struct game *g, const char *text)
{
    static unsigned char bytes[1 << 20], raw[1 << 21];
    DIR *d = opendir(g->path);
    bool found = false;
    char path[512];

    assert_non_null(d);
    for (const struct dirent *e; !found && (e = readdir(d));) {
        if (!strstr(e->d_name, ".fws"))
            continue;
        snprintf(path, sizeof path, "%s/%s", g->path, e->d_name);

        FILE *f = fopen(path, "r");
        size_t n = fread(bytes, 1, sizeof bytes, f), len = 0;
        fclose(f);
        for (size_t at = 0; at < n;) {
            size_t frame = ZSTD_findFrameCompressedSize(bytes + at, n - at);
            size_t got = ZSTD_decompress(raw + len, sizeof raw - len, bytes + at, frame);

            assert_false(ZSTD_isError(frame) || ZSTD_isError(got));
            len += got;
            at += frame;
        }
        found = memmem(raw, len, text, strlen(text));
    }
    closedir(d);
    return found;
}

static void what_callbacks_tell_is_recorded(void **state)
{
    static const struct {
        enum callback from;
        enum place place;
    } cell[] = {
        {LOG, WATCH},          {HOST_VALUES, SAMPLE}, {NETWORK, SAMPLE},      {NETWORK, UPLOAD},
        {ENVIRONMENT, SAMPLE}, {TRANSPORT, UPLOAD},   {MANAGED_STACK, WATCH},
    };
    struct game *g = *state;
    char step[64];

    give_all_callbacks(&g->options);
    g->options.allocate = NULL; /* these would drown the others */
    g->options.release = NULL;
    start(g);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++)
        await(g, cell[i].from, cell[i].place);
    stop(g);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
        snprintf(step, sizeof step, "%s on %s", callback_name[cell[i].from],
                 place_name[cell[i].place]);
        if (!recorded(g, step))
            fail_msg("not recorded: %s", step);
    }
    assert_no_complaint(g);
}

static void draw_frames(void *user, fw_host_values *values)
{
    struct game *g = user;

    (void)values;
    for (unsigned i = 0; i < 100; i++)
        fw_frame(handle(g));
    atomic_fetch_add(&g->rounds[HOST_VALUES][SAMPLE], 1);
}

/* The ring has one producer. */
static void frames_of_the_sdks_threads_are_none(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->options.flags = FW_NO_UPLOAD | FW_NO_STACKS;
    g->options.host_values = draw_frames;
    fw = start(g);
    fw_frame(fw);
    for (uint64_t begin = fw_now_ns(); !seen(g, HOST_VALUES, SAMPLE) && in_time(begin);)
        usleep(1000);
    assert_true(seen(g, HOST_VALUES, SAMPLE));
    assert_int_equal(atomic_load(&fw->hook.ring.head), 1);
    stop(g);
}

/* The log callback. */

struct logged {
    fw_options options;
    unsigned lines, depth, deepest;
};

static void start_from_log(void *user, fw_log_level level, const char *text)
{
    struct logged *l = user;

    (void)level, (void)text;
    l->lines++;
    if (++l->depth > l->deepest)
        l->deepest = l->depth;
    assert_null(fw_start(&l->options)); /* which has a reason to tell */
    l->depth--;
}

static void a_log_callback_that_causes_lines_is_not_called_without_end(void **state)
{
    struct logged l = {.lines = 0};

    (void)state;
    fw_options_init(&l.options);
    l.options.log = start_from_log;
    l.options.user = &l;
    assert_null(fw_start(&l.options));
    assert_int_equal(l.lines, 2);
    assert_int_equal(l.deepest, 1);
}

/* Threads. */

static void *give_stack(void *user)
{
    void *_Atomic *given = user;
    stack_t s;

    if (fw_crash_give_stack() && sigaltstack(NULL, &s) == 0)
        atomic_store(given, s.ss_sp);
    return NULL;
}

static void the_alternate_stack_of_an_sdk_thread_goes_with_it(void **state)
{
    void *_Atomic given = NULL;
    unsigned char there;
    pthread_t thread;

    (void)state;
    assert_true(fw_thread_start(&thread, "fw-test", 65536, give_stack, (void *)&given));
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (!atomic_load(&given))
        skip(); /* AddressSanitizer gives each thread one of its own */
    assert_int_equal(mincore(atomic_load(&given), 1, &there), -1);
    assert_int_equal(errno, ENOMEM);
}

static void *tell_own(void *user)
{
    atomic_store((atomic_bool *)user, fw_thread_is_own());
    return NULL;
}

static void the_sdks_threads_are_told_from_the_games(void **state)
{
    atomic_bool own = false;
    pthread_t thread;

    (void)state;
    for (unsigned i = 0; i < 3 * FW_OWN_THREADS; i++) {
        assert_true(fw_thread_start(&thread, "fw-test", 65536, tell_own, &own));
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(atomic_load(&own));
        assert_int_equal(pthread_create(&thread, NULL, tell_own, &own), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_false(atomic_load(&own)); /* perhaps in the place, and with the id, of the other */
    }
    assert_false(fw_thread_is_own());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_calls_from_all_callbacks_are_defined, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            calls_from_the_thread_that_has_the_server_forget_are_defined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_callbacks_tell_is_recorded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frames_of_the_sdks_threads_are_none, set_up, tear_down),
        cmocka_unit_test(a_log_callback_that_causes_lines_is_not_called_without_end),
        cmocka_unit_test(the_alternate_stack_of_an_sdk_thread_goes_with_it),
        cmocka_unit_test(the_sdks_threads_are_told_from_the_games),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
