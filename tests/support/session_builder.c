#include "support/session_builder.h"

#include "base/digest.h"
#include "session.pb-c.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define BIG_ENOUGH ((size_t)512 << 20)
#define MAX_LIST 300 /* frames of a stack, scenes of a summary */

struct sb_state {
    struct buf log, file;
    uint32_t next_module, next_stack;
    Framewatch__Hardware *jank_hardware[64];
    size_t n_jank_hardware;
};

/* Optional scalar of a message. */
#define SET(message, name, v) ((message).has_##name = 1, (message).name = (v))

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static char *text(const char *s)
{
    return (char *)(uintptr_t)s; /* protobuf-c's structs lack const; packing does not write */
}

struct session_builder *sb_new(uint64_t id)
{
    struct session_builder *b = must(calloc(1, sizeof *b));

    b->state = must(calloc(1, sizeof *b->state));
    buf_init(&b->state->log, BIG_ENOUGH);
    buf_init(&b->state->file, BIG_ENOUGH);
    for (size_t i = 0; i < 8; i++)
        b->session_id[SESSION_ID_BYTES - 1 - i] = (unsigned char)(id >> 8 * i);
    b->app = "game";
    b->platform = "android";
    b->version_name = "1.0.0";
    b->version_code = 100;
    b->build_id = "build-100";
    b->sdk_version = "0.1.0";
    b->wall_start_ms = INT64_C(1750000000000);
    b->manufacturer = "Maker";
    b->model = "Phone 1";
    b->soc = "SoC 9";
    b->gpu = "GPU 7";
    b->os_version = "14";
    b->ram_mb = 8192;
    b->screen_width_px = 2400;
    b->screen_height_px = 1080;
    b->refresh_millihertz = 60000;
    b->clusters[0] = (struct part_cluster){4, 1800000};
    b->clusters[1] = (struct part_cluster){4, 2400000};
    b->n_clusters = 2;
    b->target_interval_us = 16667;
    b->frames_refresh_millihertz = 60000;
    return b;
}

static void drop_jank_hardware(struct sb_state *s)
{
    for (size_t i = 0; i < s->n_jank_hardware; i++) {
        free(s->jank_hardware[i]->core_khz);
        free(s->jank_hardware[i]);
    }
    s->n_jank_hardware = 0;
}

void sb_free(struct session_builder *b)
{
    if (!b)
        return;
    drop_jank_hardware(b->state);
    buf_fini(&b->state->log);
    buf_fini(&b->state->file);
    free(b->state);
    free(b);
}

void sb_raw_log(struct session_builder *b, const void *bytes, size_t n)
{
    buf_put(&b->state->log, bytes, n);
}

void sb_raw_packet(struct session_builder *b, const void *bytes, size_t n)
{
    buf_byte(&b->state->log, 1 << 3 | 2);
    buf_varint(&b->state->log, n);
    buf_put(&b->state->log, bytes, n);
}

void sb_raw_file(struct session_builder *b, const void *bytes, size_t n)
{
    sb_slice(b);
    buf_put(&b->state->file, bytes, n);
}

static void put_packet(struct session_builder *b, const Framewatch__Packet *packet)
{
    size_t n = framewatch__packet__get_packed_size(packet);
    unsigned char *bytes = must(malloc(n + 1));

    framewatch__packet__pack(packet, bytes);
    sb_raw_packet(b, bytes, n);
    free(bytes);
}

/* PUT(b, FRAMES, frames, &message): the message as the one body of a packet. */
#define PUT(b, CASE, member, message)                                                              \
    do {                                                                                           \
        Framewatch__Packet packet = FRAMEWATCH__PACKET__INIT;                                      \
                                                                                                   \
        packet.body_case = FRAMEWATCH__PACKET__BODY_##CASE;                                        \
        packet.member = (message);                                                                 \
        put_packet(b, &packet);                                                                    \
    } while (0)

size_t sb_slice(struct session_builder *b)
{
    struct sb_state *s = b->state;

    if (s->log.len) {
        size_t size = ZSTD_compressBound(s->log.len);
        unsigned char *out = must(malloc(size));
        size_t n = ZSTD_compress(out, size, s->log.at, s->log.len, 3);

        if (ZSTD_isError(n))
            abort();
        buf_put(&s->file, out, n);
        free(out);
        buf_reset(&s->log);
    }
    if (!buf_ok(&s->file) || !buf_ok(&s->log))
        abort();
    return s->file.len;
}

