#include "profile/part.h"

#include "profile/pbwire.h"
#include "profile/view.h"
#include "profile/zframe.h"

#include "session.pb-c.h"

#include <string.h>

/* Everything is printed from the schema's descriptors: a new field of session.proto needs no line
 * here. Fields are read off the wire one by one, so memory does not grow with a hostile packet. */

#define MAX_DEPTH 16
#define LINE_CAP ((size_t)256 << 20)
#define EXACT_IN_JSON (UINT64_C(1) << 53) /* beyond it a number is printed as a string */

struct dump {
    struct buf line, text;
    bool (*emit)(void *user, const char *text, size_t len);
    void *user;
    size_t packets, limit;
    bool malformed; /* a packet was */
    bool stopped;   /* by the callback */
};

static bool is_message(const ProtobufCFieldDescriptor *f)
{
    return f->type == PROTOBUF_C_TYPE_MESSAGE;
}

/* The wire type of one value of this field. */
static enum pb_wire wire_of(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PB_BYTES;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return PB_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return PB_FIXED64;
    default:
        return PB_VARINT;
    }
}

/* Several values in one row of bytes. */
static bool is_packed(const ProtobufCFieldDescriptor *f, const struct pb_field *w)
{
    return f->label == PROTOBUF_C_LABEL_REPEATED && w->wire == PB_BYTES && wire_of(f) != PB_BYTES;
}

/* The schema's field that this one is; NULL if it knows none of this number and wire type. */
static const ProtobufCFieldDescriptor *known(const ProtobufCMessageDescriptor *d,
                                             const struct pb_field *w)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(d, w->number);

    return f && (w->wire == wire_of(f) || is_packed(f, w)) ? f : NULL;
}

/* Values of a packed row, one at a time. */
static bool next_packed(const ProtobufCFieldDescriptor *f, struct cursor *c, struct pb_field *out)
{
    if (c->failed || !cursor_left(c))
        return false;
    *out = (struct pb_field){.number = f->id, .wire = wire_of(f)};
    out->value = out->wire == PB_VARINT    ? cursor_uleb(c)
                 : out->wire == PB_FIXED64 ? cursor_u64le(c)
                                           : cursor_u32le(c);
    return !c->failed;
}

static bool well_formed(const ProtobufCMessageDescriptor *d, const unsigned char *bytes, size_t n,
                        unsigned depth)
{
    struct cursor c = cursor_over(bytes, n, d->short_name);

    if (depth > MAX_DEPTH)
        return false;
    for (struct pb_field w, v; pb_next(&c, &w);) {
        const ProtobufCFieldDescriptor *f = known(d, &w);

        if (f && is_message(f) && !well_formed(f->descriptor, w.bytes, w.n, depth + 1))
            return false;
        if (f && is_packed(f, &w)) {
            struct cursor row = cursor_over(w.bytes, w.n, f->name);

            while (next_packed(f, &row, &v))
                continue;
            if (row.failed)
                return false;
        }
    }
    return !c.failed;
}

/* Values ----------------------------------------------------------------------------------------
 */

static void put_unsigned(struct buf *out, uint64_t v)
{
    const char *quote = v > EXACT_IN_JSON ? "\"" : "";

    buf_printf(out, "%s%llu%s", quote, (unsigned long long)v, quote);
}

static void put_signed(struct buf *out, int64_t v)
{
    const char *quote = v > (int64_t)EXACT_IN_JSON || v < -(int64_t)EXACT_IN_JSON ? "\"" : "";

    buf_printf(out, "%s%lld%s", quote, (long long)v, quote);
}

static float as_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float v;

    memcpy(&v, &low, sizeof v);
    return v;
}

static double as_double(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static void put_enum(struct buf *out, const ProtobufCEnumDescriptor *e, int32_t v)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(e, v);

    if (value)
        view_json_text(out, value->name);
    else
        buf_i64(out, v);
}

/* A NUL within a text shows as U+FFFD, as other bytes do that are no UTF-8. */
static void put_string(struct dump *d, const unsigned char *bytes, size_t n)
{
    buf_reset(&d->text);
    for (size_t i = 0; i < n; i++)
        buf_byte(&d->text, bytes[i] ? bytes[i] : 0xff);
    buf_byte(&d->text, 0);
    if (buf_ok(&d->text))
        buf_json_string(&d->line, (const char *)d->text.at);
    else
        d->line.failed = true;
}

static void put_hex(struct buf *out, const unsigned char *bytes, size_t n)
{
    buf_byte(out, '"');
    view_hex(bytes, n, out);
    buf_byte(out, '"');
}

