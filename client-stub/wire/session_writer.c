#include "wire/session_writer.h"

#include "wire/sha256.h"
#include "wire/writer.h"

#define PACKET 1u /* SessionLog.packet */
#define REASON_BYTES 256
#define EVIDENCE_BYTES 256

/* Field numbers of Packet's oneof. */
enum body {
    BODY_HEADER = 1,
    BODY_FRAMES,
    BODY_HARDWARE,
    BODY_SCENE,
    BODY_POSITION,
    BODY_LIFECYCLE,
    BODY_STEP,
    BODY_JANK,
    BODY_MODULE,
    BODY_STACK,
    BODY_CRASH,
    BODY_FEEDBACK,
    BODY_SELF_REPORT,
    BODY_END,
    BODY_SUMMARY
};

struct packet {
    struct fw_buf *out;
    size_t before, packet, body;
};

static struct packet packet_open(struct fw_buf *out, enum body body)
{
    struct packet p = {.out = out, .before = out->len};

    p.packet = fw_pb_open(out, PACKET);
    p.body = fw_pb_open(out, (uint32_t)body);
    return p;
}

static bool packet_close(const struct packet *p)
{
    fw_pb_close(p->out, p->body);
    fw_pb_close(p->out, p->packet);
    if (!p->out->failed)
        return true;
    p->out->len = p->before;
    p->out->failed = false;
    return false;
}

static void some_u64(struct fw_buf *b, uint32_t field, uint64_t value)
{
    if (value)
        fw_pb_u64(b, field, value);
}

static void known_u64(struct fw_buf *b, uint32_t field, int64_t value)
{
    if (value >= 0)
        fw_pb_u64(b, field, (uint64_t)value);
}

static void known_s64(struct fw_buf *b, uint32_t field, int64_t value)
{
    if (value != FW_ABSENT)
        fw_pb_s64(b, field, value);
}

void fw_wire_session_id(unsigned char id[FW_SESSION_ID_BYTES], const char *install_id)
{
    unsigned char hash[FW_SHA256_BYTES];
    size_t n = 0;

    while (install_id[n])
        n++;
    fw_sha256(install_id, n, hash);
    id[FW_SESSION_ID_BYTES - 1] =
        (unsigned char)((id[FW_SESSION_ID_BYTES - 1] & 0xc0) | (hash[0] & 0x3f));
}

static void add_device(struct fw_buf *b, const struct fw_wire_header *h)
{
    size_t device = fw_pb_open(b, 10);

    fw_pb_text(b, 1, h->manufacturer, FW_NAME_BYTES);
    fw_pb_text(b, 2, h->model, FW_NAME_BYTES);
    fw_pb_text(b, 3, h->soc, FW_NAME_BYTES);
    for (size_t i = 0; i < h->n_clusters; i++) {
        size_t cluster = fw_pb_open(b, 4);

        fw_pb_u64(b, 1, h->clusters[i].cores);
        some_u64(b, 2, h->clusters[i].max_khz);
        fw_pb_close(b, cluster);
    }
    some_u64(b, 5, h->ram_mb);
    some_u64(b, 6, h->screen_width_px);
    some_u64(b, 7, h->screen_height_px);
    some_u64(b, 8, h->refresh_millihertz);
    fw_pb_text(b, 9, h->gpu, FW_NAME_BYTES);
    fw_pb_text(b, 10, h->os_version, FW_NAME_BYTES);
    fw_pb_close(b, device);
}

static void add_environment(struct fw_buf *b, const struct fw_wire_header *h)
{
    size_t environment = fw_pb_open(b, 11);

    fw_pb_u64(b, 1, h->rooted);
    fw_pb_u64(b, 2, h->debugger);
    fw_pb_u64(b, 3, h->emulator);
    some_u64(b, 4, h->developer_mode); /* not looked for everywhere: absent, not false */
    some_u64(b, 5, h->repackaged);
    for (size_t i = 0; i < h->n_evidence; i++)
        fw_pb_text(b, 6, h->evidence[i], EVIDENCE_BYTES);
    fw_pb_close(b, environment);
}

bool fw_wire_header(struct fw_buf *out, const struct fw_wire_header *h)
{
    struct packet p = packet_open(out, BODY_HEADER);

    fw_pb_bytes(out, 1, h->session_id, FW_SESSION_ID_BYTES);
    fw_pb_u64(out, 2, h->part);
    fw_pb_text(out, 3, h->app, FW_NAME_BYTES);
    fw_pb_u64(out, 4, (uint64_t)h->platform);
    fw_pb_text(out, 5, h->version_name, FW_NAME_BYTES);
    some_u64(out, 6, h->version_code);
    fw_pb_text(out, 7, h->build_id, FW_NAME_BYTES);
    fw_pb_text(out, 8, h->sdk_version, FW_NAME_BYTES);
    fw_pb_s64(out, 9, h->wall_start_ms);
    add_device(out, h);
    add_environment(out, h);
    fw_pb_u64(out, 12, h->part_start_us);
    return packet_close(&p);
}

