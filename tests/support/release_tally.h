/*
 * release_tally: what many simulated releases came to, as the table of tests/bench/alerts.sh:
 * shares with Clopper-Pearson bounds at 95 %. And the options that say which releases.
 */
#pragma once
#include "support/release_sim.h"

struct release_tally {
    unsigned runs, slices, most;
    unsigned warn, alert, improved, plain, releases_warn, releases_alert; /* on nothing */
    unsigned warn_by[3], alert_by[3], found_plain;                        /* slice 0 */
    double d[SIM_METRICS], d2[SIM_METRICS], v[SIM_METRICS], raw, sessions, effect[SIM_METRICS];
    double shown[SIM_TIMES], work; /* what was planted, and what that does to frames */
    int64_t *warn_at, *alert_at;   /* of slice 0; runs of them */
};

/* For at most that many releases; false when out of memory. */
bool release_tally_init(struct release_tally *t, unsigned most);
void release_tally_fini(struct release_tally *t);
void release_tally_add(struct release_tally *t, const struct sim_release *r, double effect);
/* `functions`: seen through the analysis functions, which tell estimates and the plain rule too. */
void release_tally_print(struct release_tally *t, const struct sim_options *o, bool functions);
void print_share(const char *what, unsigned x, unsigned n);

/* Options of releases: getopt_long entries and what to do with one. */
#define SIM_OPTIONS                                                                                \
    {"seed", 1, 0, 's'}, {"effect", 1, 0, 'e'}, {"mix", 1, 0, 'm'}, {"vsync", 0, 0, 'v'},          \
        {"day-sd", 1, 0, 'd'}, {"model-sd", 1, 0, 'M'}, {"installs", 1, 0, 'i'},                   \
        {"frames", 1, 0, 'f'}, {"control", 1, 0, 'c'}, {"shown", 0, 0, 'S'},                       \
    {                                                                                              \
        "before", 1, 0, 'b'                                                                        \
    }
bool sim_option(int c, const char *value, struct sim_options *o); /* false: not one, or bad */
bool sim_options_good(const struct sim_options *o);
void sim_options_print(const struct sim_options *o, unsigned runs);
