/*
 * plan: what happens in one run of the demo game and when, drawn from a seed: the same seed and
 * length give the same plan. Pure.
 */
#ifndef DEMO_PLAN_H
#define DEMO_PLAN_H

#include <stddef.h>
#include <stdint.h>

struct scene {
    const char *mode, *map;
    unsigned sprites;
    float sprite_size;
    int lights;
    float red, green, blue; /* of its background */
};

#define N_SCENES 4
extern const struct scene scenes[N_SCENES];

enum action {
    ENTER_SCENE, /* value: index into scenes; blocks ms while loading */
    HITCH,       /* value: one of HITCH_*; blocks ms */
    STEP,        /* value: index into steps */
    MOVE,        /* value: seed of a small move on the map */
    BACKGROUND,  /* away for ms */
    LOW_MEMORY,
    FEEDBACK
};

enum { HITCH_TEXTURES, HITCH_PHYSICS, HITCH_MONSTERS, HITCH_SAVE, N_HITCHES };

#define N_STEPS 8
extern const char *const steps[N_STEPS];

struct event {
    uint32_t at_ms; /* from the first frame, in time order */
    enum action action;
    uint32_t value, ms;
};

struct plan {
    struct event *events;
    size_t n;
    unsigned hitches; /* events of more than 100 ms on the main thread */
};

/* jank_every_ms 0: no hitches but those of loading. NULL events when out of memory; free(events).
 */
struct plan plan_make(uint64_t seed, uint32_t length_ms, uint32_t jank_every_ms);

#endif
