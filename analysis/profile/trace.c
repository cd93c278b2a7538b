#include "profile/trace.h"

#include "profile/view.h"

#include <string.h>

/* One walk over the session, two formats. A format is told the tracks first, then what happens on
 * them: slices of one track neither overlap nor go back in time. */

/* Name, and how it sorts: from top to bottom. */
#define TRACKS(X)                                                                                  \
    X(session, "Session")                                                                          \
    X(scenes, "Scenes")                                                                            \
    X(frames, "Frames")                                                                            \
    X(janks, "Janks")                                                                              \
    X(stacks, "Main thread stacks")                                                                \
    X(lifecycle, "Lifecycle")                                                                      \
    X(steps, "Steps")                                                                              \
    X(reports, "Crashes and feedback")
enum track {
#define X(name, label) TRACK_##name,
    TRACKS(X)
#undef X
        TRACK_COUNT
};

/* Counters: frame time, then each hardware field, then each core. */
enum { COUNTER_FRAME_TIME, COUNTER_HARDWARE, COUNTER_CORES = COUNTER_HARDWARE + HW_COUNT };

struct arg {
    const char *name;
    enum { ARG_NUMBER, ARG_STRING, ARG_STACK } type;
    int64_t number;
    const char *text;
    const struct part_stack *stack;
};
#define NUMBER(n, v) ((struct arg){.name = (n), .type = ARG_NUMBER, .number = (v)})
#define STRING(n, v) ((struct arg){.name = (n), .type = ARG_STRING, .text = (v) ? (v) : ""})
#define STACK(n, v) ((struct arg){.name = (n), .type = ARG_STACK, .stack = (v)})

struct args {
    const struct arg *at;
    size_t n;
};
#define NO_ARGS ((struct args){NULL, 0})
#define ARGS(...)                                                                                  \
    ((struct args){(const struct arg[]){__VA_ARGS__},                                              \
                   sizeof((const struct arg[]){__VA_ARGS__}) / sizeof(struct arg)})

#define SCRATCH_CAP ((size_t)16 << 20)

struct trace {
    const struct session *s;
    const struct session_result *r;
    const struct format *format;
    struct buf *out;
    struct buf text;                             /* of a name or a frame */
    struct buf packet, event, annotation, value; /* Perfetto: messages within messages */
    uint64_t uuid; /* Perfetto: what all track ids of this session begin with */
    bool first;    /* Chrome: no event written yet */
};

struct format {
    void (*begin)(struct trace *t, const char *process_name);
    void (*track)(struct trace *t, enum track track, const char *name);
    void (*counter)(struct trace *t, unsigned counter, const char *name, const char *unit);
    void (*slice)(struct trace *t, enum track track, uint64_t from_us, uint64_t to_us,
                  const char *name, struct args args);
    void (*instant)(struct trace *t, enum track track, uint64_t t_us, const char *name,
                    struct args args);
    void (*sample)(struct trace *t, unsigned counter, uint64_t t_us, int64_t value);
    void (*end)(struct trace *t);
};

/* Text put together in t->text; valid until the next use of it. */
static const char *text_end(struct trace *t)
{
    buf_byte(&t->text, 0);
    return buf_ok(&t->text) ? (const char *)t->text.at : "";
}

static const char *frame_text(struct trace *t, const struct part_stack_frame *f)
{
    buf_reset(&t->text);
    view_frame_text(f, &t->text);
    return text_end(t);
}

/* From the session's id, so that traces of several sessions can be opened together. */
static int64_t process_id(const struct session *s)
{
    const unsigned char *id = s->header.session_id;

    return (int64_t)(((unsigned)id[0] | (unsigned)id[1] << 8 | (unsigned)id[2] << 16 |
                      ((unsigned)id[3] & 0x3f) << 24) |
                     1);
}

/* Chrome's JSON -------------------------------------------------------------------------------- */

