/* Crashes: another process (this program again) dies in many ways; the next launch tells of it. */
#include "src/buffer/crash_recover.h"
#include "src/buffer/recover.h"
#include "src/clock.h"
#include "src/control/context.h"

#include "session.pb-c.h"
#include "support/stack_room.h"

#include <zstd.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define KEEP __attribute__((noinline, noclone, used))
#if defined(__clang__)
#undef KEEP
#define KEEP __attribute__((noinline, used))
#endif
/* ThreadSanitizer blocks every signal inside handlers: a second fault ends the process there. */
#if defined(__SANITIZE_THREAD__)
#define ALL_BLOCKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALL_BLOCKED 1
#endif
#endif
#if !defined(ALL_BLOCKED)
#define ALL_BLOCKED 0
#endif
#define MS 1000000ull
#define CHAINED 42 /* exit code of the handler that was there before */
#define FRAMES 100
#define MAX_LOGS 8

/* The dying process ----------------------------------------------------------------------------
 */

static fw_context *dying;
static volatile uintptr_t nowhere = 16;

KEEP static void write_nowhere(void)
{
    *(volatile int *)nowhere = 1;
    __asm__ volatile("" ::: "memory"); /* no tail call, so that callers stand in the stack */
}

KEEP static void crash_here(void)
{
    write_nowhere();
    __asm__ volatile("" ::: "memory");
}

KEEP static int overflow(int depth)
{
    volatile char big[65536];

    big[0] = (char)depth;
    return depth < 1 << 24 ? overflow(depth + 1) + big[0] : 0;
}

static void play(fw_context *fw)
{
    uint64_t t = fw_now_ns();

    fw_scene(fw, "battle", "frost", NULL, 0);
    for (int i = 0; i < FRAMES; i++, t += MS)
        fw_frame_at(fw, t);
    fw_step(fw, "last step");
}

static void await_crash_file(fw_context *fw)
{
    while (atomic_load(&fw->crash.fd) < 0)
        usleep(1000);
}

static void on_other(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    _exit(CHAINED);
}

static void set_handler(void (*fn)(int, siginfo_t *, void *))
{
    struct sigaction a = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGABRT, &a, NULL);
    sigaction(SIGILL, &a, NULL);
}

static void *abort_on_a_thread(void *user)
{
    pthread_setname_np(pthread_self(), "loader");
    (void)user;
    abort();
}

static void *overflow_on_a_thread(void *user)
{
    fw_thread_begin(user);
    overflow(0);
    fw_thread_end(user);
    return NULL;
}

static pthread_barrier_t together;

static void *crash_together(void *user)
{
    (void)user;
    pthread_barrier_wait(&together);
    crash_here();
    return NULL;
}

static void die_in_last_words(void *user, struct fw_crash *c)
{
    (void)user, (void)c;
    write_nowhere();
}

static void landed(void)
{
    fw_stop(dying);
    _exit(0);
}

/* What engines do that make exceptions of faults: the thread goes on elsewhere. */
static void mend(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;

    (void)signal, (void)info;
#if defined(__x86_64__)
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)landed;
    u->uc_mcontext.gregs[REG_RSP] = (u->uc_mcontext.gregs[REG_RSP] & ~15) - 8;
#elif defined(__aarch64__)
    u->uc_mcontext.pc = (uintptr_t)landed;
#else
    (void)u;
    landed();
#endif
}

static void die_by(const char *how)
{
    pthread_t thread;

    if (!strcmp(how, "thread")) {
        pthread_create(&thread, NULL, abort_on_a_thread, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "overflow")) {
        overflow(0);
    } else if (!strcmp(how, "thread overflow")) {
        pthread_create(&thread, NULL, overflow_on_a_thread, dying);
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "many")) {
        pthread_barrier_init(&together, NULL, 8);
        for (int i = 0; i < 8; i++)
            pthread_create(&thread, NULL, crash_together, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "double")) {
        dying->crash.last_words = die_in_last_words;
        crash_here();
    } else if (!strcmp(how, "fork")) {
        int status = 0;

        if (!fork())
            crash_here();
        wait(&status);
        _exit(WIFSIGNALED(status) || WEXITSTATUS(status) ? 0 : 1); /* killed, like -9 */
    } else if (!strcmp(how, "raise")) {
        raise(SIGILL);
    } else if (!strcmp(how, "small stack")) {
        static char small[8192];
        stack_t s = {.ss_sp = small, .ss_size = sizeof small};

        sigaltstack(&s, NULL);
        crash_here();
    } else {
        crash_here();
    }
}

