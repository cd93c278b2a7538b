/* The caller's allocator: all memory of the SDK comes from it and goes back to it, it is called
 * only where the header says, and when it has no more the game goes on. */
#include "src/clock.h"
#include "src/control/context.h"
#include "support/stack_room.h"

#include <zstd.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define PATIENCE_NS (120 * 1000 * MS) /* a machine may be busy with other things */
#define LEFT "0123456789abcdef0123456789abcdef"
#define MAX_LEFT_BYTES 65536u
#define MAX_CALLERS 4096u
#define MAX_UPLOADS 16u

/* The allocator of the game ------------------------------------------------------------------- */

#define LIVE 0x11fe0f1ea5eull
#define DEAD 0xdeadb10cull

struct block {
    uint64_t mark;
    size_t bytes;
};

struct counted {
    atomic_size_t calls, live, bytes, peak, refused;
    size_t fail_at; /* this call and those after it, up to fail_until; 0 none */
    size_t fail_until;
    atomic_bool bad;       /* what was released was not ours */
    atomic_bool forbidden; /* whoever calls now breaks the contract */
};

static _Thread_local bool inside, in_game_call;

static void tell_managed(void *user, fw_managed_stack *out)
{
    (void)user;
    fw_managed_frame(out, FW_MANAGED_LUA, "main.lua:7: in function 'load'");
}

static void break_off(void)
{
    static const char text[] = "the allocator was called where it must not be\n";

    (void)!write(2, text, sizeof text - 1);
    _exit(77);
}

static void *allocate(void *user, size_t bytes)
{
    struct counted *c = user;
    size_t call = atomic_fetch_add(&c->calls, 1) + 1, now, peak;
    struct block *b;

    if (atomic_load(&c->forbidden) || in_game_call)
        break_off();
    if (c->fail_at && call >= c->fail_at && call <= c->fail_until) {
        atomic_fetch_add(&c->refused, 1);
        return NULL;
    }
    inside = true;
    b = malloc(sizeof *b + bytes);
    inside = false;
    if (!b)
        return NULL;
    *b = (struct block){LIVE, bytes};
    memset(b + 1, 0xa5, bytes); /* nobody may count on zeros */
    atomic_fetch_add(&c->live, 1);
    now = atomic_fetch_add(&c->bytes, bytes) + bytes;
    peak = atomic_load(&c->peak);
    while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now))
        ;
    return b + 1;
}

static void release(void *user, void *memory)
{
    struct counted *c = user;
    struct block *b = (struct block *)memory - 1;

    if (atomic_load(&c->forbidden) || in_game_call)
        break_off();
    if (!memory || b->mark != LIVE) {
        atomic_store(&c->bad, true);
        return;
    }
    b->mark = DEAD;
    atomic_fetch_sub(&c->live, 1);
    atomic_fetch_sub(&c->bytes, b->bytes);
    inside = true;
    free(b);
    inside = false;
}

/* Who calls malloc ---------------------------------------------------------------------------- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 0
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#endif
#if !defined(OWN_MALLOC) && defined(__GLIBC__)
#define OWN_MALLOC 1
#endif

#if OWN_MALLOC /* sanitizers have one of their own */
static atomic_bool watched;
static atomic_size_t n_callers;
static void *caller[MAX_CALLERS];

static void note(void *from)
{
    size_t i;

    if (!atomic_load(&watched) || inside)
        return;
    i = atomic_fetch_add(&n_callers, 1);
    if (i < MAX_CALLERS)
        caller[i] = from;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *memory);
void *memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    note(__builtin_return_address(0));
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *memory, size_t n)
{
    note(__builtin_return_address(0));
    return __libc_realloc(memory, n);
}

void *memalign(size_t alignment, size_t n)
{
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    note(__builtin_return_address(0));
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : 12;
}

void free(void *memory)
{
    __libc_free(memory);
}

static void watch(void)
{
    atomic_store(&n_callers, 0);
    atomic_store(&watched, true);
}

