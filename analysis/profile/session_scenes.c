/* The distinct scenes of a session, and which change leads to which. */
#include "profile/session_merge.h"

#include <stdlib.h>
#include <string.h>

struct change {
    const char *mode, *map;
    size_t at; /* place in scene_changes */
};

/* A distinct (mode, map), and the changes that lead to it: sorted[from] .. sorted[to - 1]. */
struct group {
    const char *key;
    size_t from, to, first_at;
};

static int by_name(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int order = strcmp(x->mode, y->mode);

    if (!order)
        order = strcmp(x->map, y->map);
    if (order)
        return order;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return x->first_at < y->first_at ? -1 : x->first_at > y->first_at;
}

static int by_key(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return strcmp(x->key, y->key);
}

static struct change *sorted_changes(struct merge *m)
{
    const struct session *s = &m->session;
    struct change *sorted = arena_array(m->mem, s->n_scene_changes, sizeof *sorted);

    for (size_t i = 0; sorted && i < s->n_scene_changes; i++)
        sorted[i] = (struct change){s->scene_changes[i].mode, s->scene_changes[i].map, i};
    if (sorted)
        qsort(sorted, s->n_scene_changes, sizeof *sorted, by_name);
    return sorted;
}

/* Groups of equal (mode, map); "" / "" is no scene and no group. */
static size_t find_groups(const struct change *sorted, size_t n, struct group *groups)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const struct change *c = &sorted[i];

        if (!*c->mode && !*c->map)
            continue;
        if (!count || i == 0 || strcmp(c->mode, sorted[i - 1].mode) != 0 ||
            strcmp(c->map, sorted[i - 1].map) != 0)
            groups[count++] = (struct group){.from = i, .first_at = c->at};
        groups[count - 1].to = i + 1;
    }
    return count;
}

const char *merge_scene_key(struct arena *mem, const char *mode, const char *map)
{
    if (!*mode && !*map)
        return "";

    char *key = arena_alloc(mem, strlen(mode) * 3 + strlen(map) + 2), *to = key;

    if (!key)
        return NULL;
    for (const char *p = mode; *p; p++) {
        const char *escaped = *p == '/' ? "%2F" : *p == '%' ? "%25" : NULL;

        memcpy(to, escaped ? escaped : p, escaped ? 3 : 1);
        to += escaped ? 3 : 1;
    }
    *to++ = '/';
    memcpy(to, map, strlen(map) + 1);
    return key;
}

#define OTHER_KEY "%other" /* no escaped mode has it */

/* Keys of all groups; those past the limit share one. Sorted by key afterwards. */
static bool name_groups(struct merge *m, const struct change *sorted, struct group *groups,
                        size_t n)
{
    if (n > MAX_SESSION_SCENES)
        qsort(groups, n, sizeof *groups, by_first);
    for (size_t g = 0; g < n; g++) {
        bool other = g >= MAX_SESSION_SCENES;

        const struct change *first = &sorted[groups[g].from];

        groups[g].key = other ? OTHER_KEY : merge_scene_key(m->mem, first->mode, first->map);
        if (!groups[g].key)
            return false;
        if (other)
            m->session.invalid[INVALID_too_many_scenes] += (int64_t)(groups[g].to - groups[g].from);
    }
    qsort(groups, n, sizeof *groups, by_key);
    return true;
}

static void add_scene(struct session *s, const struct group *group, const struct change *first)
{
    bool other = !strcmp(group->key, OTHER_KEY);

    if (strcmp(group->key, s->scenes[s->n_scenes - 1].key) != 0)
        s->scenes[s->n_scenes++] =
            (struct session_scene){group->key, other ? "" : first->mode, other ? "" : first->map};
}

void merge_scenes(struct merge *m)
{
    struct session *s = &m->session;
    uint16_t *scene_of = arena_array(m->mem, s->n_scene_changes, sizeof *scene_of);
    struct change *sorted = sorted_changes(m);
    struct group *groups = arena_array(m->mem, s->n_scene_changes, sizeof *groups);

    if (!scene_of || !sorted || !groups)
        return;

    size_t n = find_groups(sorted, s->n_scene_changes, groups);

    s->scenes = arena_array(m->mem, (n < MAX_SESSION_SCENES ? n : MAX_SESSION_SCENES) + 2,
                            sizeof *s->scenes);
    if (!s->scenes || !name_groups(m, sorted, groups, n))
        return;
    s->scenes[s->n_scenes++] = (struct session_scene){"", "", ""};
    for (size_t g = 0; g < n; g++) {
        add_scene(s, &groups[g], &sorted[groups[g].from]);
        for (size_t i = groups[g].from; i < groups[g].to; i++)
            scene_of[sorted[i].at] = (uint16_t)(s->n_scenes - 1);
    }
    s->change_scene = scene_of;
}