static void chrome_event(struct trace *t, const char *phase, int64_t thread)
{
    buf_text(t->out, t->first ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    t->first = false;
    buf_text(t->out, phase);
    buf_text(t->out, "\",\"pid\":");
    buf_i64(t->out, process_id(t->s));
    view_key_i64(t->out, "tid", thread);
}

static void chrome_stack(struct trace *t, const struct part_stack *stack)
{
    bool first = true;

    buf_byte(t->out, '[');
    for (size_t i = 0; i < stack->n; i++) {
        view_comma(t->out, &first);
        buf_json_string(t->out, frame_text(t, &stack->frames[i]));
    }
    buf_byte(t->out, ']');
}

static void chrome_args(struct trace *t, struct args args)
{
    bool first = true;

    if (!args.n)
        return;
    buf_text(t->out, ",\"args\":{");
    for (size_t i = 0; i < args.n; i++) {
        const struct arg *a = &args.at[i];

        if (a->type == ARG_STACK && !a->stack)
            continue;
        view_comma(t->out, &first);
        buf_json_string(t->out, a->name);
        buf_byte(t->out, ':');
        if (a->type == ARG_NUMBER)
            buf_i64(t->out, a->number);
        else if (a->type == ARG_STRING)
            buf_json_string(t->out, a->text);
        else
            chrome_stack(t, a->stack);
    }
    buf_byte(t->out, '}');
}

static void chrome_metadata(struct trace *t, int64_t thread, const char *what, struct arg arg)
{
    chrome_event(t, "M", thread);
    view_key_text(t->out, "name", what);
    chrome_args(t, (struct args){&arg, 1});
    buf_byte(t->out, '}');
}

static void chrome_begin(struct trace *t, const char *process_name)
{
    t->first = true;
    buf_text(t->out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"session_id\":\"");
    view_hex(t->s->header.session_id, SESSION_ID_BYTES, t->out);
    buf_byte(t->out, '"');
    view_key_text(t->out, "version_name", t->s->header.version_name);
    view_key_i64(t->out, "wall_start_ms", t->s->header.wall_start_ms);
    buf_text(t->out, "},\"traceEvents\":[");
    chrome_metadata(t, 0, "process_name", STRING("name", process_name));
}

static void chrome_track(struct trace *t, enum track track, const char *name)
{
    chrome_metadata(t, track + 1, "thread_name", STRING("name", name));
    chrome_metadata(t, track + 1, "thread_sort_index", NUMBER("sort_index", track));
}

static void chrome_counter(struct trace *t, unsigned counter, const char *name, const char *unit)
{
    (void)t, (void)counter, (void)name, (void)unit; /* a counter needs no declaration */
}

static void chrome_slice(struct trace *t, enum track track, uint64_t from_us, uint64_t to_us,
                         const char *name, struct args args)
{
    chrome_event(t, "X", track + 1);
    view_key_u64(t->out, "ts", from_us);
    view_key_u64(t->out, "dur", to_us - from_us);
    view_key_text(t->out, "name", name);
    chrome_args(t, args);
    buf_byte(t->out, '}');
}

static void chrome_instant(struct trace *t, enum track track, uint64_t t_us, const char *name,
                           struct args args)
{
    chrome_event(t, "i", track + 1);
    view_key_u64(t->out, "ts", t_us);
    view_key_text(t->out, "s", "t");
    view_key_text(t->out, "name", name);
    chrome_args(t, args);
    buf_byte(t->out, '}');
}

static const char *counter_name(struct trace *t, unsigned counter)
{
    if (counter == COUNTER_FRAME_TIME)
        return "frame_time_us";
    if (counter < COUNTER_CORES)
        return hardware_info[counter - COUNTER_HARDWARE].name;
    buf_reset(&t->text);
    buf_printf(&t->text, "core_%u_khz", counter - COUNTER_CORES);
    return text_end(t);
}

static void chrome_sample(struct trace *t, unsigned counter, uint64_t t_us, int64_t value)
{
    chrome_event(t, "C", 0);
    view_key_u64(t->out, "ts", t_us);
    view_key_text(t->out, "name", counter_name(t, counter));
    buf_text(t->out, ",\"args\":{\"value\":");
    buf_i64(t->out, value);
    buf_text(t->out, "}}");
}

static void chrome_end(struct trace *t)
{
    buf_text(t->out, "\n]}\n");
}

static const struct format chrome = {chrome_begin,   chrome_track,  chrome_counter, chrome_slice,
                                     chrome_instant, chrome_sample, chrome_end};

/* Perfetto's protobuf ---------------------------------------------------------------------------
 * Field numbers of Perfetto's published schema (protos/perfetto/trace): trace.proto,
 * trace_packet.proto, clock_snapshot.proto and track_event/{track_event, track_descriptor,
 * process_descriptor, counter_descriptor, debug_annotation}.proto. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST_ON_SEQUENCE = 87,
    SEQ_INCREMENTAL_STATE_CLEARED = 1,

    SNAPSHOT_CLOCKS = 1,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_REALTIME = 1,
    CLOCK_BOOTTIME = 6, /* what a timestamp without a clock refers to */

    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_PARENT_UUID = 5,
    DESCRIPTOR_COUNTER = 8,
    DESCRIPTOR_CHILD_ORDERING = 11,
    DESCRIPTOR_SIBLING_ORDER_RANK = 12,
    ORDERING_EXPLICIT = 3,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,

    COUNTER_UNIT = 3,
    COUNTER_UNIT_MULTIPLIER = 4,
    COUNTER_UNIT_NAME = 6,
    UNIT_TIME_NS = 1,
    UNIT_SIZE_BYTES = 3,

    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK_UUID = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    ANNOTATION_INT = 4,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,
    ANNOTATION_ARRAY = 12
};