/* Our own calls and zstd's. Other tools may have put their malloc in place of ours. */
static bool sees_malloc(void)
{
    void *volatile memory;

    watch();
    memory = malloc(1);
    free(memory);
    size_t own = atomic_load(&n_callers);
    ZSTD_freeCCtx(ZSTD_createCCtx());
    atomic_store(&watched, false);
    return own && atomic_load(&n_callers) > own;
}

/* What libc takes for its own calls: threads (the loader makes their thread-local storage), the
 * limits of the main stack, reading folders. */
static bool of_libc(void *address)
{
    Dl_info info;
    const char *name;

    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    name = strrchr(info.dli_fname, '/');
    name = name ? name + 1 : info.dli_fname;
    return !strncmp(name, "libc.so", 7) || !strncmp(name, "ld-linux", 8);
}
#endif

/* The game ------------------------------------------------------------------------------------ */

struct game {
    char path[64];
    fw_options options;
    struct counted memory;
    const char *config; /* NULL: 404 */
    atomic_size_t uploads, whole;
    struct {
        size_t have, length;
    } upload[MAX_UPLOADS]; /* of the uploading thread */
    unsigned char left[MAX_LEFT_BYTES];
    size_t n_left;
};

static size_t number(const fw_http_request *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *h = r->headers; *h; h++)
        if (!strncasecmp(*h, name, n) && (*h)[n] == ':')
            return strtoul(*h + n + 1, NULL, 10);
    return 0;
}

static int exchange(void *user, fw_http_request *r)
{
    struct game *g = (struct game *)((char *)user - offsetof(struct game, memory));
    char text[64];
    size_t i;

    if (strstr(r->url, "/v1/config")) {
        r->status = g->config ? 200 : 404;
        if (g->config)
            r->on_body(r->sink, g->config, strlen(g->config));
        return 0;
    }
    if (!strstr(r->url, "/v1/uploads")) {
        r->status = 204;
        return 0;
    }
    if (!strcmp(r->method, "POST")) {
        i = atomic_fetch_add(&g->uploads, 1) % MAX_UPLOADS;
        g->upload[i].have = 0;
        g->upload[i].length = number(r, "Upload-Length");
        snprintf(text, sizeof text, "/v1/uploads/%zu", i);
        r->on_header(r->sink, "Location", text);
        r->status = 201;
    } else {
        i = strtoul(strrchr(r->url, '/') + 1, NULL, 10) % MAX_UPLOADS;
        r->status = !strcmp(r->method, "HEAD") ? 200 : 204;
    }
    g->upload[i].have += r->body_len;
    if (r->body_len && g->upload[i].have == g->upload[i].length)
        atomic_fetch_add(&g->whole, 1);
    snprintf(text, sizeof text, "%zu", g->upload[i].have);
    r->on_header(r->sink, "Upload-Offset", text);
    return 0;
}

