/*
 * session_merge: what session.c, session_scenes.c and session_frames.c share; the key of a scene
 * and the level of a jank with summary.c and events.c too. Private to profile. Each step fills
 * fields of `session`; a full arena is latched and judged once, at the end.
 */
#pragma once
#include "profile/session.h"

struct merge {
    const struct part **parts; /* chosen, by part number */
    size_t n;
    struct arena *mem;
    struct session session;
    struct session_span *covered; /* what each part speaks of, by place in `parts` */
};

/* The moment is in range and seen as the session's last if it is. Counts it otherwise. */
bool merge_moment(struct merge *m, size_t part, uint64_t t_us);

/* Stable sort of n items, whose first member is their uint64_t time; NULL when out of memory. */
void *merge_sort_by_time(struct arena *mem, void *items, size_t n, size_t size);

/* session.scenes and change_scene, from session.scene_changes. */
void merge_scenes(struct merge *m);

/* "mode/map", injective: the mode's own "/" and "%" become "%2F" and "%25". "" for no scene; NULL
 * when out of memory. */
const char *merge_scene_key(struct arena *mem, const char *mode, const char *map);

/* session.frames with states, scenes and janks. away: background spans, sorted and disjoint. */
void merge_frames(struct merge *m, const struct session_span *away, size_t n_away);

/* Fixed level of a frame time, enum jank_level: over 100, 250, 500 ms. */
static inline unsigned merge_level(uint64_t us)
{
    return (unsigned)((us > 100000) + (us > 250000) + (us > 500000));
}