static void *flood(void *user)
{
    for (unsigned i = 0;; i++) {
        fw_position(user, 1.0f, 2.0f);
        if (i % 64 == 0)
            usleep(1000);
    }
    return NULL;
}

/* Slices are written all the time while this thread dies. */
static void die_while_writing(fw_context *fw)
{
    pthread_t thread;
    uint64_t t = fw_now_ns();

    pthread_create(&thread, NULL, flood, fw);
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 10; k++, t += MS / 10)
            fw_frame_at(fw, t);
        fw_recorder_wake(&fw->recorder);
        usleep(500);
    }
    crash_here();
}

static int child(const char *path, const char *how)
{
    struct rlimit none = {0, 0};
    fw_options options;

    setrlimit(RLIMIT_CORE, &none);
    fw_options_init(&options);
    options.storage_path = path;
    options.app = "Game";
    options.version_code = 7;
    options.flags = FW_NO_UPLOAD;
    if (!strcmp(how, "while writing"))
        options.slice_ms = 100;
    if (!strcmp(how, "chained") || !strcmp(how, "double") || !strcmp(how, "fork"))
        set_handler(on_other);
    if (!strcmp(how, "raise")) {
        options.flags |= FW_CRASHES_AFTER_OTHERS;
        set_handler(mend);
    }
    dying = fw_start(&options);
    await_crash_file(dying);
    dying->recorder.settle_ms = 60000; /* a machine may be busy with other things */
    if (!strcmp(how, "while writing"))
        die_while_writing(dying);
    play(dying);
    if (!strcmp(how, "stop")) {
        fw_stop(dying);
        crash_here();
    }
    die_by(how);
    return 0;
}

/* The next launch ------------------------------------------------------------------------------
 */

struct launch {
    char path[64];
    struct fw_store store;
    struct fw_log log;
    struct fw_slice slice;
    Framewatch__SessionLog *session[MAX_LOGS];
    size_t n;
};

static int set_up(void **state)
{
    struct launch *l = calloc(1, sizeof *l);

    snprintf(l->path, sizeof l->path, "/tmp/sdk_crash_XXXXXX");
    assert_non_null(mkdtemp(l->path));
    assert_true(fw_store_open(&l->store, l->path, &l->log));
    assert_true(fw_slice_init(&l->slice, NULL));
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    struct launch *l = *state;
    DIR *d = opendir(l->path);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(l->path);
    for (size_t i = 0; i < l->n; i++)
        framewatch__session_log__free_unpacked(l->session[i], NULL);
    fw_slice_fini(&l->slice);
    fw_store_close(&l->store);
    free(l);
    return 0;
}

/* Runs the child to its death and closes what it left. Its exit status. */
static int after_death(struct launch *l, const char *how)
{
    char self[512] = "";
    int status;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    pid_t pid = fork();
    if (!pid) {
        int silence = open("/dev/null", O_WRONLY);

        dup2(silence, 2);
        execl(self, self, l->path, how, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static Framewatch__SessionLog *unpack(const struct launch *l, const char *name)
{
    static unsigned char file[1 << 22], raw[1 << 24];
    int fd = openat(l->store.dir, name, O_RDONLY);
    ssize_t have = read(fd, file, sizeof file);
    size_t len = 0;

    close(fd);
    for (size_t at = 0; at < (size_t)have;) {
        size_t n = ZSTD_findFrameCompressedSize(file + at, (size_t)have - at);
        assert_false(ZSTD_isError(n));
        size_t got = ZSTD_decompress(raw + len, sizeof raw - len, file + at, n);
        assert_false(ZSTD_isError(got));
        len += got;
        at += n;
    }
    return framewatch__session_log__unpack(NULL, len, raw);
}

/* Recovers and reads all; the crash's part comes last (NULL: there is none). */
static const Framewatch__SessionLog *recover(struct launch *l)
{
    struct fw_file file[FW_LIST_MAX];
    const Framewatch__SessionLog *crash = NULL;

    fw_store_recover(&l->store, &l->slice);
    size_t n = fw_store_list(&l->store, file);
    assert_in_range(n, 0, MAX_LOGS);
    for (size_t i = 0; i < n; i++) {
        Framewatch__SessionLog *log = unpack(l, file[i].name);

        assert_non_null(log);
        assert_int_equal(log->packet[0]->body_case, FRAMEWATCH__PACKET__BODY_HEADER);
        l->session[l->n++] = log;
        if (log->packet[0]->header->part == FW_CRASH_PART)
            crash = log;
    }
    return crash;
}

static const Framewatch__SessionLog *part(const struct launch *l, uint32_t number)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->session[i]->packet[0]->header->part == number)
            return l->session[i];
    fail_msg("no part %u", number);
    return NULL;
}

static const Framewatch__Packet *find(const Framewatch__SessionLog *log,
                                      Framewatch__Packet__BodyCase kind)
{
    for (size_t i = 0; i < log->n_packet; i++)
        if (log->packet[i]->body_case == kind)
            return log->packet[i];
    return NULL;
}

static size_t count_frames(const struct launch *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->session[i]->n_packet; k++)
            if (l->session[i]->packet[k]->body_case == FRAMEWATCH__PACKET__BODY_FRAMES)
                n += l->session[i]->packet[k]->frames->n_delta;
    return n;
}

