#include "src/buffer/crash_recover.h"

#include "platform/arch.h"
#include "src/buffer/crash_record.h"
#include "src/buffer/recover.h"
#include "src/buffer/ring.h"
#include "wire/writer.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SECTIONS 4096u
#define OVERFLOW_BYTES 65536u /* a fault so near the stack pointer is an overflow */
#define PACKET_TAG 0x0a       /* SessionLog.packet */
#define HEADER_TAG 0x0a       /* Packet.header */
#define PART_START_FIELD 12   /* Header.part_start_us */

/* Packets. */

static bool varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* A length-delimited field that ends at or before `end`; *at is moved to its content. */
static bool field(const unsigned char **at, const unsigned char *end, uint64_t *tag,
                  const unsigned char **content_end)
{
    uint64_t n;

    if (!varint(at, end, tag) || (*tag & 7) != 2 || !varint(at, end, &n) ||
        n > (uint64_t)(end - *at))
        return false;
    *content_end = *at + n;
    return true;
}

size_t fw_whole_packets(const void *bytes, size_t n)
{
    const unsigned char *from = bytes, *end = from + n, *at = from, *whole = from;

    while (at < end) {
        const unsigned char *packet_end, *body_end;
        uint64_t tag, body;

        if (!field(&at, end, &tag, &packet_end) || tag != PACKET_TAG ||
            !field(&at, packet_end, &body, &body_end) || body_end != packet_end)
            break;
        at = whole = packet_end;
    }
    return (size_t)(whole - from);
}

/* The header again, with its part beginning at t_us. */
static bool add_header(struct fw_buf *out, const unsigned char *bytes, size_t n, uint64_t t_us)
{
    const unsigned char *at = bytes, *end, *body_end;
    uint64_t tag;

    if (fw_whole_packets(bytes, n) != n || !n || !field(&at, bytes + n, &tag, &end) ||
        !field(&at, end, &tag, &body_end) || tag != HEADER_TAG)
        return false;

    size_t packet = fw_pb_open(out, 1), header = fw_pb_open(out, 1);
    fw_buf_add(out, at, (size_t)(body_end - at));
    fw_pb_u64(out, PART_START_FIELD, t_us); /* of two values of a field the last one counts */
    fw_pb_close(out, header);
    fw_pb_close(out, packet);
    return !out->failed;
}

/* Reasons. */

static const char *signal_name(int signal)
{
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGABRT:
        return "SIGABRT";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "signal";
    }
}

static const char *code_name(int signal, int code)
{
    static const char *const segv[] = {"", " SEGV_MAPERR", " SEGV_ACCERR"},
                             *const bus[] = {"", " BUS_ADRALN", " BUS_ADRERR", " BUS_OBJERR"},
                             *const fpe[] = {"", " FPE_INTDIV", " FPE_INTOVF"},
                             *const ill[] = {"", " ILL_ILLOPC", " ILL_ILLOPN"};

    if (code <= 0)
        return signal == SIGABRT ? "" : " sent by a process";
    if (signal == SIGSEGV && code < 3)
        return segv[code];
    if (signal == SIGBUS && code < 4)
        return bus[code];
    if (signal == SIGFPE && code < 3)
        return fpe[code];
    if (signal == SIGILL && code < 3)
        return ill[code];
    return "";
}

void fw_crash_reason(const struct fw_crash_fault *f, char *out, size_t size)
{
    bool fault = f->code > 0 && f->signal != SIGABRT;
    bool overflow =
        fault && f->signal == SIGSEGV && f->address - (f->sp - OVERFLOW_BYTES) < 2 * OVERFLOW_BYTES;
    char address[32] = "";

    if (fault)
        snprintf(address, sizeof address, " at 0x%" PRIx64, f->address);
    snprintf(out, size, "%s%s%s%s in thread %.15s", signal_name(f->signal),
             code_name(f->signal, f->code), address, overflow ? " (stack overflow)" : "",
             f->main ? "main" : f->thread);
}

/* The record. */

struct record {
    int fd;
    struct fw_crash_fault fault;
    struct fw_crash_slice slice;
    struct fw_crash_module module[FW_CRASH_MODULES];
    struct fw_crash_frame frame[FW_CRASH_FRAMES];
    size_t n_modules, n_frames;
    bool has_fault, has_slice;
    off_t header_at;
    size_t header_n;
};

struct section {
    uint32_t kind, n;
    off_t at;
};

