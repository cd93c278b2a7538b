#include "src/control/context.h"

#include "platform/platform.h"
#include "platform/transport_curl.h"
#include "src/clock.h"
#include "src/random.h"
#include "src/scrub.h"
#include "src/text.h"
#include "src/thread.h"
#include "wire/session_writer.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXCHANGE_TIMEOUT_MS 30000
#define EVENT_BYTES (sizeof(struct fw_event_scene) + 2048)

static atomic_bool in_use;
/* The game's, from fw_start() on; NULL before its memory is given back, for the release callback
 * may call with a handle that is no more. */
static _Atomic(fw_context *) current;

static bool is_current(const fw_context *fw)
{
    return fw && fw == atomic_load_explicit(&current, memory_order_relaxed);
}

/* Calls from callbacks. */

/* Once of each call: a callback may make it again and again. */
static void refuse(struct fw_context *fw, enum fw_refusable call, const char *why)
{
    static const char *const name[] = {
        [FW_CALL_STOP] = "fw_stop",          [FW_CALL_CONSENT] = "fw_consent",
        [FW_CALL_DELETE] = "fw_delete_data", [FW_CALL_RESET] = "fw_reset_install_id",
        [FW_CALL_FRAME] = "fw_frame",        [FW_CALL_HUD] = "fw_hud",
    };

    if (!(atomic_fetch_or(&fw->told, 1u << call) >> call & 1) &&
        !fw_log_say(&fw->log, FW_LOG_ERROR, "%s is refused: %s", name[call], why))
        atomic_fetch_and(&fw->told, ~(1u << call));
}

static bool refuse_own(struct fw_context *fw, enum fw_refusable call)
{
    if (!fw_thread_is_own())
        return false;
    refuse(fw, call, "called on a thread of the SDK's");
    return true;
}

/* Before what begins or ends sessions: false on a thread that would wait for itself, and within
 * such a call, whose half-done work a second one would meet. Else until done(). */
static bool begin_call(struct fw_context *fw, enum fw_refusable call)
{
    if (!is_current(fw) || refuse_own(fw, call))
        return false;
    if (!atomic_exchange(&fw->busy, true))
        return true;
    refuse(fw, call, "another such call goes on");
    return false;
}

static void done(struct fw_context *fw)
{
    atomic_store(&fw->busy, false);
}

void fw_options_init_sized(fw_options *o, size_t size)
{
    if (!o || size < sizeof o->size)
        return;
    size = size < sizeof *o ? size : sizeof *o;
    memset(o, 0, size);
    o->size = size;
}

/* Of callers that do not say how large theirs are: they know what there was before that was asked.
 */
void(fw_options_init)(fw_options *o)
{
    fw_options_init_sized(o, offsetof(fw_options, allocate));
}

const char *fw_version(void)
{
    return FW_VERSION;
}

/* A caller of an older library knows fewer fields: the rest are 0. */
static bool take_options(fw_options *out, const fw_options *given, struct fw_log *log)
{
    fw_options_init(out);
    if (!given || given->size < offsetof(fw_options, app) || given->size > 4096)
        return false;
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    *log = (struct fw_log){out->log, out->user};
    if (!out->storage_path || !out->storage_path[0]) {
        fw_log_say(log, FW_LOG_ERROR, "no storage_path");
        return false;
    }
    if (!out->allocate != !out->release) {
        fw_log_say(log, FW_LOG_ERROR, "allocate and release go together");
        return false;
    }
    if (out->flags & FW_NO_UPLOAD)
        return true;
    if (!out->server_url || !out->api_key || !out->api_key[0] ||
        (strncmp(out->server_url, "http://", 7) != 0 &&
         strncmp(out->server_url, "https://", 8) != 0)) {
        fw_log_say(log, FW_LOG_ERROR, "server_url and api_key are needed");
        return false;
    }
    return true;
}

/* A session may begin long after fw_start() has returned: the texts are copied. */
static bool keep_texts(struct fw_context *fw)
{
    fw_options *o = &fw->options;
    const char **text[] = {
        &o->server_url,   &o->api_key,    &o->storage_path,        &o->app,
        &o->version_name, &o->build_id,   &o->device.manufacturer, &o->device.model,
        &o->device.soc,   &o->device.gpu, &o->device.os_version};
    size_t n = 0, at = 0;

    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        n += *text[i] ? strlen(*text[i]) + 1 : 0;
    fw->texts = fw_alloc(&fw->memory, n);
    for (size_t i = 0; fw->texts && i < sizeof text / sizeof *text; i++)
        if (*text[i]) {
            size_t len = strlen(*text[i]) + 1;

            memcpy(fw->texts + at, *text[i], len);
            *text[i] = fw->texts + at;
            at += len;
        }
    return fw->texts;
}