static void put_message(struct dump *d, const ProtobufCMessageDescriptor *desc,
                        const unsigned char *bytes, size_t n);

static void put_value(struct dump *d, const ProtobufCFieldDescriptor *f, const struct pb_field *w)
{
    struct buf *out = &d->line;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        put_message(d, f->descriptor, w->bytes, w->n);
        break;
    case PROTOBUF_C_TYPE_STRING:
        put_string(d, w->bytes, w->n);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        put_hex(out, w->bytes, w->n);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        buf_text(out, w->value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        put_enum(out, f->descriptor, (int32_t)w->value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        view_real(out, (double)as_float(w->value), true);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        view_real(out, as_double(w->value), false);
        break;
    case PROTOBUF_C_TYPE_SINT32:
        put_signed(out, (int32_t)unzigzag((uint32_t)w->value));
        break;
    case PROTOBUF_C_TYPE_SINT64:
        put_signed(out, unzigzag(w->value));
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        put_signed(out, (int32_t)w->value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        put_signed(out, (int64_t)w->value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        put_unsigned(out, (uint32_t)w->value);
        break;
    default:
        put_unsigned(out, w->value);
    }
}

/* Messages --------------------------------------------------------------------------------------
 */

static void put_values(struct dump *d, const ProtobufCFieldDescriptor *f, const struct pb_field *w,
                       bool *first)
{
    struct cursor row = cursor_over(w->bytes, w->n, f->name);
    struct pb_field v;

    if (!is_packed(f, w)) {
        view_comma(&d->line, first);
        put_value(d, f, w);
        return;
    }
    while (next_packed(f, &row, &v)) {
        view_comma(&d->line, first);
        put_value(d, f, &v);
    }
}

static void put_name(struct dump *d, const char *name, bool *first)
{
    view_comma(&d->line, first);
    view_json_text(&d->line, name);
    buf_byte(&d->line, ':');
}

/* All values of a repeated field, or the last of another: the one that counts. */
static void put_field(struct dump *d, const ProtobufCMessageDescriptor *desc,
                      const ProtobufCFieldDescriptor *f, struct cursor c, bool *first)
{
    struct pb_field w, last;
    bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED, any = false, first_value = true;

    while (pb_next(&c, &w)) {
        if (w.number != f->id || known(desc, &w) != f)
            continue;
        if (!any)
            put_name(d, f->name, first);
        if (!any && repeated)
            buf_byte(&d->line, '[');
        any = true;
        last = w;
        if (repeated)
            put_values(d, f, &w, &first_value);
    }
    if (any && repeated)
        buf_byte(&d->line, ']');
    else if (any)
        put_value(d, f, &last);
}

static void put_unknown_field(struct dump *d, const struct pb_field *w)
{
    buf_printf(&d->line, "{\"field\":%u,", w->number);
    if (w->wire == PB_BYTES) {
        buf_text(&d->line, "\"bytes\":");
        put_hex(&d->line, w->bytes, w->n);
    } else {
        buf_text(&d->line, w->wire == PB_VARINT    ? "\"varint\":"
                           : w->wire == PB_FIXED64 ? "\"fixed64\":"
                                                   : "\"fixed32\":");
        put_unsigned(&d->line, w->value);
    }
    buf_byte(&d->line, '}');
}

static void put_unknown(struct dump *d, const ProtobufCMessageDescriptor *desc, struct cursor c,
                        bool *first)
{
    bool any = false, first_value = true;

    for (struct pb_field w; pb_next(&c, &w);) {
        if (known(desc, &w))
            continue;
        if (!any) {
            put_name(d, "unknown", first);
            buf_byte(&d->line, '[');
        }
        any = true;
        view_comma(&d->line, &first_value);
        put_unknown_field(d, &w);
    }
    if (any)
        buf_byte(&d->line, ']');
}

static void put_members(struct dump *d, const ProtobufCMessageDescriptor *desc,
                        const unsigned char *bytes, size_t n, bool *first)
{
    struct cursor c = cursor_over(bytes, n, desc->short_name);

    for (unsigned i = 0; i < desc->n_fields; i++)
        put_field(d, desc, &desc->fields[i], c, first);
    put_unknown(d, desc, c, first);
}

static void put_message(struct dump *d, const ProtobufCMessageDescriptor *desc,
                        const unsigned char *bytes, size_t n)
{
    bool first = true;

    buf_byte(&d->line, '{');
    put_members(d, desc, bytes, n, &first);
    buf_byte(&d->line, '}');
}

/* Lines -----------------------------------------------------------------------------------------
 */

static bool emit_line(struct dump *d, struct err *err)
{
    if (!buf_ok(&d->line))
        return err_set(err, ERR_TOO_BIG, "packet %zu: its line is longer than %zu MB", d->packets,
                       LINE_CAP >> 20);
    d->stopped = !d->emit(d->user, (const char *)d->line.at, d->line.len);
    return !d->stopped;
}

static void begin_line(struct dump *d, const char *kind)
{
    buf_reset(&d->line);
    buf_text(&d->line, "{\"packet\":");
    view_json_text(&d->line, kind);
}

static bool line_of_unknown(struct dump *d, const struct pb_field *w, struct err *err)
{
    begin_line(d, "unknown");
    buf_text(&d->line, ",\"unknown\":[");
    put_unknown_field(d, w);
    buf_text(&d->line, "]}");
    return emit_line(d, err);
}

static bool line_of_body(struct dump *d, const struct pb_field *w, struct err *err)
{
    const ProtobufCFieldDescriptor *f = known(&framewatch__packet__descriptor, w);
    bool first = false;

    if (!f || !is_message(f))
        return line_of_unknown(d, w, err);
    begin_line(d, f->name);
    put_members(d, f->descriptor, w->bytes, w->n, &first);
    buf_byte(&d->line, '}');
    return emit_line(d, err);
}

/* A packet has one body; one that has more prints a line each, one that has none says so. */
static bool dump_packet(struct dump *d, const unsigned char *bytes, size_t n, struct err *err)
{
    struct cursor c = cursor_over(bytes, n, "Packet");

    if (!well_formed(&framewatch__packet__descriptor, bytes, n, 0)) {
        d->malformed = true;
        return false;
    }
    if (d->packets == d->limit)
        return err_set(err, ERR_TOO_BIG, "more than %zu packets", d->limit);
    d->packets++;
    if (!n) {
        begin_line(d, "empty");
        buf_byte(&d->line, '}');
        return emit_line(d, err);
    }
    for (struct pb_field w; pb_next(&c, &w);)
        if (!line_of_body(d, &w, err))
            return false;
    return true;
}

static bool dump_log(struct dump *d, const unsigned char *bytes, size_t n, struct err *err)
{
    struct cursor c = cursor_over(bytes, n, "SessionLog");

    for (struct pb_field w; pb_next(&c, &w);) {
        bool is_packet = known(&framewatch__session_log__descriptor, &w) != NULL;

        if (!(is_packet ? dump_packet(d, w.bytes, w.n, err) : line_of_unknown(d, &w, err)))
            return false;
    }
    if (c.failed)
        d->malformed = true;
    return !c.failed;
}

static bool end_line(struct dump *d, const struct zframe_reader *r, struct err *err)
{
    const char *end = d->malformed || r->damaged ? "damaged" : "truncated";

    buf_reset(&d->line);
    buf_printf(&d->line,
               "{\"end\":\"%s\",\"zstd_frames\":%zu,\"packets\":%zu,\"whole_bytes\":%zu,"
               "\"file_bytes\":%zu,\"malformed_packet\":%s}",
               end, r->frames, d->packets, r->at, r->size, d->malformed ? "true" : "false");
    return emit_line(d, err);
}

static bool dump_frames(struct dump *d, struct zframe_reader *r, struct err *err)
{
    const unsigned char *content;
    size_t n;

    while (zframe_next(r, &content, &n, err))
        if (!dump_log(d, content, n, err)) {
            if (!d->malformed)
                return d->stopped;
            break;
        }
    if (r->failed)
        return false;
    if (!r->frames && (r->damaged || r->size < 4))
        return err_set(err, ERR_INVALID, "not a session file: it does not begin with a zstd frame");
    if (d->malformed || r->damaged || r->at < r->size)
        return end_line(d, r, err) || d->stopped;
    return true;
}

bool part_dump(const void *bytes, size_t size, const struct part_limits *limits,
               bool (*line)(void *user, const char *text, size_t len), void *user, struct err *err)
{
    struct dump d = {.emit = line, .user = user, .limit = limits->packets};
    struct zframe_reader r;
    struct arena *mem = arena_new(4 * limits->decompressed_bytes + ((size_t)1 << 20));

    if (!mem)
        return err_memory(err);
    buf_init(&d.line, LINE_CAP);
    buf_init(&d.text, LINE_CAP);
    zframe_begin(&r, bytes, size, limits, mem);

    bool ok = dump_frames(&d, &r, err);

    zframe_end(&r);
    buf_fini(&d.line);
    buf_fini(&d.text);
    arena_free(mem);
    return ok;
}
