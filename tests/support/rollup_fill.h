/*
 * rollup_fill: two builds and their rollups as so many sessions would leave them, written at once:
 * for questions about reports and alerts at sizes that no test could upload. Values are of a seed.
 */
#pragma once
#include <stdint.h>

#define FILL_TIERS 3
#define FILL_SCENES 8 /* "mode/map0" … beside whole sessions */

struct rollup_fill {
    int64_t app;
    int64_t sessions; /* of each build */
    uint64_t seed;
    int tier;      /* where the new build is slower; 0: nowhere */
    int scene;     /* 0: whole sessions, i: "mode/map(i-1)" */
    double effect; /* 0.2 = +20 % of frame times */
};

/* Builds 1.0.0 (100) and 1.0.1 (101), registered, the expectation of the second frozen, tiers
 * placed, and for each tier some hundred installs that have both builds. *build, *baseline: their
 * ids. */
void rollup_fill(const char *conninfo, const struct rollup_fill *fill, int64_t *build,
                 int64_t *baseline);