const unsigned char *sb_bytes(struct session_builder *b, size_t *n)
{
    *n = sb_slice(b);
    return b->state->file.at;
}

static Framewatch__Platform platform_of(const char *name)
{
    if (!strcmp(name, "android"))
        return FRAMEWATCH__PLATFORM__PLATFORM_ANDROID;
    if (!strcmp(name, "ios"))
        return FRAMEWATCH__PLATFORM__PLATFORM_IOS;
    if (!strcmp(name, "linux"))
        return FRAMEWATCH__PLATFORM__PLATFORM_LINUX;
    return FRAMEWATCH__PLATFORM__PLATFORM_UNKNOWN;
}

static Framewatch__Device device_of(const struct session_builder *b, Framewatch__Cluster *clusters,
                                    Framewatch__Cluster **list)
{
    Framewatch__Device d = FRAMEWATCH__DEVICE__INIT;

    for (size_t i = 0; i < b->n_clusters; i++) {
        framewatch__cluster__init(&clusters[i]);
        SET(clusters[i], cores, b->clusters[i].cores);
        SET(clusters[i], max_khz, b->clusters[i].max_khz);
        list[i] = &clusters[i];
    }
    d.cluster = list;
    d.n_cluster = b->n_clusters;
    d.manufacturer = text(b->manufacturer);
    d.model = text(b->model);
    d.soc = text(b->soc);
    d.gpu = text(b->gpu);
    d.os_version = text(b->os_version);
    SET(d, ram_mb, b->ram_mb);
    SET(d, screen_width_px, b->screen_width_px);
    SET(d, screen_height_px, b->screen_height_px);
    SET(d, refresh_millihertz, b->refresh_millihertz);
    return d;
}

static Framewatch__Environment environment_of(uint32_t flags, char **evidence)
{
    static const char *const line[5] = {"rooted: /system/xbin/su", "debugger: TracerPid 4242",
                                        "emulator: goldfish", "developer_mode: adb on",
                                        "repackaged: another signature"};
    Framewatch__Environment e = FRAMEWATCH__ENVIRONMENT__INIT;

    SET(e, rooted, !!(flags & ENV_ROOTED));
    SET(e, debugger, !!(flags & ENV_DEBUGGER));
    SET(e, emulator, !!(flags & ENV_EMULATOR));
    SET(e, developer_mode, !!(flags & ENV_DEVELOPER_MODE));
    SET(e, repackaged, !!(flags & ENV_REPACKAGED));
    e.evidence = evidence;
    for (unsigned i = 0; i < 5; i++)
        if (flags >> i & 1)
            evidence[e.n_evidence++] = text(line[i]);
    return e;
}

void sb_part(struct session_builder *b, uint32_t part, uint64_t part_start_us)
{
    Framewatch__Cluster clusters[8], *list[8];
    char *evidence[5];
    Framewatch__Device device = device_of(b, clusters, list);
    Framewatch__Environment environment = environment_of(b->environment, evidence);
    Framewatch__Header h = FRAMEWATCH__HEADER__INIT;

    buf_reset(&b->state->log);
    buf_reset(&b->state->file);
    drop_jank_hardware(b->state);
    b->state->next_module = 0;
    b->state->next_stack = 0;
    h.has_session_id = 1;
    h.session_id = (ProtobufCBinaryData){SESSION_ID_BYTES, b->session_id};
    SET(h, part, part);
    SET(h, part_start_us, part_start_us);
    SET(h, platform, platform_of(b->platform));
    SET(h, version_code, b->version_code);
    SET(h, wall_start_ms, b->wall_start_ms);
    h.app = text(b->app);
    h.version_name = text(b->version_name);
    h.build_id = text(b->build_id);
    h.sdk_version = text(b->sdk_version);
    h.device = &device;
    h.environment = &environment;
    PUT(b, HEADER, header, &h);
}

