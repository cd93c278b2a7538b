/*
 * session_builder: session files for tests, packed by protobuf-c and zstd, so that neither the
 * SDK's writer nor the server's reader is its own judge.
 *
 * Set the public fields, begin a part, add what happened, take the bytes:
 *
 *     struct session_builder *b = sb_new(1);       // session id from a number
 *     b->version_name = "2.0.0";
 *     sb_part(b, 0, 0);                            // part number, its start
 *     sb_scene(b, 0, "battle", "frost");
 *     uint64_t t = sb_steady(b, 0, 600, 16667);    // 600 frames of 16.667 ms; returns the end
 *     sb_hardware(b, t, SB_VALUES({HW_pss_kb, 800000}), SB_CORES(1800000, 2400000));
 *     uint32_t stack = sb_text_stack(b, "main", "Lua.update", "Game.tick", NULL);
 *     sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
 *     t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
 *     sb_end(b, t, END_STOPPED);
 *     const unsigned char *bytes = sb_bytes(b, &n);
 *
 * Not thread-safe. Running out of memory aborts: it is for tests. Strings are borrowed.
 */
#pragma once
#include "profile/part.h"

struct session_builder {
    unsigned char session_id[SESSION_ID_BYTES];
    const char *app, *platform, *version_name, *build_id, *sdk_version; /* NULL: field left out */
    uint64_t version_code;
    int64_t wall_start_ms;
    const char *manufacturer, *model, *soc, *gpu, *os_version;
    uint32_t ram_mb, screen_width_px, screen_height_px, refresh_millihertz;
    struct part_cluster clusters[8];
    size_t n_clusters;
    uint32_t environment; /* enum environment_flag; each set bit gets a line of evidence */
    uint32_t target_interval_us, frames_refresh_millihertz, frames_dropped; /* of sb_frames() */
    struct sb_state *state;
};

struct sb_value {
    enum hardware_field field;
    int64_t value;
};
struct sb_sample {
    uint64_t t_us;
    uint32_t stack;
};
struct sb_stack_frame {
    uint32_t module;
    uint64_t offset;
    const char *text; /* not NULL: managed, module and offset are left out */
};
struct sb_attribute {
    const char *key;
    int64_t value;
};

/* Array arguments: pointer and count. */
#define SB_ARRAY(type, ...)                                                                        \
    (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}) / sizeof(type)
#define SB_VALUES(...) SB_ARRAY(struct sb_value, __VA_ARGS__)
#define SB_CORES(...) SB_ARRAY(uint32_t, __VA_ARGS__)
#define SB_INTERVALS(...) SB_ARRAY(uint32_t, __VA_ARGS__)
#define SB_SAMPLES(...) SB_ARRAY(struct sb_sample, __VA_ARGS__)
#define SB_FRAMES(...) SB_ARRAY(struct sb_stack_frame, __VA_ARGS__)
#define SB_ATTRIBUTES(...) SB_ARRAY(struct sb_attribute, __VA_ARGS__)
#define SB_NONE NULL, 0

/* A phone running version 1.0.0 (code 100) on Android; the session id is made from the number. */
struct session_builder *sb_new(uint64_t id);
void sb_free(struct session_builder *b); /* NULL is fine */

/* Empties the bytes and begins a part with its header. */
void sb_part(struct session_builder *b, uint32_t part, uint64_t part_start_us);
/* Ends the zstd frame; what follows goes into the next. Returns the file's size so far. */
size_t sb_slice(struct session_builder *b);
/* The file, valid until the next sb_part() or sb_free(). Ends the zstd frame. */
const unsigned char *sb_bytes(struct session_builder *b, size_t *n);

/* One Frames packet; returns where its last interval ends. Intervals in us, kept to 10 us. */
uint64_t sb_frames(struct session_builder *b, uint64_t start_us, const uint32_t *intervals_us,
                   size_t n);
uint64_t sb_steady(struct session_builder *b, uint64_t start_us, size_t n, uint32_t interval_us);
/* One Frames packet with these deltas as they are, for what no writer would send. */
void sb_deltas(struct session_builder *b, uint64_t start_us, const int32_t *deltas, size_t n);

void sb_hardware(struct session_builder *b, uint64_t t_us, const struct sb_value *values, size_t n,
                 const uint32_t *core_khz, size_t n_cores);
/* Goes into the next sb_jank() instead of standing alone. */
void sb_jank_hardware(struct session_builder *b, uint64_t t_us, const struct sb_value *values,
                      size_t n, const uint32_t *core_khz, size_t n_cores);
void sb_scene(struct session_builder *b, uint64_t t_us, const char *mode, const char *map);
void sb_scene_with(struct session_builder *b, uint64_t t_us, const char *mode, const char *map,
                   const struct sb_attribute *attributes, size_t n);
void sb_position(struct session_builder *b, uint64_t t_us, float x, float y);
void sb_lifecycle(struct session_builder *b, uint64_t t_us, enum lifecycle_kind kind,
                  uint64_t duration_ms);
void sb_step(struct session_builder *b, uint64_t t_us, const char *name);
void sb_jank(struct session_builder *b, uint64_t start_us, uint64_t duration_us, uint32_t level,
             const struct sb_sample *samples, size_t n);
/* The next three return the id in this part. debug_id: hex digits. */
uint32_t sb_module(struct session_builder *b, const char *name, const char *debug_id,
                   uint64_t load_address, uint64_t size);
uint32_t sb_stack(struct session_builder *b, const char *thread,
                  const struct sb_stack_frame *frames, size_t n);
uint32_t sb_text_stack(struct session_builder *b, const char *thread, ...); /* ends with NULL */
void sb_crash(struct session_builder *b, uint64_t t_us, uint32_t signal, const char *reason,
              uint32_t stack);
void sb_feedback(struct session_builder *b, uint64_t t_us, const char *category, const char *text);
/* With one collector switched off. */
void sb_self_report(struct session_builder *b, uint64_t t_us, uint64_t cpu_us);
void sb_end(struct session_builder *b, uint64_t t_us, enum end_reason reason);
void sb_summary(struct session_builder *b, const struct part_summary *summary);

/* Bytes as a Packet, or straight into the SessionLog, or straight into the file. */
void sb_raw_packet(struct session_builder *b, const void *bytes, size_t n);
void sb_raw_log(struct session_builder *b, const void *bytes, size_t n);
void sb_raw_file(struct session_builder *b, const void *bytes, size_t n);

/* A part as a game makes it: `seconds` at 60 Hz from start_us on in 30 s slices, noise, two scenes,
 * hardware every 2 s, positions, a jank of 120..600 ms with stacks about every 20 s. Equal seeds,
 * equal bytes. Returns its end; neither sb_part() nor sb_end() is called. */
uint64_t sb_play(struct session_builder *b, uint64_t start_us, unsigned seconds, unsigned seed);
