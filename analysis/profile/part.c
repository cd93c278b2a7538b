#include "profile/part.h"

#include "base/cursor.h"
#include "base/utf8.h"
#include "profile/part_decoder.h"
#include "profile/zframe.h"

#include <string.h>

/* A real process maps some hundred modules and a main thread's stack seldom passes 100 frames; two
 * million frames are four and a half hours at 120 Hz, in a part that covers minutes. */
const struct part_limits part_limits_default = {
    .decompressed_bytes = (size_t)64 << 20,
    .ratio = 200,
    .packets = 500000,
    .frames = 2000000,
    .stack_frames = 256,
    .modules = 512,
    .name_bytes = 128,
};

void *decoder_grow(struct arena *mem, void *items, size_t n, size_t size)
{
    bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0); /* room is 8, 16, 32 ... */

    if (!full)
        return items;

    void *bigger = arena_array(mem, n ? n * 2 : 8, size);

    if (bigger && n)
        memcpy(bigger, items, n * size);
    return bigger;
}

bool decoder_too_many(struct decoder *d, const char *what, size_t limit)
{
    d->too_many = what;
    d->limit = limit;
    return false;
}

const char *decoder_text(struct decoder *d, char *text, size_t limit)
{
    if (!text)
        return "";
    utf8_clean(text, limit);
    d->part.tamed_texts += utf8_tame(text, false) > 0;
    return text;
}

static const char *decoder_prose(struct decoder *d, char *text, size_t limit)
{
    if (!text)
        return "";
    utf8_clean(text, limit);
    d->part.tamed_texts += utf8_tame(text, true) > 0;
    return text;
}

static void *allocate(void *mem, size_t size)
{
    return arena_alloc(mem, size);
}

static void release(void *mem, void *pointer)
{
    (void)mem, (void)pointer; /* the arena's owner releases all at once */
}

/* Wire fields ------------------------------------------------------------------------------- */

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_START, WIRE_END, WIRE_32 };

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;             /* WIRE_VARINT */
    const unsigned char *bytes; /* WIRE_BYTES */
    size_t n;
};

/* Most are of one byte. */
static inline uint64_t varint(struct cursor *c)
{
    return c->at < c->end && *c->at < 0x80 && !c->failed ? *c->at++ : cursor_uleb(c);
}

/* False at the end, or at a fault, which latches c->failed. */
static bool next_field(struct cursor *c, struct field *f)
{
    if (c->failed || !cursor_left(c))
        return false;

    uint64_t tag = varint(c);

    *f = (struct field){.number = tag >> 3, .wire = (enum wire)(tag & 7)};
    if (f->number == 0 || tag > UINT32_MAX)
        c->failed = true;
    switch (f->wire) {
    case WIRE_VARINT:
        f->value = varint(c);
        break;
    case WIRE_64:
        cursor_bytes(c, 8);
        break;
    case WIRE_BYTES:
        f->value = varint(c);
        f->n = f->value > cursor_left(c) ? SIZE_MAX : (size_t)f->value;
        f->bytes = cursor_bytes(c, f->n);
        break;
    case WIRE_32:
        cursor_bytes(c, 4);
        break;
    default: /* groups were gone before this format began */
        c->failed = true;
    }
    return !c->failed;
}

/* Frames: read straight off the wire, 36,000 intervals at once ----------------------------------
 */

enum { FRAMES_START = 1, FRAMES_DELTA, FRAMES_TARGET, FRAMES_REFRESH, FRAMES_DROPPED };

/* The varints in these bytes: each ends in a byte without the top bit. */
static size_t count_varints(const unsigned char *bytes, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += bytes[i] < 0x80;
    return count;
}

static size_t count_deltas(struct cursor c)
{
    size_t count = 0;

    for (struct field f; next_field(&c, &f);)
        if (f.number == FRAMES_DELTA)
            count += f.wire == WIRE_BYTES ? count_varints(f.bytes, f.n) : 1;
    return count;
}

