#include "src/control/jank_log.h"

#include "platform/arch.h"

#include <string.h>

#define SECOND_NS 1000000000ull
#define BEFORE_US 2000000
#define AFTER_US 1000000

void fw_jank_log_init(struct fw_jank_log *l, struct fw_desk *desk, uint64_t session_start_ns)
{
    memset(l, 0, sizeof *l);
    l->desk = desk;
    l->session_start_ns = session_start_ns;
}

void fw_jank_log_new_file(struct fw_jank_log *l)
{
    memset(l->module_id, 0, sizeof l->module_id);
    l->n_modules = l->n_stacks = 0;
    for (size_t i = 0; i < l->n; i++)
        l->pending[i].n_samples = 0;
}

static uint64_t t_us(const struct fw_jank_log *l, uint64_t ns)
{
    return ns > l->session_start_ns ? (ns - l->session_start_ns) / 1000 : 0;
}

/* The module's id in this file; 0 when it has no room for another. */
static uint32_t module_id(struct fw_jank_log *l, struct fw_slice *s, uint16_t place)
{
    struct fw_desk_module m;
    struct fw_wire_module out = {.arch = fw_arch.name};

    if (place == FW_DESK_NO_MODULE)
        return 0;
    if (l->module_id[place] || l->n_modules == FW_FILE_MODULES)
        return l->module_id[place];
    fw_desk_get_module(l->desk, place, &m);
    out.id = l->n_modules + 1;
    out.name = m.name;
    out.load_address = m.load_address;
    out.size = m.size;
    out.debug_id_len = m.build_id_len;
    memcpy(out.debug_id, m.build_id, m.build_id_len);
    if (!fw_wire_module(&s->raw, &out)) {
        s->lost_packets++;
        return 0;
    }
    l->module_id[place] = (uint8_t)++l->n_modules;
    return l->n_modules;
}

/* A frame in a module that found no room is told by its address alone. */
static struct fw_wire_stack_frame frame_of(struct fw_jank_log *l, struct fw_slice *s,
                                           uint16_t place, uint64_t offset)
{
    uint32_t id = module_id(l, s, place);
    struct fw_desk_module m = {0};

    if (!id && place != FW_DESK_NO_MODULE)
        fw_desk_get_module(l->desk, place, &m);
    return (struct fw_wire_stack_frame){.module = id, .offset = offset + m.load_address};
}

/* Code that a runtime made: outside every module, or in a file of Android's compiler. */
static bool is_managed_code(struct fw_jank_log *l, uint16_t place)
{
    static const char *const ends[] = {".odex", ".oat"};
    struct fw_desk_module m;

    if (place == FW_DESK_NO_MODULE)
        return true;
    fw_desk_get_module(l->desk, place, &m);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(m.name), end = strlen(ends[i]);

        if (n > end && !strcmp(m.name + n - end, ends[i]))
            return true;
    }
    return false;
}

/* What the runtime has told by name is not told by address as well. */
static bool is_left_out(struct fw_jank_log *l, uint16_t place, const struct fw_desk_texts *texts)
{
    return texts && is_managed_code(l, place);
}

/* FNV-1a over modules and offsets, and the managed texts. */
static uint64_t hash_of(struct fw_jank_log *l, const struct fw_desk_sample *sample,
                        const struct fw_desk_texts *texts)
{
    uint64_t hash = 14695981039346656037u;

    for (unsigned i = 0; i < sample->n; i++) {
        if (is_left_out(l, sample->module[i], texts))
            continue;
        hash = (hash ^ sample->module[i]) * 1099511628211u;
        for (unsigned shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (sample->offset[i] >> shift & 0xff)) * 1099511628211u;
    }
    for (size_t i = 0; texts && i < texts->len; i++)
        hash = (hash ^ (unsigned char)texts->bytes[i]) * 1099511628211u;
    return hash;
}

struct joined {
    struct fw_wire_stack_frame frame[FW_DESK_DEPTH + FW_MANAGED_FRAMES];
    size_t n;
};

static void join_native(struct joined *out, struct fw_jank_log *l, struct fw_slice *s,
                        const struct fw_desk_sample *sample, const struct fw_desk_texts *texts)
{
    for (unsigned i = 0; i < sample->n; i++)
        if (!is_left_out(l, sample->module[i], texts))
            out->frame[out->n++] = frame_of(l, s, sample->module[i], sample->offset[i]);
}

static void join_managed(struct joined *out, const struct fw_desk_texts *texts)
{
    const char *text = texts->bytes;

    for (unsigned i = 0; i < texts->n; i++, text += strlen(text) + 1)
        out->frame[out->n++] = (struct fw_wire_stack_frame){.text = text};
}

static void join(struct joined *out, struct fw_jank_log *l, struct fw_slice *s,
                 const struct fw_desk_sample *sample, const struct fw_desk_texts *texts)
{
    out->n = 0;
    if (texts && !texts->native_first)
        join_managed(out, texts);
    join_native(out, l, s, sample, texts);
    if (texts && texts->native_first)
        join_managed(out, texts);
}

