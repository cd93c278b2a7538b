/*
 * slice: what is recorded until the next write, as packets; then one zstd frame of it.
 *
 * Belongs to the sampling thread. All memory is allocated by fw_slice_init. A row is an unbroken
 * run of frame intervals; it becomes a Frames packet when it is broken, when it is full and when
 * the slice ends (then it goes on in the next one).
 */
#pragma once
#include "wire/session_writer.h"

#define FW_SLICE_BYTES 131072u
#define FW_SLICE_FULL_BYTES 81920u /* past this it wants to be written */
#define FW_ROW_FRAMES 8192u

struct fw_row {
    uint32_t *interval_us;
    size_t n;
    bool open; /* last_us is the present that the next interval begins at */
    uint64_t start_us, last_us;
    uint32_t target_interval_us, refresh_millihertz;
    uint32_t dropped; /* before this row's packet */
};

struct fw_slice {
    struct fw_buf raw, packed;
    struct fw_compressor *zstd;
    struct fw_row row;
    uint64_t lost_packets; /* did not fit */
    const struct fw_allocator *memory;
};

/* False: no memory; call fw_slice_fini all the same. */
bool fw_slice_init(struct fw_slice *s, const struct fw_allocator *memory);
void fw_slice_fini(struct fw_slice *s);
size_t fw_slice_memory(const struct fw_slice *s);

/* A present. The first one of a row only begins it. A time not after the last one breaks the row.
 */
void fw_slice_present(struct fw_slice *s, uint64_t t_us);
/* Ends the row: the next present begins a new one. */
void fw_slice_break(struct fw_slice *s);
void fw_slice_target(struct fw_slice *s, uint32_t target_interval_us, uint32_t refresh_millihertz);
void fw_slice_dropped(struct fw_slice *s, uint64_t frames);

/* Packets made elsewhere (whole, serialized). */
void fw_slice_packets(struct fw_slice *s, const void *bytes, size_t n);
/* Counts what a fw_wire_* call on s->raw did not fit. */
void fw_slice_check(struct fw_slice *s, bool fitted);

bool fw_slice_is_full(const struct fw_slice *s);
/* The slice as one zstd frame in s->packed, and the slice empty again. False: nothing was in it. */
bool fw_slice_pack(struct fw_slice *s);
