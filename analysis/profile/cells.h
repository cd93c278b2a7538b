/*
 * cells: where on a map a session was and where it janked. The map is cut into squares of 2^level
 * of the game's own units; a session takes the finest level at which it has touched no more than
 * CELLS_PER_MAP squares of a map, so neither unit nor size of maps need to be known. Pure.
 */
#pragma once
#include "profile/session.h"

#define CELLS_PER_MAP 64
#define CELL_LEVEL_MAX 40
#define CELL_HOLDS_US 5000000 /* a position speaks for so long, if no other comes */

struct map_cell {
    const char *scene;    /* "mode/map" */
    int64_t level, x, y;  /* the square [x, x+1) x [y, y+1) times 2^level */
    int64_t visits;       /* times it was entered */
    int64_t janky_visits; /* during which some frame was a jank of a fixed level */
    int64_t jank_ms;      /* time of those frames */
    int64_t dwell_ms;     /* time of all valid frames there */
};

/* By scene, level, x, y. False when the arena is full. */
bool cells_of(const struct session *s, struct arena *mem, struct map_cell **out,
              size_t *n) MUST_CHECK;