static uint32_t between(uint32_t value, uint32_t otherwise, uint32_t low, uint32_t high)
{
    return !value ? otherwise : value < low ? low : value > high ? high : value;
}

static void base_config(struct fw_config *c, const fw_options *o)
{
    fw_config_init(c);
    c->hardware_period_ms = between(o->hardware_period_ms, c->hardware_period_ms, 200, 60000);
    c->slice_ms = between(o->slice_ms, c->slice_ms, 100, 300000);
    c->jank_stack_ms = between(o->jank_stack_ms, c->jank_stack_ms, 20, 5000);
}

static void identify(struct fw_context *fw, const fw_options *o)
{
    struct fw_identity *who = &fw->who;

    fw_random(who->session_id, sizeof who->session_id);
    fw_wire_session_id(who->session_id, fw->install);
    for (size_t i = 0; i < sizeof who->session_id; i++)
        snprintf(who->session + 2 * i, 3, "%02x", who->session_id[i]);
    fw_copy_text(who->app, sizeof who->app, o->app);
    fw_copy_text(who->version_name, sizeof who->version_name, o->version_name);
    fw_copy_text(who->build_id, sizeof who->build_id, o->build_id);
    who->version_code = o->version_code;
    who->wall_start_ms = fw_wall_ms();
    who->start_ns = fw_now_ns();
}

static void on_config(void *user, const struct fw_config *config)
{
    fw_recorder_configure(user, config);
}

static bool set_up_uploader(struct fw_context *fw, const fw_options *o)
{
    struct fw_uploader *u = &fw->uploader;
    size_t n = o->server_url ? strlen(o->server_url) : 0;

    u->fd = -1;
    u->store = &fw->store;
    u->log = &fw->log;
    u->install = fw->install;
    u->network = o->network;
    u->network_user = o->user;
    u->untold = fw_platform_network;
    u->session = fw->who.session;
    u->hook = &fw->hook;
    u->jank_ns = &fw->watchdog.jank_ns;
    u->on_config = on_config;
    u->on_config_user = &fw->recorder;
    base_config(&u->base, o);
    if (o->flags & FW_NO_UPLOAD)
        return true;
    while (n && o->server_url[n - 1] == '/')
        n--;
    if (n >= sizeof fw->server_url || strlen(o->api_key) >= sizeof fw->api_key) {
        fw_log_say(&fw->log, FW_LOG_ERROR, "server_url or api_key is too long");
        return false;
    }
    memcpy(fw->server_url, o->server_url, n);
    fw_copy_text(fw->api_key, sizeof fw->api_key, o->api_key);
    u->server = (struct fw_server){.url = fw->server_url,
                                   .api_key = fw->api_key,
                                   .transport = {o->transport, o->user},
                                   .timeout_ms = EXCHANGE_TIMEOUT_MS};
    if (!o->transport) {
        fw->curl = fw_transport_curl_new_in(&u->stop, &fw->memory);
        u->server.transport = (struct fw_transport){fw_transport_curl_exchange, fw->curl};
        if (!fw->curl)
            fw_log_say(&fw->log, FW_LOG_ERROR,
                       "no transport: set options.transport, or build with libcurl");
    }
    return o->transport || fw->curl;
}

static void set_up_threads(struct fw_context *fw, const fw_options *o)
{
    struct fw_recorder *r = &fw->recorder;
    struct fw_watchdog *w = &fw->watchdog;

    fw_desk_init(&fw->desk);
    pthread_mutex_init(&r->mailbox.mutex, NULL);
    r->waker.fd = w->waker.fd = fw->uploader.waker.fd = fw->uploader.done.fd = -1;
    r->who = &fw->who;
    r->hook = w->hook = &fw->hook;
    r->events = &fw->events;
    r->desk = w->desk = &fw->desk;
    r->watchdog = w;
    r->uploader = &fw->uploader;
    r->crash = &fw->crash;
    atomic_store(&fw->crash.fd, -1);
    fw->crash.memory = w->memory = r->memory = &fw->memory;
    fw->uploader.fd = -1;
    r->store = &fw->store;
    r->log = w->log = &fw->log;
    r->options = o;
    r->proc = fw->roots.proc;
    r->sys = fw->roots.sys;
    r->root = fw->roots.root;
    r->main_tid = fw->main_tid;
    base_config(&r->base, o);
    fw_device_told(&r->device, &o->device);
    fw->crash.after_others = o->flags & FW_CRASHES_AFTER_OTHERS;
    fw->crash.last_words = fw_recorder_last_words;
    fw->crash.user = r;
    w->sampler = &r->waker;
    w->managed.call = o->managed_stack;
    w->managed.user = o->user;
    atomic_store(&w->jank_stack_ms, r->base.jank_stack_ms);
}