#define SEQUENCE_ID 1 /* one writer, so one sequence; 0 would be invalid */

static void put_varint(struct buf *to, unsigned field, uint64_t v)
{
    buf_varint(to, (uint64_t)field << 3);
    buf_varint(to, v);
}

static void put_bytes(struct buf *to, unsigned field, const void *bytes, size_t n)
{
    buf_varint(to, (uint64_t)field << 3 | 2);
    buf_varint(to, n);
    buf_put(to, bytes, n);
}

static void put_text(struct buf *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

static void put_message(struct buf *to, unsigned field, const struct buf *message)
{
    if (!buf_ok(message))
        to->failed = true;
    else
        put_bytes(to, field, message->at, message->len);
}

static uint64_t track_uuid(const struct trace *t, unsigned n)
{
    return t->uuid | n;
}

enum { UUID_PROCESS = 1, UUID_TRACKS, UUID_COUNTERS = UUID_TRACKS + TRACK_COUNT };

static struct buf *message_begin(struct buf *b)
{
    buf_reset(b);
    return b;
}

static void packet_end(struct trace *t)
{
    put_varint(&t->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
    put_message(t->out, TRACE_PACKET, &t->packet);
}

/* Tells where the phone's clock stood at session start, so that a viewer can show its time. */
static void perfetto_clocks(struct trace *t)
{
    const struct {
        unsigned clock;
        uint64_t ns;
    } clocks[] = {{CLOCK_BOOTTIME, 0},
                  {CLOCK_REALTIME, (uint64_t)t->s->header.wall_start_ms * 1000000}};
    struct buf *snapshot = message_begin(&t->event);

    for (size_t i = 0; i < 2; i++) {
        struct buf *clock = message_begin(&t->value);

        put_varint(clock, CLOCK_ID, clocks[i].clock);
        put_varint(clock, CLOCK_TIMESTAMP, clocks[i].ns);
        put_message(snapshot, SNAPSHOT_CLOCKS, clock);
    }
    message_begin(&t->packet);
    put_varint(&t->packet, PACKET_SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
    put_varint(&t->packet, PACKET_FIRST_ON_SEQUENCE, 1);
    if (t->s->header.wall_start_ms > 0 && t->s->header.wall_start_ms < INT64_MAX / 1000000)
        put_message(&t->packet, PACKET_CLOCK_SNAPSHOT, snapshot);
    packet_end(t);
}

static void descriptor_end(struct trace *t, const struct buf *descriptor)
{
    message_begin(&t->packet);
    put_message(&t->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
    packet_end(t);
}

static void perfetto_begin(struct trace *t, const char *process_name)
{
    const unsigned char *id = t->s->header.session_id;

    /* 32 bits of the session's id: few enough for short varints, enough to open some together */
    for (unsigned i = 4; i < 8; i++)
        t->uuid = t->uuid << 8 | id[i];
    t->uuid = (t->uuid | UINT64_C(1) << 32) << 9;
    perfetto_clocks(t);

    struct buf *process = message_begin(&t->value), *d = message_begin(&t->event);

    put_varint(process, PROCESS_PID, (uint64_t)process_id(t->s));
    put_text(process, PROCESS_NAME, process_name);
    put_varint(d, DESCRIPTOR_UUID, track_uuid(t, UUID_PROCESS));
    put_message(d, DESCRIPTOR_PROCESS, process);
    put_varint(d, DESCRIPTOR_CHILD_ORDERING, ORDERING_EXPLICIT);
    descriptor_end(t, d);
}

static struct buf *child_begin(struct trace *t, unsigned n, const char *name)
{
    struct buf *d = message_begin(&t->event);

    put_varint(d, DESCRIPTOR_UUID, track_uuid(t, n));
    put_varint(d, DESCRIPTOR_PARENT_UUID, track_uuid(t, UUID_PROCESS));
    put_text(d, DESCRIPTOR_NAME, name);
    put_varint(d, DESCRIPTOR_SIBLING_ORDER_RANK, n);
    return d;
}

static void perfetto_track(struct trace *t, enum track track, const char *name)
{
    descriptor_end(t, child_begin(t, UUID_TRACKS + track, name));
}

/* Sizes and times in the schema's own units, so that a viewer scales them; others by name. */
static void put_unit(struct buf *counter, const char *unit)
{
    bool kib = strcmp(unit, "KiB") == 0, us = strncmp(unit, "us", 2) == 0;

    if (kib || us) {
        put_varint(counter, COUNTER_UNIT, kib ? UNIT_SIZE_BYTES : UNIT_TIME_NS);
        put_varint(counter, COUNTER_UNIT_MULTIPLIER, kib ? 1024 : 1000);
    } else {
        put_text(counter, COUNTER_UNIT_NAME, unit);
    }
}

static void perfetto_counter(struct trace *t, unsigned counter, const char *name, const char *unit)
{
    struct buf *d = child_begin(t, UUID_COUNTERS + counter, name), *c = message_begin(&t->value);

    put_unit(c, unit);
    put_message(d, DESCRIPTOR_COUNTER, c);
    descriptor_end(t, d);
}

static struct buf *event_begin(struct trace *t, unsigned type, unsigned track)
{
    struct buf *e = message_begin(&t->event);

    put_varint(e, EVENT_TYPE, type);
    put_varint(e, EVENT_TRACK_UUID, track_uuid(t, track));
    return e;
}

static void event_end(struct trace *t, uint64_t t_us)
{
    message_begin(&t->packet);
    put_varint(&t->packet, PACKET_TIMESTAMP, t_us > UINT64_MAX / 1000 ? UINT64_MAX : t_us * 1000);
    put_message(&t->packet, PACKET_TRACK_EVENT, &t->event);
    packet_end(t);
}

static void put_stack(struct trace *t, const struct part_stack *stack)
{
    for (size_t i = 0; i < stack->n; i++) {
        struct buf *value = message_begin(&t->value);

        put_text(value, ANNOTATION_STRING, frame_text(t, &stack->frames[i]));
        put_message(&t->annotation, ANNOTATION_ARRAY, value);
    }
}

static void put_annotations(struct trace *t, struct args args)
{
    for (size_t i = 0; i < args.n; i++) {
        const struct arg *a = &args.at[i];
        struct buf *annotation = message_begin(&t->annotation);

        if (a->type == ARG_STACK && !a->stack)
            continue;
        put_text(annotation, ANNOTATION_NAME, a->name);
        if (a->type == ARG_NUMBER)
            put_varint(annotation, ANNOTATION_INT, (uint64_t)a->number);
        else if (a->type == ARG_STRING)
            put_text(annotation, ANNOTATION_STRING, a->text);
        else
            put_stack(t, a->stack);
        put_message(&t->event, EVENT_ANNOTATION, annotation);
    }
}

static void perfetto_slice(struct trace *t, enum track track, uint64_t from_us, uint64_t to_us,
                           const char *name, struct args args)
{
    struct buf *e = event_begin(t, TYPE_SLICE_BEGIN, UUID_TRACKS + track);

    put_text(e, EVENT_NAME, name);
    put_annotations(t, args);
    event_end(t, from_us);
    event_begin(t, TYPE_SLICE_END, UUID_TRACKS + track);
    event_end(t, to_us);
}

static void perfetto_instant(struct trace *t, enum track track, uint64_t t_us, const char *name,
                             struct args args)
{
    put_text(event_begin(t, TYPE_INSTANT, UUID_TRACKS + track), EVENT_NAME, name);
    put_annotations(t, args);
    event_end(t, t_us);
}

static void perfetto_sample(struct trace *t, unsigned counter, uint64_t t_us, int64_t value)
{
    put_varint(event_begin(t, TYPE_COUNTER, UUID_COUNTERS + counter), EVENT_COUNTER_VALUE,
               (uint64_t)value);
    event_end(t, t_us);
}

static void perfetto_end(struct trace *t)
{
    (void)t; /* packets only */
}

static const struct format perfetto = {perfetto_begin, perfetto_track,   perfetto_counter,
                                       perfetto_slice, perfetto_instant, perfetto_sample,
                                       perfetto_end};

/* The walk --------------------------------------------------------------------------------------
 */

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool has_field(const struct session *s, unsigned field)
{
    for (size_t i = 0; i < s->n_hardware; i++)
        if (hardware_has(&s->hardware[i], field))
            return true;
    return false;
}

static void tell_tracks(struct trace *t)
{
    static const char *const label[TRACK_COUNT] = {
#define X(name, label) label,
        TRACKS(X)
#undef X
    };
    unsigned cores = view_core_count(t->s);

    for (unsigned i = 0; i < TRACK_COUNT; i++)
        t->format->track(t, i, label[i]);
    t->format->counter(t, COUNTER_FRAME_TIME, "frame_time_us", "us");
    for (unsigned f = 0; f < HW_COUNT; f++)
        if (has_field(t->s, f))
            t->format->counter(t, COUNTER_HARDWARE + f, hardware_info[f].name,
                               hardware_info[f].unit);
    for (unsigned c = 0; c < cores; c++)
        t->format->counter(t, COUNTER_CORES + c, counter_name(t, COUNTER_CORES + c), "kHz");
}

static void tell_session(struct trace *t)
{
    const struct part_header *h = &t->s->header;
    char id[2 * SESSION_ID_BYTES + 1] = "";

    for (unsigned i = 0; i < SESSION_ID_BYTES; i++) {
        id[2 * i] = "0123456789abcdef"[h->session_id[i] >> 4];
        id[2 * i + 1] = "0123456789abcdef"[h->session_id[i] & 15];
    }
    t->format->slice(t, TRACK_session, 0, t->s->end_us, id,
                     ARGS(STRING("app", h->app), STRING("platform", h->platform),
                          STRING("version_name", h->version_name),
                          NUMBER("version_code", (int64_t)h->version_code),
                          STRING("build_id", h->build_id), STRING("manufacturer", h->manufacturer),
                          STRING("model", h->model), STRING("soc", h->soc), STRING("gpu", h->gpu),
                          STRING("os_version", h->os_version), NUMBER("ram_mb", h->ram_mb),
                          NUMBER("environment", h->environment),
                          NUMBER("wall_start_ms", h->wall_start_ms)));
}

static void tell_scenes(struct trace *t)
{
    uint64_t last = 0;

    for (size_t i = 0; i < t->s->n_scene_changes; i++) {
        const struct part_scene *scene = &t->s->scene_changes[i];
        const char *key = view_scene_key(t->s, i);
        uint64_t from = later(scene->t_us, last);

        last = later(view_scene_end(t->s, i), from);
        t->format->slice(t, TRACK_scenes, from, last, key[0] ? key : "(no scene)",
                         ARGS(STRING("mode", scene->mode), STRING("map", scene->map)));
    }
}

static const char *frame_name(const struct frame *f)
{
    static const char *const jank[4] = {"frame", "minor jank", "normal jank", "severe jank"};

    if (f->state != FRAME_VALID)
        return view_state_name[f->state];
    if (!f->jank && f->missed)
        return "missed frame";
    return jank[f->jank & 3];
}

static void tell_frames(struct trace *t)
{
    uint64_t last = 0;

    for (size_t i = 0; i < t->s->n_frames; i++) {
        const struct frame *f = &t->s->frames[i];
        bool plain = f->state == FRAME_VALID && !f->jank && !f->missed;

        if (f->start_us < last)
            continue; /* overlaps the frame before it: a track cannot show that */
        last = plus(f->start_us, f->interval_us);
        t->format->slice(t, TRACK_frames, f->start_us, last, frame_name(f),
                         plain ? NO_ARGS
                               : ARGS(NUMBER("target_us", f->target_us),
                                      NUMBER("perfdog_jank", f->perfdog_jank),
                                      NUMBER("perfdog_big", f->perfdog_big)));
    }
    for (size_t i = 0; i < t->s->n_frames; i++)
        if (t->s->frames[i].state == FRAME_VALID)
            t->format->sample(t, COUNTER_FRAME_TIME, t->s->frames[i].start_us,
                              t->s->frames[i].interval_us);
}

/* Janks told by the SDK alone may overlap: then the later one is drawn from the end of the one
 * before, and its arguments tell its true begin. */
static void tell_janks(struct trace *t)
{
    static const char *const name[4] = {"jank", "minor jank", "normal jank", "severe jank"};
    uint64_t last = 0;

    for (size_t i = 0; i < t->r->n_events; i++) {
        const struct jank_event *e = &t->r->events[i];
        uint64_t from = later(e->start_us, last);

        last = later(plus(e->start_us, e->duration_us), from);
        t->format->slice(
            t, TRACK_janks, from, last, name[e->level & 3],
            ARGS(STRING("cause", jank_cause_name[e->cause]), STRING("evidence", e->evidence),
                 STRING("scene", e->scene < t->s->n_scenes ? t->s->scenes[e->scene].key : ""),
                 NUMBER("start_us", (int64_t)e->start_us),
                 NUMBER("duration_us", (int64_t)e->duration_us),
                 NUMBER("perfdog_jank", e->perfdog_jank), NUMBER("perfdog_big", e->perfdog_big),
                 STACK("stack", e->n_samples ? e->samples[0].stack : NULL)));
    }
}

static void tell_stack(struct trace *t, enum track track, uint64_t t_us, const char *name,
                       const struct part_stack *stack)
{
    t->format->instant(t, track, t_us, name,
                       ARGS(STRING("thread", stack->thread), STACK("stack", stack)));
}

/* A sample is named by its innermost frame. */
static void tell_stacks(struct trace *t)
{
    for (size_t i = 0; i < t->r->n_events; i++) {
        const struct jank_event *e = &t->r->events[i];

        for (size_t k = 0; k < e->n_samples; k++) {
            const struct part_stack *stack = e->samples[k].stack;
            struct buf name;

            if (!stack || !stack->n)
                continue;
            buf_init(&name, SCRATCH_CAP);
            view_frame_text(&stack->frames[0], &name);
            buf_byte(&name, 0);
            if (buf_ok(&name))
                tell_stack(t, TRACK_stacks, e->samples[k].t_us, (const char *)name.at, stack);
            buf_fini(&name);
        }
    }
}

static void tell_lifecycle(struct trace *t)
{
    struct view_span span;

    for (size_t at = 0; view_next_background(t->s, &at, &span);)
        t->format->slice(t, TRACK_lifecycle, span.from_us, later(span.to_us, span.from_us),
                         "background", NO_ARGS);
    for (size_t i = 0; i < t->s->n_lifecycle; i++) {
        const struct part_lifecycle *l = &t->s->lifecycle[i];

        if (l->kind != LIFE_BACKGROUND && l->kind != LIFE_FOREGROUND)
            t->format->instant(t, TRACK_lifecycle, l->t_us, view_lifecycle_name[l->kind],
                               ARGS(NUMBER("duration_ms", (int64_t)l->duration_ms)));
    }
    for (size_t i = 0; i < t->s->n_steps; i++)
        t->format->instant(t, TRACK_steps, t->s->steps[i].t_us,
                           t->s->steps[i].name ? t->s->steps[i].name : "", NO_ARGS);
}

static void tell_reports(struct trace *t)
{
    for (size_t i = 0; i < t->s->n_crashes; i++) {
        const struct part_crash *c = &t->s->crashes[i];

        t->format->instant(t, TRACK_reports, c->t_us, "crash",
                           ARGS(NUMBER("signal", c->signal), STRING("reason", c->reason),
                                STACK("stack", c->stack)));
    }
    for (size_t i = 0; i < t->s->n_feedback; i++) {
        const struct part_feedback *f = &t->s->feedback[i];

        t->format->instant(t, TRACK_reports, f->t_us, "feedback",
                           ARGS(STRING("category", f->category), STRING("text", f->text)));
    }
}

/* Only values within bounds. */
static void tell_hardware(struct trace *t)
{
    for (size_t i = 0; i < t->s->n_hardware; i++) {
        const struct hardware_sample *h = &t->s->hardware[i];

        for (unsigned f = 0; f < HW_COUNT; f++)
            if (hardware_has(h, f))
                t->format->sample(t, COUNTER_HARDWARE + f, h->t_us, h->value[f]);
        for (unsigned c = 0; c < h->n_cores && c < MAX_CORES; c++)
            if (!(h->invalid_cores >> c & 1))
                t->format->sample(t, COUNTER_CORES + c, h->t_us, h->core_khz[c]);
    }
}

static void write_process_name(const struct part_header *h, struct buf *name)
{
    buf_printf(name, "%s %s on %s", h->app && h->app[0] ? h->app : "game",
               h->version_name ? h->version_name : "", h->model ? h->model : "");
    buf_byte(name, 0);
}

static void walk(struct trace *t)
{
    struct buf name;

    buf_init(&name, SCRATCH_CAP);
    write_process_name(&t->s->header, &name);
    t->format->begin(t, buf_ok(&name) ? (const char *)name.at : "game");
    buf_fini(&name);
    tell_tracks(t);
    tell_session(t);
    tell_scenes(t);
    tell_frames(t);
    tell_janks(t);
    tell_stacks(t);
    tell_lifecycle(t);
    tell_reports(t);
    tell_hardware(t);
    t->format->end(t);
}

static void write_trace(const struct format *format, const struct session *s,
                        const struct session_result *r, struct buf *out)
{
    struct trace t = {.s = s, .r = r, .format = format, .out = out};
    struct buf *const scratch[] = {&t.text, &t.packet, &t.event, &t.annotation, &t.value};

    for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++)
        buf_init(scratch[i], SCRATCH_CAP);
    walk(&t);
    for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++)
        buf_fini(scratch[i]);
}

void trace_chrome(const struct session *s, const struct session_result *r, struct buf *out)
{
    write_trace(&chrome, s, r, out);
}

void trace_perfetto(const struct session *s, const struct session_result *r, struct buf *out)
{
    write_trace(&perfetto, s, r, out);
}
