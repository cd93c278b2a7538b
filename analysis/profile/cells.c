#include "profile/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COORDINATE_LIMIT (INT64_C(1) << CELL_LEVEL_MAX) /* beyond is its edge */

/* A time in one square of level 0, or of the scene's level once that is known. */
struct stay {
    uint16_t scene;
    int64_t x, y, dwell_us, jank_us;
};

struct stays {
    struct stay *at;
    size_t n;
};

static int64_t square(float v)
{
    double f = floor((double)v);

    if (f > (double)COORDINATE_LIMIT)
        return COORDINATE_LIMIT;
    return f < -(double)COORDINATE_LIMIT ? -COORDINATE_LIMIT : (int64_t)f;
}

/* The frames of each position, where they are in a scene; at most one stay a position and scene
 * change. */
static void find_stays(const struct session *s, struct stays *out)
{
    size_t p = 0, last = SIZE_MAX;

    for (size_t i = 0; i < s->n_frames; i++) {
        const struct frame *f = &s->frames[i];

        while (p + 1 < s->n_positions && s->positions[p + 1].t_us <= f->start_us)
            p++;
        if (f->state != FRAME_VALID || !f->scene || s->positions[p].t_us > f->start_us ||
            f->start_us - s->positions[p].t_us > CELL_HOLDS_US)
            continue;

        struct stay *at = out->n ? &out->at[out->n - 1] : NULL;

        if (last != p || !at || at->scene != f->scene) {
            at = &out->at[out->n++];
            *at = (struct stay){
                .scene = f->scene, .x = square(s->positions[p].x), .y = square(s->positions[p].y)};
            last = p;
        }
        at->dwell_us += f->interval_us;
        at->jank_us += f->jank ? f->interval_us : 0;
    }
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_square(const void *va, const void *vb)
{
    const struct stay *a = va, *b = vb;
    int order = compare(a->x, b->x);

    return order ? order : compare(a->y, b->y);
}

static size_t distinct(struct stay *at, size_t n)
{
    size_t kept = 0;

    qsort(at, n, sizeof *at, by_square);
    for (size_t i = 0; i < n; i++)
        if (!kept || by_square(&at[kept - 1], &at[i]) != 0)
            at[kept++] = at[i];
    return kept;
}

/* The finest level at which the scene's stays touch few enough squares; `work` has room for all. */
static unsigned level_of(const struct stays *stays, uint16_t scene, struct stay *work)
{
    unsigned level = 0;
    size_t n = 0;

    for (size_t i = 0; i < stays->n; i++)
        if (stays->at[i].scene == scene)
            work[n++] = stays->at[i];
    for (n = distinct(work, n); n > CELLS_PER_MAP && level < CELL_LEVEL_MAX; level++) {
        for (size_t i = 0; i < n; i++) {
            work[i].x >>= 1;
            work[i].y >>= 1;
        }
        n = distinct(work, n);
    }
    return level;
}

static int by_cell(const void *va, const void *vb)
{
    const struct map_cell *a = va, *b = vb;
    int order = strcmp(a->scene, b->scene);

    if (!order)
        order = compare(a->level, b->level);
    if (!order)
        order = compare(a->x, b->x);
    return order ? order : compare(a->y, b->y);
}

static size_t sum_equal(struct map_cell *at, size_t n)
{
    size_t kept = 0;

    qsort(at, n, sizeof *at, by_cell);
    for (size_t i = 0; i < n; i++) {
        if (!kept || by_cell(&at[kept - 1], &at[i]) != 0) {
            at[kept++] = at[i];
            continue;
        }
        at[kept - 1].visits += at[i].visits;
        at[kept - 1].janky_visits += at[i].janky_visits;
        at[kept - 1].jank_ms += at[i].jank_ms;
        at[kept - 1].dwell_ms += at[i].dwell_ms;
    }
    return kept;
}

/* Runs of stays in one square are one visit. */
static size_t visits(const struct session *s, const struct stays *stays, const unsigned *level,
                     struct map_cell *out)
{
    size_t n = 0;

    for (size_t i = 0; i < stays->n;) {
        const struct stay *first = &stays->at[i];
        unsigned l = level[first->scene];
        int64_t jank_us = 0, dwell_us = 0;

        for (; i < stays->n && stays->at[i].scene == first->scene &&
               stays->at[i].x >> l == first->x >> l && stays->at[i].y >> l == first->y >> l;
             i++) {
            jank_us += stays->at[i].jank_us;
            dwell_us += stays->at[i].dwell_us;
        }
        out[n++] = (struct map_cell){s->scenes[first->scene].key,
                                     l,
                                     first->x >> l,
                                     first->y >> l,
                                     1,
                                     jank_us > 0,
                                     jank_us / 1000,
                                     dwell_us / 1000};
    }
    return n;
}

bool cells_of(const struct session *s, struct arena *mem, struct map_cell **out, size_t *n)
{
    size_t most = s->n_positions + s->n_scene_changes + 1;
    struct stays stays = {.at = arena_array(mem, most, sizeof *stays.at)};
    struct stay *work = arena_array(mem, most, sizeof *work);
    unsigned *level = arena_array(mem, s->n_scenes + 1, sizeof *level);
    struct map_cell *cells = NULL;

    *out = NULL;
    *n = 0;
    if (!stays.at || !work || !level)
        return false;
    if (!s->n_positions)
        return true;
    find_stays(s, &stays);
    for (size_t i = 1; i < s->n_scenes; i++)
        level[i] = level_of(&stays, (uint16_t)i, work);
    cells = arena_array(mem, stays.n, sizeof *cells);
    if (!cells)
        return false;
    *out = cells;
    *n = sum_equal(cells, visits(s, &stays, level, cells));
    return true;
}