static void clear(struct game *g)
{
    DIR *d = opendir(g->path);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

static bool has(const struct game *g, const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", g->path, name);
    return access(path, F_OK) == 0;
}

static void put(const struct game *g, const char *name, const void *bytes, size_t n)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", g->path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* What a launch before this one left: a file that has no end, a crash's record, a configuration. */
static void leave(const struct game *g)
{
    static const char crash[] = "not a record", config[] = "\"x\"\n{\"version\": 1}";

    put(g, LEFT "-0000.open", g->left, g->n_left);
    put(g, LEFT "-9000.crash", crash, sizeof crash);
    put(g, "config", config, sizeof config - 1);
}

static bool is_kept(const struct game *g)
{
    return has(g, LEFT "-0000.open") || has(g, LEFT "-0000.fws");
}

static int set_up(void **state)
{
    struct game *g = calloc(1, sizeof *g);
    char raw[1000];

    snprintf(g->path, sizeof g->path, "/tmp/sdk_memory_XXXXXX");
    assert_non_null(mkdtemp(g->path));
    fw_options_init(&g->options);
    g->options.server_url = "http://server.example/";
    g->options.api_key = "key";
    g->options.storage_path = g->path;
    g->options.app = "Game";
    g->options.flags = FW_UPLOAD_AT_STOP;
    g->options.transport = exchange;
    g->options.user = &g->memory;
    g->options.allocate = allocate;
    g->options.release = release;
    g->options.managed_stack = tell_managed;
    memset(raw, 0, sizeof raw);
    g->n_left = ZSTD_compress(g->left, sizeof g->left, raw, sizeof raw, 3);
    assert_false(ZSTD_isError(g->n_left));
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct game *g = *state;

    clear(g);
    rmdir(g->path);
    free(g);
    return 0;
}

/* Everything a game may say while it is played, on the main thread. */
static void play(fw_context *fw, bool long_frame)
{
    const fw_attribute players = {"players", 5};
    fw_hud_figures hud = {.size = sizeof hud};
    uint64_t t = fw_now_ns();

    in_game_call = true;
    fw_scene(fw, "battle", "frost", &players, 1);
    fw_step(fw, "open door");
    fw_position(fw, 1.5f, 2.5f);
    fw_target(fw, 16667, 60000);
    fw_gpu_time(fw, 4000);
    fw_feedback(fw, "lag", "it lags");
    fw_low_memory(fw);
    fw_thread_begin(fw);
    for (unsigned i = 0; i < 200; i++, t += MS)
        fw_frame_at(fw, t);
    if (long_frame) {
        fw_frame(fw);
        for (uint64_t until = fw_now_ns() + 120 * MS; fw_now_ns() < until;)
            ;
        fw_frame(fw);
    }
    fw_hud(fw, &hud);
    fw_thread_end(fw);
    fw_background(fw);
    fw_foreground(fw);
    in_game_call = false;
}

static void assert_all_is_back(struct game *g)
{
    assert_int_equal(atomic_load(&g->memory.live), 0);
    assert_int_equal(atomic_load(&g->memory.bytes), 0);
    assert_false(atomic_load(&g->memory.bad));
}

static void all_memory_is_the_games_and_goes_back(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->config = "{\"version\": 3}";
    leave(g);
    fw = fw_start(&g->options);
    assert_non_null(fw);
    assert_true((uintptr_t)fw % FW_CACHE_LINE == 0);
    play(fw, true);
    fw_reset_install_id(fw);
    play(fw, false);
    fw_consent(fw, 0);
    assert_int_equal(atomic_load(&g->memory.live), 2); /* the context and its texts */
    fw_consent(fw, 1);
    play(fw, false);
    fw_delete_data(fw);
    fw_consent(fw, 1);
    play(fw, false);
    fw_stop(fw);
    assert_all_is_back(g);
    assert_true(atomic_load(&g->whole) >= 1);
    assert_true(atomic_load(&g->memory.calls) > 20);
    assert_in_range(atomic_load(&g->memory.peak), 500000, 2u << 20);
}

static void an_old_session_is_closed_with_the_games_memory(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->options.flags = FW_NO_UPLOAD;
    leave(g);
    fw = fw_start(&g->options);
    assert_non_null(fw);
    fw_stop(fw);
    assert_true(has(g, LEFT "-0000.fws"));
    assert_false(has(g, LEFT "-9000.crash"));
    assert_all_is_back(g);
}

#if OWN_MALLOC
static void nothing_but_libc_calls_malloc(void **state)
{
    struct game *g = *state;
    fw_context *fw;
    size_t n;

    if (!sees_malloc())
        skip();
    g->config = "{\"version\": 3}";
    leave(g);
    watch();
    fw = fw_start(&g->options);
    play(fw, true);
    fw_consent(fw, 0);
    fw_consent(fw, 1);
    play(fw, false);
    fw_stop(fw);
    atomic_store(&watched, false);
    n = atomic_load(&n_callers);
    assert_in_range(n, 0, MAX_CALLERS); /* libc's own, of threads and folders */
    for (size_t i = 0; i < n; i++)
        if (!of_libc(caller[i])) {
            Dl_info info = {0};

            dladdr(caller[i], &info);
            fail_msg("malloc is called by %s, %s", info.dli_fname ? info.dli_fname : "?",
                     info.dli_sname ? info.dli_sname : "?");
        }
    assert_all_is_back(g);
}
#endif

/* One launch in which the allocator fails from call `from` to call `to`. True: it met a failure. */
static bool launch(struct game *g, size_t from, size_t to)
{
    struct counted *c = &g->memory;
    fw_context *fw;

    clear(g);
    leave(g);
    atomic_store(&c->calls, 0);
    atomic_store(&c->refused, 0);
    atomic_store(&g->whole, 0);
    c->fail_at = from;
    c->fail_until = to;
    fw = fw_start(&g->options);
    play(fw, false); /* NULL or not */
    fw_stop(fw);
    assert_all_is_back(g);
    assert_true(is_kept(g) || atomic_load(&g->whole)); /* nothing recorded earlier is lost */
    if (!fw)
        assert_true(atomic_load(&c->refused) > 0);
    return atomic_load(&c->refused) > 0;
}

static void each_allocation_may_fail(void **state)
{
    struct game *g = *state;
    size_t n = 1;

    g->config = "{\"version\": 3}";
    while (launch(g, n, n)) {
        n++;
        assert_in_range(n, 1, 100);
    }
    assert_true(n > 12);
}

static void memory_may_be_gone_for_good(void **state)
{
    struct game *g = *state;
    size_t n = 1;

    g->options.flags = FW_NO_UPLOAD;
    while (launch(g, n, SIZE_MAX)) {
        n++;
        assert_in_range(n, 1, 100);
    }
    assert_true(n > 10);
}

static void without_memory_the_game_is_told(void **state)
{
    struct game *g = *state;

    g->memory.fail_at = 1;
    g->memory.fail_until = 1;
    assert_null(fw_start(&g->options));
    g->memory.fail_at = 0;

    fw_context *fw = fw_start(&g->options); /* the one before left nothing behind */
    assert_non_null(fw);
    fw_stop(fw);
    assert_all_is_back(g);
}

static void one_function_without_the_other_is_refused(void **state)
{
    struct game *g = *state;

    g->options.release = NULL;
    assert_null(fw_start(&g->options));
    g->options.release = release;
    g->options.allocate = NULL;
    assert_null(fw_start(&g->options));
    assert_int_equal(atomic_load(&g->memory.calls), 0);
}

/* Signal handlers ----------------------------------------------------------------------------- */

static void await(const char *what, _Atomic uint64_t *value, uint64_t least)
{
    uint64_t until = fw_now_ns() + PATIENCE_NS;

    while (atomic_load(value) < least && fw_now_ns() < until)
        usleep(1000);
    if (atomic_load(value) < least) {
        dprintf(2, "%s did not come\n", what);
        _exit(78);
    }
}

/* Once it has started, recording takes no memory: frames, stacks of long ones, slices, and a crash.
 */
static void record_and_die(struct game *g)
{
    struct rlimit none = {0, 0};
    fw_context *fw;
    char crash[FW_FILE_NAME_BYTES];

    setrlimit(RLIMIT_CORE, &none);
    signal(SIGSEGV, SIG_DFL); /* not the test library's */
    g->options.flags = FW_NO_UPLOAD;
    g->options.slice_ms = 100;
    g->options.jank_stack_ms = 20;
    fw = fw_start(&g->options);
    fw->recorder.settle_ms = 60000;
    snprintf(crash, sizeof crash, "%s-9000.crash", fw->who.session);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS; !has(g, crash) && fw_now_ns() < until;)
        usleep(1000);
    atomic_store(&g->memory.forbidden, true);
    play(fw, true);
    await("a slice", &fw->store.bytes_written, atomic_load(&fw->store.bytes_written) + 1);
    raise(SIGSEGV);
    _exit(79);
}

