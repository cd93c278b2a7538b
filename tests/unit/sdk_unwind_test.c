/* Stacks of this thread, taken by another one. Oracles: backtrace(), dl_iterate_phdr(), dladdr().
 */
#include "platform/capture.h"
#include "platform/modules.h"
#include "platform/peek.h"
#include "platform/unwind.h"
#include "src/clock.h"
#include "support/stack_room.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_EXPECTED 200
#define PATIENCE_MS 120000 /* a machine may be busy with other things */

struct fixture {
    struct fw_capture capture;
    struct fw_modules modules;
    pthread_t taker;
    _Atomic int wanted, taken; /* counts */
    _Atomic unsigned answer_ms;
    _Atomic bool stop, ok;
    struct fw_unwound frame[FW_UNWIND_MAX];
    size_t n;
    uint64_t took_ns;
};

static struct fixture *fx; /* the functions below are called through libc */

static void *take_on_demand(void *user)
{
    struct fixture *f = user;

    while (!atomic_load(&f->stop)) {
        if (atomic_load(&f->wanted) == atomic_load(&f->taken)) {
            usleep(500);
            continue;
        }
        uint64_t begin = fw_now_ns();
        bool ok = fw_capture_take(&f->capture, atomic_load(&f->answer_ms));

        f->took_ns = fw_now_ns() - begin;
        if (ok) {
            struct fw_stack_copy copy = {f->capture.stack_base, f->capture.stack,
                                         f->capture.stack_n};

            fw_modules_refresh(&f->modules);
            f->n = fw_unwind(&f->modules, &f->capture.regs, &copy, f->frame, NULL);
        }
        atomic_store(&f->ok, ok);
        atomic_fetch_add(&f->taken, 1);
    }
    return NULL;
}

static int set_up(void **state)
{
    fx = calloc(1, sizeof *fx);
    atomic_store(&fx->answer_ms, PATIENCE_MS);
    assert_null(fw_capture_start(&fx->capture, NULL));
    assert_true(fw_modules_init(&fx->modules, NULL));
    assert_int_equal(pthread_create(&fx->taker, NULL, take_on_demand, fx), 0);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&fx->stop, true);
    pthread_join(fx->taker, NULL);
    fw_capture_stop(&fx->capture);
    fw_modules_fini(&fx->modules);
    free(fx);
    return 0;
}

/* Where this thread is when its stack is taken: the addresses that the capture must find, from the
 * return address of the function that waits. */
static void *expected[MAX_EXPECTED], *anchor;
static int n_expected;

#define KEEP __attribute__((noinline, noclone))
#if defined(__clang__)
#undef KEEP
#define KEEP __attribute__((noinline))
#endif

/* Asks for a stack and blocks in libc until it is taken. */
KEEP static void block_here(void)
{
    uint64_t until = fw_now_ns() + 2 * PATIENCE_MS * 1000000ull;

    n_expected = backtrace(expected, MAX_EXPECTED);
    anchor = __builtin_return_address(0);
    atomic_fetch_add(&fx->wanted, 1);
    while (atomic_load(&fx->wanted) != atomic_load(&fx->taken) && fw_now_ns() < until) {
        struct timespec t = {.tv_nsec = 50000000};
        nanosleep(&t, NULL);
    }
    __asm__ volatile(""); /* no tail call: this frame must exist */
}

/* All callers of the waiting function, to the outermost; what it called lies further in. */
static void assert_stack_is_backtraces(size_t most_inside)
{
    size_t at = 0, from = 0;

    assert_true(atomic_load(&fx->ok));
    assert_in_range(n_expected, 4, MAX_EXPECTED);
    while (from < (size_t)n_expected && expected[from] != anchor)
        from++;
    while (at < fx->n && fx->frame[at].address != (uint64_t)(uintptr_t)anchor)
        at++;
    assert_in_range(from, 1, 3);
    assert_in_range(at, 1, most_inside);
    for (size_t i = from, k = at; i < (size_t)n_expected && k < fx->n; i++, k++)
        assert_ptr_equal((void *)(uintptr_t)fx->frame[k].address, expected[i]);
    if (fx->n < FW_UNWIND_MAX)
        assert_int_equal(fx->n - at, (size_t)n_expected - from);
}

static int compared;

KEEP static int compare(const void *a, const void *b)
{
    int order = *(const int *)a - *(const int *)b;

    if (!compared++)
        block_here();
    return order;
}

KEEP static void sort_numbers(void)
{
    int numbers[] = {3, 1, 2};

    compared = 0;
    qsort(numbers, 3, sizeof *numbers, compare);
    assert_int_equal(numbers[0], 1);
}