static bool next_section(const struct record *r, off_t *at, struct section *out)
{
    struct fw_crash_section head;

    if (pread(r->fd, &head, sizeof head, *at) != (ssize_t)sizeof head ||
        head.n > FW_CRASH_MAX_BYTES)
        return false;
    *out = (struct section){head.kind, head.n, *at + (off_t)sizeof head};
    *at = out->at + (off_t)head.n;
    return true;
}

static bool load(const struct record *r, const struct section *s, size_t skip, void *out, size_t n)
{
    return s->n >= skip + n && pread(r->fd, out, n, s->at + (off_t)skip) == (ssize_t)n;
}

/* As many whole items as the section holds and the list takes. */
static size_t load_list(const struct record *r, const struct section *s, void *out, size_t size,
                        size_t max)
{
    size_t n = s->n / size < max ? s->n / size : max;

    return load(r, s, 0, out, n * size) ? n : 0;
}

static void read_section(struct record *r, const struct section *s)
{
    switch (s->kind) {
    case FW_CRASH_HEADER:
        r->header_at = s->at;
        r->header_n = s->n;
        break;
    case FW_CRASH_FAULT:
        r->has_fault = load(r, s, 0, &r->fault, sizeof r->fault);
        r->fault.thread[FW_CRASH_THREAD_BYTES - 1] = 0;
        break;
    case FW_CRASH_SLICE:
        r->has_slice = load(r, s, 0, &r->slice, sizeof r->slice);
        break;
    case FW_CRASH_MODULE_LIST:
        r->n_modules = load_list(r, s, r->module, sizeof *r->module, FW_CRASH_MODULES);
        break;
    case FW_CRASH_FRAME_LIST:
        r->n_frames = load_list(r, s, r->frame, sizeof *r->frame, FW_CRASH_FRAMES);
        break;
    default:
        break;
    }
}

static bool read_record(struct record *r)
{
    char magic[FW_CRASH_MAGIC_BYTES];
    off_t at = FW_CRASH_MAGIC_BYTES;
    struct section s;

    if (pread(r->fd, magic, sizeof magic, 0) != (ssize_t)sizeof magic ||
        memcmp(magic, FW_CRASH_MAGIC, sizeof magic) != 0)
        return false;
    for (unsigned i = 0; i < MAX_SECTIONS && next_section(r, &at, &s); i++)
        read_section(r, &s);
    return r->has_fault;
}

/* The last slice. */

static void add_packets(const struct record *r, const struct section *s, size_t skip,
                        struct fw_slice *to)
{
    size_t n = s->n > skip ? s->n - skip : 0, before = to->raw.len;
    void *room = n ? fw_buf_room(&to->raw, n) : NULL;

    to->raw.failed = false;
    if (!room)
        return;
    ssize_t got = pread(r->fd, room, n, s->at + (off_t)skip);
    to->raw.len = before + fw_whole_packets(room, got > 0 ? (size_t)got : 0);
}

static void add_row(const struct record *r, const struct section *s, struct fw_slice *to)
{
    struct fw_crash_row head;
    uint32_t interval[64];

    if (!load(r, s, 0, &head, sizeof head))
        return;
    fw_slice_target(to, head.target_interval_us, head.refresh_millihertz);
    fw_slice_dropped(to, head.dropped);

    uint64_t t = head.start_us;
    size_t at = sizeof head, n;
    fw_slice_present(to, t);
    for (uint32_t done = 0; done < head.n; done += (uint32_t)n) {
        n = head.n - done < 64 ? head.n - done : 64;
        if (!load(r, s, at + done * sizeof *interval, interval, n * sizeof *interval))
            return;
        for (size_t i = 0; i < n; i++)
            fw_slice_present(to, t += interval[i]);
    }
}

static void add_presents(const struct record *r, const struct section *s, struct fw_slice *to)
{
    uint64_t slot[64];
    size_t all = s->n / sizeof *slot, n;

    for (size_t done = 0; done < all; done += n) {
        n = all - done < 64 ? all - done : 64;
        if (!load(r, s, done * sizeof *slot, slot, n * sizeof *slot))
            return;
        for (size_t i = 0; i < n; i++) {
            uint64_t ns = slot[i] & ~FW_RING_ROW_START;

            if (slot[i] & FW_RING_ROW_START)
                fw_slice_break(to);
            if (ns >= r->slice.start_ns)
                fw_slice_present(to, (ns - r->slice.start_ns) / 1000);
        }
    }
}

