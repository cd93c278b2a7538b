#if defined(__linux__)
#include "platform/capture.h"

#include "src/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The handler reads a stack as raw words: sanitizers see red zones there. */
#if defined(__clang__)
#define RAW_MEMORY __attribute__((no_sanitize("address", "thread", "undefined"), noinline))
#else
#define RAW_MEMORY __attribute__((no_sanitize_address, no_sanitize_thread, noinline))
#endif

static _Atomic(struct fw_capture *) active;

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

/* Volatile, so that no compiler makes a call of memcpy out of it. */
RAW_MEMORY static size_t copy_words(void *to, uint64_t from, size_t bytes)
{
    uint64_t *out = to;
    const volatile uint64_t *in = (const volatile uint64_t *)(uintptr_t)from;

    for (size_t i = 0; i < bytes / sizeof *out; i++)
        out[i] = in[i];
    return bytes / sizeof *out * sizeof *out;
}

RAW_MEMORY static void copy_stack(struct fw_capture *c)
{
    uint64_t sp = c->regs.r[fw_arch.sp];

    c->stack_n = 0;
    c->stack_base = sp;
    if (sp % sizeof sp || sp < c->stack_low || sp >= c->stack_high)
        return;

    uint64_t n = c->stack_high - sp;
    c->stack_n = copy_words(c->stack, sp, n < FW_STACK_BYTES ? (size_t)n : FW_STACK_BYTES);
}

static void pass_on(const struct fw_capture *c, int signal, siginfo_t *info, void *context)
{
    if (c->before.sa_flags & SA_SIGINFO)
        c->before.sa_sigaction(signal, info, context);
    else if (c->before.sa_handler != SIG_DFL && c->before.sa_handler != SIG_IGN)
        c->before.sa_handler(signal);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    struct fw_capture *c = atomic_load(&active);
    uint32_t asked = FW_CAPTURE_ASKED;
    int saved = errno;

    if (!c)
        return;
    if (info->si_code != SI_TKILL || atomic_load(&c->sent) == atomic_load(&c->handled)) {
        pass_on(c, signal, info, context);
        return;
    }
    if (atomic_compare_exchange_strong(&c->state, &asked, FW_CAPTURE_COPYING)) {
        c->taken_ns = fw_now_ns();
        fw_arch_regs(context, &c->regs);
        copy_stack(c);
        atomic_store(&c->state, FW_CAPTURE_DONE);
        futex_wake(&c->state);
    } /* else: the taker has given up */
    atomic_fetch_add(&c->handled, 1);
    errno = saved;
}

static bool is_free(int signal, struct sigaction *before)
{
    return sigaction(signal, NULL, before) == 0 && !(before->sa_flags & SA_SIGINFO) &&
           before->sa_handler == SIG_DFL;
}

/* A real-time signal nobody handles, from the upper end: libraries count from the lower. Emulators
 * take a handler for signals that they then refuse to send: so one is sent. Not to an alternate
 * stack: valgrind takes one that was given up for one that is there. */
static bool take_signal(struct fw_capture *c, const struct sigaction *ours)
{
    struct sigaction probe = *ours;

    probe.sa_flags &= ~SA_ONSTACK;
    for (c->signal = SIGRTMAX - 1; c->signal > SIGRTMIN; c->signal--) {
        if (!is_free(c->signal, &c->before) || sigaction(c->signal, &probe, NULL) != 0)
            continue;
        if (syscall(SYS_tgkill, getpid(), c->tid, c->signal) == 0 &&
            sigaction(c->signal, ours, NULL) == 0)
            return true;
        sigaction(c->signal, &c->before, NULL);
    }
    c->signal = 0;
    return false;
}

static bool stack_limits(struct fw_capture *c)
{
    pthread_attr_t attr;
    void *low;
    size_t size;
    bool ok;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return false;
    ok = pthread_attr_getstack(&attr, &low, &size) == 0;
    pthread_attr_destroy(&attr);
    c->stack_low = (uint64_t)(uintptr_t)low;
    c->stack_high = c->stack_low + size;
    return ok;
}

static void unblock(struct fw_capture *c)
{
    sigset_t set, before;

    sigemptyset(&set);
    sigaddset(&set, c->signal);
    pthread_sigmask(SIG_UNBLOCK, &set, &before);
    c->was_blocked = sigismember(&before, c->signal) == 1;
}

const char *fw_capture_start(struct fw_capture *c, const struct fw_allocator *memory)
{
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct fw_capture *none = NULL;

    *c = (struct fw_capture){.tid = (int)syscall(SYS_gettid), .memory = memory};
    if (!fw_arch.regs)
        return "unknown processor";
    if (!stack_limits(c))
        return "stack limits unknown";
    c->stack = fw_alloc(memory, FW_STACK_BYTES);
    if (!c->stack)
        return "no memory";
    if (!atomic_compare_exchange_strong(&active, &none, c)) {
        fw_release(c->memory, c->stack);
        c->stack = NULL;
        return "taken by another session";
    }
    sigemptyset(&ours.sa_mask);
    if (!take_signal(c, &ours)) {
        atomic_store(&active, NULL);
        fw_release(c->memory, c->stack);
        c->stack = NULL;
        return "no free signal";
    }
    unblock(c);
    return NULL;
}

/* Puts the old handler back, unless somebody has set another since, or one of our signals is still
 * on its way: by default that would end the process. */
static void restore_handler(const struct fw_capture *c)
{
    struct sigaction now;

    if (atomic_load(&c->sent) == atomic_load(&c->handled) &&
        sigaction(c->signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_signal)
        sigaction(c->signal, &c->before, NULL);
}

void fw_capture_stop(struct fw_capture *c)
{
    sigset_t set;

    if (!c->stack)
        return;
    restore_handler(c);
    if (c->was_blocked) {
        sigemptyset(&set);
        sigaddset(&set, c->signal);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    atomic_store(&active, NULL);
    fw_release(c->memory, c->stack);
    c->stack = NULL;
}

/* Until the handler is done or the time is over; then what it began is let finish or withdrawn. */
static bool await(struct fw_capture *c, unsigned timeout_ms)
{
    uint64_t deadline = fw_now_ns() + timeout_ms * 1000000ull, now;
    uint32_t state, asked = FW_CAPTURE_ASKED;

    while ((state = atomic_load(&c->state)) != FW_CAPTURE_DONE && (now = fw_now_ns()) < deadline)
        futex_wait(&c->state, state, deadline - now);
    if (state == FW_CAPTURE_DONE)
        return true;
    atomic_compare_exchange_strong(&c->state, &asked, FW_CAPTURE_IDLE);
    return atomic_load(&c->state) == FW_CAPTURE_DONE;
}

bool fw_capture_pending(struct fw_capture *c)
{
    return atomic_load(&c->sent) != atomic_load(&c->handled);
}

bool fw_capture_take(struct fw_capture *c, unsigned timeout_ms)
{
    /* One signal at a time: they would queue up in a thread that does not run. */
    if (!c->stack || fw_capture_pending(c) || atomic_load(&c->state) == FW_CAPTURE_COPYING)
        return false;
    atomic_store(&c->state, FW_CAPTURE_ASKED);
    atomic_fetch_add(&c->sent, 1);
    if (syscall(SYS_tgkill, getpid(), c->tid, c->signal) != 0) {
        atomic_fetch_sub(&c->sent, 1);
        atomic_store(&c->state, FW_CAPTURE_IDLE);
        return false;
    }
    return await(c, timeout_ms);
}
#endif
