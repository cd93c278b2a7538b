#include "src/control/watchdog.h"

#include "platform/unwind.h"
#include "src/clock.h"
#include "src/thread.h"

#include <string.h>

#define STACK_BYTES (192u * 1024u)
#define MANAGED_STACK_BYTES (512u * 1024u) /* the game's call may enter a runtime */
#define ANSWER_MS 200
#define SILENT_NS 3000000000ull   /* a signal that is not answered for so long never will be */
#define NO_FRAME_NS 250000000ull  /* until the first frame, or between two that are long done */
#define MODULES_NS 60000000000ull /* a list of modules is not trusted for longer */
#define HUNG_NS 1000000000ull     /* a frame that has given all its samples */
#define NICE 5                    /* above the sampler: it must catch a frame while it lasts */

static uint16_t desk_module(struct fw_watchdog *w, const struct fw_module *m)
{
    struct fw_desk_module d = {.load_address = m->start, .size = m->end - m->start};

    d.build_id_len = m->build_id_len;
    memcpy(d.build_id, m->build_id, sizeof d.build_id);
    memcpy(d.name, m->name, sizeof d.name);
    return fw_desk_add_module(w->desk, &d);
}

static bool all_stand(const struct fw_watchdog *w, const struct fw_unwound *frame, size_t n)
{
    const struct fw_module *last = NULL;

    for (size_t i = 0; i < n; i++) {
        if (frame[i].module != last && !fw_module_stands(&w->modules, frame[i].module))
            return false;
        last = frame[i].module;
    }
    return true;
}

/* fresh: modules may have come and gone. Their list is read again only if the stack says so: what
 * it meets is unknown, or no longer what it was; the kernel takes some milliseconds to tell the
 * list. */
static size_t unwind(struct fw_watchdog *w, struct fw_unwound frame[FW_UNWIND_MAX], bool fresh)
{
    struct fw_stack_copy copy = {
        .base = w->capture.stack_base, .bytes = w->capture.stack, .n = w->capture.stack_n};
    bool missed, young = w->modules_ns && w->capture.taken_ns < w->modules_ns + MODULES_NS;
    size_t n = fw_unwind(&w->modules, &w->capture.regs, &copy, frame, &missed);

    if (!fresh || (young && !missed && all_stand(w, frame, n)))
        return n;
    fw_modules_refresh(&w->modules);
    w->modules_ns = fw_now_ns();
    return fw_unwind(&w->modules, &w->capture.regs, &copy, frame, NULL);
}

static void fill_sample(struct fw_watchdog *w, struct fw_desk_sample *s, bool fresh)
{
    struct fw_unwound frame[FW_UNWIND_MAX];
    size_t n = unwind(w, frame, fresh);

    for (size_t i = 0; i < n && i < FW_DESK_DEPTH; i++, s->n++) {
        uint16_t module = frame[i].module ? desk_module(w, frame[i].module) : FW_DESK_NO_MODULE;

        s->module[i] = module;
        s->offset[i] =
            frame[i].address - (module == FW_DESK_NO_MODULE ? 0 : frame[i].module->start);
    }
}

static void wait_until(struct fw_watchdog *w, uint64_t until_ns)
{
    atomic_store(&w->cpu_us, fw_thread_cpu_us());
    fw_waker_wait(&w->waker, until_ns);
    atomic_fetch_add(&w->wakeups, 1);
}

static void switch_off(struct fw_watchdog *w, const char *reason)
{
    atomic_store(&w->off_reason, reason);
    fw_log_say(w->log, FW_LOG_WARN, "stacks are off: %s", reason);
}

/* The frame had ended when the stack was taken: it shows the next one. */
static bool too_late(const struct fw_watchdog *w, uint64_t began_ns)
{
    uint64_t present = atomic_load(&w->hook->present_ns);

    return present != began_ns && present <= w->capture.taken_ns;
}

static bool wants_native(const struct fw_watchdog *w)
{
    return w->can_capture && !atomic_load(&w->off_reason);
}

static void take_native(struct fw_watchdog *w, uint64_t began_ns, bool first,
                        struct fw_desk_sample *out)
{
    if (!fw_capture_pending(&w->capture))
        w->silent_since_ns = fw_now_ns(); /* what was asked before was answered, late or not */
    if (!fw_capture_take(&w->capture, ANSWER_MS)) {
        atomic_fetch_add(&w->failures, 1);
        if (fw_now_ns() - w->silent_since_ns > SILENT_NS)
            switch_off(w, "the main thread does not answer");
    } else if (!too_late(w, began_ns)) {
        out->t_ns = w->capture.taken_ns;
        fill_sample(w, out, first);
    }
}

