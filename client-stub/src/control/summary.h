/*
 * summary: a running account of the session, small enough for a metered network: frames, janks, a
 * sketch of the frame times and of each scene's. Belongs to the sampling thread. What counts as a
 * frame and a jank is what the server counts (docs/metrics.md).
 */
#pragma once
#include "wire/session_writer.h"

#define FW_SUMMARY_SCENES 16  /* those that come after have no row of their own */
#define FW_SUMMARY_BYTES 2048 /* of the compressed file, header included */
#define FW_SKETCH_BUCKETS 552

struct fw_tally {
    uint64_t foreground_us;
    uint32_t janks[3]; /* minor, normal, severe */
    uint32_t count[FW_SKETCH_BUCKETS];
};

struct fw_summary {
    uint32_t bound_us[FW_SKETCH_BUCKETS]; /* bucket k holds bound[k - 1] < t <= bound[k] */
    uint64_t frames, sum_us, max_us, jank_us;
    struct fw_tally whole;
    struct fw_summary_scene {
        char mode[65], map[65];
        struct fw_tally tally;
    } scene[FW_SUMMARY_SCENES];
    size_t n_scenes;
    struct fw_tally *now; /* the present scene's; NULL none */
    uint64_t at_us;       /* foreground time is counted up to here */
    bool foreground;
    int64_t max_battery_millicelsius, peak_memory_kb;
};

void fw_summary_init(struct fw_summary *s);
unsigned fw_summary_bucket(const struct fw_summary *s, uint32_t us); /* past the last: the last */

/* In order of time. */
void fw_summary_foreground(struct fw_summary *s, uint64_t t_us, bool foreground);
void fw_summary_scene(struct fw_summary *s, uint64_t t_us, const char *mode, const char *map);
void fw_summary_frame(struct fw_summary *s, uint64_t interval_us);
void fw_summary_hardware(struct fw_summary *s, const struct fw_wire_hardware *h);

/* One zstd frame of the header (serialized) and the summary at t_us, appended to `out`; scenes'
 * sketches, then scenes, are left out until it fits FW_SUMMARY_BYTES. False: there are no frames,
 * or it does not fit. */
bool fw_summary_pack(struct fw_summary *s, uint64_t t_us, const void *header, size_t n,
                     struct fw_compressor *zstd, struct fw_buf *out);