static void add_deltas(struct fw_buf *b, const uint32_t *interval_us, size_t n)
{
    uint64_t sum_us = 0, sum_10us = 0;
    int64_t before = 0;

    for (size_t i = 0; i < n; i++) {
        sum_us += interval_us[i];

        uint64_t end_10us = (sum_us + 5) / 10;
        int64_t interval = (int64_t)(end_10us - sum_10us);

        fw_pb_varint(b, fw_zigzag(interval - before));
        sum_10us = end_10us;
        before = interval;
    }
}

bool fw_wire_frames(struct fw_buf *out, const struct fw_wire_frames *f)
{
    struct packet p = packet_open(out, BODY_FRAMES);

    fw_pb_u64(out, 1, f->start_us);
    if (f->n) {
        size_t row = fw_pb_open(out, 2);

        add_deltas(out, f->interval_us, f->n);
        fw_pb_close(out, row);
    }
    some_u64(out, 3, f->target_interval_us);
    some_u64(out, 4, f->refresh_millihertz);
    some_u64(out, 5, f->dropped);
    return packet_close(&p);
}

void fw_wire_hardware_init(struct fw_wire_hardware *h)
{
    *h = (struct fw_wire_hardware){
        .t_us = FW_ABSENT,
        .process_cpu_permille = FW_ABSENT,
        .total_cpu_permille = FW_ABSENT,
        .battery_millicelsius = FW_ABSENT,
        .skin_millicelsius = FW_ABSENT,
        .thermal_status = FW_ABSENT,
        .pss_kb = FW_ABSENT,
        .native_heap_kb = FW_ABSENT,
        .java_heap_kb = FW_ABSENT,
        .rss_anon_kb = FW_ABSENT,
        .swap_kb = FW_ABSENT,
        .phys_footprint_kb = FW_ABSENT,
        .rss_kb = FW_ABSENT,
        .thread_count = FW_ABSENT,
        .thread_peak = FW_ABSENT,
        .storage_free_mb = FW_ABSENT,
        .main_wait_us = FW_ABSENT,
        .main_cpu_us = FW_ABSENT,
        .gpu_time_us = FW_ABSENT,
        .battery_permille = FW_ABSENT,
        .charging = FW_ABSENT,
        .network = FW_ABSENT,
    };
}

static void add_hardware(struct fw_buf *b, const struct fw_wire_hardware *h)
{
    known_u64(b, 1, h->t_us);
    known_u64(b, 2, h->process_cpu_permille);
    known_u64(b, 3, h->total_cpu_permille);
    if (h->n_cores) {
        size_t row = fw_pb_open(b, 4);

        for (size_t i = 0; i < h->n_cores; i++)
            fw_pb_varint(b, h->core_khz[i]);
        fw_pb_close(b, row);
    }
    known_s64(b, 5, h->battery_millicelsius);
    known_s64(b, 6, h->skin_millicelsius);
    known_u64(b, 7, h->thermal_status);
    known_u64(b, 8, h->pss_kb);
    known_u64(b, 9, h->native_heap_kb);
    known_u64(b, 10, h->java_heap_kb);
    known_u64(b, 11, h->rss_anon_kb);
    known_u64(b, 12, h->swap_kb);
    known_u64(b, 13, h->phys_footprint_kb);
    known_u64(b, 14, h->thread_count);
    known_u64(b, 15, h->main_wait_us);
    known_u64(b, 16, h->gpu_time_us);
    known_u64(b, 17, h->battery_permille);
    known_u64(b, 18, h->charging);
    known_u64(b, 19, h->network);
    some_u64(b, 20, h->burst);
    known_u64(b, 21, h->rss_kb);
    known_u64(b, 22, h->main_cpu_us);
    known_u64(b, 23, h->storage_free_mb);
    known_u64(b, 24, h->thread_peak);
}

bool fw_wire_hardware(struct fw_buf *out, const struct fw_wire_hardware *h)
{
    struct packet p = packet_open(out, BODY_HARDWARE);

    add_hardware(out, h);
    return packet_close(&p);
}