KEEP static void outer_work(void)
{
    sort_numbers();
    __asm__ volatile("");
}

static void a_stack_through_libc_and_a_callback_is_backtraces(void **state)
{
    (void)state;
    outer_work();
    assert_stack_is_backtraces(12);
}

static void frames_name_module_and_the_address_in_its_file(void **state)
{
    Dl_info here;
    bool libc = false, own = false;

    (void)state;
    outer_work();
    assert_true(atomic_load(&fx->ok));
    for (size_t i = 0; i < fx->n; i++) {
        const struct fw_module *m = fx->frame[i].module;

        assert_non_null(m);
        assert_true(dladdr((void *)(uintptr_t)fx->frame[i].address, &here));
        assert_int_equal(m->bias, (uint64_t)(uintptr_t)here.dli_fbase); /* all of these are PIC */
        libc |= !strncmp(m->name, "libc.", 5);
        own |= !strcmp(m->name, "sdk_unwind_test");
    }
    assert_true(libc && own);
}

KEEP static void spin_until_taken(void)
{
    uint64_t until = fw_now_ns() + 2 * PATIENCE_MS * 1000000ull;

    n_expected = backtrace(expected, MAX_EXPECTED);
    anchor = __builtin_return_address(0);
    atomic_fetch_add(&fx->wanted, 1);
    while (atomic_load(&fx->wanted) != atomic_load(&fx->taken) && fw_now_ns() < until)
        for (volatile int i = 0; i < 1000; i++)
            ;
    __asm__ volatile("");
}

static void a_thread_that_only_computes_is_caught_too(void **state)
{
    (void)state;
    spin_until_taken();
    assert_stack_is_backtraces(5);
}

KEEP static void recurse(int depth)
{
    if (depth)
        recurse(depth - 1);
    else
        block_here();
    __asm__ volatile("" ::"r"(depth));
}

static void a_deep_stack_is_cut_at_its_limit(void **state)
{
    (void)state;
    recurse(160);
    assert_int_equal(fx->n, FW_UNWIND_MAX);
    assert_stack_is_backtraces(12);
}

#if !defined(__SANITIZE_THREAD__)
static bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload && strstr(preload, "vgpreload");
}

static void on_usr1(int signal)
{
    (void)signal;
    block_here();
    __asm__ volatile("");
}

static void a_stack_inside_a_signal_handler_goes_on_below_it(void **state)
{
    struct sigaction action = {.sa_handler = on_usr1}, before;

    (void)state;
    if (under_valgrind())
        skip(); /* the gap the kernel leaves below an interrupted frame is no memory to it */
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    assert_stack_is_backtraces(12);
}

static void on_another_stack_the_innermost_frame_is_known(void **state)
{
    struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK}, before;
    stack_t other = {.ss_size = 65536}, none;

    (void)state;
    if (under_valgrind())
        skip(); /* it loses track of which stack is in use */
    other.ss_sp = malloc(other.ss_size);
    assert_int_equal(sigaltstack(&other, &none), 0);
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    sigaltstack(&none, NULL);
    free(other.ss_sp);
    assert_true(atomic_load(&fx->ok));
    assert_int_equal(fx->capture.stack_n, 0);
    assert_in_range(fx->n, 1, 2);
    assert_non_null(fx->frame[0].module);
}
#endif

#if defined(__x86_64__)
/* Without call frame information, but with a frame pointer: what a JIT or hand-written code does.
 */
__asm__(".text\n"
        "without_cfi:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    sub $32, %rsp\n"
        "    call *%rdi\n"
        "    leave\n"
        "    ret\n");
void without_cfi(void (*call)(void));

static void code_without_unwind_information_is_crossed_by_frame_pointers(void **state)
{
    Dl_info info;
    size_t crossed = 0, outer = 0;

    (void)state;
    without_cfi(block_here);
    assert_true(atomic_load(&fx->ok));
    for (size_t i = 0; i < fx->n; i++) {
        uint64_t address = fx->frame[i].address, begin = (uint64_t)(uintptr_t)without_cfi;

        if (address > begin && address < begin + 16)
            crossed = i;
        if (dladdr((void *)(uintptr_t)address, &info) && info.dli_sname &&
            !strcmp(info.dli_sname, "_cmocka_run_group_tests"))
            outer = i;
    }
    assert_in_range(crossed, 1, 12);
    assert_true(outer > crossed);
}
#endif

/* The stack that was taken, through the kernel: a stack has holes, and valgrind must not blame the
 * walk for what the mutations make of them. */
static void copy_taken(unsigned char *out)
{
    assert_true(fw_peek((uint64_t)(uintptr_t)fx->capture.stack, out, fx->capture.stack_n));
}