/* Whether the frame's address lies in the function of this very program. */
static bool is_in(const Framewatch__SessionLog *log, size_t frame, void (*fn)(void))
{
    const Framewatch__Stack *stack = find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack;
    Dl_info here;

    assert_true(dladdr((void *)(uintptr_t)fn, &here));
    uint64_t offset = (uint64_t)((uintptr_t)fn - (uintptr_t)here.dli_fbase);
    return frame < stack->n_frame && stack->frame[frame]->module &&
           stack->frame[frame]->offset >= offset && stack->frame[frame]->offset < offset + 256;
}

static const Framewatch__Crash *crash_of(const Framewatch__SessionLog *log)
{
    assert_non_null(log);
    return find(log, FRAMEWATCH__PACKET__BODY_CRASH)->crash;
}

static void a_crash_is_told_with_its_stack_and_the_last_frames_before_it(void **state)
{
    struct launch *l = *state;
    int status = after_death(l, "main");
    const Framewatch__SessionLog *log = recover(l);
    const Framewatch__Crash *crash = crash_of(log);

    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(crash->signal, SIGSEGV);
    assert_string_equal(crash->reason, "SIGSEGV SEGV_MAPERR at 0x10 in thread main");
    assert_int_equal(crash->stack, 1);
    assert_string_equal(find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack->thread, "main");
    assert_true(is_in(log, 0, write_nowhere));
    assert_true(is_in(log, 1, crash_here));
    assert_true(find(log, FRAMEWATCH__PACKET__BODY_MODULE)->module->has_debug_id);

    const Framewatch__SessionLog *first = part(l, 0);
    assert_int_equal(first->packet[first->n_packet - 1]->end->reason,
                     FRAMEWATCH__END__REASON__RECOVERED);
    assert_int_equal(count_frames(l), FRAMES - 1);
    assert_string_equal(find(first, FRAMEWATCH__PACKET__BODY_STEP)->step->name, "last step");
    assert_string_equal(find(first, FRAMEWATCH__PACKET__BODY_SCENE)->scene->map, "frost");

    const Framewatch__Header *a = first->packet[0]->header, *b = log->packet[0]->header;
    assert_memory_equal(a->session_id.data, b->session_id.data, 16);
    assert_int_equal(b->version_code, 7);
    assert_int_equal(b->part_start_us, crash->t_us);
}

static void the_handler_that_was_there_before_has_its_turn(void **state)
{
    struct launch *l = *state;
    int status = after_death(l, "chained");

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CHAINED);
    assert_int_equal(crash_of(recover(l))->signal, SIGSEGV);
}

static void an_abort_on_another_thread_names_the_thread(void **state)
{
    struct launch *l = *state;

    after_death(l, "thread");
    const Framewatch__Crash *crash = crash_of(recover(l));
    assert_int_equal(crash->signal, SIGABRT);
    assert_string_equal(crash->reason, "SIGABRT in thread loader");
}

static void a_stack_overflow_is_told_on_the_main_thread_and_on_those_that_asked(void **state)
{
    static const char *const how[] = {"overflow", "thread overflow"};

    for (size_t i = 0; i < 2; i++) {
        struct launch *l;
        void *own;

        set_up(&own);
        l = own;
        after_death(l, how[i]);
        const Framewatch__SessionLog *log = recover(l);
        assert_int_equal(crash_of(log)->signal, SIGSEGV);
        assert_non_null(strstr(crash_of(log)->reason, "(stack overflow)"));
        assert_true(find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack->n_frame >= 1);
        tear_down(&own);
    }
    (void)state;
}