static void recording_and_dying_take_no_memory(void **state)
{
    struct game *g = *state;
    bool recorded = false;
    int status;
    pid_t pid = fork();

    if (pid == 0)
        record_and_die(g);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);

    g->options.flags = FW_NO_UPLOAD;
    fw_stop(fw_start(&g->options)); /* makes a part of the record */

    DIR *d = opendir(g->path);
    struct dirent *e;
    while ((e = readdir(d)))
        recorded |= strstr(e->d_name, "-9000.fws") != NULL;
    closedir(d);
    assert_true(recorded);
}

/* Older and newer callers --------------------------------------------------------------------- */

#define BEFORE_ALLOCATOR offsetof(fw_options, allocate)
#define BEFORE_MANAGED offsetof(fw_options, managed_stack)
#define FIRST_CALLBACKS offsetof(fw_options, host_values)

/* In a block that ends where the caller's struct does, so that tools see what is written past it.
 */
static fw_context *start_as(struct game *g, size_t size, bool by_function)
{
    fw_options *o = malloc(size);
    fw_context *fw;

    memset(o, 0xa5, size);
    if (by_function)
        (fw_options_init)(o);
    else
        fw_options_init_sized(o, size);
    assert_int_equal(o->size, size);
    o->storage_path = g->path;
    o->app = "Game";
    o->flags = FW_NO_UPLOAD;
    fw = fw_start(o);
    free(o);
    return fw;
}