static void hostile_stacks_end_the_walk_and_never_the_process(void **state)
{
    unsigned char *bytes = malloc(FW_STACK_BYTES);
    struct fw_unwound out[FW_UNWIND_MAX];
    uint32_t random = 3;

    (void)state;
    outer_work();
    assert_true(atomic_load(&fx->ok));
    for (int round = 0; round < 2000; round++) {
        struct fw_stack_copy copy = {fx->capture.stack_base, bytes, fx->capture.stack_n};
        struct fw_regs regs = fx->capture.regs;

        copy_taken(bytes);
        for (int k = 0; k < 1 << round % 10; k++) {
            random = random * 1664525u + 1013904223u;
            bytes[(random >> 8) % copy.n] = (unsigned char)(random >> 24);
        }
        if (round % 3 == 0)
            copy.n = (random >> 4) % (copy.n + 1);
        if (round % 5 == 0)
            regs.pc += random % 4096;
        if (round % 7 == 0)
            regs.r[fw_arch.fp] = copy.base + random % (copy.n + 1);
        if (round % 11 == 0)
            regs.r[fw_arch.sp] = random;
        assert_in_range(fw_unwind(&fx->modules, &regs, &copy, out, NULL), 0, FW_UNWIND_MAX);
    }
    free(bytes);
}

/* Any byte of the unwind tables may be wrong: they are somebody else's file. */
static void hostile_unwind_tables_are_survived(void **state)
{
    struct fw_module copy;
    struct fw_unwound out[FW_UNWIND_MAX];
    uint32_t random = 9;

    (void)state;
    outer_work();
    assert_true(atomic_load(&fx->ok));

    const struct fw_module *own = fw_modules_find(&fx->modules, (uint64_t)(uintptr_t)block_here);
    assert_non_null(own);
    size_t size = (size_t)(own->end - own->start);
    unsigned char *image =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t tables = own->eh_frame_hdr - own->start;
    unsigned char *taken = malloc(FW_STACK_BYTES);
    struct fw_modules one = {.at = &copy, .n = 1};

    copy_taken(taken);
    for (int round = 0; round < 1500; round++) {
        struct fw_stack_copy stack = {fx->capture.stack_base, taken, fx->capture.stack_n};
        struct fw_regs regs = fx->capture.regs;

        for (uint64_t at = 0; at < size; at += 4096) /* not every page of an image is there */
            fw_peek(own->start + at, image + at, size - at < 4096 ? size - at : 4096);
        for (int k = 0; k < 1 << round % 12; k++) {
            random = random * 1664525u + 1013904223u;
            uint64_t at = tables + (random >> 6) % (size - tables < 65536 ? size - tables : 65536);
            image[at] = (unsigned char)(random >> 24);
        }
        copy = *own;
        copy.start = (uint64_t)(uintptr_t)image;
        copy.end = copy.start + size;
        copy.eh_frame_hdr = copy.start + tables;
        regs.pc = copy.start + ((uint64_t)(uintptr_t)block_here - own->start) + random % 64;
        fw_unwind(&one, &regs, &stack, out, NULL);
    }
    munmap(image, size);
    free(taken);
}

static int note_image(struct dl_phdr_info *info, size_t size, void *user)
{
    struct fw_modules *m = user;
    const unsigned char *id = NULL;
    size_t n = 0;
    const struct fw_module *found = NULL;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !id; i++) {
        if (info->dlpi_phdr[i].p_type != PT_NOTE)
            continue;
        const unsigned char *at =
            (const unsigned char *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const unsigned char *end = at + info->dlpi_phdr[i].p_memsz;

        while (at + sizeof(ElfW(Nhdr)) <= end && !id) {
            const ElfW(Nhdr) *note = (const void *)at;

            if (note->n_type == NT_GNU_BUILD_ID) {
                id = at + sizeof *note + 4;
                n = note->n_descsz;
            }
            at += sizeof *note + ((note->n_namesz + 3u) & ~3u) + ((note->n_descsz + 3u) & ~3u);
        }
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].bias == info->dlpi_addr)
            found = &m->at[i];
    assert_non_null(found);
    assert_int_equal(found->build_id_len, n);
    if (n)
        assert_memory_equal(found->build_id, id, n);
    return 0;
}

static void modules_and_build_ids_are_the_loaders(void **state)
{
    (void)state;
    fw_modules_refresh(&fx->modules);
    dl_iterate_phdr(note_image, &fx->modules);
    assert_int_equal(fx->modules.overflowed, 0);
}