void sb_deltas(struct session_builder *b, uint64_t start_us, const int32_t *deltas, size_t n)
{
    Framewatch__Frames f = FRAMEWATCH__FRAMES__INIT;

    SET(f, start_us, start_us);
    f.delta = (int32_t *)(uintptr_t)deltas;
    f.n_delta = n;
    if (b->target_interval_us)
        SET(f, target_interval_us, b->target_interval_us);
    if (b->frames_refresh_millihertz)
        SET(f, refresh_millihertz, b->frames_refresh_millihertz);
    if (b->frames_dropped)
        SET(f, dropped, b->frames_dropped);
    PUT(b, FRAMES, frames, &f);
}

uint64_t sb_frames(struct session_builder *b, uint64_t start_us, const uint32_t *intervals_us,
                   size_t n)
{
    int32_t *deltas = must(calloc(n + 1, sizeof *deltas));
    uint64_t sum = 0, rounded = 0;
    int32_t before = 0;

    for (size_t i = 0; i < n; i++) {
        sum += intervals_us[i];

        int32_t units = (int32_t)((sum - rounded + 5) / 10);

        rounded += (uint64_t)units * 10;
        deltas[i] = units - before;
        before = units;
    }
    sb_deltas(b, start_us, deltas, n);
    free(deltas);
    return start_us + rounded;
}

uint64_t sb_steady(struct session_builder *b, uint64_t start_us, size_t n, uint32_t interval_us)
{
    uint32_t *intervals = must(calloc(n + 1, sizeof *intervals));

    for (size_t i = 0; i < n; i++)
        intervals[i] = interval_us;

    uint64_t end = sb_frames(b, start_us, intervals, n);

    free(intervals);
    return end;
}

static void set_value(Framewatch__Hardware *h, struct sb_value v)
{
    switch (v.field) {
#define X(name, unit, low, high, group, source)                                                    \
    case HW_##name:                                                                                \
        h->has_##name = 1;                                                                         \
        h->name = (__typeof__(h->name))v.value;                                                    \
        break;
        HARDWARE_FIELDS(X)
#undef X
    case HW_COUNT:
        abort();
    }
}

static Framewatch__Hardware hardware_of(uint64_t t_us, const struct sb_value *values, size_t n,
                                        const uint32_t *core_khz, size_t n_cores)
{
    Framewatch__Hardware h = FRAMEWATCH__HARDWARE__INIT;

    SET(h, t_us, t_us);
    for (size_t i = 0; i < n; i++)
        set_value(&h, values[i]);
    h.core_khz = (uint32_t *)(uintptr_t)core_khz;
    h.n_core_khz = n_cores;
    return h;
}

void sb_hardware(struct session_builder *b, uint64_t t_us, const struct sb_value *values, size_t n,
                 const uint32_t *core_khz, size_t n_cores)
{
    Framewatch__Hardware h = hardware_of(t_us, values, n, core_khz, n_cores);

    PUT(b, HARDWARE, hardware, &h);
}

void sb_jank_hardware(struct session_builder *b, uint64_t t_us, const struct sb_value *values,
                      size_t n, const uint32_t *core_khz, size_t n_cores)
{
    struct sb_state *s = b->state;
    Framewatch__Hardware *h = must(malloc(sizeof *h));
    uint32_t *copy = must(calloc(n_cores + 1, sizeof *copy));

    if (s->n_jank_hardware == sizeof s->jank_hardware / sizeof *s->jank_hardware)
        abort();
    if (n_cores)
        memcpy(copy, core_khz, n_cores * sizeof *copy);
    *h = hardware_of(t_us, values, n, copy, n_cores);
    SET(*h, burst, 1);
    s->jank_hardware[s->n_jank_hardware++] = h;
}

void sb_scene_with(struct session_builder *b, uint64_t t_us, const char *mode, const char *map,
                   const struct sb_attribute *attributes, size_t n)
{
    Framewatch__Attribute items[MAX_LIST], *list[MAX_LIST];
    Framewatch__Scene s = FRAMEWATCH__SCENE__INIT;

    for (size_t i = 0; i < n && i < MAX_LIST; i++) {
        framewatch__attribute__init(&items[i]);
        items[i].key = text(attributes[i].key);
        SET(items[i], value, attributes[i].value);
        list[s.n_attribute++] = &items[i];
    }
    s.attribute = list;
    SET(s, t_us, t_us);
    s.mode = text(mode);
    s.map = text(map);
    PUT(b, SCENE, scene, &s);
}