static bool start_threads(struct fw_context *fw)
{
    uint32_t flags = fw->options.flags;

    fw->crash.start_ns = fw->who.start_ns;
    if (!fw_recorder_prepare(&fw->recorder))
        return false;
    if (!fw_watchdog_start(&fw->watchdog, !(flags & FW_NO_STACKS)))
        return false;
    if (!(flags & FW_NO_CRASHES) && !fw_crash_start(&fw->crash))
        fw_log_say(&fw->log, FW_LOG_WARN, "crashes are not recorded: no memory");
    if (!(flags & FW_NO_UPLOAD) && !fw_uploader_start(&fw->uploader))
        return false;
    fw->recorder.memory_bytes = sizeof *fw + fw_watchdog_memory(&fw->watchdog) +
                                fw_recorder_memory(&fw->recorder) + fw_crash_memory(&fw->crash) +
                                (fw->uploader.running ? FW_TUS_CHUNK_BYTES : 0);
    fw->recorder.crashes = fw->crash.started;
    return fw_recorder_start(&fw->recorder);
}

/* A session, from here to end_session(); each thread may wake the others until the last one is
 * gone. */
static void end_session(struct fw_context *fw, bool upload)
{
    atomic_store(&fw->live, false);
    while (atomic_load(&fw->callers))
        sched_yield();
    fw_watchdog_stop(&fw->watchdog);
    fw->recorder.keep_crash = fw_crash_stop(&fw->crash);
    fw_recorder_stop(&fw->recorder); /* it asks the hook for a frame that still runs */
    fw_hook_block(&fw->hook, FW_BLOCK_CONSENT);
    fw_uploader_stop(&fw->uploader, upload && fw->options.flags & FW_UPLOAD_AT_STOP);
    fw_watchdog_fini(&fw->watchdog);
    fw_recorder_fini(&fw->recorder);
    fw_uploader_fini(&fw->uploader);
    fw_transport_curl_free(fw->curl);
    pthread_mutex_destroy(&fw->recorder.mailbox.mutex);
    fw_desk_fini(&fw->desk);
    fw_store_close(&fw->store);
}

static void forget_session(struct fw_context *fw)
{
    size_t from = offsetof(struct fw_context, who), to = offsetof(struct fw_context, log);

    memset(&fw->hook.ring, 0, sizeof fw->hook.ring);
    atomic_store(&fw->hook.producer, 0); /* its id may become that of a thread of the SDK's */
    memset(&fw->events, 0, sizeof fw->events);
    memset((char *)fw + from, 0, to - from);
    fw->store.dir = -1;
}

static bool open_store(struct fw_context *fw, bool make)
{
    const char *path = fw->options.storage_path;
    bool open = make ? fw_store_open(&fw->store, path, &fw->log)
                     : fw_store_find(&fw->store, path, &fw->log);

    fw->store.memory = &fw->memory;
    return open;
}

static bool begin_session(struct fw_context *fw)
{
    const fw_options *o = &fw->options;

    forget_session(fw);
    set_up_threads(fw, o);
    if (open_store(fw, true) && fw_store_install_id(&fw->store, fw->install)) {
        identify(fw, o);
        if (set_up_uploader(fw, o) && start_threads(fw)) {
            atomic_store(&fw->live, true);
            fw_hook_unblock(&fw->hook, FW_BLOCK_CONSENT);
            fw_waker_wake(&fw->watchdog.waker); /* it may have found the hook blocked */
            fw_target(fw, o->target_interval_us, o->device.refresh_millihertz);
            return true;
        }
        fw_log_say(&fw->log, FW_LOG_ERROR, "no memory or no thread: the session is not recorded");
    }
    end_session(fw, false);
    return false;
}

/* The thread that has the server forget; without one, nothing. */
static void end_eraser(struct fw_context *fw)
{
    if (atomic_load(&fw->live) || fw->store.dir < 0)
        return;
    fw_uploader_stop(&fw->uploader, fw->erasing && fw->options.flags & FW_UPLOAD_AT_STOP);
    fw_uploader_fini(&fw->uploader);
    fw_transport_curl_free(fw->curl);
    fw_store_close(&fw->store);
    fw->curl = NULL;
    fw->erasing = false;
}