static const struct fw_module *named(const char *name)
{
    for (size_t i = 0; i < fx->modules.n; i++)
        if (!fx->modules.at[i].gone && !strcmp(fx->modules.at[i].name, name))
            return &fx->modules.at[i];
    return NULL;
}

static void a_library_comes_and_goes(void **state)
{
    struct fw_stack_copy none = {0};
    struct fw_unwound out[FW_UNWIND_MAX];
    struct fw_regs regs = {0};
    struct fw_module was;
    bool missed;

    (void)state;
    fw_modules_refresh(&fx->modules);
    assert_null(named("libBrokenLocale.so.1"));

    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    assert_non_null(library);
    regs.pc = (uint64_t)(uintptr_t)dlsym(library, "__ctype_get_mb_cur_max");
    assert_true(regs.pc);
    fw_unwind(&fx->modules, &regs, &none, out, &missed);
    assert_true(missed);
    fw_modules_refresh(&fx->modules);
    fw_unwind(&fx->modules, &regs, &none, out, &missed);
    assert_false(missed);
    const struct fw_module *m = named("libBrokenLocale.so.1");
    assert_non_null(m);
    uint64_t inside = m->start + 64;
    assert_ptr_equal(fw_modules_find(&fx->modules, inside), m);
    assert_true(fw_module_stands(&fx->modules, m));
    was = *m;
    was.end += 4096; /* another image at its place */
    assert_false(fw_module_stands(&fx->modules, &was));
    dlclose(library);
    assert_false(fw_module_stands(&fx->modules, m));
    fw_modules_refresh(&fx->modules);
    assert_null(named("libBrokenLocale.so.1"));
    assert_null(fw_modules_find(&fx->modules, inside));
}

static void a_thread_that_does_not_answer_is_left_alone(void **state)
{
    sigset_t all, before;

    (void)state;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    atomic_store(&fx->answer_ms, 200);
    block_here();
    assert_false(atomic_load(&fx->ok));
    assert_true(fx->took_ns / 1000000 >= 190);
    block_here();
    assert_false(atomic_load(&fx->ok));
    assert_int_equal(fx->capture.sent, 1); /* is still on its way: no second one */
    atomic_store(&fx->answer_ms, PATIENCE_MS);
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* now it arrives, and nobody wants it */
    block_here();
    assert_stack_is_backtraces(12);
}

static void the_signal_is_given_back(void **state)
{
    struct sigaction now;
    int signal = fx->capture.signal;

    (void)state;
    fw_capture_stop(&fx->capture);
    sigaction(signal, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    assert_null(fw_capture_start(&fx->capture, NULL));
    assert_int_equal(fx->capture.signal, signal);
}

static volatile int heard;

static void on_foreign(int signal)
{
    heard = signal;
}

static void a_handler_set_after_ours_stays(void **state)
{
    struct sigaction theirs = {.sa_handler = on_foreign}, now, none = {.sa_handler = SIG_DFL};
    int signal = fx->capture.signal;

    (void)state;
    sigaction(signal, &theirs, NULL);
    fw_capture_stop(&fx->capture);
    sigaction(signal, NULL, &now);
    assert_true(now.sa_handler == on_foreign);
    assert_null(fw_capture_start(&fx->capture, NULL));
    assert_int_not_equal(fx->capture.signal, signal); /* it is not free any more */
    sigaction(signal, &none, NULL);
}

#define UNWIND_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    stack_room();

    const struct CMUnitTest tests[] = {
        UNWIND_TEST(a_stack_through_libc_and_a_callback_is_backtraces),
        UNWIND_TEST(frames_name_module_and_the_address_in_its_file),
        UNWIND_TEST(a_thread_that_only_computes_is_caught_too),
        UNWIND_TEST(a_deep_stack_is_cut_at_its_limit),
#if !defined(__SANITIZE_THREAD__) /* it holds signals back while a handler runs */
        UNWIND_TEST(a_stack_inside_a_signal_handler_goes_on_below_it),
        UNWIND_TEST(on_another_stack_the_innermost_frame_is_known),
#endif
#if defined(__x86_64__)
        UNWIND_TEST(code_without_unwind_information_is_crossed_by_frame_pointers),
#endif
        UNWIND_TEST(hostile_stacks_end_the_walk_and_never_the_process),
        UNWIND_TEST(hostile_unwind_tables_are_survived),
        UNWIND_TEST(modules_and_build_ids_are_the_loaders),
        UNWIND_TEST(a_library_comes_and_goes),
        UNWIND_TEST(a_thread_that_does_not_answer_is_left_alone),
        UNWIND_TEST(the_signal_is_given_back),
        UNWIND_TEST(a_handler_set_after_ours_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
