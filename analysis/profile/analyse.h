/*
 * analyse: a session's metrics, jank events and contribution. Pure. Definitions: docs/metrics.md.
 */
#pragma once
#include "profile/cells.h"
#include "profile/session.h"

#define ANALYSIS_VERSION 3   /* raised when a result changes for the same input */
#define MAX_JANK_EVENTS 2000 /* of more the longest are kept */

/* The hardware that belongs to a jank: from 2 s before its start to 1 s after its end. */
#define JANK_WINDOW_BEFORE_US 2000000
#define JANK_WINDOW_AFTER_US 1000000
#define JANK_WINDOW_SAMPLES 512 /* the SDK's densest burst fills 315 in the longest valid frame */

enum jank_level { JANK_NONE, JANK_MINOR, JANK_NORMAL, JANK_SEVERE }; /* > 100, 250, 500 ms */

#define JANK_CAUSES(X)                                                                             \
    X(unknown)                                                                                     \
    X(throttled)                                                                                   \
    X(memory_pressure)                                                                             \
    X(thread_explosion)                                                                            \
    X(main_waiting)                                                                                \
    X(gpu_bound)                                                                                   \
    X(cpu_bound)                                                                                   \
    X(garbage_collection)
enum jank_cause {
#define X(name) CAUSE_##name,
    JANK_CAUSES(X)
#undef X
        CAUSE_COUNT
};
extern const char *const jank_cause_name[CAUSE_COUNT];

struct jank_event {
    uint64_t start_us, duration_us;
    enum jank_level level;
    bool from_frames; /* false: only the SDK's Jank packet speaks of it */
    bool perfdog_jank, perfdog_big;
    uint16_t scene; /* index into session.scenes */
    enum jank_cause cause;
    const char *evidence; /* one line for people: "big cores 2419 -> 1200 MHz at 44.1 °C" */
    const struct part_stack_sample *samples;
    size_t n_samples;
    size_t hardware_from, hardware_to; /* half-open in session.hardware: 2 s before .. 1 s after */
};

/* One slice's numbers: the whole session (scene 0 is then not a scene but everything) or a scene.
 */
struct slice {
    const char *scene; /* "" = whole session, else "mode/map" */
    int64_t frames, frame_sum_us, foreground_us;
    uint32_t frame_max_us;
    int64_t janks[4]; /* [1..3]: count of that fixed level alone; [0]: their sum */
    int64_t jank_us;  /* time in janks of any fixed level */
    int64_t perfdog_janks, perfdog_big_janks, perfdog_stutter_us;
    int64_t missed_frames;   /* frames of at least two target intervals */
    int64_t slow_frames;     /* > 50 ms, from the second minute on */
    int64_t slow_frame_base; /* frames from the second minute on */
    struct sketch sketch;
};

/* What peak_memory_kb is: the platforms tell different quantities, never to be put on one axis. */
enum memory_kind { MEMORY_PSS, MEMORY_FOOTPRINT, MEMORY_RSS };

struct session_result {
    /* [0] the whole session, then each scene by key: slice i is session.scenes[i], unless the
     * slices come from a Summary. */
    struct slice *slices;
    size_t n_slices;
    struct jank_event *events; /* by start */
    size_t n_events, n_events_dropped;
    bool slow_session; /* over 25 % of slow_frame_base slow */
    bool excluded;     /* from statistics: rooted, debugger, emulator or repackaged */
    bool from_summary; /* no frames: slices come from the Summary packet */
    bool has_crash, has_feedback;
    /* hardware: 0 when unknown */
    int64_t peak_memory_kb; /* PSS (Android; RSS on Linux) or phys_footprint (iOS) */
    int64_t peak_battery_millicelsius, mean_battery_millicelsius;
    int64_t median_khz, throttled_khz; /* of the biggest cluster: median, and P10 while hot */
    int64_t throttled_us;              /* thermal status >= 3, foreground */
    int64_t peak_threads;
    enum memory_kind memory;
    uint32_t hardware_seen; /* bits 1 << enum hardware_field: had a valid value in the foreground */
    struct map_cell *cells; /* where on the maps it was, see cells.h */
    size_t n_cells;
};

bool session_analyse(const struct session *s, struct arena *mem, struct session_result *out,
                     struct err *err) MUST_CHECK;