static void callers_of_older_headers_are_served(void **state)
{
    struct game *g = *state;
    const size_t size[] = {FIRST_CALLBACKS, BEFORE_ALLOCATOR, BEFORE_MANAGED, sizeof(fw_options)};

    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        fw_context *fw = start_as(g, size[i], false);

        assert_non_null(fw);
        play(fw, false);
        fw_stop(fw);
    }
    fw_context *fw = start_as(g, BEFORE_ALLOCATOR, true);
    assert_non_null(fw);
    fw_stop(fw);
    assert_int_equal(atomic_load(&g->memory.calls), 0); /* malloc served them */
}

/* What lies behind an older caller's struct is not his allocator. */
static void what_lies_past_the_size_is_not_read(void **state)
{
    struct game *g = *state;
    fw_context *fw;

    g->options.flags = FW_NO_UPLOAD;
    g->options.size = BEFORE_ALLOCATOR;
    fw = fw_start(&g->options);
    assert_non_null(fw);
    fw_stop(fw);
    assert_int_equal(atomic_load(&g->memory.calls), 0);
}

static void a_newer_callers_struct_is_read_as_far_as_it_is_known(void **state)
{
    struct game *g = *state;
    struct {
        fw_options options;
        void *newer[4];
    } o;
    fw_context *fw;

    memset(&o, 0x5a, sizeof o);
    fw_options_init_sized(&o.options, sizeof o);
    assert_int_equal(o.options.size, sizeof(fw_options));
    o.options = g->options;
    o.options.flags = FW_NO_UPLOAD;
    o.options.size = sizeof o;
    fw = fw_start(&o.options);
    assert_non_null(fw);
    fw_stop(fw);
    assert_true(atomic_load(&g->memory.calls) > 0);
    assert_all_is_back(g);
}

#define MEMORY_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    stack_room();

    const struct CMUnitTest tests[] = {
        MEMORY_TEST(all_memory_is_the_games_and_goes_back),
        MEMORY_TEST(an_old_session_is_closed_with_the_games_memory),
#if OWN_MALLOC
        MEMORY_TEST(nothing_but_libc_calls_malloc),
#endif
        MEMORY_TEST(each_allocation_may_fail),
        MEMORY_TEST(memory_may_be_gone_for_good),
        MEMORY_TEST(without_memory_the_game_is_told),
        MEMORY_TEST(one_function_without_the_other_is_refused),
        MEMORY_TEST(recording_and_dying_take_no_memory),
        MEMORY_TEST(callers_of_older_headers_are_served),
        MEMORY_TEST(what_lies_past_the_size_is_not_read),
        MEMORY_TEST(a_newer_callers_struct_is_read_as_far_as_it_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
