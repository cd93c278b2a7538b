/*
 * events: scenes, steps, positions, lifecycle and feedback from any of the game's threads to the
 * sampling thread.
 *
 * Many producers, one consumer, no lock: a producer reserves its bytes with one compare-and-swap
 * and commits them with one store, so it never waits for another thread. A full ring drops the new
 * event and counts it. The consumer sees events in order of reservation and stops at one that is
 * not committed yet.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_EVENTS_BYTES 65536u     /* power of two */
#define FW_EVENT_MAX_PAYLOAD 4096u /* a feedback with its framing is about 2100 */

enum fw_event_kind {
    FW_EVENT_PACKET = 1, /* payload: a serialized SessionLog, to be copied into the slice */
    FW_EVENT_STEP,       /* the same, of a Step */
    FW_EVENT_POSITION,   /* the same, of a Position */
    FW_EVENT_BACKGROUND, /* no payload, and the next */
    FW_EVENT_FOREGROUND,
    FW_EVENT_TARGET, /* payload: struct fw_event_target */
    FW_EVENT_SCENE,  /* payload: struct fw_event_scene, then a serialized SessionLog */
};

struct fw_event_target {
    uint32_t target_interval_us, refresh_millihertz;
};

struct fw_event_scene {
    char mode[65], map[65];
};

struct fw_event {
    enum fw_event_kind kind;
    uint64_t t_ns;
    size_t n;
    unsigned char payload[FW_EVENT_MAX_PAYLOAD];
};

struct fw_events {
    _Alignas(64) _Atomic uint64_t reserved; /* words ever reserved */
    _Alignas(64) _Atomic uint64_t tail;     /* words ever consumed */
    _Atomic uint64_t dropped;
    _Atomic uint64_t word[FW_EVENTS_BYTES / 8];
};

bool fw_events_push(struct fw_events *e, enum fw_event_kind kind, uint64_t t_ns,
                    const void *payload, size_t n);
bool fw_events_pop(struct fw_events *e, struct fw_event *out);
