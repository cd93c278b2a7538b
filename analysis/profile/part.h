/*
 * part: one uploaded session file, decoded into an arena. Pure: bytes in, structs out.
 *
 * A part is read up to its last whole zstd frame; `truncated` says that bytes were left over.
 * Malformed bytes inside a whole frame end the reading there too (`damaged`): what came before
 * stands. Strings are NUL-terminated UTF-8 cut to their limits, control characters replaced ('?';
 * line feeds and tabs stay in the text of feedback, and are blanks elsewhere): a terminal, a log or
 * a page that shows one is not driven by it. Times are microseconds from session start. Nothing is
 * validated against physical bounds here; that is session.h.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "profile/hardware.h"
#include "stats/sketch.h"

#include <stddef.h>
#include <stdint.h>

#define SESSION_ID_BYTES 16
#define MAX_DEBUG_ID_BYTES 32

struct part_limits {
    size_t decompressed_bytes; /* default 64 MB */
    unsigned ratio;            /* decompressed / compressed, default 200, judged past 1 MB */
    size_t packets, frames, stack_frames, modules, name_bytes;
};
extern const struct part_limits part_limits_default;

struct part_cluster {
    uint32_t cores, max_khz;
};

enum environment_flag { /* bits; also the order of session flags everywhere */
                        ENV_ROOTED = 1,
                        ENV_DEBUGGER = 2,
                        ENV_EMULATOR = 4,
                        ENV_DEVELOPER_MODE = 8,
                        ENV_REPACKAGED = 16
};

struct part_header {
    unsigned char session_id[SESSION_ID_BYTES];
    uint32_t part;
    uint64_t part_start_us;
    int64_t wall_start_ms;
    const char *app, *version_name, *build_id, *sdk_version;
    const char *platform; /* "android", "ios", "linux", "unknown" */
    uint64_t version_code;
    const char *manufacturer, *model, *soc, *gpu, *os_version;
    uint32_t ram_mb, screen_width_px, screen_height_px, refresh_millihertz;
    const struct part_cluster *clusters;
    size_t n_clusters;
    uint32_t environment; /* enum environment_flag bits */
    const char *const *evidence;
    size_t n_evidence;
};

struct part_frames {
    uint64_t start_us;
    const uint32_t *interval_10us; /* saturated; negative sums become 0 and so invalid later */
    size_t n;
    uint32_t target_interval_us, refresh_millihertz, dropped;
};

struct part_attribute {
    const char *key;
    int64_t value;
};

struct part_scene {
    uint64_t t_us;
    const char *mode, *map;
    const struct part_attribute *attributes;
    size_t n_attributes;
};

struct part_position {
    uint64_t t_us;
    float x, y;
};

enum lifecycle_kind {
    LIFE_UNKNOWN,
    LIFE_BACKGROUND,
    LIFE_FOREGROUND,
    LIFE_LOW_MEMORY,
    LIFE_SUSPENDED
};

struct part_lifecycle {
    uint64_t t_us, duration_ms;
    enum lifecycle_kind kind;
};

struct part_step {
    uint64_t t_us;
    const char *name;
};

struct part_module {
    const char *name, *arch;
    unsigned char debug_id[MAX_DEBUG_ID_BYTES];
    size_t debug_id_len;
    uint64_t base, size;
};

struct part_stack_frame {
    const struct part_module *module; /* NULL: managed, or an address outside every module */
    uint64_t offset;                  /* from the module's base; absolute without a module */
    const char *text;                 /* managed frame, else NULL */
};

/* Innermost first. `hash` is SHA-256, cut to 16 bytes, of the canonical text of its frames
 * (module name, debug id, offset or managed text): equal stacks of any session hash equal, managed
 * ones of any session of one build. */
struct part_stack {
    unsigned char hash[16];
    const char *thread;
    const struct part_stack_frame *frames;
    size_t n;
    bool managed; /* some frame is text */
};

struct part_stack_sample {
    uint64_t t_us;
    const struct part_stack *stack;
};

struct part_jank {
    uint64_t start_us, duration_us;
    uint32_t level;
    const struct part_stack_sample *samples;
    size_t n_samples;
};

struct part_crash {
    uint64_t t_us;
    uint32_t signal;
    const char *reason;
    const struct part_stack *stack; /* NULL if none */
};

struct part_feedback {
    uint64_t t_us;
    const char *category, *text;
};

struct part_collector_off {
    const char *name, *reason;
    uint64_t failures;
};

struct part_collector_cost { /* of its looks since the start, waits included */
    const char *name;
    uint64_t looks, us, max_us, failures;
};

struct part_self_report {
    uint64_t t_us, cpu_us, bytes_written, bytes_uploaded, dropped_frames, dropped_samples, wakeups,
        memory_bytes;
    const struct part_collector_off *off;
    size_t n_off;
    const struct part_collector_cost *cost;
    size_t n_cost;
};

enum end_reason { END_UNKNOWN, END_STOPPED, END_RECOVERED };

struct part_scene_summary {
    const char *mode, *map;
    uint64_t foreground_ms;
    uint32_t janks[3];
    struct sketch *sketch; /* NULL if none */
};

struct part_summary {
    uint64_t foreground_ms, frames, frame_sum_us, frame_max_us, jank_ms;
    uint32_t janks[3]; /* minor, normal, severe: each the count of that level alone */
    struct sketch *sketch;
    const struct part_scene_summary *scenes;
    size_t n_scenes;
    int32_t max_battery_millicelsius;
    uint64_t peak_memory_kb;
};

#define PART_LIST(type, name)                                                                      \
    type *name;                                                                                    \
    size_t n_##name

struct part {
    struct part_header header;
    PART_LIST(struct part_frames, frames);
    PART_LIST(struct hardware_sample, hardware); /* also those inside Jank packets */
    PART_LIST(struct part_scene, scenes);
    PART_LIST(struct part_position, positions);
    PART_LIST(struct part_lifecycle, lifecycle);
    PART_LIST(struct part_step, steps);
    PART_LIST(struct part_jank, janks);
    PART_LIST(struct part_module, modules);
    PART_LIST(struct part_stack, stacks);
    PART_LIST(struct part_crash, crashes);
    PART_LIST(struct part_feedback, feedback);
    PART_LIST(struct part_self_report, self_reports);
    bool ended;
    uint64_t end_us;
    enum end_reason end_reason;
    struct part_summary *summary; /* NULL if none */
    size_t zstd_frames, packets, unknown_packets;
    size_t tamed_texts;        /* strings that held control characters */
    size_t samples_over_limit; /* stack samples past what one jank may have */
    size_t whole_bytes;        /* of the file that were read */
    bool truncated, damaged;
};

/* ERR_INVALID: not a session file, or no header; ERR_TOO_BIG: past a limit (bomb, too many of a
 * kind). Text names the zstd frame and the packet. */
bool part_decode(const void *bytes, size_t size, const struct part_limits *limits,
                 struct arena *mem, struct part *out, struct err *err) MUST_CHECK;

/* One JSON line a packet, as `framewatch dump` prints. Reads like part_decode, but keeps packets
 * as they came. Line callback: text without newline; return false to stop. */
bool part_dump(const void *bytes, size_t size, const struct part_limits *limits,
               bool (*line)(void *user, const char *text, size_t len), void *user,
               struct err *err) MUST_CHECK;