bool fw_wire_scene(struct fw_buf *out, uint64_t t_us, const char *mode, const char *map,
                   const struct fw_wire_attribute *attributes, size_t n)
{
    struct packet p = packet_open(out, BODY_SCENE);

    fw_pb_u64(out, 1, t_us);
    fw_pb_text(out, 2, mode, FW_LABEL_BYTES);
    fw_pb_text(out, 3, map, FW_LABEL_BYTES);
    for (size_t i = 0; i < n && i < FW_MAX_ATTRIBUTES; i++) {
        size_t attribute = fw_pb_open(out, 4);

        fw_pb_text(out, 1, attributes[i].key, FW_KEY_BYTES);
        fw_pb_s64(out, 2, attributes[i].value);
        fw_pb_close(out, attribute);
    }
    return packet_close(&p);
}

bool fw_wire_position(struct fw_buf *out, uint64_t t_us, float x, float y)
{
    struct packet p = packet_open(out, BODY_POSITION);

    fw_pb_u64(out, 1, t_us);
    fw_pb_float(out, 2, x);
    fw_pb_float(out, 3, y);
    return packet_close(&p);
}

bool fw_wire_lifecycle(struct fw_buf *out, uint64_t t_us, enum fw_lifecycle_kind kind,
                       uint64_t duration_ms)
{
    struct packet p = packet_open(out, BODY_LIFECYCLE);

    fw_pb_u64(out, 1, t_us);
    fw_pb_u64(out, 2, (uint64_t)kind);
    some_u64(out, 3, duration_ms);
    return packet_close(&p);
}

bool fw_wire_step(struct fw_buf *out, uint64_t t_us, const char *name)
{
    struct packet p = packet_open(out, BODY_STEP);

    fw_pb_u64(out, 1, t_us);
    fw_pb_text(out, 2, name, FW_LABEL_BYTES);
    return packet_close(&p);
}

uint32_t fw_wire_jank_level(uint64_t duration_us)
{
    return duration_us > 500000 ? 3 : duration_us > 250000 ? 2 : duration_us > 100000 ? 1 : 0;
}

bool fw_wire_jank(struct fw_buf *out, const struct fw_wire_jank *j)
{
    struct packet p = packet_open(out, BODY_JANK);

    fw_pb_u64(out, 1, j->start_us);
    fw_pb_u64(out, 2, j->duration_us);
    fw_pb_u64(out, 3, j->level);
    for (size_t i = 0; i < j->n_samples; i++) {
        size_t sample = fw_pb_open(out, 4);

        fw_pb_u64(out, 1, j->samples[i].t_us);
        fw_pb_u64(out, 2, j->samples[i].stack);
        fw_pb_close(out, sample);
    }
    for (size_t i = 0; i < j->n_hardware; i++) {
        size_t hardware = fw_pb_open(out, 5);

        add_hardware(out, &j->hardware[i]);
        fw_pb_close(out, hardware);
    }
    return packet_close(&p);
}

bool fw_wire_module(struct fw_buf *out, const struct fw_wire_module *m)
{
    struct packet p = packet_open(out, BODY_MODULE);

    fw_pb_u64(out, 1, m->id);
    fw_pb_text(out, 2, m->name, FW_NAME_BYTES);
    if (m->debug_id_len)
        fw_pb_bytes(out, 3, m->debug_id, m->debug_id_len);
    fw_pb_u64(out, 4, m->load_address);
    fw_pb_u64(out, 5, m->size);
    fw_pb_text(out, 6, m->arch, FW_KEY_BYTES);
    return packet_close(&p);
}

bool fw_wire_stack(struct fw_buf *out, const struct fw_wire_stack *s)
{
    struct packet p = packet_open(out, BODY_STACK);

    fw_pb_u64(out, 1, s->id);
    for (size_t i = 0; i < s->n && i < FW_MAX_STACK_FRAMES; i++) {
        const struct fw_wire_stack_frame *f = &s->frames[i];
        size_t frame = fw_pb_open(out, 2);

        some_u64(out, 1, f->module);
        if (!f->text)
            fw_pb_u64(out, 2, f->offset);
        fw_pb_text(out, 3, f->text, REASON_BYTES);
        fw_pb_close(out, frame);
    }
    fw_pb_text(out, 3, s->thread, FW_LABEL_BYTES);
    return packet_close(&p);
}

bool fw_wire_crash(struct fw_buf *out, const struct fw_wire_crash *c)
{
    struct packet p = packet_open(out, BODY_CRASH);

    fw_pb_u64(out, 1, c->t_us);
    some_u64(out, 2, c->signal);
    fw_pb_text(out, 3, c->reason, REASON_BYTES);
    some_u64(out, 4, c->stack);
    return packet_close(&p);
}

