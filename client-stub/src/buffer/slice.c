#include "src/buffer/slice.h"

#define PACKED_BYTES (FW_SLICE_BYTES + 4096u) /* past ZSTD_compressBound(FW_SLICE_BYTES) */

bool fw_slice_init(struct fw_slice *s, const struct fw_allocator *memory)
{
    void *raw = fw_alloc(memory, FW_SLICE_BYTES), *packed = fw_alloc(memory, PACKED_BYTES);

    *s = (struct fw_slice){.memory = memory};
    fw_buf_over(&s->raw, raw, FW_SLICE_BYTES);
    fw_buf_over(&s->packed, packed, PACKED_BYTES);
    s->zstd = fw_compressor_new_in(FW_SLICE_BYTES, memory);
    s->row.interval_us = fw_alloc(memory, FW_ROW_FRAMES * sizeof *s->row.interval_us);
    return raw && packed && s->zstd && s->row.interval_us;
}

void fw_slice_fini(struct fw_slice *s)
{
    fw_release(s->memory, s->raw.at);
    fw_release(s->memory, s->packed.at);
    fw_release(s->memory, s->row.interval_us);
    fw_compressor_free(s->zstd);
    *s = (struct fw_slice){0};
}

size_t fw_slice_memory(const struct fw_slice *s)
{
    return FW_SLICE_BYTES + PACKED_BYTES + FW_ROW_FRAMES * sizeof *s->row.interval_us +
           fw_compressor_memory(s->zstd);
}

void fw_slice_check(struct fw_slice *s, bool fitted)
{
    s->lost_packets += !fitted;
}

static void flush_row(struct fw_slice *s)
{
    struct fw_row *r = &s->row;

    if (!r->n && !r->dropped)
        return;
    fw_slice_check(s, fw_wire_frames(&s->raw, &(struct fw_wire_frames){
                                                  .start_us = r->start_us,
                                                  .interval_us = r->interval_us,
                                                  .n = r->n,
                                                  .target_interval_us = r->target_interval_us,
                                                  .refresh_millihertz = r->refresh_millihertz,
                                                  .dropped = r->dropped,
                                              }));
    r->n = 0;
    r->dropped = 0;
    r->start_us = r->last_us;
}

void fw_slice_present(struct fw_slice *s, uint64_t t_us)
{
    struct fw_row *r = &s->row;

    if (r->open && (t_us <= r->last_us || t_us - r->last_us > UINT32_MAX))
        fw_slice_break(s);
    if (!r->open) {
        r->open = true;
        r->start_us = t_us;
    } else {
        if (r->n == FW_ROW_FRAMES)
            flush_row(s);
        r->interval_us[r->n++] = (uint32_t)(t_us - r->last_us);
    }
    r->last_us = t_us;
}

void fw_slice_break(struct fw_slice *s)
{
    flush_row(s);
    s->row.open = false;
}

void fw_slice_target(struct fw_slice *s, uint32_t target_interval_us, uint32_t refresh_millihertz)
{
    struct fw_row *r = &s->row;

    if (r->target_interval_us == target_interval_us && r->refresh_millihertz == refresh_millihertz)
        return;
    flush_row(s);
    r->target_interval_us = target_interval_us;
    r->refresh_millihertz = refresh_millihertz;
}

void fw_slice_dropped(struct fw_slice *s, uint64_t frames)
{
    if (!frames)
        return;
    fw_slice_break(s);
    s->row.dropped = frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
}

void fw_slice_packets(struct fw_slice *s, const void *bytes, size_t n)
{
    fw_buf_add(&s->raw, bytes, n);
    fw_slice_check(s, !s->raw.failed);
    s->raw.failed = false;
}

bool fw_slice_is_full(const struct fw_slice *s)
{
    return s->raw.len > FW_SLICE_FULL_BYTES;
}

bool fw_slice_pack(struct fw_slice *s)
{
    flush_row(s);
    fw_buf_reset(&s->packed);
    if (!s->raw.len)
        return false;
    fw_slice_check(s, fw_compress(s->zstd, s->raw.at, s->raw.len, &s->packed));
    fw_buf_reset(&s->raw);
    return s->packed.len > 0;
}