static void
a_fault_inside_the_handler_leaves_what_was_written_and_the_old_handler_its_turn(void **state)
{
    struct launch *l = *state;
    int status = after_death(l, "double");
    const Framewatch__SessionLog *log = recover(l);

    if (!ALL_BLOCKED) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), CHAINED);
    }
    assert_int_equal(crash_of(log)->signal, SIGSEGV);
    assert_int_equal(find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack->n_frame, 1);
}

static void of_many_threads_that_die_at_once_one_is_told(void **state)
{
    struct launch *l = *state;
    const Framewatch__SessionLog *log;

    after_death(l, "many");
    log = recover(l);
    assert_int_equal(crash_of(log)->signal, SIGSEGV);

    /* the others wait 5 s for the one that tells; a starved machine may end it before its modules
     */
    const Framewatch__Stack *stack = find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack;
    if (stack->n_frame == 1 && !stack->frame[0]->module)
        return;
    assert_true(is_in(log, 0, write_nowhere));
    assert_true(is_in(log, 1, crash_here));
}

static void a_forked_childs_fault_is_not_the_sessions(void **state)
{
    struct launch *l = *state;
    int status = after_death(l, "fork");

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_null(recover(l));
}

static void a_fault_that_an_older_handler_mends_is_none(void **state)
{
    struct launch *l = *state;
    int status = after_death(l, "raise");

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_null(recover(l));
    assert_int_equal(count_frames(l), FRAMES - 1);
}

static void on_a_small_alternate_stack_the_place_alone_is_told(void **state)
{
    struct launch *l = *state;
    const Framewatch__SessionLog *log;

    after_death(l, "small stack");
    log = recover(l);
    assert_int_equal(crash_of(log)->signal, SIGSEGV);
    assert_int_equal(find(log, FRAMEWATCH__PACKET__BODY_STACK)->stack->n_frame, 1);
}

static void after_the_session_a_fault_is_nobodys(void **state)
{
    struct launch *l = *state;

    after_death(l, "stop");
    assert_null(recover(l));
    assert_int_equal(l->n, 1);
}

/* No frame is told twice, wherever the writer stood. */
static void a_crash_while_slices_are_written_costs_no_order(void **state)
{
    struct launch *l = *state;
    uint64_t before = 0;

    after_death(l, "while writing");
    assert_non_null(crash_of(recover(l)));

    const Framewatch__SessionLog *log = part(l, 0);
    for (size_t i = 0; i < log->n_packet; i++) {
        if (log->packet[i]->body_case != FRAMEWATCH__PACKET__BODY_FRAMES)
            continue;
        assert_true(log->packet[i]->frames->start_us + 10 >= before);

        int64_t t = (int64_t)log->packet[i]->frames->start_us, interval = 0;
        for (size_t k = 0; k < log->packet[i]->frames->n_delta; k++)
            t += (interval += log->packet[i]->frames->delta[k]) * 10;
        before = (uint64_t)t;
    }
    assert_true(before > 0);
}

static void a_damaged_record_is_survived_and_removed(void **state)
{
    static unsigned char good[1 << 19], bad[1 << 19];
    struct launch *l = *state;
    char name[FW_FILE_NAME_BYTES] = "", open_name[FW_FILE_NAME_BYTES];
    struct dirent *e;
    uint32_t x = 12345;

    after_death(l, "main");
    DIR *d = opendir(l->path);
    while ((e = readdir(d)))
        if (fw_file_is(e->d_name, ".crash"))
            memcpy(name, e->d_name, strlen(e->d_name) + 1);
    closedir(d);
    assert_true(name[0]);
    int fd = openat(l->store.dir, name, O_RDONLY);
    ssize_t n = read(fd, good, sizeof good);
    close(fd);
    assert_true(n > 1000);
    fw_file_sibling(name, ".open", open_name);
    for (int round = 0; round < 300; round++) {
        size_t size = round % 3 ? (size_t)n : (size_t)n * (size_t)(round + 1) / 301;

        memcpy(bad, good, (size_t)n);
        for (int k = 0; k < round % 7; k++) {
            x = x * 1664525u + 1013904223u;
            bad[(x >> 8) % (round % 2 ? 400u : (uint32_t)n)] = (unsigned char)x;
        }
        fd = openat(l->store.dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, bad, size), size);
        close(fd);
        fw_crash_recover(&l->store, name, &l->slice);
        assert_int_equal(faccessat(l->store.dir, name, F_OK, 0), -1);
        fw_file_sibling(name, ".fws", open_name);
        unlinkat(l->store.dir, open_name, 0);
    }
}