static uint32_t add_delta(int64_t *interval, uint64_t varint)
{
    uint32_t zigzag = (uint32_t)varint;

    *interval += (int32_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
    return *interval < 0 ? 0 : *interval > UINT32_MAX ? UINT32_MAX : (uint32_t)*interval;
}

static bool read_packed(struct part_frames *row, uint32_t *out, int64_t *interval,
                        const unsigned char *at, size_t n)
{
    const unsigned char *end = at + n;

    while (at < end) {
        uint64_t v = *at & 0x7f;

        for (unsigned shift = 7; *at++ & 0x80; shift += 7) {
            if (at == end || shift > 63)
                return false;
            v |= (uint64_t)(*at & 0x7f) << shift;
        }
        out[row->n++] = add_delta(interval, v);
    }
    return true;
}

static bool read_row(struct cursor *c, struct part_frames *row, uint32_t *out)
{
    int64_t interval = 0;

    for (struct field f; next_field(c, &f);) {
        if (f.number == FRAMES_DELTA && f.wire == WIRE_BYTES) {
            if (!read_packed(row, out, &interval, f.bytes, f.n))
                return false;
        } else if (f.wire != WIRE_VARINT) {
            continue;
        } else if (f.number == FRAMES_DELTA) {
            out[row->n++] = add_delta(&interval, f.value);
        } else if (f.number == FRAMES_START) {
            row->start_us = f.value;
        } else if (f.number == FRAMES_TARGET) {
            row->target_interval_us = (uint32_t)f.value;
        } else if (f.number == FRAMES_REFRESH) {
            row->refresh_millihertz = (uint32_t)f.value;
        } else if (f.number == FRAMES_DROPPED) {
            row->dropped = (uint32_t)f.value;
        }
    }
    return !c->failed;
}

static void take_frames(struct decoder *d, struct cursor body)
{
    size_t most = count_deltas(body);

    if (most > d->limits->frames - d->frames) {
        decoder_too_many(d, "frames", d->limits->frames);
        return;
    }

    struct part_frames row = {0};
    uint32_t *out = arena_array(d->mem, most, sizeof *out);

    if (!out)
        return;
    if (!read_row(&body, &row, out)) {
        d->part.damaged = true;
        return;
    }
    row.interval_10us = out;
    d->frames += row.n;

    struct part_frames *kept = PUSH(d, &d->part, frames);

    if (kept)
        *kept = row;
}

/* Packets read by protobuf-c ---------------------------------------------------------------------
 */

static int64_t as_i64(int64_t v)
{
    return v;
}

static int64_t saturated(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

#define VALUE(v) _Generic((v), uint64_t : saturated, default : as_i64)(v)

void decoder_hardware(struct decoder *d, const Framewatch__Hardware *from)
{
    struct hardware_sample *s = PUSH(d, &d->part, hardware);

    if (!s)
        return;
    s->t_us = from->t_us;
    s->burst = from->burst;
#define X(name, unit, low, high, group, source)                                                    \
    if (from->has_##name) {                                                                        \
        s->present |= UINT32_C(1) << HW_##name;                                                    \
        s->value[HW_##name] = VALUE(from->name);                                                   \
    }
    HARDWARE_FIELDS(X)
#undef X
    s->n_cores = (uint8_t)(from->n_core_khz < MAX_CORES ? from->n_core_khz : MAX_CORES);
    if (s->n_cores)
        memcpy(s->core_khz, from->core_khz, s->n_cores * sizeof *s->core_khz);
}
_Static_assert(HW_COUNT <= 32, "hardware_sample.present has a bit for each field");

static const char *platform_name(Framewatch__Platform p)
{
    switch (p) {
    case FRAMEWATCH__PLATFORM__PLATFORM_ANDROID:
        return "android";
    case FRAMEWATCH__PLATFORM__PLATFORM_IOS:
        return "ios";
    case FRAMEWATCH__PLATFORM__PLATFORM_LINUX:
        return "linux";
    default:
        return "unknown";
    }
}

static void take_device(struct decoder *d, const Framewatch__Device *from, struct part_header *h)
{
    size_t name = d->limits->name_bytes;
    size_t n = from->n_cluster < MAX_CLUSTERS ? from->n_cluster : MAX_CLUSTERS;
    struct part_cluster *clusters = arena_array(d->mem, n, sizeof *clusters);

    h->manufacturer = decoder_text(d, from->manufacturer, name);
    h->model = decoder_text(d, from->model, name);
    h->soc = decoder_text(d, from->soc, name);
    h->gpu = decoder_text(d, from->gpu, name);
    h->os_version = decoder_text(d, from->os_version, name);
    h->ram_mb = from->ram_mb;
    h->screen_width_px = from->screen_width_px;
    h->screen_height_px = from->screen_height_px;
    h->refresh_millihertz = from->refresh_millihertz;
    for (size_t i = 0; clusters && i < n; i++)
        clusters[i] = (struct part_cluster){from->cluster[i]->cores, from->cluster[i]->max_khz};
    h->clusters = clusters;
    h->n_clusters = clusters ? n : 0;
}

static void take_environment(struct decoder *d, const Framewatch__Environment *from,
                             struct part_header *h)
{
    size_t n = from->n_evidence < MAX_EVIDENCE ? from->n_evidence : MAX_EVIDENCE;
    const char **evidence = arena_array(d->mem, n, sizeof *evidence);

    h->environment = (from->rooted ? ENV_ROOTED : 0u) | (from->debugger ? ENV_DEBUGGER : 0u) |
                     (from->emulator ? ENV_EMULATOR : 0u) |
                     (from->developer_mode ? ENV_DEVELOPER_MODE : 0u) |
                     (from->repackaged ? ENV_REPACKAGED : 0u);
    for (size_t i = 0; evidence && i < n; i++)
        evidence[i] = decoder_text(d, from->evidence[i], REASON_BYTES);
    h->evidence = evidence;
    h->n_evidence = evidence ? n : 0;
}

static void take_header(struct decoder *d, const void *message)
{
    static const Framewatch__Device no_device = FRAMEWATCH__DEVICE__INIT;
    static const Framewatch__Environment no_environment = FRAMEWATCH__ENVIRONMENT__INIT;
    const Framewatch__Header *from = message;
    struct part_header *h = &d->part.header;
    size_t name = d->limits->name_bytes;
    bool same_session = d->have_header && from->session_id.len == SESSION_ID_BYTES &&
                        !memcmp(from->session_id.data, h->session_id, SESSION_ID_BYTES);

    if (d->have_header || from->session_id.len != SESSION_ID_BYTES) {
        d->part.damaged |= !same_session; /* a second header of this session adds nothing */
        return;
    }
    memcpy(h->session_id, from->session_id.data, SESSION_ID_BYTES);
    h->part = from->part;
    h->part_start_us = from->part_start_us;
    h->wall_start_ms = from->wall_start_ms;
    h->app = decoder_text(d, from->app, name);
    h->version_name = decoder_text(d, from->version_name, name);
    h->build_id = decoder_text(d, from->build_id, name);
    h->sdk_version = decoder_text(d, from->sdk_version, name);
    h->platform = platform_name(from->platform);
    h->version_code = from->version_code;
    take_device(d, from->device ? from->device : &no_device, h);
    take_environment(d, from->environment ? from->environment : &no_environment, h);
    d->have_header = true;
}

static void take_hardware(struct decoder *d, const void *message)
{
    decoder_hardware(d, message);
}

static void take_scene(struct decoder *d, const void *message)
{
    const Framewatch__Scene *from = message;
    size_t n = from->n_attribute < MAX_ATTRIBUTES ? from->n_attribute : MAX_ATTRIBUTES;
    struct part_attribute *attributes = arena_array(d->mem, n, sizeof *attributes);
    struct part_scene *s = PUSH(d, &d->part, scenes);

    if (!s || !attributes)
        return;
    for (size_t i = 0; i < n; i++) {
        attributes[i].key = decoder_text(d, from->attribute[i]->key, KEY_BYTES);
        attributes[i].value = from->attribute[i]->value;
    }
    *s = (struct part_scene){.t_us = from->t_us,
                             .mode = decoder_text(d, from->mode, MODE_BYTES),
                             .map = decoder_text(d, from->map, MODE_BYTES),
                             .attributes = attributes,
                             .n_attributes = n};
}

static void take_position(struct decoder *d, const void *message)
{
    const Framewatch__Position *from = message;
    struct part_position *p = PUSH(d, &d->part, positions);

    if (p)
        *p = (struct part_position){from->t_us, from->x, from->y};
}

static void take_lifecycle(struct decoder *d, const void *message)
{
    const Framewatch__Lifecycle *from = message;
    struct part_lifecycle *l = PUSH(d, &d->part, lifecycle);
    int kind = (int)from->kind;

    if (l)
        *l = (struct part_lifecycle){from->t_us, from->duration_ms,
                                     kind >= LIFE_BACKGROUND && kind <= LIFE_SUSPENDED
                                         ? (enum lifecycle_kind)kind
                                         : LIFE_UNKNOWN};
}

static void take_step(struct decoder *d, const void *message)
{
    const Framewatch__Step *from = message;
    struct part_step *s = PUSH(d, &d->part, steps);

    if (s)
        *s = (struct part_step){from->t_us, decoder_text(d, from->name, STEP_BYTES)};
}

static void take_feedback(struct decoder *d, const void *message)
{
    const Framewatch__Feedback *from = message;
    struct part_feedback *f = PUSH(d, &d->part, feedback);

    if (f)
        *f = (struct part_feedback){from->t_us, decoder_text(d, from->category, CATEGORY_BYTES),
                                    decoder_prose(d, from->text, FEEDBACK_BYTES)};
}

static struct part_collector_cost *take_costs(struct decoder *d, const Framewatch__SelfReport *from,
                                              size_t n)
{
    struct part_collector_cost *cost = arena_array(d->mem, n, sizeof *cost);

    for (size_t i = 0; cost && i < n; i++) {
        const Framewatch__CollectorCost *c = from->collector_cost[i];

        cost[i] = (struct part_collector_cost){decoder_text(d, c->name, d->limits->name_bytes),
                                               c->looks, c->us, c->max_us, c->failures};
    }
    return cost;
}

static void take_self_report(struct decoder *d, const void *message)
{
    const Framewatch__SelfReport *from = message;
    size_t n = from->n_collector_off < MAX_COLLECTORS ? from->n_collector_off : MAX_COLLECTORS;
    size_t n_cost =
        from->n_collector_cost < MAX_COLLECTORS ? from->n_collector_cost : MAX_COLLECTORS;
    struct part_collector_off *off = arena_array(d->mem, n, sizeof *off);
    struct part_collector_cost *cost = take_costs(d, from, n_cost);
    struct part_self_report *r = PUSH(d, &d->part, self_reports);

    if (!r || !off || !cost)
        return;
    for (size_t i = 0; i < n; i++) {
        off[i].name = decoder_text(d, from->collector_off[i]->name, d->limits->name_bytes);
        off[i].reason = decoder_text(d, from->collector_off[i]->reason, REASON_BYTES);
        off[i].failures = from->collector_off[i]->failures;
    }
    *r = (struct part_self_report){.t_us = from->t_us,
                                   .cpu_us = from->cpu_us,
                                   .bytes_written = from->bytes_written,
                                   .bytes_uploaded = from->bytes_uploaded,
                                   .dropped_frames = from->dropped_frames,
                                   .dropped_samples = from->dropped_samples,
                                   .wakeups = from->wakeups,
                                   .memory_bytes = from->memory_bytes,
                                   .off = off,
                                   .n_off = n,
                                   .cost = cost,
                                   .n_cost = n_cost};
}

static void take_end(struct decoder *d, const void *message)
{
    const Framewatch__End *from = message;
    int reason = (int)from->reason;

    d->part.ended = true;
    d->part.end_us = from->t_us;
    d->part.end_reason =
        reason >= END_STOPPED && reason <= END_RECOVERED ? (enum end_reason)reason : END_UNKNOWN;
}

/* NULL if there is none, or none that this layout knows. */
static struct sketch *take_sketch(struct decoder *d, const Framewatch__SketchCounts *from)
{
    uint64_t k = 0;

    if (!from || from->layout != SKETCH_LAYOUT || from->n_bucket_step != from->n_count)
        return NULL;

    struct sketch *s = arena_alloc(d->mem, sizeof *s);

    for (size_t i = 0; s && i < from->n_count; i++) {
        k += from->bucket_step[i];
        if (k >= SKETCH_BUCKETS || (i && !from->bucket_step[i]) ||
            from->count[i] > d->limits->frames)
            return NULL;
        s->count[k] = (int64_t)from->count[i];
    }
    return s;
}

static void take_summary(struct decoder *d, const void *message)
{
    const Framewatch__Summary *from = message;
    size_t n = from->n_scene < MAX_SUMMARY_SCENES ? from->n_scene : MAX_SUMMARY_SCENES;
    struct part_scene_summary *scenes = arena_array(d->mem, n, sizeof *scenes);
    struct part_summary *s = arena_alloc(d->mem, sizeof *s);

    if (!s || !scenes)
        return;
    for (size_t i = 0; i < n; i++) {
        const Framewatch__SceneSummary *scene = from->scene[i];

        scenes[i] = (struct part_scene_summary){
            .mode = decoder_text(d, scene->mode, MODE_BYTES),
            .map = decoder_text(d, scene->map, MODE_BYTES),
            .foreground_ms = scene->foreground_ms,
            .janks = {scene->minor_janks, scene->normal_janks, scene->severe_janks},
            .sketch = take_sketch(d, scene->sketch)};
    }
    *s = (struct part_summary){.foreground_ms = from->foreground_ms,
                               .frames = from->frames,
                               .frame_sum_us = from->frame_sum_us,
                               .frame_max_us = from->frame_max_us,
                               .jank_ms = from->jank_ms,
                               .janks = {from->minor_janks, from->normal_janks, from->severe_janks},
                               .sketch = take_sketch(d, from->sketch),
                               .scenes = scenes,
                               .n_scenes = n,
                               .max_battery_millicelsius = from->max_battery_millicelsius,
                               .peak_memory_kb = from->peak_memory_kb};
    d->part.summary = s;
}

/* Kept as they came, until every module and stack of the file is known. */
#define KEEP(name, type, list)                                                                     \
    static void keep_##name(struct decoder *d, const void *message)                                \
    {                                                                                              \
        const type **kept = PUSH(d, d, list);                                                      \
                                                                                                   \
        if (kept)                                                                                  \
            *kept = message;                                                                       \
    }
KEEP(jank, Framewatch__Jank, raw_janks)
KEEP(module, Framewatch__Module, raw_modules)
KEEP(stack, Framewatch__Stack, raw_stacks)
KEEP(crash, Framewatch__Crash, raw_crashes)

static const struct {
    const ProtobufCMessageDescriptor *message;
    void (*take)(struct decoder *d, const void *message);
} bodies[] = {
    [FRAMEWATCH__PACKET__BODY_HEADER] = {&framewatch__header__descriptor, take_header},
    [FRAMEWATCH__PACKET__BODY_FRAMES] = {&framewatch__frames__descriptor, NULL},
    [FRAMEWATCH__PACKET__BODY_HARDWARE] = {&framewatch__hardware__descriptor, take_hardware},
    [FRAMEWATCH__PACKET__BODY_SCENE] = {&framewatch__scene__descriptor, take_scene},
    [FRAMEWATCH__PACKET__BODY_POSITION] = {&framewatch__position__descriptor, take_position},
    [FRAMEWATCH__PACKET__BODY_LIFECYCLE] = {&framewatch__lifecycle__descriptor, take_lifecycle},
    [FRAMEWATCH__PACKET__BODY_STEP] = {&framewatch__step__descriptor, take_step},
    [FRAMEWATCH__PACKET__BODY_JANK] = {&framewatch__jank__descriptor, keep_jank},
    [FRAMEWATCH__PACKET__BODY_MODULE] = {&framewatch__module__descriptor, keep_module},
    [FRAMEWATCH__PACKET__BODY_STACK] = {&framewatch__stack__descriptor, keep_stack},
    [FRAMEWATCH__PACKET__BODY_CRASH] = {&framewatch__crash__descriptor, keep_crash},
    [FRAMEWATCH__PACKET__BODY_FEEDBACK] = {&framewatch__feedback__descriptor, take_feedback},
    [FRAMEWATCH__PACKET__BODY_SELF_REPORT] = {&framewatch__self_report__descriptor,
                                              take_self_report},
    [FRAMEWATCH__PACKET__BODY_END] = {&framewatch__end__descriptor, take_end},
    [FRAMEWATCH__PACKET__BODY_SUMMARY] = {&framewatch__summary__descriptor, take_summary},
};
#define BODY_COUNT (sizeof bodies / sizeof *bodies)

static bool is_body(const struct field *f)
{
    return f->number < BODY_COUNT && bodies[f->number].message && f->wire == WIRE_BYTES;
}

static void take_body(struct decoder *d, const struct field *body)
{
    bool header = body->number == FRAMEWATCH__PACKET__BODY_HEADER;

    if (!d->have_header && !header) {
        d->part.damaged = true;
        return;
    }
    if (body->number == FRAMEWATCH__PACKET__BODY_FRAMES) {
        take_frames(d, cursor_over(body->bytes, body->n, "frames"));
        return;
    }

    const ProtobufCMessage *message = protobuf_c_message_unpack(
        bodies[body->number].message, &d->allocator, body->n, body->bytes);

    if (message)
        bodies[body->number].take(d, message);
    else
        d->part.damaged = !arena_full(d->mem);
}

static bool stopped(const struct decoder *d)
{
    return d->part.damaged || d->too_many || arena_full(d->mem);
}

/* A oneof: of several bodies the last counts. */
static void take_packet(struct decoder *d, struct cursor packet)
{
    struct field body = {0};

    for (struct field f; next_field(&packet, &f);)
        if (is_body(&f))
            body = f;
    if (packet.failed)
        d->part.damaged = true;
    else if (d->part.packets >= d->limits->packets)
        decoder_too_many(d, "packets", d->limits->packets);
    else if (body.number)
        take_body(d, &body);
    else
        d->part.unknown_packets++;
    if (!stopped(d))
        d->part.packets++;
}

static void take_log(struct decoder *d, const unsigned char *bytes, size_t n)
{
    struct cursor log = cursor_over(bytes, n, "log");

    for (struct field f; !stopped(d) && next_field(&log, &f);)
        if (f.number == 1 && f.wire == WIRE_BYTES)
            take_packet(d, cursor_over(f.bytes, f.n, "packet"));
    d->part.damaged |= log.failed;
}

/* What is wrong with the file as a whole, once reading stopped. */
static bool judge(const struct decoder *d, const struct zframe_reader *r, struct err *err)
{
    const struct part *p = &d->part;

    if (d->too_many)
        return err_set(err, ERR_TOO_BIG, "zstd frame %zu, packet %zu: more than %zu %s", r->frames,
                       p->packets, d->limit, d->too_many);
    if (arena_full(d->mem))
        return err_set(err, ERR_TOO_BIG,
                       "zstd frame %zu, packet %zu: needs more memory than a session file may take",
                       r->frames, p->packets);
    if (d->out_of_memory)
        return err_memory(err);
    if (!r->frames)
        return err_set(err, ERR_INVALID, "not a session file: %s",
                       r->damaged ? "no zstd frame at byte 0" : "its first zstd frame is cut");
    if (!d->have_header)
        return err_set(err, ERR_INVALID,
                       "not a session file: its first packet is no header with a session id");
    return true;
}

bool part_decode(const void *bytes, size_t size, const struct part_limits *limits,
                 struct arena *mem, struct part *out, struct err *err)
{
    struct decoder d = {.limits = limits, .mem = mem, .allocator = {allocate, release, mem}};
    struct zframe_reader r;
    const unsigned char *log;
    size_t n;

    zframe_begin(&r, bytes, size, limits, mem);
    while (!stopped(&d)) {
        size_t before = r.at;

        if (!zframe_next(&r, &log, &n, err))
            break;
        take_log(&d, log, n);
        d.part.whole_bytes = d.part.damaged ? before : r.at;
        d.part.zstd_frames += !d.part.damaged;
    }
    zframe_end(&r);
    if (r.failed)
        return false;
    d.part.damaged |= r.damaged;
    d.part.truncated = d.part.whole_bytes < size;
    if (!d.too_many)
        decoder_resolve(&d);
    if (!judge(&d, &r, err))
        return false;
    *out = d.part;
    return true;
}