/* Without a session only the uploader runs, and only to have the server forget. */
static void start_eraser(struct fw_context *fw)
{
    forget_session(fw);
    fw->uploader.waker.fd = fw->uploader.done.fd = -1;
    if (fw->options.flags & FW_NO_UPLOAD || !open_store(fw, false))
        return;
    if (set_up_uploader(fw, &fw->options)) {
        fw->uploader.erase_only = true;
        fw->erasing = fw_uploader_start(&fw->uploader);
    }
    if (!fw->erasing)
        end_eraser(fw);
}

/* For consent. Only what an earlier launch owes the player is done. */
static bool wait(struct fw_context *fw)
{
    char install[FW_INSTALL_BYTES];
    struct fw_store store;
    bool owes = false;

    if (fw_store_find(&store, fw->options.storage_path, &fw->log)) {
        owes = fw_store_first_forgotten(&store, install);
        fw_store_close(&store);
    }
    if (owes)
        start_eraser(fw);
    return true;
}

static void free_context(struct fw_context *fw)
{
    struct fw_allocator memory = fw->memory;

    atomic_store(&current, NULL);
    fw_release(&memory, fw->texts);
    fw_release(&memory, fw->block);
    atomic_store(&in_use, false);
}

/* On a cache line of its own. */
static struct fw_context *new_context(const struct fw_allocator *memory)
{
    unsigned char *block = fw_alloc_zeroed(memory, sizeof(struct fw_context) + FW_CACHE_LINE);
    struct fw_context *fw;

    if (!block)
        return NULL;
    fw = (void *)(block + FW_CACHE_LINE - (uintptr_t)block % FW_CACHE_LINE);
    fw->memory = *memory;
    fw->block = block;
    return fw;
}

fw_context *fw_start_at(const fw_options *options, const struct fw_roots *roots)
{
    struct fw_context *fw;
    struct fw_log log = {0};
    fw_options o;

    if (!take_options(&o, options, &log))
        return NULL;
    if (atomic_exchange(&in_use, true)) {
        fw_log_say(&log, FW_LOG_ERROR, "a session runs already");
        return NULL;
    }
    fw = new_context(&(struct fw_allocator){o.allocate, o.release, o.user});
    if (!fw) {
        fw_log_say(&log, FW_LOG_ERROR, "no memory");
        atomic_store(&in_use, false);
        return NULL;
    }
    fw->log = log;
    fw->options = o;
    fw->roots = *roots;
    fw->main_tid = fw_platform_tid();
    fw->store.dir = -1;
    fw_hook_block(&fw->hook, FW_BLOCK_CONSENT);
    atomic_store(&fw->busy, true);
    atomic_store(&current, fw);
    if (keep_texts(fw) && (o.flags & FW_WAIT_FOR_CONSENT ? wait(fw) : begin_session(fw))) {
        done(fw);
        return fw;
    }
    free_context(fw);
    return NULL;
}

fw_context *fw_start(const fw_options *options)
{
    return fw_start_at(options, &(struct fw_roots){"/proc", "/sys", ""});
}

int fw_stop(fw_context *fw)
{
    if (!begin_call(fw, FW_CALL_STOP))
        return !is_current(fw);
    if (atomic_load(&fw->live))
        end_session(fw, true);
    end_eraser(fw);
    free_context(fw);
    return 1;
}

/* Consent. */

/* What this device holds of the install, the session that runs included. remember: for the server
 * to be asked to delete its part. */
static void delete_all(struct fw_context *fw, bool remember)
{
    char install[FW_INSTALL_BYTES];
    struct fw_store store;

    if (atomic_load(&fw->live))
        end_session(fw, false);
    if (!fw_store_find(&store, fw->options.storage_path, &fw->log))
        return;
    if (remember && fw_store_known_install(&store, install))
        fw_store_forget(&store, install);
    fw_store_clear(&store);
    fw_store_close(&store);
}

int fw_consent(fw_context *fw, int given)
{
    if (!begin_call(fw, FW_CALL_CONSENT))
        return !is_current(fw);
    if (!given) {
        delete_all(fw, false);
    } else if (!atomic_load(&fw->live)) {
        end_eraser(fw);
        begin_session(fw);
    }
    done(fw);
    return 1;
}

