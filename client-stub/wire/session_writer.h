/*
 * session_writer: the packets of session.proto, one function a kind.
 *
 * Each function appends one whole Packet to `out` (so `out` is a serialized SessionLog) or, when it
 * does not fit, nothing and returns false; the buffer stays usable. Texts are cut to the limits of
 * session.proto; NULL and "" are left out. Times are microseconds from session start.
 * fw_compress() then makes one zstd frame of the buffer: a file is a row of such frames, and the
 * first packet of a file is its header.
 *
 * Not thread-safe. Nothing is kept: all pointers are only read during the call.
 */
#pragma once
#include "wire/buf.h"

#include <stdint.h>

#define FW_SESSION_ID_BYTES 16
#define FW_NAME_BYTES 128 /* device, version and module names */
#define FW_LABEL_BYTES 64 /* mode, map, step, thread */
#define FW_KEY_BYTES 32   /* attribute key, feedback category */
#define FW_FEEDBACK_BYTES 2000
#define FW_MAX_ATTRIBUTES 16
#define FW_MAX_STACK_FRAMES 256
#define FW_MAX_DEBUG_ID_BYTES 32

enum fw_platform { FW_PLATFORM_UNKNOWN, FW_PLATFORM_ANDROID, FW_PLATFORM_IOS, FW_PLATFORM_LINUX };

struct fw_wire_cluster {
    uint32_t cores, max_khz;
};

struct fw_wire_header {
    unsigned char session_id[FW_SESSION_ID_BYTES]; /* fw_wire_session_id() */
    uint32_t part;
    uint64_t part_start_us;
    const char *app, *version_name, *build_id, *sdk_version;
    uint64_t version_code;
    enum fw_platform platform;
    int64_t wall_start_ms;
    const char *manufacturer, *model, *soc, *gpu, *os_version;
    const struct fw_wire_cluster *clusters; /* little to big */
    size_t n_clusters;
    uint32_t ram_mb, screen_width_px, screen_height_px, refresh_millihertz;
    bool rooted, debugger, emulator, developer_mode, repackaged;
    const char *const *evidence;
    size_t n_evidence;
};

/* Makes a session id of 16 random bytes: the low 6 bits of the last byte become the install's
 * group, the first byte of SHA-256(install id) modulo 64. */
void fw_wire_session_id(unsigned char id[FW_SESSION_ID_BYTES], const char *install_id);

struct fw_wire_frames {
    uint64_t start_us;           /* when the first interval begins */
    const uint32_t *interval_us; /* present to present; the rounding to 10 us is carried on */
    size_t n;
    uint32_t target_interval_us, refresh_millihertz, dropped;
};

/* Every field but `burst` may be FW_ABSENT: it could not be read. */
#define FW_ABSENT INT64_MIN
struct fw_wire_hardware {
    int64_t t_us;
    int64_t process_cpu_permille, total_cpu_permille;
    int64_t battery_millicelsius, skin_millicelsius, thermal_status;
    int64_t pss_kb, native_heap_kb, java_heap_kb, rss_anon_kb, swap_kb, phys_footprint_kb, rss_kb;
    int64_t thread_count, thread_peak, main_wait_us, main_cpu_us, gpu_time_us, storage_free_mb;
    int64_t battery_permille, charging /* 0, 1 */, network /* enum Network */;
    uint32_t core_khz[32];
    size_t n_cores; /* 0: unknown */
    bool burst;
};
void fw_wire_hardware_init(struct fw_wire_hardware *h); /* all absent */

struct fw_wire_attribute {
    const char *key;
    int64_t value;
};

enum fw_lifecycle_kind {
    FW_LIFE_UNKNOWN,
    FW_LIFE_BACKGROUND,
    FW_LIFE_FOREGROUND,
    FW_LIFE_LOW_MEMORY,
    FW_LIFE_SUSPENDED
};

struct fw_wire_stack_sample {
    uint64_t t_us;
    uint32_t stack; /* id of a fw_wire_stack written before in this file */
};

struct fw_wire_jank {
    uint64_t start_us, duration_us;
    uint32_t level; /* fw_wire_jank_level() */
    const struct fw_wire_stack_sample *samples;
    size_t n_samples;
    const struct fw_wire_hardware *hardware; /* what is not in the file as Hardware packets */
    size_t n_hardware;
};
/* 0 none, 1 minor > 100 ms, 2 normal > 250 ms, 3 severe > 500 ms. */
uint32_t fw_wire_jank_level(uint64_t duration_us);