static void packets_are_whole_or_cut_off(void **state)
{
    struct fw_buf b;
    unsigned char bytes[256];

    (void)state;
    fw_buf_over(&b, bytes, sizeof bytes);
    fw_wire_step(&b, 5, "one");
    size_t one = b.len;
    fw_wire_step(&b, 6, "two");
    assert_int_equal(fw_whole_packets(bytes, b.len), b.len);
    for (size_t n = one; n < b.len; n++)
        assert_int_equal(fw_whole_packets(bytes, n), one);
    bytes[one + 1] = 1; /* a length not yet patched in */
    assert_int_equal(fw_whole_packets(bytes, b.len), one);
    assert_int_equal(fw_whole_packets(bytes, 0), 0);
}

static void reasons_name_signal_code_address_and_thread(void **state)
{
    struct fw_crash_fault f = {.signal = SIGFPE, .code = 1, .address = 0x1000, .thread = "job 3"};
    char text[160];

    (void)state;
    fw_crash_reason(&f, text, sizeof text);
    assert_string_equal(text, "SIGFPE FPE_INTDIV at 0x1000 in thread job 3");
    f = (struct fw_crash_fault){.signal = SIGBUS, .code = 2, .main = 1, .sp = 0x7000};
    fw_crash_reason(&f, text, sizeof text);
    assert_string_equal(text, "SIGBUS BUS_ADRERR at 0x0 in thread main");
    f = (struct fw_crash_fault){.signal = SIGSEGV, .code = 0, .main = 1};
    fw_crash_reason(&f, text, sizeof text);
    assert_string_equal(text, "SIGSEGV sent by a process in thread main");
}

/* As the program itself could read it: the kernel says EFAULT otherwise. */
static bool readable(const void *at)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    bool ok = write(ends[1], at, 1) == 1;
    assert_true(ok || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return ok;
}

/* Of this system's pages, and by arithmetic of those that other systems have. */
static void an_alternate_stack_lies_above_a_guard_page_of_any_size(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    stack_t before, s, none = {.ss_flags = SS_DISABLE};

    (void)state;
    for (size_t bytes = 4096; bytes <= 65536; bytes *= 2) {
        size_t n = fw_crash_stack_bytes(bytes);

        assert_int_equal(n % bytes, 0);
        assert_in_range(n - bytes, 92 * 1024, 92 * 1024 + bytes - 1);
    }
    assert_int_equal(sigaltstack(&none, &before), 0);
    assert_true(fw_crash_give_stack());
    assert_false(fw_crash_give_stack()); /* it has one */
    assert_int_equal(sigaltstack(NULL, &s), 0);
    assert_int_equal((uintptr_t)s.ss_sp % page, 0);
    assert_int_equal(s.ss_size, fw_crash_stack_bytes(page) - page);
    const char *low = s.ss_sp;
    assert_true(readable(low));
    assert_true(readable(low + s.ss_size - 1));
    assert_false(readable(low - 1));
    assert_false(readable(low - page));
    fw_crash_drop_stack();
    assert_int_equal(sigaltstack(NULL, &s), 0);
    assert_true(s.ss_flags & SS_DISABLE);
    sigaltstack(&before, NULL);
}

#define CRASH_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
    stack_room();

    const struct CMUnitTest tests[] = {
        CRASH_TEST(a_crash_is_told_with_its_stack_and_the_last_frames_before_it),
        CRASH_TEST(the_handler_that_was_there_before_has_its_turn),
        CRASH_TEST(an_abort_on_another_thread_names_the_thread),
        CRASH_TEST(a_stack_overflow_is_told_on_the_main_thread_and_on_those_that_asked),
        CRASH_TEST(a_fault_inside_the_handler_leaves_what_was_written_and_the_old_handler_its_turn),
        CRASH_TEST(of_many_threads_that_die_at_once_one_is_told),
        CRASH_TEST(a_forked_childs_fault_is_not_the_sessions),
        CRASH_TEST(a_fault_that_an_older_handler_mends_is_none),
        CRASH_TEST(on_a_small_alternate_stack_the_place_alone_is_told),
        CRASH_TEST(after_the_session_a_fault_is_nobodys),
        CRASH_TEST(a_crash_while_slices_are_written_costs_no_order),
        CRASH_TEST(a_damaged_record_is_survived_and_removed),
        cmocka_unit_test(an_alternate_stack_lies_above_a_guard_page_of_any_size),
        cmocka_unit_test(packets_are_whole_or_cut_off),
        cmocka_unit_test(reasons_name_signal_code_address_and_thread),
    };

    if (argc == 3)
        return child(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