void sb_scene(struct session_builder *b, uint64_t t_us, const char *mode, const char *map)
{
    sb_scene_with(b, t_us, mode, map, NULL, 0);
}

void sb_position(struct session_builder *b, uint64_t t_us, float x, float y)
{
    Framewatch__Position p = FRAMEWATCH__POSITION__INIT;

    SET(p, t_us, t_us);
    SET(p, x, x);
    SET(p, y, y);
    PUT(b, POSITION, position, &p);
}

void sb_lifecycle(struct session_builder *b, uint64_t t_us, enum lifecycle_kind kind,
                  uint64_t duration_ms)
{
    Framewatch__Lifecycle l = FRAMEWATCH__LIFECYCLE__INIT;

    SET(l, t_us, t_us);
    SET(l, kind, (Framewatch__Lifecycle__Kind)kind);
    if (duration_ms)
        SET(l, duration_ms, duration_ms);
    PUT(b, LIFECYCLE, lifecycle, &l);
}

void sb_step(struct session_builder *b, uint64_t t_us, const char *name)
{
    Framewatch__Step s = FRAMEWATCH__STEP__INIT;

    SET(s, t_us, t_us);
    s.name = text(name);
    PUT(b, STEP, step, &s);
}

void sb_jank(struct session_builder *b, uint64_t start_us, uint64_t duration_us, uint32_t level,
             const struct sb_sample *samples, size_t n)
{
    Framewatch__StackSample items[MAX_LIST], *list[MAX_LIST];
    Framewatch__Jank j = FRAMEWATCH__JANK__INIT;

    for (size_t i = 0; i < n && i < MAX_LIST; i++) {
        framewatch__stack_sample__init(&items[i]);
        SET(items[i], t_us, samples[i].t_us);
        SET(items[i], stack, samples[i].stack);
        list[j.n_sample++] = &items[i];
    }
    j.sample = list;
    j.hardware = b->state->jank_hardware;
    j.n_hardware = b->state->n_jank_hardware;
    SET(j, start_us, start_us);
    SET(j, duration_us, duration_us);
    SET(j, level, level);
    PUT(b, JANK, jank, &j);
    drop_jank_hardware(b->state);
}

uint32_t sb_module(struct session_builder *b, const char *name, const char *debug_id,
                   uint64_t load_address, uint64_t size)
{
    unsigned char id[MAX_LIST];
    size_t n = strlen(debug_id) / 2;
    Framewatch__Module m = FRAMEWATCH__MODULE__INIT;

    if (n > sizeof id || !from_hex(debug_id, n, id))
        abort();
    SET(m, id, ++b->state->next_module);
    m.name = text(name);
    m.has_debug_id = 1;
    m.debug_id = (ProtobufCBinaryData){n, id};
    SET(m, load_address, load_address);
    SET(m, size, size);
    m.arch = text("arm64");
    PUT(b, MODULE, module, &m);
    return m.id;
}

uint32_t sb_stack(struct session_builder *b, const char *thread,
                  const struct sb_stack_frame *frames, size_t n)
{
    Framewatch__StackFrame *items = must(calloc(n + 1, sizeof *items));
    Framewatch__StackFrame **list = must(calloc(n + 1, sizeof *list));
    Framewatch__Stack s = FRAMEWATCH__STACK__INIT;

    for (size_t i = 0; i < n; i++) {
        framewatch__stack_frame__init(&items[i]);
        items[i].text = text(frames[i].text);
        if (!frames[i].text) {
            SET(items[i], offset, frames[i].offset);
            if (frames[i].module)
                SET(items[i], module, frames[i].module);
        }
        list[i] = &items[i];
    }
    SET(s, id, ++b->state->next_stack);
    s.frame = list;
    s.n_frame = n;
    s.thread = text(thread);
    PUT(b, STACK, stack, &s);
    free(items);
    free(list);
    return s.id;
}