int fw_reset_install_id(fw_context *fw)
{
    if (!begin_call(fw, FW_CALL_RESET))
        return !is_current(fw);

    bool live = atomic_load(&fw->live);
    delete_all(fw, false);
    if (live)
        begin_session(fw);
    done(fw);
    return 1;
}

int fw_delete_data(fw_context *fw)
{
    if (!begin_call(fw, FW_CALL_DELETE))
        return !is_current(fw);
    end_eraser(fw);
    delete_all(fw, true);
    start_eraser(fw);
    done(fw);
    return 1;
}

/* Calls that need a session, from any thread: false without one, else leave() ends them. */
static bool enter(struct fw_context *fw)
{
    if (!is_current(fw))
        return false;
    atomic_fetch_add(&fw->callers, 1);
    if (atomic_load(&fw->live))
        return true;
    atomic_fetch_sub(&fw->callers, 1);
    return false;
}

static void leave(struct fw_context *fw)
{
    atomic_fetch_sub(&fw->callers, 1);
}

void fw_thread_begin(fw_context *fw)
{
    if (is_current(fw) && !(fw->options.flags & FW_NO_CRASHES))
        fw_crash_give_stack();
}

void fw_thread_end(fw_context *fw)
{
    if (is_current(fw) &&
        fw_platform_tid() != fw->main_tid) /* the main thread's goes with the session */
        fw_crash_drop_stack();
}

/* One thread fills the ring: the SDK's do not. */
static __attribute__((noinline)) bool admit(fw_context *fw)
{
    if (refuse_own(fw, FW_CALL_FRAME))
        return false;
    atomic_store(&fw->hook.producer, fw_thread_id());
    return true;
}

static inline bool takes_frame(fw_context *fw)
{
    return is_current(fw) && !fw_hook_is_blocked(&fw->hook) &&
           (atomic_load_explicit(&fw->hook.producer, memory_order_relaxed) == fw_thread_id() ||
            admit(fw));
}

void fw_frame(fw_context *fw)
{
    if (takes_frame(fw))
        fw_hook_present(&fw->hook, fw_now_ns());
}

void fw_frame_at(fw_context *fw, uint64_t present_ns)
{
    if (takes_frame(fw))
        fw_hook_present(&fw->hook, present_ns);
}

static uint64_t now_us(const struct fw_context *fw)
{
    return (fw_now_ns() - fw->who.start_ns) / 1000;
}

void fw_target(fw_context *fw, uint32_t target_interval_us, uint32_t refresh_millihertz)
{
    struct fw_event_target target = {target_interval_us, refresh_millihertz};

    if (!enter(fw))
        return;
    fw_events_push(&fw->events, FW_EVENT_TARGET, fw_now_ns(), &target, sizeof target);
    leave(fw);
}

void fw_scene(fw_context *fw, const char *mode, const char *map, const fw_attribute *attributes,
              size_t n_attributes)
{
    struct fw_wire_attribute attribute[FW_MAX_ATTRIBUTES];
    char key[FW_MAX_ATTRIBUTES][FW_KEY_BYTES + 4], clean_mode[FW_LABEL_BYTES + 4],
        clean_map[FW_LABEL_BYTES + 4];
    unsigned char bytes[EVENT_BYTES];
    struct fw_event_scene scene;
    struct fw_buf out;
    size_t n = attributes && n_attributes < FW_MAX_ATTRIBUTES ? n_attributes
               : attributes                                   ? FW_MAX_ATTRIBUTES
                                                              : 0;

    if (!enter(fw))
        return;
    fw_scrub(mode, clean_mode, sizeof clean_mode);
    fw_scrub(map, clean_map, sizeof clean_map);
    for (size_t i = 0; i < n; i++) {
        fw_scrub(attributes[i].key, key[i], sizeof key[i]);
        attribute[i] = (struct fw_wire_attribute){key[i], attributes[i].value};
    }
    memset(&scene, 0, sizeof scene);
    fw_copy_text(scene.mode, sizeof scene.mode, clean_mode);
    fw_copy_text(scene.map, sizeof scene.map, clean_map);
    fw_buf_over(&out, bytes, sizeof bytes);
    fw_buf_add(&out, &scene, sizeof scene);

    uint64_t now = fw_now_ns();
    if (fw_wire_scene(&out, (now - fw->who.start_ns) / 1000, clean_mode, clean_map, attribute, n))
        fw_events_push(&fw->events, FW_EVENT_SCENE, now, out.at, out.len);
    leave(fw);
}

