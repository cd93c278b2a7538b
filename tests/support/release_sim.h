/*
 * release_sim: a made-up release, looked at through the real statistics. Device models of three
 * tiers, installs with a speed and an activity of their own, sessions that play some of the scenes,
 * frames within them; a baseline build alone for some days, then a new build that installs take up
 * over two weeks, in an order that depends on how fast they are. Every frame goes through the
 * sketch, every session through expectation, groups, pairs and alert_judge. Equal options and run:
 * equal results.
 */
#pragma once
#include "stats/alert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_TIERS 3
#define SIM_SCENES 4
#define SIM_SLICES (SIM_TIERS * SIM_SCENES)
#define SIM_TIMES 3   /* P50, P90, mean frame time */
#define SIM_METRICS 4 /* and janks by counts */
#define SIM_LOOKS 50

enum sim_mix { SIM_MIX_NONE, SIM_MIX_EARLY, SIM_MIX_SLOW }; /* fast installs update first, last */
/* What a session is measured against: its install's own past, that shrunken by kappa, its model. */
enum sim_control { SIM_OWN, SIM_SHRUNKEN, SIM_MODEL };

/* A session as it is played; what is pointed to holds during the call. */
struct sim_played {
    double at; /* days since the release; before 0: baseline alone */
    unsigned install, tier, model, group, arm; /* arm 1: the new build */
    unsigned scenes;                           /* that it was in */
    struct {
        unsigned scene;
        const uint32_t *frame_us;    /* so many as sim_options.frames */
        int64_t shown_e6[SIM_TIMES]; /* what the planted work did to its figures, ln */
    } in[SIM_SCENES];
};
/* Whoever wants to see the same sessions. `looked` comes after each of the looks. */
struct sim_watcher {
    void *user;
    void (*played)(void *user, const struct sim_played *s);
    void (*looked)(void *user);
};

struct sim_options {
    uint64_t seed;
    double effect; /* 0.20: work of a frame grows by 20 % in slice 0, the slow tier's first scene */
    enum sim_mix mix;
    enum sim_control control;
    bool vsync; /* frames end at multiples of 1/60 s */
    bool shown; /* effect > 0 is of P90 as frames show it; the work that does so is looked for */
    unsigned days_before;              /* of the baseline alone, 1..60 */
    unsigned installs;                 /* per tier */
    unsigned frames;                   /* per session and scene */
    double model_sd;                   /* of models' speeds within a tier, ln */
    double day_sd;                     /* what a day does to all sessions alike, ln */
    const struct sim_watcher *watcher; /* or NULL */
};
struct sim_options sim_defaults(void);

/* Sessions of the new build in the slice when it first came to a level; 0: never. */
struct sim_slice {
    int64_t warn, alert, improved, plain;
    double d[SIM_METRICS], v[SIM_METRICS]; /* D and its variance at the last look */
    double raw;                            /* change of P90 of all frames at the last look */
    double shown[SIM_TIMES]; /* what the planted work does to figures: ln, mean over the sessions */
    int64_t sessions;        /* of the new build at the last look */
};
struct sim_release {
    double work; /* by what the work of a frame grew */
    struct sim_slice slice[SIM_SLICES];
};

/* How many sessions an install plays in a release, on average. */
double sim_sessions_of_install(const struct sim_options *o);

/* One release; run tells apart releases of one seed. False when out of memory. */
bool sim_release(const struct sim_options *o, unsigned run, struct sim_release *out);