uint32_t sb_text_stack(struct session_builder *b, const char *thread, ...)
{
    struct sb_stack_frame frames[MAX_LIST] = {{0}};
    size_t n = 0;
    va_list ap;

    va_start(ap, thread);
    for (const char *s; n < MAX_LIST && (s = va_arg(ap, const char *));)
        frames[n++].text = s;
    va_end(ap);
    return sb_stack(b, thread, frames, n);
}

void sb_crash(struct session_builder *b, uint64_t t_us, uint32_t signal, const char *reason,
              uint32_t stack)
{
    Framewatch__Crash c = FRAMEWATCH__CRASH__INIT;

    SET(c, t_us, t_us);
    SET(c, signal, signal);
    c.reason = text(reason);
    if (stack)
        SET(c, stack, stack);
    PUT(b, CRASH, crash, &c);
}

void sb_feedback(struct session_builder *b, uint64_t t_us, const char *category, const char *body)
{
    Framewatch__Feedback f = FRAMEWATCH__FEEDBACK__INIT;

    SET(f, t_us, t_us);
    f.category = text(category);
    f.text = text(body);
    PUT(b, FEEDBACK, feedback, &f);
}

void sb_self_report(struct session_builder *b, uint64_t t_us, uint64_t cpu_us)
{
    Framewatch__CollectorOff off = FRAMEWATCH__COLLECTOR_OFF__INIT, *list = &off;
    Framewatch__SelfReport r = FRAMEWATCH__SELF_REPORT__INIT;

    off.name = text("thermal");
    off.reason = text("permission denied");
    SET(off, failures, 3);
    SET(r, t_us, t_us);
    SET(r, cpu_us, cpu_us);
    SET(r, bytes_written, 4096);
    SET(r, wakeups, 12);
    r.collector_off = &list;
    r.n_collector_off = 1;
    PUT(b, SELF_REPORT, self_report, &r);
}

void sb_end(struct session_builder *b, uint64_t t_us, enum end_reason reason)
{
    Framewatch__End e = FRAMEWATCH__END__INIT;

    SET(e, t_us, t_us);
    SET(e, reason, (Framewatch__End__Reason)reason);
    PUT(b, END, end, &e);
}

struct packed_sketch {
    Framewatch__SketchCounts message;
    uint32_t step[SKETCH_BUCKETS];
    uint64_t count[SKETCH_BUCKETS];
};

static Framewatch__SketchCounts *pack_sketch(const struct sketch *s, struct packed_sketch *p)
{
    unsigned before = 0;

    if (!s)
        return NULL;
    framewatch__sketch_counts__init(&p->message);
    SET(p->message, layout, SKETCH_LAYOUT);
    p->message.bucket_step = p->step;
    p->message.count = p->count;
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        if (!s->count[k])
            continue;
        p->step[p->message.n_bucket_step++] = k - before;
        p->count[p->message.n_count++] = (uint64_t)s->count[k];
        before = k;
    }
    return &p->message;
}

void sb_summary(struct session_builder *b, const struct part_summary *summary)
{
    Framewatch__SceneSummary items[MAX_LIST], *list[MAX_LIST];
    struct packed_sketch *packed = must(calloc(summary->n_scenes + 1, sizeof *packed));
    Framewatch__Summary s = FRAMEWATCH__SUMMARY__INIT;

    for (size_t i = 0; i < summary->n_scenes && i < MAX_LIST; i++) {
        const struct part_scene_summary *from = &summary->scenes[i];

        framewatch__scene_summary__init(&items[i]);
        items[i].mode = text(from->mode);
        items[i].map = text(from->map);
        SET(items[i], foreground_ms, from->foreground_ms);
        SET(items[i], minor_janks, from->janks[0]);
        SET(items[i], normal_janks, from->janks[1]);
        SET(items[i], severe_janks, from->janks[2]);
        items[i].sketch = pack_sketch(from->sketch, &packed[i + 1]);
        list[s.n_scene++] = &items[i];
    }
    s.scene = list;
    SET(s, foreground_ms, summary->foreground_ms);
    SET(s, frames, summary->frames);
    SET(s, frame_sum_us, summary->frame_sum_us);
    SET(s, frame_max_us, summary->frame_max_us);
    SET(s, minor_janks, summary->janks[0]);
    SET(s, normal_janks, summary->janks[1]);
    SET(s, severe_janks, summary->janks[2]);
    SET(s, jank_ms, summary->jank_ms);
    s.sketch = pack_sketch(summary->sketch, &packed[0]);
    SET(s, max_battery_millicelsius, summary->max_battery_millicelsius);
    SET(s, peak_memory_kb, summary->peak_memory_kb);
    PUT(b, SUMMARY, summary, &s);
    free(packed);
}

