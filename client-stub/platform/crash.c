#include "platform/crash.h"

#include "platform/arch.h"
#include "platform/peek.h"
#include "platform/platform.h"
#include "platform/unwind.h"
#include "src/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STACK_COPY_BYTES 65536u
#define STEP_BYTES 4096u /* of a copy; no page is smaller */
#define ALTERNATE_BYTES (92u * 1024u)
#define UNWIND_ROOM 20480u /* stack that unwinding takes; 10 KB measured */
#define OTHER_DEATH_MS 5000u
#define DYING_NS 10000000000ull

static const int fatal[FW_CRASH_SIGNALS] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

static _Atomic(struct fw_crash *) active;

static int place_of(int signal)
{
    int i = 0;

    while (i < FW_CRASH_SIGNALS - 1 && fatal[i] != signal)
        i++;
    return i;
}

static void nap(unsigned ms)
{
    struct timespec t = {.tv_nsec = (long)ms * 1000000};

    nanosleep(&t, NULL);
}

/* Writing. */

bool fw_crash_put(int fd, enum fw_crash_kind kind, const void *head, size_t head_n,
                  const void *body, size_t body_n)
{
    struct fw_crash_section section = {(uint32_t)kind, (uint32_t)(head_n + body_n)};
    struct iovec piece[] = {{&section, sizeof section},
                            {(void *)(uintptr_t)head, head_n},
                            {(void *)(uintptr_t)body, body_n}};
    ssize_t all = (ssize_t)(sizeof section + head_n + body_n);

    return writev(fd, piece, 3) == all;
}

static void put_fault(struct fw_crash *c, int fd, int signal, const siginfo_t *info,
                      const struct fw_regs *regs)
{
    struct fw_crash_fault f = {.signal = signal,
                               .code = info->si_code,
                               .address =
                                   signal == SIGABRT ? 0 : (uint64_t)(uintptr_t)info->si_addr,
                               .pc = regs->pc,
                               .sp = fw_arch.regs ? regs->r[fw_arch.sp] : 0,
                               .main = fw_platform_tid() == c->main_tid,
                               .t_us = (fw_now_ns() - c->start_ns) / 1000};

    fw_platform_thread_name(f.thread);
    fw_crash_put(fd, FW_CRASH_FAULT, &f, sizeof f, NULL, 0);
}

/* The stack from the first readable page at or above the stack pointer: after an overflow that
 * points into the guard page. */
static struct fw_stack_copy copy_stack(struct fw_crash *c, uint64_t sp)
{
    struct fw_stack_copy copy = {.base = sp, .bytes = c->stack};

    for (uint64_t at = sp; copy.n < STACK_COPY_BYTES;) {
        uint64_t next = (at & ~(uint64_t)(STEP_BYTES - 1)) + STEP_BYTES;
        size_t n = (size_t)(next - at), room = STACK_COPY_BYTES - copy.n;

        n = n < room ? n : room;
        if (fw_peek(at, c->stack + copy.n, n))
            copy.n += n;
        else if (copy.n || at - sp > 16 * STEP_BYTES)
            break;
        else
            copy.base = next;
        at = next;
    }
    return copy;
}

static uint32_t list_module(struct fw_crash *c, uint32_t *n, const struct fw_module *m)
{
    struct fw_crash_module *to = &c->module_list[*n];

    for (uint32_t i = 0; i < *n; i++)
        if (c->module_list[i].load_address == m->start)
            return i + 1;
    if (*n == FW_CRASH_MODULES)
        return 0;
    to->load_address = m->start;
    to->size = m->end - m->start;
    to->build_id_len = m->build_id_len;
    memcpy(to->build_id, m->build_id, sizeof to->build_id);
    memcpy(to->name, m->name, sizeof to->name);
    return ++*n;
}

static __attribute__((noinline)) void put_stack(struct fw_crash *c, int fd,
                                                const struct fw_regs *regs)
{
    struct fw_unwound unwound[FW_UNWIND_MAX];
    struct fw_crash_frame frame[FW_CRASH_FRAMES] = {0};
    struct fw_stack_copy copy = copy_stack(c, regs->r[fw_arch.sp]);
    uint32_t n_modules = 0;
    size_t n;

    fw_modules_refresh(&c->modules);
    n = fw_unwind(&c->modules, regs, &copy, unwound, NULL);
    n = n < FW_CRASH_FRAMES ? n : FW_CRASH_FRAMES;
    for (size_t i = 0; i < n; i++) {
        const struct fw_module *m = unwound[i].module;

        frame[i].module = m ? list_module(c, &n_modules, m) : 0;
        frame[i].offset = unwound[i].address - (frame[i].module ? m->start : 0);
    }
    fw_crash_put(fd, FW_CRASH_MODULE_LIST, c->module_list, n_modules * sizeof *c->module_list, NULL,
                 0);
    fw_crash_put(fd, FW_CRASH_FRAME_LIST, frame, n * sizeof *frame, NULL, 0);
}

/* On a small alternate stack of the game's the stack is left out: to run over it would hurt more.
 */
static bool has_room(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0); /* a local may be kept elsewhere */
    stack_t s;

    return sigaltstack(NULL, &s) != 0 || !(s.ss_flags & SS_ONSTACK) ||
           here - (uintptr_t)s.ss_sp > UNWIND_ROOM;
}

static void record(struct fw_crash *c, int signal, const siginfo_t *info, const void *context)
{
    int fd = atomic_load(&c->fd);
    struct fw_regs regs;

    if (fd < 0)
        return;
    fw_arch_regs(context, &regs);
    put_fault(c, fd, signal, info, &regs);
    c->last_words(c->user, c);
    if (fw_arch.regs && has_room())
        put_stack(c, fd, &regs);
}

