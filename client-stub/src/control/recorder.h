/*
 * recorder: the sampling thread. It empties the ring and the events, looks at the hardware, finds
 * the janks and writes slices to files; all disk work of a session is here. Low priority, few
 * wake-ups: one in two seconds while nothing happens, ten in two seconds after a jank, none in the
 * background.
 *
 * fw_recorder_stop() writes what is left and the end packet.
 */
#pragma once
#include "platform/crash.h"
#include "src/buffer/events.h"
#include "src/buffer/files.h"
#include "src/buffer/slice.h"
#include "src/collect/collectors.h"
#include "src/collect/device.h"
#include "src/collect/environment.h"
#include "src/collect/frame.h"
#include "src/control/config.h"
#include "src/control/hud.h"
#include "src/control/jank_log.h"
#include "src/control/summary.h"
#include "src/control/watchdog.h"
#include "src/report/uploader.h"

struct fw_identity { /* the header's texts, owned by the context */
    unsigned char session_id[FW_SESSION_ID_BYTES];
    char session[33]; /* the same in hex */
    char app[FW_NAME_BYTES + 1], version_name[FW_NAME_BYTES + 1], build_id[FW_NAME_BYTES + 1];
    uint64_t version_code;
    int64_t wall_start_ms;
    uint64_t start_ns;
};

struct fw_mailbox { /* a configuration on its way; the mutex guards all */
    pthread_mutex_t mutex;
    struct fw_config config;
    bool fresh;
};

struct fw_recorder {
    /* set by the owner before the start */
    const struct fw_identity *who;
    struct fw_hook *hook;
    struct fw_events *events;
    struct fw_desk *desk;
    struct fw_watchdog *watchdog;
    struct fw_uploader *uploader;
    struct fw_crash *crash;
    bool crashes; /* are recorded */
    struct fw_store *store;
    const struct fw_log *log;
    const struct fw_allocator *memory;
    const char *proc, *sys, *root; /* "/proc", "/sys", "" */
    int main_tid;
    struct fw_config base;
    const fw_options *options;    /* the game's callbacks */
    _Atomic uint32_t gpu_time_us; /* of a frame since the last look, 0 none */
    struct fw_board board;        /* what a display shows */
    size_t memory_bytes;          /* of the whole SDK */
    bool keep_crash;              /* told before the stop: what the crash file holds is true */
    struct fw_device_facts device;

    /* own */
    struct fw_waker waker;
    struct fw_mailbox mailbox;
    struct fw_config config;
    struct fw_collectors collectors;
    struct fw_environment environment;
    struct fw_slice slice;
    struct fw_part part;
    unsigned next_part;
    uint64_t part_began_ns, slice_began_ns;
    struct fw_jank_log janks;
    struct fw_summary summary;
    unsigned summaries;    /* written */
    struct fw_event event; /* the next event, if has_event */
    bool has_event, background, started;
    bool rotate;                 /* the file is to be finished: the game went into the background */
    struct fw_event_scene scene; /* the present one, empty before the first */
    bool wants_scene; /* frames, hardware and positions are wanted in the present scene */
    uint64_t dropped_seen;
    uint64_t last_present_ns; /* of the open row; 0 none */
    uint64_t odd_frames;      /* with times that cannot be */
    uint64_t next_look_ns, burst_next_ns, jank_seen_ns;
    unsigned looks /* since the last recorded one */, burst_left;
    uint64_t asleep_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC at the last look */
    uint64_t retry_ns;  /* no file could be written: not before */
    _Atomic uint64_t lost_slices;
    uint64_t wakeups;
    _Atomic uint32_t turns;     /* odd while the thread is at work on what it holds */
    _Atomic bool frozen;        /* the process dies: no next turn */
    unsigned settle_ms;         /* how long a dying thread waits for the turn under way to end */
    size_t settled;             /* bytes of the slice that the turn under way only adds to */
    struct fw_event last_event; /* room for fw_recorder_last_words() */
    _Atomic int tid;
    _Atomic bool stop;
    pthread_t thread;
    bool running;
};

/* First: what other threads may touch once they run. Then start. */
bool fw_recorder_prepare(struct fw_recorder *r);
bool fw_recorder_start(struct fw_recorder *r);
void fw_recorder_wake(struct fw_recorder *r); /* something happened that should not wait */
void fw_recorder_stop(struct fw_recorder *r); /* also after a failed start */
void fw_recorder_fini(struct fw_recorder *r); /* last: when nobody can wake it any more */
void fw_recorder_configure(struct fw_recorder *r, const struct fw_config *config); /* any thread */
/* fw_crash.last_words: what is not in a file yet. Async-signal-safe. */
void fw_recorder_last_words(void *recorder, struct fw_crash *crash);
size_t fw_recorder_memory(const struct fw_recorder *r);
