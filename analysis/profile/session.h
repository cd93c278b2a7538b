/*
 * session: what a set of parts says together. A pure function of the *set*: order and repetition
 * of parts do not matter. Of several files claiming one part number, the one with the most whole
 * bytes counts, ties broken by the greater SHA-256; the others are counted as superseded.
 *
 * All is sorted by time. Values are checked against the bounds of hardware.h; frames out of bounds
 * stay in the row, marked. Frames that begin before the previous row's end are marked as overlap.
 */
#pragma once
#include "profile/part.h"

/* A time past this is `time_out_of_range` and what it belongs to is left out: no launch of a game
 * lasts a week. */
#define MAX_SESSION_US (UINT64_C(7) * 24 * 3600 * 1000000)
/* Distinct scenes; the first by time are kept, the rest become one scene of key "%other". */
#define MAX_SESSION_SCENES 128
#define MAX_SESSION_SAMPLES 4000 /* of stacks, in all janks: the longest janks keep theirs */

enum frame_state {
    FRAME_VALID,
    FRAME_BACKGROUND, /* outside foreground: excluded, not a fault */
    FRAME_SUSPENDED,  /* spans a suspension or a clock jump: excluded */
    FRAME_INVALID,    /* outside the bounds */
    FRAME_OVERLAP     /* begins before the frame before it ended */
};

struct frame {
    uint64_t start_us; /* begin of the interval; its end is start_us + interval_us */
    uint32_t interval_us, target_us;
    uint16_t scene;                         /* index into scenes, 0 = none yet */
    uint8_t state;                          /* enum frame_state */
    uint8_t jank;                           /* fixed level 0..3 */
    bool perfdog_jank, perfdog_big, missed; /* metrics.md; only for valid frames */
    bool row_start; /* no history: does not continue the valid frame before it */
};

/* Reasons for a value kept out of statistics; counted per session and shown. */
#define INVALID_REASONS(X)                                                                         \
    X(frame_out_of_bounds)                                                                         \
    X(frame_overlap)                                                                               \
    X(hardware_out_of_bounds)                                                                      \
    X(core_khz_out_of_bounds)                                                                      \
    X(time_out_of_range)                                                                           \
    X(clock_skew)                                                                                  \
    X(unknown_packet)                                                                              \
    X(foreign_header) /* a part whose build or device differs from the first part's: left out */   \
    X(jank_out_of_bounds)    /* a Jank packet whose length no frame can have */                    \
    X(summary_out_of_bounds) /* a Summary that contradicts itself: left out */                     \
    X(position_not_finite)                                                                         \
    X(too_many_scenes)   /* scene changes beyond MAX_SESSION_SCENES distinct ones */               \
    X(too_many_stacks)   /* stack samples past those of one jank or MAX_SESSION_SAMPLES */         \
    X(control_character) /* texts in which one was replaced */
enum invalid_reason {
#define X(name) INVALID_##name,
    INVALID_REASONS(X)
#undef X
        INVALID_COUNT
};
extern const char *const invalid_reason_name[INVALID_COUNT];

struct session_scene { /* distinct (mode, map) */
    const char *key;   /* "mode/map", "" for none yet: the `scene` of rollups and filters. "/" and
                        * "%" in a mode become "%2F" and "%25" */
    const char *mode, *map;
};

struct session_span { /* half-open */
    uint64_t from_us, to_us;
};

struct session {
    struct part_header header; /* of the lowest part number; environment bits of all parts */
    size_t n_parts;            /* that are merged; foreign ones are not */
    size_t n_superseded, n_truncated;
    bool ended;
    enum end_reason end_reason;
    uint64_t end_us; /* last moment anything speaks of */
    PART_LIST(struct frame, frames);
    PART_LIST(struct hardware_sample, hardware);
    PART_LIST(struct part_scene, scene_changes);
    const uint16_t *change_scene;            /* of each scene change: index into scenes */
    PART_LIST(struct session_scene, scenes); /* [0] is "", the others by key */
    PART_LIST(struct part_position, positions);
    PART_LIST(struct part_lifecycle, lifecycle);
    PART_LIST(struct part_step, steps);
    PART_LIST(struct part_jank, janks);
    PART_LIST(struct part_stack, stacks);
    PART_LIST(struct part_crash, crashes);
    PART_LIST(struct part_feedback, feedback);
    PART_LIST(struct part_self_report, self_reports);
    /* Time in the foreground that the parts cover, sorted and disjoint: a part that has not come
     * leaves a gap, not time without frames. */
    PART_LIST(struct session_span, foreground);
    const struct part_summary *summary; /* of the highest part number that has one */
    int64_t invalid[INVALID_COUNT];
    int64_t frames_by_state[5]; /* enum frame_state */
    uint64_t dropped_frames;
};

struct session_part { /* one stored file, for session_merge */
    const struct part *part;
    unsigned char sha256[32]; /* of the file's bytes */
};

/* parts: n >= 1, all of one session id (ERR_INVALID otherwise). Borrows from the parts' arenas. */
bool session_merge(const struct session_part *parts, size_t n, struct arena *mem,
                   struct session *out, struct err *err) MUST_CHECK;