/* The handler. */

/* As if we had not been: the old handlers, and the fault once more. A fault of the processor's
 * repeats itself when the handler returns; a signal that was sent is sent again. */
static void pass_on(struct fw_crash *c, int signal, siginfo_t *info)
{
    for (int i = 0; i < FW_CRASH_SIGNALS; i++)
        sigaction(fatal[i], &c->before[i], NULL);
    if (info->si_code > 0 && signal != SIGABRT)
        return;
    fw_platform_signal_self(signal, info);
}

/* Whether the handler of before has mended it: it then changed where the thread goes on. */
static bool mended(const struct fw_crash *c, int signal, siginfo_t *info, void *context)
{
    const struct sigaction *a = &c->before[place_of(signal)];
    struct fw_regs was, is;

    if (!c->after_others ||
        (!(a->sa_flags & SA_SIGINFO) && (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN)))
        return false;
    fw_arch_regs(context, &was);
    if (a->sa_flags & SA_SIGINFO)
        a->sa_sigaction(signal, info, context);
    else
        a->sa_handler(signal);
    fw_arch_regs(context, &is);
    return is.pc != was.pc || is.r[fw_arch.sp] != was.r[fw_arch.sp];
}

static void await_other(struct fw_crash *c)
{
    for (unsigned ms = 0; ms < OTHER_DEATH_MS && !atomic_load(&c->died_ns); ms += 10)
        nap(10);
}

static void on_fatal(int signal, siginfo_t *info, void *context)
{
    struct fw_crash *c = atomic_load(&active);
    int none = 0, me = fw_platform_tid(), saved = errno;

    if (!c) { /* called by a handler set after ours, which outlived the session */
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return;
    }
    if (getpid() != c->pid) {
        pass_on(c, signal, info);
        return;
    }
    if (mended(c, signal, info, context))
        return;
    if (atomic_compare_exchange_strong(&c->dying, &none, me)) {
        record(c, signal, info, context);
        atomic_store(&c->died_ns, fw_now_ns());
    } else if (none != me) {
        await_other(c);
    }
    pass_on(c, signal, info);
    errno = saved;
}

/* Alternate stacks. */

static _Thread_local void *given_stack;

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t fw_crash_stack_bytes(size_t page)
{
    return page + (ALTERNATE_BYTES + page - 1) / page * page;
}

bool fw_crash_give_stack(void)
{
    size_t page = page_bytes(), n = fw_crash_stack_bytes(page);
    stack_t has, s = {.ss_size = n - page};
    void *at;

    if (sigaltstack(NULL, &has) != 0 || !(has.ss_flags & SS_DISABLE))
        return false;
    at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    s.ss_sp = (char *)at + page;
    if (mprotect(at, page, PROT_NONE) != 0 || sigaltstack(&s, NULL) != 0) {
        munmap(at, n);
        return false;
    }
    given_stack = at;
    return true;
}

void fw_crash_drop_stack(void)
{
    stack_t has, none = {.ss_flags = SS_DISABLE};

    if (!given_stack)
        return;
    if (sigaltstack(NULL, &has) == 0 && has.ss_sp == (char *)given_stack + page_bytes())
        sigaltstack(&none, NULL);
    munmap(given_stack, fw_crash_stack_bytes(page_bytes()));
    given_stack = NULL;
}

/* Start and stop. */

static void free_memory(struct fw_crash *c)
{
    fw_modules_fini(&c->modules);
    fw_release(c->memory, c->stack);
    fw_release(c->memory, c->module_list);
    c->stack = NULL;
    c->module_list = NULL;
}

bool fw_crash_start(struct fw_crash *c)
{
    struct sigaction ours = {.sa_sigaction = on_fatal,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct fw_crash *none = NULL;

    atomic_store(&c->fd, -1);
    c->pid = (int)getpid();
    c->main_tid = fw_platform_tid();
    c->stack = fw_alloc(c->memory, STACK_COPY_BYTES);
    c->module_list = fw_alloc(c->memory, FW_CRASH_MODULES * sizeof *c->module_list);
    if (!c->stack || !c->module_list || !fw_modules_init(&c->modules, c->memory)) {
        free_memory(c);
        return false;
    }
    for (int i = 0; i < FW_CRASH_SIGNALS; i++)
        sigaction(fatal[i], NULL, &c->before[i]);
    if (!atomic_compare_exchange_strong(&active, &none, c)) {
        free_memory(c);
        return false;
    }
    c->own_stack = fw_crash_give_stack();
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < FW_CRASH_SIGNALS; i++)
        sigaction(fatal[i], &ours, NULL);
    c->started = true;
    return true;
}

/* Handlers that somebody has set after us stay. */
static void restore_handlers(struct fw_crash *c)
{
    struct sigaction now;

    for (int i = 0; i < FW_CRASH_SIGNALS; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_fatal)
            sigaction(fatal[i], &c->before[i], NULL);
}

bool fw_crash_stop(struct fw_crash *c)
{
    if (!c->started)
        return false;
    restore_handlers(c);
    if (atomic_load(&c->dying))
        await_other(c);
    atomic_store(&active, NULL);
    if (c->own_stack)
        fw_crash_drop_stack();
    free_memory(c);
    c->started = false;

    uint64_t died = atomic_load(&c->died_ns);
    return died && fw_now_ns() - died < DYING_NS;
}

size_t fw_crash_memory(const struct fw_crash *c)
{
    return c->started
               ? STACK_COPY_BYTES + FW_MAX_MODULES * sizeof *c->modules.at +
                     FW_CRASH_MODULES * sizeof *c->module_list + fw_crash_stack_bytes(page_bytes())
               : 0;
}
