/*
 * view: what the timeline, the list of janks, the traces and other JSON of a session share. Pure;
 * writes into a buffer, which latches failure.
 */
#pragma once
#include "profile/analyse.h"

extern const char *const view_level_name[4];     /* enum jank_level: "none" … "severe" */
extern const char *const view_state_name[5];     /* enum frame_state: "valid" … */
extern const char *const view_lifecycle_name[5]; /* enum lifecycle_kind: "background" … */

/* `key` of the scene that scene_changes[i] leads to. */
const char *view_scene_key(const struct session *s, size_t i);

/* Where the scene that begins with scene_changes[i] ends. */
uint64_t view_scene_end(const struct session *s, size_t i);

/* The next stretch in the background from lifecycle[*at] on; *at moves past it. A stretch that
 * nothing ends lasts until the session's end. False: no more. */
struct view_span {
    uint64_t from_us, to_us;
};
bool view_next_background(const struct session *s, size_t *at, struct view_span *out);

/* A frame for people: "libgame.so+0x1f30", "Game.Tick()", "0x7f00". */
void view_frame_text(const struct part_stack_frame *f, struct buf *out);
void view_hex(const void *bytes, size_t n, struct buf *out);

/* The shortest decimal that reads back as this float (single) or double; null if not finite. */
void view_real(struct buf *out, double v, bool single);

/* Commas between the members of an array or object. */
static inline void view_comma(struct buf *out, bool *first)
{
    if (!*first)
        buf_byte(out, ',');
    *first = false;
}
/* A possibly absent text as a JSON string, "" if absent. */
void view_json_text(struct buf *out, const char *text);
/* ,"name": and then the value; a name without need of escapes. */
void view_key(struct buf *out, const char *name);
void view_key_i64(struct buf *out, const char *name, int64_t v);
void view_key_u64(struct buf *out, const char *name, uint64_t v); /* saturates at INT64_MAX */
void view_key_bool(struct buf *out, const char *name, bool v);
void view_key_text(struct buf *out, const char *name, const char *text);

/* {"hash", "thread", "frames": [{"module", "debug_id", "offset"} | {"text"} …]}, innermost first.
 */
void view_stack_json(const struct part_stack *stack, struct buf *out);

/* Series of hardware[from..to): [{"name", "unit", "group", "t_us": […], "value": […]} …], one an
 * entry of HARDWARE_FIELDS that arrived, null where out of bounds. With more than `most` samples
 * (0: no limit) each equal piece of the samples is told by its least and greatest value. */
void view_hardware_json(const struct session *s, size_t from, size_t to, size_t most,
                        struct buf *out);
/* [{"core", "cluster_max_khz", "t_us": […], "khz": […]} …], 0 = off line, null out of bounds. */
void view_cores_json(const struct session *s, size_t from, size_t to, size_t most, struct buf *out);

/* Cores that any sample of the session speaks of. */
unsigned view_core_count(const struct session *s);