/* Fills the scratch with what was in memory. */
static void rebuild_slice(const struct record *r, struct fw_slice *to)
{
    off_t at = FW_CRASH_MAGIC_BYTES;
    struct section s;

    for (unsigned i = 0; i < MAX_SECTIONS && next_section(r, &at, &s); i++)
        if (s.kind == FW_CRASH_SLICE)
            add_packets(r, &s, sizeof(struct fw_crash_slice), to);
        else if (s.kind == FW_CRASH_PACKETS)
            add_packets(r, &s, 0, to);
        else if (s.kind == FW_CRASH_ROW)
            add_row(r, &s, to);
        else if (s.kind == FW_CRASH_PRESENTS)
            add_presents(r, &s, to);
    fw_slice_break(to);
}

/* Behind the open file, unless that has grown since or is gone. */
static void append_slice(struct fw_store *s, const char *name, const struct record *r,
                         struct fw_slice *scratch)
{
    char open_name[FW_FILE_NAME_BYTES];
    struct stat st;

    snprintf(open_name, sizeof open_name, "%.32s-%04u.open", name, r->slice.part % 10000);

    int fd = fw_lock_dead(s, open_name);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == r->slice.bytes) {
        rebuild_slice(r, scratch);
        if (fw_slice_pack(scratch) && lseek(fd, 0, SEEK_END) >= 0 &&
            write(fd, scratch->packed.at, scratch->packed.len) < (ssize_t)scratch->packed.len)
            fw_log_say(s->log, FW_LOG_WARN, "%s: the last slice is cut", open_name);
    }
    close(fd);
}

/* The crash's own part. */

static void add_modules(struct fw_buf *out, const struct record *r)
{
    for (size_t i = 0; i < r->n_modules; i++) {
        const struct fw_crash_module *m = &r->module[i];
        struct fw_wire_module to = {.id = (uint32_t)i + 1,
                                    .arch = fw_arch.name,
                                    .load_address = m->load_address,
                                    .size = m->size};
        char name[sizeof m->name + 1];

        memcpy(name, m->name, sizeof m->name);
        name[sizeof m->name] = 0;
        to.name = name;
        to.debug_id_len = m->build_id_len < sizeof to.debug_id ? m->build_id_len : 0;
        memcpy(to.debug_id, m->build_id, to.debug_id_len);
        fw_wire_module(out, &to);
    }
}

static void add_stack(struct fw_buf *out, const struct record *r)
{
    struct fw_wire_stack_frame frame[FW_CRASH_FRAMES];
    size_t n = r->n_frames;

    for (size_t i = 0; i < n; i++)
        frame[i] = (struct fw_wire_stack_frame){
            .module = r->frame[i].module <= r->n_modules ? r->frame[i].module : 0,
            .offset = r->frame[i].offset};
    if (!n)
        frame[n++] = (struct fw_wire_stack_frame){.offset = r->fault.pc};
    fw_wire_stack(out, &(struct fw_wire_stack){.id = 1,
                                               .frames = frame,
                                               .n = n,
                                               .thread = r->fault.main ? "main" : r->fault.thread});
}

static bool build_part(const struct record *r, struct fw_slice *scratch)
{
    unsigned char header[8192];
    char reason[160];

    if (!r->header_n || r->header_n > sizeof header ||
        pread(r->fd, header, r->header_n, r->header_at) != (ssize_t)r->header_n ||
        !add_header(&scratch->raw, header, r->header_n, r->fault.t_us))
        return false;
    add_modules(&scratch->raw, r);
    add_stack(&scratch->raw, r);
    fw_crash_reason(&r->fault, reason, sizeof reason);
    return fw_wire_crash(&scratch->raw, &(struct fw_wire_crash){.t_us = r->fault.t_us,
                                                                .signal = (uint32_t)r->fault.signal,
                                                                .reason = reason,
                                                                .stack = 1});
}

/* False: there is no room for it now. */
static bool write_part(struct fw_store *s, const char *name, struct fw_slice *scratch)
{
    struct fw_part part;

    if (!fw_part_begin(s, &part, name, FW_CRASH_PART, scratch->packed.at, scratch->packed.len))
        return false;
    fw_part_finish(s, &part);
    return true;
}

bool fw_crash_recover(struct fw_store *s, const char *name, struct fw_slice *scratch)
{
    struct record *r = fw_alloc_zeroed(s->memory, sizeof *r);
    bool made = false, room = true;

    if (!r)
        return false;
    r->fd = fw_lock_dead(s, name);
    if (r->fd >= 0 && read_record(r)) {
        if (r->has_slice)
            append_slice(s, name, r, scratch);
        bool built = build_part(r, scratch);
        if (fw_slice_pack(scratch) && built)
            made = room = write_part(s, name, scratch);
    }
    if (r->fd >= 0) {
        if (room) /* else the next launch tries again */
            unlinkat(s->dir, name, 0);
        close(r->fd);
    }
    fw_release(s->memory, r);
    return made;
}
