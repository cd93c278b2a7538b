#include "src/control/recorder.h"

#include "platform/platform.h"
#include "src/buffer/recover.h"
#include "src/clock.h"
#include "src/thread.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (256u * 1024u)
#define NICE 10
#define MS 1000000ull
#define LOOK_MS 2000u /* at most: what happened 2 s before a jank must be known */
#define BURST_LOOKS 10
#define BURST_MS 200u
#define PART_MS 300000u
#define PART_FULL_BYTES (FW_PART_MAX_BYTES - FW_SLICE_BYTES - 65536u)
#define RETRY_MS 10000u
#define JANK_NS (100 * MS)
#define MAX_FUTURE_NS (1000 * MS)
#define MIN_SLEEP_NS (500 * MS)
#define HEADER_BYTES 8192u

static uint64_t t_us(const struct fw_recorder *r, uint64_t ns)
{
    return ns > r->who->start_ns ? (ns - r->who->start_ns) / 1000 : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Files. */

static void make_header(struct fw_recorder *r, struct fw_buf *out, unsigned part, uint64_t now)
{
    const struct fw_device_facts *d = &r->device;
    const char *evidence[FW_MAX_EVIDENCE];

    for (size_t i = 0; i < r->environment.n; i++)
        evidence[i] = r->environment.text[i];

    struct fw_wire_header h = {
        .part = part,
        .part_start_us = t_us(r, now),
        .app = r->who->app,
        .version_name = r->who->version_name,
        .build_id = r->who->build_id,
        .sdk_version = FW_VERSION,
        .version_code = r->who->version_code,
        .platform = fw_platform_kind,
        .wall_start_ms = r->who->wall_start_ms,
        .manufacturer = d->manufacturer,
        .model = d->model,
        .soc = d->soc,
        .gpu = d->gpu,
        .os_version = d->os_version,
        .clusters = d->cluster,
        .n_clusters = d->n_clusters,
        .ram_mb = d->ram_mb,
        .screen_width_px = d->screen_width_px,
        .screen_height_px = d->screen_height_px,
        .refresh_millihertz = d->refresh_millihertz,
        .rooted = r->environment.family[FW_EVIDENCE_ROOT],
        .debugger = r->environment.family[FW_EVIDENCE_DEBUGGER],
        .emulator = r->environment.family[FW_EVIDENCE_EMULATOR],
        .developer_mode = r->environment.family[FW_EVIDENCE_DEVELOPER],
        .repackaged = r->environment.family[FW_EVIDENCE_REPACKAGED],
        .evidence = evidence,
        .n_evidence = r->environment.n,
    };
    memcpy(h.session_id, r->who->session_id, sizeof h.session_id);
    fw_wire_header(out, &h);
}

/* The file that a crash would fill; it has the header already. */
static void prepare_for_crash(struct fw_recorder *r)
{
    unsigned char bytes[HEADER_BYTES];
    struct fw_crash_section section = {.kind = FW_CRASH_HEADER};
    struct fw_buf head;

    if (!r->crashes)
        return;
    fw_buf_over(&head, bytes, sizeof bytes);
    fw_buf_add(&head, FW_CRASH_MAGIC, FW_CRASH_MAGIC_BYTES);
    fw_buf_add(&head, &section, sizeof section);

    size_t before = head.len;
    make_header(r, &head, FW_CRASH_PART, r->who->start_ns);
    section.n = (uint32_t)(head.len - before);
    memcpy(bytes + FW_CRASH_MAGIC_BYTES, &section, sizeof section);
    if (!head.failed)
        atomic_store(&r->crash->fd,
                     fw_crash_file_begin(r->store, r->who->session, head.at, head.len));
}

/* Opens the next file unless one is open or the last try failed a moment ago. */
static bool have_part(struct fw_recorder *r, uint64_t now)
{
    unsigned char bytes[HEADER_BYTES];
    struct fw_buf header;

    if (r->part.fd >= 0)
        return true;
    if (now < r->retry_ns)
        return false;
    fw_buf_over(&header, bytes, sizeof bytes);
    make_header(r, &header, r->next_part, now);
    fw_buf_reset(&r->slice.packed);
    if (!fw_compress(r->slice.zstd, header.at, header.len, &r->slice.packed) ||
        !fw_part_begin(r->store, &r->part, r->who->session, r->next_part, r->slice.packed.at,
                       r->slice.packed.len)) {
        fw_log_say(r->log, FW_LOG_WARN, "no session file can be made");
        r->retry_ns = now + RETRY_MS * MS;
        return false;
    }
    r->next_part++;
    r->part_began_ns = now;
    return true;
}

/* Between two slices: the compressor and its room are free. */
static void write_summary(struct fw_recorder *r, uint64_t now)
{
    unsigned char bytes[HEADER_BYTES];
    struct fw_buf header;

    fw_buf_over(&header, bytes, sizeof bytes);
    make_header(r, &header, FW_SUMMARY_PART(r->summaries), now);
    fw_buf_reset(&r->slice.packed);
    if (!header.failed && fw_summary_pack(&r->summary, t_us(r, now), header.at, header.len,
                                          r->slice.zstd, &r->slice.packed))
        fw_store_write_summary(r->store, r->who->session, r->summaries++, r->slice.packed.at,
                               r->slice.packed.len);
}

static void finish_part(struct fw_recorder *r)
{
    fw_part_finish(r->store, &r->part);
    fw_jank_log_new_file(&r->janks);
    fw_store_trim(r->store, fw_wall_ms());
    fw_uploader_wake(r->uploader);
}

static uint64_t cpu_us(const struct fw_recorder *r)
{
    return fw_thread_cpu_us() + atomic_load(&r->watchdog->cpu_us) +
           atomic_load(&r->uploader->cpu_us);
}

static size_t managed_cost(const struct fw_managed *m, struct fw_wire_collector_cost *out)
{
    *out = (struct fw_wire_collector_cost){
        .name = "managed",
        .looks = atomic_load(&m->looks),
        .us = atomic_load(&m->ns) / 1000,
        .max_us = atomic_load(&m->max_ns) / 1000,
        .failures = atomic_load(&m->slow),
    };
    return out->looks > 0;
}

static void add_self_report(struct fw_recorder *r, uint64_t now)
{
    struct fw_wire_collector_off off[FW_COLLECTORS + 2];
    struct fw_wire_collector_cost cost[FW_COLLECTORS + 1];
    const char *stacks_off = atomic_load(&r->watchdog->off_reason);
    const char *managed_off = atomic_load(&r->watchdog->managed.off_reason);
    size_t n = fw_collectors_off(&r->collectors, off);
    size_t n_cost = fw_collectors_cost(&r->collectors, cost);

    if (stacks_off)
        off[n++] = (struct fw_wire_collector_off){.name = "stacks",
                                                  .reason = stacks_off,
                                                  .failures = atomic_load(&r->watchdog->failures)};
    if (managed_off)
        off[n++] =
            (struct fw_wire_collector_off){.name = "managed",
                                           .reason = managed_off,
                                           .failures = atomic_load(&r->watchdog->managed.slow)};
    n_cost += managed_cost(&r->watchdog->managed, &cost[n_cost]);
    fw_slice_check(
        &r->slice,
        fw_wire_self_report(
            &r->slice.raw,
            &(struct fw_wire_self_report){
                .t_us = t_us(r, now),
                .cpu_us = cpu_us(r),
                .bytes_written = atomic_load(&r->store->bytes_written),
                .bytes_uploaded = atomic_load(&r->uploader->bytes_uploaded),
                .dropped_frames = atomic_load(&r->hook->ring.dropped) + r->odd_frames,
                .dropped_samples = r->collectors.given_up + atomic_load(&r->events->dropped) +
                                   r->slice.lost_packets + r->lost_slices,
                .wakeups = r->wakeups + atomic_load(&r->watchdog->wakeups) +
                           atomic_load(&r->uploader->wakeups),
                .off = off,
                .n_off = n,
                .cost = cost,
                .n_cost = n_cost,
                .memory_bytes = r->memory_bytes,
                .dropped_files = atomic_load(&r->store->dropped_files),
            }));
}

/* Ends the slice and writes it. What cannot be written is lost and counted: the phone's disk is
 * full, and memory is bounded. */
static void store_slice(struct fw_recorder *r, uint64_t now)
{
    bool open = have_part(r, now);

    r->slice_began_ns = now;
    r->settled = 0;
    if (!fw_slice_pack(&r->slice))
        return;
    if (open && fw_part_append(r->store, &r->part, r->slice.packed.at, r->slice.packed.len))
        return;
    r->lost_slices++;
    fw_jank_log_new_file(&r->janks); /* the lost slice may have named modules and stacks */
    if (open)
        finish_part(r);
}

static void write_slice(struct fw_recorder *r, uint64_t now)
{
    add_self_report(r, now);
    store_slice(r, now);
}

static void write_if_full(struct fw_recorder *r, uint64_t now)
{
    if (fw_slice_is_full(&r->slice))
        write_slice(r, now);
}

/* Frames and events, merged by time. */

static void break_row(struct fw_recorder *r)
{
    fw_slice_break(&r->slice);
    r->last_present_ns = 0;
}

static bool next_event(struct fw_recorder *r)
{
    if (!r->has_event)
        r->has_event = fw_events_pop(r->events, &r->event);
    return r->has_event;
}

static void update_stacks(struct fw_recorder *r)
{
    atomic_store(&r->watchdog->stacks, r->config.enabled && r->config.frames && r->config.stacks &&
                                           r->wants_scene && !r->background);
}

static void enter_scene(struct fw_recorder *r)
{
    struct fw_event_scene scene;

    memcpy(&scene, r->event.payload, sizeof scene);
    fw_slice_packets(&r->slice, r->event.payload + sizeof scene, r->event.n - sizeof scene);

    bool wanted = fw_config_wants_scene(&r->config, scene.mode, scene.map);
    if (wanted != r->wants_scene)
        break_row(r);
    r->wants_scene = wanted;
    fw_summary_scene(&r->summary, t_us(r, r->event.t_ns), scene.mode, scene.map);
    r->scene = scene;
    update_stacks(r);
}

static void enter(struct fw_recorder *r, bool background)
{
    enum fw_lifecycle_kind kind = background ? FW_LIFE_BACKGROUND : FW_LIFE_FOREGROUND;

    break_row(r);
    fw_slice_check(&r->slice, fw_wire_lifecycle(&r->slice.raw, t_us(r, r->event.t_ns), kind, 0));
    fw_summary_foreground(&r->summary, t_us(r, r->event.t_ns), !background);
    r->background = background;
    r->rotate |= background;
    r->burst_left = 0;
    update_stacks(r);
}

static void apply_event(struct fw_recorder *r)
{
    const struct fw_event *e = &r->event;
    struct fw_event_target target;

    r->has_event = false;
    switch (e->kind) {
    case FW_EVENT_STEP:
        if (r->config.steps)
            fw_slice_packets(&r->slice, e->payload, e->n);
        break;
    case FW_EVENT_POSITION:
        if (r->config.positions && r->wants_scene)
            fw_slice_packets(&r->slice, e->payload, e->n);
        break;
    case FW_EVENT_PACKET:
        fw_slice_packets(&r->slice, e->payload, e->n);
        break;
    case FW_EVENT_BACKGROUND:
        enter(r, true);
        break;
    case FW_EVENT_FOREGROUND:
        enter(r, false);
        break;
    case FW_EVENT_TARGET:
        memcpy(&target, e->payload, sizeof target);
        fw_slice_target(&r->slice, target.target_interval_us, target.refresh_millihertz);
        break;
    case FW_EVENT_SCENE:
        enter_scene(r);
        break;
    }
}

static void begin_burst(struct fw_recorder *r, uint64_t began_ns, uint64_t now)
{
    if (began_ns <= r->jank_seen_ns)
        return;
    r->jank_seen_ns = began_ns;
    if (r->background || !r->wants_scene || !r->config.frames)
        return;
    r->burst_left = BURST_LOOKS;
    r->burst_next_ns = now;
}

static void note_long_frame(struct fw_recorder *r, uint64_t began_ns, uint64_t duration_ns,
                            uint64_t now)
{
    if (duration_ns > earlier(JANK_NS, r->config.jank_stack_ms * MS))
        fw_jank_log_add(&r->janks, &r->slice, began_ns, duration_ns);
    if (duration_ns > JANK_NS) {
        fw_board_jank(&r->board);
        begin_burst(r, began_ns, now);
    }
}

static void take_frame(struct fw_recorder *r, uint64_t slot, uint64_t now)
{
    uint64_t present = slot & ~FW_RING_ROW_START;

    while (next_event(r) && r->event.t_ns < present)
        apply_event(r);
    if (slot & FW_RING_ROW_START) {
        uint64_t dropped = atomic_load(&r->hook->ring.dropped);

        break_row(r);
        fw_slice_dropped(&r->slice, dropped - r->dropped_seen);
        r->dropped_seen = dropped;
    }
    if (present > now + MAX_FUTURE_NS)
        now = fw_now_ns(); /* this thread may have been held up since it looked */
    if (present < r->who->start_ns || present > now + MAX_FUTURE_NS) {
        r->odd_frames++; /* an engine with a clock of its own */
        break_row(r);
        return;
    }
    if (!r->wants_scene || !r->config.frames || r->background) {
        break_row(r);
        return;
    }
    if (r->last_present_ns && present > r->last_present_ns) {
        note_long_frame(r, r->last_present_ns, present - r->last_present_ns, now);
        fw_summary_frame(&r->summary, (present - r->last_present_ns) / 1000);
    }
    fw_slice_present(&r->slice, t_us(r, present));
    r->last_present_ns = present;
}

static void drain(struct fw_recorder *r, uint64_t now)
{
    uint64_t slot[256];
    size_t n;

    while ((n = fw_ring_pop(&r->hook->ring, slot, sizeof slot / sizeof *slot))) {
        for (size_t i = 0; i < n; i++)
            take_frame(r, slot[i], now);
        write_if_full(r, now);
    }
    while (next_event(r)) {
        apply_event(r);
        write_if_full(r, now);
    }
}

/* While nothing is recorded: only what the next recording must know is kept. */
static void skip_event(struct fw_recorder *r)
{
    const struct fw_event *e = &r->event;

    r->has_event = false;
    if (e->kind == FW_EVENT_BACKGROUND || e->kind == FW_EVENT_FOREGROUND)
        r->background = e->kind == FW_EVENT_BACKGROUND;
    else if (e->kind == FW_EVENT_SCENE)
        memcpy(&r->scene, e->payload, sizeof r->scene);
    else if (e->kind == FW_EVENT_TARGET)
        apply_event(r);
}

static void discard(struct fw_recorder *r)
{
    uint64_t slot[256];

    while (fw_ring_pop(&r->hook->ring, slot, sizeof slot / sizeof *slot))
        ;
    while (next_event(r))
        skip_event(r);
}

/* Hardware. */

static unsigned looks_per_record(const struct fw_recorder *r)
{
    return (r->config.hardware_period_ms + LOOK_MS - 1) / LOOK_MS;
}

static uint64_t look_period_ns(const struct fw_recorder *r)
{
    return r->config.hardware_period_ms * MS / looks_per_record(r);
}

static void look(struct fw_recorder *r, uint64_t now, bool burst, bool record)
{
    struct fw_wire_hardware h;
    uint32_t gpu;
    uint64_t began;

    fw_board_gpu_time(&r->board, atomic_load(&r->gpu_time_us));
    gpu = atomic_exchange(&r->gpu_time_us, 0); /* each is recorded once: later it is old */
    r->collectors.quiet = !burst && fw_hook_running_ns(r->hook, now, &began) < JANK_NS;
    if (!fw_collect(&r->collectors, now, !record, &h))
        return;
    h.t_us = (int64_t)t_us(r, now);
    h.burst = burst;
    if (gpu)
        h.gpu_time_us = gpu;
    if (record && r->options->network)
        h.network = r->options->network(r->options->user);
    if (record) {
        fw_slice_check(&r->slice, fw_wire_hardware(&r->slice.raw, &h));
        fw_summary_hardware(&r->summary, &h);
        if (h.charging != FW_ABSENT)
            fw_uploader_charging(r->uploader, h.charging == 1);
    }
    fw_board_hardware(&r->board, &h);
    fw_jank_log_look(&r->janks, &h, record);
}

static bool wants_hardware(const struct fw_recorder *r)
{
    return r->config.hardware && r->wants_scene && !r->background;
}

static void look_if_due(struct fw_recorder *r, uint64_t now)
{
    bool wanted = wants_hardware(r);

    if (r->burst_left && now >= r->burst_next_ns) {
        r->burst_left--;
        r->burst_next_ns = now + BURST_MS * MS;
        if (wanted)
            look(r, now, true, true);
    }
    if (now < r->next_look_ns)
        return;
    r->next_look_ns = now + look_period_ns(r);
    if (!wanted)
        return;
    if (++r->looks >= looks_per_record(r))
        r->looks = 0;
    look(r, now, false, r->looks == 0);
}

/* A device that slept: CLOCK_MONOTONIC stood still meanwhile. */
static void notice_sleep(struct fw_recorder *r)
{
    uint64_t asleep = fw_asleep_ns();

    if (asleep > r->asleep_ns + MIN_SLEEP_NS)
        fw_slice_check(&r->slice,
                       fw_wire_lifecycle(&r->slice.raw, t_us(r, fw_now_ns()), FW_LIFE_SUSPENDED,
                                         (asleep - r->asleep_ns) / MS));
    if (asleep > r->asleep_ns)
        r->asleep_ns = asleep;
}

/* Configuration. */

/* What is not recorded is not the summary's either. */
static void count_from_here(struct fw_recorder *r, uint64_t now, bool enabled)
{
    fw_summary_foreground(&r->summary, t_us(r, now), enabled && !r->background);
    fw_summary_scene(&r->summary, t_us(r, now), r->scene.mode, r->scene.map);
}

static void apply_config(struct fw_recorder *r, const struct fw_config *config, uint64_t now)
{
    bool was_enabled = r->config.enabled;

    if (was_enabled && !config->enabled && r->started) {
        write_slice(r, now);
        finish_part(r);
    }
    if (r->started && was_enabled != config->enabled)
        count_from_here(r, now, config->enabled);
    r->config = *config;
    r->collectors.unwanted = config->collectors_off;
    break_row(r);
    r->wants_scene = fw_config_wants_scene(config, r->scene.mode, r->scene.map);
    r->next_look_ns = now;
    r->slice_began_ns = was_enabled ? r->slice_began_ns : now;
    atomic_store(&r->watchdog->jank_stack_ms, config->jank_stack_ms);
    update_stacks(r);
    if (config->enabled && config->frames)
        fw_hook_unblock(r->hook, FW_BLOCK_CONFIG);
    else
        fw_hook_block(r->hook, FW_BLOCK_CONFIG);
    fw_waker_wake(&r->watchdog->waker);
    fw_log_say(r->log, FW_LOG_INFO, "configuration %lld is in force", (long long)config->version);
}

static void read_mailbox(struct fw_recorder *r, uint64_t now)
{
    struct fw_config config;
    bool fresh;

    pthread_mutex_lock(&r->mailbox.mutex);
    fresh = r->mailbox.fresh;
    if (fresh)
        config = r->mailbox.config;
    r->mailbox.fresh = false;
    pthread_mutex_unlock(&r->mailbox.mutex);
    if (fresh)
        apply_config(r, &config, now);
}

void fw_recorder_configure(struct fw_recorder *r, const struct fw_config *config)
{
    pthread_mutex_lock(&r->mailbox.mutex);
    r->mailbox.config = *config;
    r->mailbox.fresh = true;
    pthread_mutex_unlock(&r->mailbox.mutex);
    fw_recorder_wake(r);
}

/* The thread. */

static void begin(struct fw_recorder *r)
{
    struct fw_remote_config stored;
    uint64_t now;

    fw_store_recover(r->store, &r->slice);
    fw_store_trim(r->store, fw_wall_ms());
    fw_uploader_wake(r->uploader);
    fw_collectors_init(&r->collectors, r->proc, r->sys, r->main_tid);
    r->collectors.host = (struct fw_host){r->options->host_values, r->options->user};
    r->collectors.storage.dir = r->store->dir;
    fw_environment_look(&r->environment, &r->collectors.reader,
                        &(struct fw_surroundings){.root = r->root,
                                                  .platform = fw_platform_kind,
                                                  .property = fw_platform_property,
                                                  .ask = r->options->environment,
                                                  .user = r->options->user});
    fw_device_look(&r->device, &r->collectors.reader, r->collectors.freq.cores);
    fw_remote_config_load(&stored, &r->base, r->store);
    r->asleep_ns = fw_asleep_ns();
    now = fw_now_ns();
    apply_config(r, &stored.config, now);
    r->slice_began_ns = now;
    count_from_here(r, now, r->config.enabled);
    r->started = true;
    atomic_fetch_add(&r->turns, 1);
    if (r->config.enabled) {
        have_part(r, now);
        prepare_for_crash(r);
    }
}

static uint64_t next_wake(const struct fw_recorder *r)
{
    uint64_t at;

    if (!r->config.enabled)
        return UINT64_MAX;
    at = fw_jank_log_due(&r->janks);
    if (r->background)
        return at;
    at = earlier(at, earlier(r->next_look_ns, r->slice_began_ns + r->config.slice_ms * MS));
    return r->burst_left ? earlier(at, r->burst_next_ns) : at;
}

static void rotate_if_due(struct fw_recorder *r, uint64_t now)
{
    bool old = r->part.fd >= 0 &&
               (r->part.bytes > PART_FULL_BYTES || now - r->part_began_ns >= PART_MS * MS);

    if (r->rotate || old)
        fw_jank_log_write(&r->janks, &r->slice, UINT64_MAX);
    if (r->rotate || old || now - r->slice_began_ns >= r->config.slice_ms * MS)
        write_slice(r, now);
    if (!r->rotate && !old)
        return;
    r->rotate = false;
    write_summary(r, now);
    finish_part(r);
    have_part(r, now); /* so that a kill in the background is seen at the next launch */
}

static void do_turn(struct fw_recorder *r)
{
    uint64_t now = fw_now_ns();

    read_mailbox(r, now);
    if (!r->config.enabled) {
        discard(r);
        return;
    }
    begin_burst(r, atomic_load(&r->watchdog->jank_ns), now);
    drain(r, now);
    if (!r->background) {
        notice_sleep(r);
        look_if_due(r, now);
    }
    fw_jank_log_write(&r->janks, &r->slice, now);
    rotate_if_due(r, now);
}

/* A process that dies has us wait; one that was saved from it (by an older handler) goes on. */
static void await_thaw(struct fw_recorder *r)
{
    struct timespec nap = {.tv_nsec = 10 * MS};

    for (unsigned i = 0; i < 1000 && atomic_load(&r->frozen); i++)
        nanosleep(&nap, NULL);
    atomic_store(&r->frozen, false);
}

static void turn(struct fw_recorder *r)
{
    atomic_fetch_add(&r->turns, 1);
    if (atomic_load(&r->frozen)) {
        atomic_fetch_add(&r->turns, 1);
        await_thaw(r);
        atomic_fetch_add(&r->turns, 1);
    }
    do_turn(r);
    r->settled = r->slice.raw.len;
    atomic_fetch_add(&r->turns, 1);
}

/* Last words. They run in a signal handler while this thread may be anywhere: it is kept from its
 * next turn, and the present one is given a moment to end. */

#define SETTLE_MS 500u

static bool settle(struct fw_recorder *r)
{
    struct timespec ms = {.tv_nsec = MS};

    if (fw_platform_tid() == atomic_load(&r->tid))
        return !(atomic_load(&r->turns) & 1);
    for (unsigned i = 0; i < r->settle_ms && atomic_load(&r->turns) & 1; i++)
        nanosleep(&ms, NULL);
    return !(atomic_load(&r->turns) & 1);
}

static void put_event(struct fw_recorder *r, int fd)
{
    const struct fw_event *e = &r->last_event;
    unsigned char bytes[64];
    struct fw_buf life;
    size_t skip = e->kind == FW_EVENT_SCENE ? sizeof(struct fw_event_scene) : 0;
    bool away = e->kind == FW_EVENT_BACKGROUND;

    if (away || e->kind == FW_EVENT_FOREGROUND) {
        fw_buf_over(&life, bytes, sizeof bytes);
        fw_wire_lifecycle(&life, t_us(r, e->t_ns), away ? FW_LIFE_BACKGROUND : FW_LIFE_FOREGROUND,
                          0);
        fw_crash_put(fd, FW_CRASH_PACKETS, life.at, life.len, NULL, 0);
        return;
    }
    if (e->kind == FW_EVENT_TARGET || (e->kind == FW_EVENT_STEP && !r->config.steps) ||
        (e->kind == FW_EVENT_POSITION && !(r->config.positions && r->wants_scene)))
        return;
    fw_crash_put(fd, FW_CRASH_PACKETS, e->payload + skip, e->n - skip, NULL, 0);
}

/* Frames that the slice has as intervals, then those still in the ring. */
static void put_frames(struct fw_recorder *r, int fd)
{
    const struct fw_row *row = &r->slice.row;
    struct fw_crash_row head = {row->start_us, row->target_interval_us, row->refresh_millihertz,
                                row->dropped, (uint32_t)row->n};
    uint64_t slot[64];
    size_t n;

    if (row->open)
        fw_crash_put(fd, FW_CRASH_ROW, &head, sizeof head, row->interval_us,
                     row->n * sizeof *row->interval_us);
    if (!r->wants_scene || !r->config.frames || r->background)
        return;
    while ((n = fw_ring_pop(&r->hook->ring, slot, sizeof slot / sizeof *slot)))
        fw_crash_put(fd, FW_CRASH_PRESENTS, slot, n * sizeof *slot, NULL, 0);
}

void fw_recorder_last_words(void *recorder, struct fw_crash *crash)
{
    struct fw_recorder *r = recorder;
    int fd = atomic_load(&crash->fd);
    struct fw_crash_slice head = {.start_ns = r->who->start_ns};

    atomic_store(&r->frozen, true);
    bool whole = settle(r);

    if (!r->config.enabled || r->part.fd < 0)
        return;
    head.bytes = r->part.bytes;
    head.part = r->next_part ? r->next_part - 1 : 0;
    fw_crash_put(fd, FW_CRASH_SLICE, &head, sizeof head, r->slice.raw.at,
                 whole ? r->slice.raw.len : r->settled);
    if (!whole)
        return;
    while (fw_events_pop(r->events, &r->last_event))
        put_event(r, fd);
    put_frames(r, fd);
}

/* The session ends, perhaps within a long frame. */
static void end(struct fw_recorder *r)
{
    uint64_t now = fw_now_ns(), began;

    read_mailbox(r, now);
    if (!r->config.enabled) {
        fw_part_finish(r->store, &r->part);
        return;
    }
    atomic_fetch_add(&r->turns, 1); /* for good */
    drain(r, now);

    uint64_t running = fw_hook_running_ns(r->hook, now, &began);
    if (running > JANK_NS && began == r->last_present_ns)
        fw_jank_log_add(&r->janks, &r->slice, began, running);
    fw_jank_log_write(&r->janks, &r->slice, UINT64_MAX);
    fw_slice_break(&r->slice);
    add_self_report(r, now);
    fw_slice_check(&r->slice, fw_wire_end(&r->slice.raw, t_us(r, now), FW_END_STOPPED));
    store_slice(r, now);
    write_summary(r, now);
    finish_part(r);
}

static void *run(void *user)
{
    struct fw_recorder *r = user;

    fw_thread_yield_priority(NICE);
    atomic_store(&r->tid, fw_platform_tid());
    begin(r);
    while (!atomic_load(&r->stop)) {
        turn(r);
        if (atomic_load(&r->stop))
            break;
        fw_waker_wait(&r->waker, next_wake(r));
        r->wakeups++;
    }
    end(r);
    if (!r->keep_crash)
        fw_crash_file_end(r->store, r->who->session, atomic_exchange(&r->crash->fd, -1));
    return NULL;
}

bool fw_recorder_prepare(struct fw_recorder *r)
{
    r->part = FW_NO_PART;
    r->settle_ms = SETTLE_MS;
    atomic_store(&r->turns, 1); /* until begin() is over */
    r->config = r->base;
    r->wants_scene = true;
    fw_summary_init(&r->summary);
    r->background = fw_hook_is_blocked_by(r->hook, FW_BLOCK_BACKGROUND);
    fw_jank_log_init(&r->janks, r->desk, r->who->start_ns);
    fw_board_init(&r->board);
    return fw_slice_init(&r->slice, r->memory) && fw_waker_init(&r->waker);
}

bool fw_recorder_start(struct fw_recorder *r)
{
    r->running = fw_thread_start(&r->thread, "fw-sample", STACK_BYTES, run, r);
    return r->running;
}

void fw_recorder_wake(struct fw_recorder *r)
{
    fw_waker_wake(&r->waker);
}

void fw_recorder_stop(struct fw_recorder *r)
{
    if (r->running) {
        atomic_store(&r->stop, true);
        fw_waker_wake(&r->waker);
        pthread_join(r->thread, NULL);
        r->running = false;
    }
}

void fw_recorder_fini(struct fw_recorder *r)
{
    fw_slice_fini(&r->slice);
    fw_waker_fini(&r->waker);
}

size_t fw_recorder_memory(const struct fw_recorder *r)
{
    return fw_slice_memory(&r->slice);
}