void fw_position(fw_context *fw, float x, float y)
{
    unsigned char bytes[64];
    struct fw_buf out;

    if (!enter(fw))
        return;
    fw_buf_over(&out, bytes, sizeof bytes);
    if (fw_wire_position(&out, now_us(fw), x, y))
        fw_events_push(&fw->events, FW_EVENT_POSITION, fw_now_ns(), out.at, out.len);
    leave(fw);
}

void fw_step(fw_context *fw, const char *name)
{
    unsigned char bytes[128];
    char clean[FW_LABEL_BYTES + 4];
    struct fw_buf out;

    if (!enter(fw))
        return;
    fw_buf_over(&out, bytes, sizeof bytes);
    fw_scrub(name, clean, sizeof clean);
    if (fw_wire_step(&out, now_us(fw), clean))
        fw_events_push(&fw->events, FW_EVENT_STEP, fw_now_ns(), out.at, out.len);
    leave(fw);
}

void fw_background(fw_context *fw)
{
    if (!is_current(fw))
        return;
    fw_hook_block(&fw->hook, FW_BLOCK_BACKGROUND);
    if (!enter(fw))
        return;
    fw_events_push(&fw->events, FW_EVENT_BACKGROUND, fw_now_ns(), NULL, 0);
    fw_recorder_wake(&fw->recorder);
    leave(fw);
}

void fw_foreground(fw_context *fw)
{
    if (!is_current(fw))
        return;

    bool live = enter(fw);
    if (live)
        fw_events_push(&fw->events, FW_EVENT_FOREGROUND, fw_now_ns(), NULL, 0);
    fw_hook_unblock(&fw->hook, FW_BLOCK_BACKGROUND);
    if (!live)
        return;
    fw_recorder_wake(&fw->recorder);
    fw_waker_wake(&fw->watchdog.waker);
    leave(fw);
}

void fw_low_memory(fw_context *fw)
{
    unsigned char bytes[64];
    struct fw_buf out;

    if (!enter(fw))
        return;
    fw_buf_over(&out, bytes, sizeof bytes);
    if (fw_wire_lifecycle(&out, now_us(fw), FW_LIFE_LOW_MEMORY, 0))
        fw_events_push(&fw->events, FW_EVENT_PACKET, fw_now_ns(), out.at, out.len);
    leave(fw);
}

void fw_gpu_time(fw_context *fw, uint32_t gpu_us)
{
    if (!enter(fw))
        return;
    atomic_store_explicit(&fw->recorder.gpu_time_us, gpu_us, memory_order_relaxed);
    leave(fw);
}

int fw_hud(fw_context *fw, fw_hud_figures *out)
{
    fw_hud_figures f = {.fps_milli = -1,
                        .janks = -1,
                        .process_cpu_permille = -1,
                        .total_cpu_permille = -1,
                        .memory_kb = -1,
                        .gpu_time_us = -1,
                        .temperature_millicelsius = -1};
    bool live = is_current(fw) && !refuse_own(fw, FW_CALL_HUD) && enter(fw);

    if (live) {
        uint32_t gpu = atomic_load_explicit(&fw->recorder.gpu_time_us, memory_order_relaxed);

        fw_ring_figures(&fw->hook.ring, &f);
        fw_board_read(&fw->recorder.board, &f);
        if (gpu)
            f.gpu_time_us = (int32_t)gpu;
        leave(fw);
    }
    f.size = out->size < sizeof f ? out->size : sizeof f;
    memcpy(out, &f, f.size);
    return live;
}

void fw_feedback(fw_context *fw, const char *category, const char *text)
{
    unsigned char bytes[FW_FEEDBACK_BYTES + 128];
    char clean[FW_FEEDBACK_BYTES + 4], clean_category[FW_KEY_BYTES + 4];
    struct fw_buf out;

    if (!enter(fw))
        return;
    fw_buf_over(&out, bytes, sizeof bytes);
    fw_scrub(category, clean_category, sizeof clean_category);
    fw_scrub(text, clean, sizeof clean);
    if (fw_wire_feedback(&out, now_us(fw), clean_category, clean))
        fw_events_push(&fw->events, FW_EVENT_PACKET, fw_now_ns(), out.at, out.len);
    leave(fw);
}

void fw_session_id(const fw_context *fw, char out[33])
{
    struct fw_context *mine = (struct fw_context *)fw; /* the game's; only counts its callers */

    out[0] = 0;
    if (!enter(mine))
        return;
    memcpy(out, fw->who.session, sizeof fw->who.session);
    leave(mine);
}