/* xorshift: the same numbers everywhere. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void play_hardware(struct session_builder *b, uint64_t t, unsigned second, uint32_t *random)
{
    uint32_t noise = next_random(random);
    uint32_t big = 2400000 - noise % 4 * 100000, little = 1800000 - noise % 3 * 200000;

    sb_hardware(
        b, t,
        SB_VALUES({HW_process_cpu_permille, 350 + noise % 100},
                  {HW_total_cpu_permille, 480 + noise % 100},
                  {HW_battery_millicelsius, 33000 + second * 10},
                  {HW_skin_millicelsius, 36000 + second * 15}, {HW_thermal_status, 0},
                  {HW_pss_kb, 900000 + second * 100}, {HW_native_heap_kb, 400000 + noise % 999},
                  {HW_java_heap_kb, 60000 + noise % 5000}, {HW_rss_anon_kb, 700000},
                  {HW_swap_kb, 20000}, {HW_thread_count, 90 + noise % 3},
                  {HW_main_wait_us, second * 1000}, {HW_main_cpu_us, second * 600000},
                  {HW_gpu_time_us, 9000 + noise % 2000}, {HW_battery_permille, 900 - second / 10},
                  {HW_charging, 0}, {HW_network, 2}),
        SB_CORES(little, little, little, little, big, big, big, big));
}

/* Frames of one second; a jank in it sends what was before, itself, and goes on. */
static uint64_t play_second(struct session_builder *b, uint64_t t, uint32_t jank_us, uint32_t stack,
                            uint32_t *random)
{
    uint32_t intervals[60];

    for (size_t i = 0; i < 60; i++)
        intervals[i] = 16667 + next_random(random) % 400 - 200;
    if (jank_us) {
        intervals[30] = jank_us;

        uint64_t start = t;

        for (size_t i = 0; i < 30; i++)
            start += intervals[i];
        sb_jank(b, start, jank_us,
                jank_us > 500000   ? 3
                : jank_us > 250000 ? 2
                                   : 1,
                SB_SAMPLES({start + 100000, stack}));
    }
    return sb_frames(b, t, intervals, 60);
}

uint64_t sb_play(struct session_builder *b, uint64_t start_us, unsigned seconds, unsigned seed)
{
    uint32_t random = seed * 2654435761u + 1;
    uint64_t t = start_us;
    uint32_t game = sb_module(b, "libgame.so", "0123456789abcdef0123456789abcdef01234567",
                              UINT64_C(0x7000000000), 0x4000000);
    uint32_t libc = sb_module(b, "libc.so", "89abcdef0123456789abcdef0123456789abcdef",
                              UINT64_C(0x7100000000), 0x200000);
    uint32_t stacks[2] = {
        sb_stack(b, "main",
                 SB_FRAMES({libc, 0x51234, NULL}, {game, 0x1100, NULL}, {game, 0x2200, NULL})),
        sb_stack(b, "main",
                 SB_FRAMES({0, 0, "Inventory.sort"}, {0, 0, "Ui.open"}, {game, 0x2200, NULL}))};

    for (unsigned s = 0; s < seconds; s++) {
        bool jank = s % 20 == 11;

        if (s && s % 30 == 0)
            sb_slice(b);
        if (s % 120 == 0)
            sb_scene(b, t, s % 240 == 0 ? "lobby" : "battle", s % 240 == 0 ? "hall" : "frost");
        if (s % 2 == 0)
            play_hardware(b, t, s, &random);
        if (s % 5 == 0)
            sb_position(b, t, (float)(s % 97), (float)(s % 31));
        if (s % 60 == 7)
            sb_step(b, t, "open_inventory");
        t = play_second(b, t, jank ? 120000 + next_random(&random) % 480000 : 0, stacks[s / 20 % 2],
                        &random);
    }
    return t;
}
