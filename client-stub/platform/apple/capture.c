#if defined(__APPLE__)
#include "platform/capture.h"

#include "platform/apple/arch.h"
#include "platform/peek.h"
#include "src/clock.h"

#include <pthread.h>

static _Atomic(struct fw_capture *) active;

const char *fw_capture_start(struct fw_capture *c, const struct fw_allocator *memory)
{
    struct fw_capture *none = NULL;

    *c = (struct fw_capture){.tid = (int)pthread_mach_thread_np(pthread_self()), .memory = memory};
    c->stack_high = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(pthread_self());
    c->stack_low = c->stack_high - pthread_get_stacksize_np(pthread_self());
    c->stack = fw_alloc(memory, FW_STACK_BYTES);
    if (!c->stack)
        return "no memory";
    if (!atomic_compare_exchange_strong(&active, &none, c)) {
        fw_release(c->memory, c->stack);
        c->stack = NULL;
        return "taken by another session";
    }
    return NULL;
}

void fw_capture_stop(struct fw_capture *c)
{
    if (!c->stack)
        return;
    atomic_store(&active, NULL);
    fw_release(c->memory, c->stack);
    c->stack = NULL;
}

bool fw_capture_pending(struct fw_capture *c)
{
    (void)c; /* a stopped thread answers at once or not at all */
    return false;
}

/* While the thread is stopped it may hold any lock: here nothing is called but the kernel. */
static bool copy_stopped(struct fw_capture *c)
{
    mach_msg_type_number_t count = FW_THREAD_STATE_COUNT;
    fw_thread_state state;
    uint64_t sp, n;

    if (thread_get_state((thread_act_t)c->tid, FW_THREAD_STATE, (thread_state_t)&state, &count) !=
        KERN_SUCCESS)
        return false;
    fw_arch_thread_regs(&state, &c->regs);
    sp = c->regs.r[fw_arch.sp];
    c->stack_base = sp;
    c->stack_n = 0;
    if (sp % sizeof sp || sp < c->stack_low || sp >= c->stack_high)
        return true;
    n = c->stack_high - sp < FW_STACK_BYTES ? c->stack_high - sp : FW_STACK_BYTES;
    if (fw_peek(sp, c->stack, (size_t)n))
        c->stack_n = (size_t)n;
    return true;
}

bool fw_capture_take(struct fw_capture *c, unsigned timeout_ms)
{
    bool ok;

    (void)timeout_ms;
    if (!c->stack || thread_suspend((thread_act_t)c->tid) != KERN_SUCCESS)
        return false;
    c->taken_ns = fw_now_ns();
    ok = copy_stopped(c);
    thread_resume((thread_act_t)c->tid);
    return ok;
}
#endif