/* The stack's id in this file; 0 when it could not be written. */
static uint32_t stack_id(struct fw_jank_log *l, struct fw_slice *s,
                         const struct fw_desk_sample *sample)
{
    const struct fw_desk_texts *texts = fw_desk_texts_of(l->desk, sample);
    struct joined stack;
    uint64_t hash = hash_of(l, sample, texts);

    for (unsigned i = 0; i < l->n_stacks; i++)
        if (l->stack_hash[i] == hash)
            return i + 1;
    if (l->n_stacks == FW_FILE_STACKS)
        return 0;
    join(&stack, l, s, sample, texts);
    if (!fw_wire_stack(&s->raw, &(struct fw_wire_stack){.id = l->n_stacks + 1,
                                                        .frames = stack.frame,
                                                        .n = stack.n,
                                                        .thread = "main"})) {
        s->lost_packets++;
        return 0;
    }
    l->stack_hash[l->n_stacks++] = hash;
    return l->n_stacks;
}

static void write_stacks(struct fw_jank_log *l, struct fw_slice *s, struct fw_pending_jank *p)
{
    if (!fw_desk_take(l->desk, p->began_ns, &l->taken))
        return;
    for (unsigned i = 0; i < l->taken.n && p->n_samples < FW_DESK_SAMPLES; i++) {
        uint32_t id = stack_id(l, s, &l->taken.sample[i]);

        if (id)
            p->sample[p->n_samples++] = (struct fw_wire_stack_sample){
                .t_us = t_us(l, l->taken.sample[i].t_ns), .stack = id};
    }
    fw_desk_give_back(l->desk, &l->taken);
}

/* The looks around the jank that the file lacks, oldest first. */
static size_t collect_looks(struct fw_jank_log *l, int64_t from_us, int64_t to_us,
                            struct fw_wire_hardware out[FW_LOOKS])
{
    size_t n = 0;

    for (size_t i = 0; i < FW_LOOKS; i++) {
        struct fw_look *look = &l->look[(l->next_look + i) % FW_LOOKS];

        if (!look->used || look->in_file || look->hardware.t_us < from_us ||
            look->hardware.t_us > to_us)
            continue;
        out[n++] = look->hardware;
        look->in_file = true;
    }
    return n;
}

static void write_jank(struct fw_jank_log *l, struct fw_slice *s, const struct fw_pending_jank *p)
{
    struct fw_wire_hardware hardware[FW_LOOKS];
    struct fw_wire_jank jank = {
        .start_us = t_us(l, p->began_ns),
        .duration_us = t_us(l, p->began_ns + p->duration_ns) - t_us(l, p->began_ns),
        .samples = p->sample,
        .n_samples = p->n_samples,
        .hardware = hardware,
    };

    jank.level = fw_wire_jank_level(jank.duration_us);
    jank.n_hardware =
        collect_looks(l, (int64_t)jank.start_us - BEFORE_US,
                      (int64_t)(jank.start_us + jank.duration_us) + AFTER_US, hardware);
    fw_slice_check(s, fw_wire_jank(&s->raw, &jank));
}

/* Once more for stacks: on a busy machine the watchdog may have laid them down after the frame. */
static void write_first(struct fw_jank_log *l, struct fw_slice *s)
{
    write_stacks(l, s, &l->pending[0]);
    write_jank(l, s, &l->pending[0]);
    memmove(l->pending, l->pending + 1, --l->n * sizeof *l->pending);
}

void fw_jank_log_add(struct fw_jank_log *l, struct fw_slice *s, uint64_t began_ns,
                     uint64_t duration_ns)
{
    struct fw_pending_jank p = {.began_ns = began_ns,
                                .duration_ns = duration_ns,
                                .due_ns = began_ns + duration_ns + SECOND_NS};

    write_stacks(l, s, &p);
    if (!fw_wire_jank_level(duration_ns / 1000) && !p.n_samples)
        return; /* long for the watchdog's setting, but no jank, and nothing is known about it */
    if (l->n == FW_PENDING_JANKS)
        write_first(l, s);
    l->pending[l->n++] = p;
}

void fw_jank_log_look(struct fw_jank_log *l, const struct fw_wire_hardware *h, bool in_file)
{
    l->look[l->next_look] = (struct fw_look){.hardware = *h, .in_file = in_file, .used = true};
    l->next_look = (l->next_look + 1) % FW_LOOKS;
}

void fw_jank_log_write(struct fw_jank_log *l, struct fw_slice *s, uint64_t now_ns)
{
    while (l->n && l->pending[0].due_ns <= now_ns)
        write_first(l, s);
}

uint64_t fw_jank_log_due(const struct fw_jank_log *l)
{
    return l->n ? l->pending[0].due_ns : UINT64_MAX;
}