bool fw_wire_feedback(struct fw_buf *out, uint64_t t_us, const char *category, const char *text)
{
    struct packet p = packet_open(out, BODY_FEEDBACK);

    fw_pb_u64(out, 1, t_us);
    fw_pb_text(out, 2, category, FW_KEY_BYTES);
    fw_pb_text(out, 3, text, FW_FEEDBACK_BYTES);
    return packet_close(&p);
}

bool fw_wire_self_report(struct fw_buf *out, const struct fw_wire_self_report *r)
{
    struct packet p = packet_open(out, BODY_SELF_REPORT);

    fw_pb_u64(out, 1, r->t_us);
    fw_pb_u64(out, 2, r->cpu_us);
    fw_pb_u64(out, 3, r->bytes_written);
    fw_pb_u64(out, 4, r->bytes_uploaded);
    fw_pb_u64(out, 5, r->dropped_frames);
    fw_pb_u64(out, 6, r->dropped_samples);
    fw_pb_u64(out, 7, r->wakeups);
    for (size_t i = 0; i < r->n_off; i++) {
        size_t off = fw_pb_open(out, 8);

        fw_pb_text(out, 1, r->off[i].name, FW_KEY_BYTES);
        fw_pb_text(out, 2, r->off[i].reason, FW_NAME_BYTES);
        fw_pb_u64(out, 3, r->off[i].failures);
        fw_pb_close(out, off);
    }
    fw_pb_u64(out, 9, r->memory_bytes);
    some_u64(out, 10, r->dropped_files);
    for (size_t i = 0; i < r->n_cost; i++) {
        size_t cost = fw_pb_open(out, 11);

        fw_pb_text(out, 1, r->cost[i].name, FW_KEY_BYTES);
        fw_pb_u64(out, 2, r->cost[i].looks);
        fw_pb_u64(out, 3, r->cost[i].us);
        fw_pb_u64(out, 4, r->cost[i].max_us);
        some_u64(out, 5, r->cost[i].failures);
        fw_pb_close(out, cost);
    }
    return packet_close(&p);
}

bool fw_wire_end(struct fw_buf *out, uint64_t t_us, enum fw_end_reason reason)
{
    struct packet p = packet_open(out, BODY_END);

    fw_pb_u64(out, 1, t_us);
    fw_pb_u64(out, 2, (uint64_t)reason);
    return packet_close(&p);
}

static void add_sketch(struct fw_buf *b, uint32_t field, const struct fw_wire_sketch *s)
{
    size_t sketch = fw_pb_open(b, field);
    uint32_t before = 0;

    fw_pb_u64(b, 1, 1); /* layout */

    size_t row = fw_pb_open(b, 2);
    for (size_t i = 0; i < s->n; i++) {
        fw_pb_varint(b, s->bucket[i] - before);
        before = s->bucket[i];
    }
    fw_pb_close(b, row);
    row = fw_pb_open(b, 3);
    for (size_t i = 0; i < s->n; i++)
        fw_pb_varint(b, s->count[i]);
    fw_pb_close(b, row);
    fw_pb_close(b, sketch);
}

static void add_janks(struct fw_buf *b, uint32_t field, const uint32_t janks[3])
{
    for (uint32_t i = 0; i < 3; i++)
        fw_pb_u64(b, field + i, janks[i]);
}

static void add_scene_summary(struct fw_buf *b, const struct fw_wire_scene_summary *s)
{
    size_t scene = fw_pb_open(b, 10);

    fw_pb_text(b, 1, s->mode, FW_LABEL_BYTES);
    fw_pb_text(b, 2, s->map, FW_LABEL_BYTES);
    fw_pb_u64(b, 3, s->foreground_ms);
    add_janks(b, 4, s->janks);
    if (s->sketch.n)
        add_sketch(b, 7, &s->sketch);
    fw_pb_close(b, scene);
}

bool fw_wire_summary(struct fw_buf *out, const struct fw_wire_summary *s)
{
    struct packet p = packet_open(out, BODY_SUMMARY);

    fw_pb_u64(out, 1, s->foreground_ms);
    fw_pb_u64(out, 2, s->frames);
    fw_pb_u64(out, 3, s->frame_sum_us);
    fw_pb_u64(out, 4, s->frame_max_us);
    add_janks(out, 5, s->janks);
    fw_pb_u64(out, 8, s->jank_ms);
    if (s->sketch.n)
        add_sketch(out, 9, &s->sketch);
    for (size_t i = 0; i < s->n_scenes; i++)
        add_scene_summary(out, &s->scenes[i]);
    known_s64(out, 11, s->max_battery_millicelsius);
    known_u64(out, 12, s->peak_memory_kb);
    return packet_close(&p);
}
