/*
 * hitches: the mistakes the demo game makes on purpose. Each blocks the main thread for real, in a
 * function of its own name, as the mistake does in released games: so the profiler has true stacks
 * to catch, and whoever reads them knows what they should say.
 */
#ifndef DEMO_HITCHES_H
#define DEMO_HITCHES_H

#include "render.h"

struct hitches;

struct hitches *hitches_new(struct renderer *r, uint64_t seed);
void hitches_free(struct hitches *h); /* NULL is fine */

/* Each lasts at least `ms`. */
void load_level_assets(struct hitches *h, const char *map, unsigned ms); /* waits for a slow file */
void decompress_textures(struct hitches *h, unsigned ms); /* decodes blocks on the CPU, uploads */
void step_physics(struct hitches *h, unsigned ms);   /* waits for a lock another thread holds */
void spawn_monsters(struct hitches *h, unsigned ms); /* searches paths without a budget */
void save_progress(struct hitches *h, unsigned ms);  /* writes and syncs a file */

#endif