static bool still_runs(const struct fw_watchdog *w, uint64_t began_ns)
{
    uint64_t began;

    return !atomic_load(&w->stop) && fw_hook_running_ns(w->hook, fw_now_ns(), &began) &&
           began == began_ns;
}

/* NULL: none, or it may be that of a later frame. */
static const struct fw_desk_texts *take_managed(struct fw_watchdog *w, uint64_t began_ns)
{
    const struct fw_desk_texts *texts;

    if (!fw_managed_wanted(&w->managed) || !still_runs(w, began_ns))
        return NULL;
    texts = fw_managed_ask(&w->managed, w->log);
    return still_runs(w, began_ns) ? texts : NULL;
}

/* True if the frame has one stack more. */
static bool take_stack(struct fw_watchdog *w, uint64_t began_ns, bool first)
{
    struct fw_desk_sample sample;
    const struct fw_desk_texts *managed;

    sample.n = 0;
    if (wants_native(w))
        take_native(w, began_ns, first, &sample);
    managed = take_managed(w, began_ns);
    if (!sample.n && !managed)
        return false;
    if (!sample.n)
        sample.t_ns = fw_now_ns();
    return fw_desk_add_sample(w->desk, began_ns, &sample, managed);
}

static bool wants_stacks(struct fw_watchdog *w)
{
    return atomic_load(&w->stacks) && (wants_native(w) || fw_managed_wanted(&w->managed));
}

/* The frame that began then is long: samples it until it ends or has enough. */
static void follow(struct fw_watchdog *w, uint64_t began_ns)
{
    uint64_t step = atomic_load(&w->jank_stack_ms) * 1000000ull;
    unsigned taken = 0, looks = 0;

    atomic_store(&w->jank_ns, began_ns);
    fw_waker_wake(w->sampler);
    while (still_runs(w, began_ns)) {
        bool wanted = wants_stacks(w); /* perhaps not yet: the session may still be starting */

        looks++;
        if (wanted && taken < FW_DESK_SAMPLES)
            taken += take_stack(w, began_ns, taken == 0);
        wait_until(w, fw_now_ns() + ((wanted ? taken : looks) < FW_DESK_SAMPLES ? step : HUNG_NS));
    }
}

static void *run(void *user)
{
    struct fw_watchdog *w = user;

    fw_thread_yield_priority(NICE);
    while (!atomic_load(&w->stop)) {
        uint64_t began, now = fw_now_ns(), step = atomic_load(&w->jank_stack_ms) * 1000000ull;
        uint64_t running = fw_hook_running_ns(w->hook, now, &began);

        if (running > step) {
            follow(w, began);
            continue;
        }
        wait_until(w, running                       ? began + step + 1
                      : fw_hook_is_blocked(w->hook) ? UINT64_MAX
                                                    : now + NO_FRAME_NS);
    }
    return NULL;
}

bool fw_watchdog_start(struct fw_watchdog *w, bool stacks)
{
    const char *reason = NULL;

    if (!fw_waker_init(&w->waker))
        return false;
    if (w->managed.call &&
        !(fw_managed_start(&w->managed, w->memory) && fw_desk_make_texts(w->desk, w->memory)))
        return false;
    if (stacks) {
        reason = fw_capture_start(&w->capture, w->memory);
        if (!reason && !fw_modules_init(&w->modules, w->memory))
            reason = "no memory";
        w->can_capture = !reason;
        if (reason)
            switch_off(w, reason);
    }
    w->running = fw_thread_start(&w->thread, "fw-watch",
                                 w->managed.call ? MANAGED_STACK_BYTES : STACK_BYTES, run, w);
    return w->running;
}

void fw_watchdog_stop(struct fw_watchdog *w)
{
    atomic_store(&w->stop, true);
    if (w->running) {
        fw_waker_wake(&w->waker);
        pthread_join(w->thread, NULL);
        w->running = false;
    }
    fw_capture_stop(&w->capture);
    fw_modules_fini(&w->modules);
    fw_managed_stop(&w->managed, w->memory);
}

void fw_watchdog_fini(struct fw_watchdog *w)
{
    fw_waker_fini(&w->waker);
}

size_t fw_watchdog_memory(const struct fw_watchdog *w)
{
    return (w->can_capture ? FW_STACK_BYTES + FW_MAX_MODULES * sizeof *w->modules.at : 0) +
           (w->managed.stack ? sizeof *w->managed.stack + fw_desk_memory(w->desk) : 0);
}