struct fw_wire_module {
    uint32_t id; /* from 1, within the file */
    const char *name, *arch;
    unsigned char debug_id[FW_MAX_DEBUG_ID_BYTES];
    size_t debug_id_len;
    uint64_t load_address, size;
};

struct fw_wire_stack_frame {
    uint32_t module; /* 0: none, offset is then the address itself */
    uint64_t offset;
    const char *text; /* managed frame: text alone */
};

struct fw_wire_stack {
    uint32_t id;                              /* from 1, within the file */
    const struct fw_wire_stack_frame *frames; /* innermost first */
    size_t n;
    const char *thread;
};

struct fw_wire_crash {
    uint64_t t_us;
    uint32_t signal, stack; /* stack 0: none */
    const char *reason;
};

struct fw_wire_collector_off {
    const char *name, *reason;
    uint64_t failures;
};

struct fw_wire_collector_cost {
    const char *name;
    uint64_t looks, us, max_us, failures;
};

struct fw_wire_self_report {
    uint64_t t_us, cpu_us, bytes_written, bytes_uploaded, dropped_frames, dropped_samples, wakeups,
        memory_bytes, dropped_files;
    const struct fw_wire_collector_off *off;
    size_t n_off;
    const struct fw_wire_collector_cost *cost;
    size_t n_cost;
};

enum fw_end_reason { FW_END_UNKNOWN, FW_END_STOPPED, FW_END_RECOVERED };

struct fw_wire_sketch { /* sparse, layout 1; buckets ascending */
    const uint32_t *bucket;
    const uint64_t *count;
    size_t n;
};

struct fw_wire_scene_summary {
    const char *mode, *map;
    uint64_t foreground_ms;
    uint32_t janks[3]; /* minor, normal, severe: each the count of that level alone */
    struct fw_wire_sketch sketch;
};

struct fw_wire_summary {
    uint64_t foreground_ms, frames, frame_sum_us, frame_max_us, jank_ms;
    uint32_t janks[3];
    struct fw_wire_sketch sketch;
    const struct fw_wire_scene_summary *scenes;
    size_t n_scenes;
    int64_t max_battery_millicelsius, peak_memory_kb; /* or FW_ABSENT */
};

bool fw_wire_header(struct fw_buf *out, const struct fw_wire_header *h);
bool fw_wire_frames(struct fw_buf *out, const struct fw_wire_frames *f);
bool fw_wire_hardware(struct fw_buf *out, const struct fw_wire_hardware *h);
bool fw_wire_scene(struct fw_buf *out, uint64_t t_us, const char *mode, const char *map,
                   const struct fw_wire_attribute *attributes, size_t n);
bool fw_wire_position(struct fw_buf *out, uint64_t t_us, float x, float y);
/* duration_ms only for FW_LIFE_SUSPENDED. */
bool fw_wire_lifecycle(struct fw_buf *out, uint64_t t_us, enum fw_lifecycle_kind kind,
                       uint64_t duration_ms);
bool fw_wire_step(struct fw_buf *out, uint64_t t_us, const char *name);
bool fw_wire_jank(struct fw_buf *out, const struct fw_wire_jank *j);
bool fw_wire_module(struct fw_buf *out, const struct fw_wire_module *m);
bool fw_wire_stack(struct fw_buf *out, const struct fw_wire_stack *s);
bool fw_wire_crash(struct fw_buf *out, const struct fw_wire_crash *c);
bool fw_wire_feedback(struct fw_buf *out, uint64_t t_us, const char *category, const char *text);
bool fw_wire_self_report(struct fw_buf *out, const struct fw_wire_self_report *r);
bool fw_wire_end(struct fw_buf *out, uint64_t t_us, enum fw_end_reason reason);
bool fw_wire_summary(struct fw_buf *out, const struct fw_wire_summary *s);

/* A compressor for inputs up to max_bytes; all its memory is allocated here. NULL: no memory. */
struct fw_compressor;
struct fw_compressor *fw_compressor_new(size_t max_bytes);
struct fw_compressor *fw_compressor_new_in(size_t max_bytes, const struct fw_allocator *memory);
void fw_compressor_free(struct fw_compressor *c); /* NULL is fine */
size_t fw_compressor_memory(const struct fw_compressor *c);
/* Appends one zstd frame (with checksum) of n bytes; false, nothing appended, if it does not fit
 * or n exceeds the compressor's bound. */
bool fw_compress(struct fw_compressor *c, const void *bytes, size_t n, struct fw_buf *out);
