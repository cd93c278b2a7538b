#include "stacks/paths_parts.h"

#include <stdlib.h>
#include <string.h>

/* Steps alone, over the scenes asked for: a trie of n-grams with x and y, and beside it what the
 * shares of other windows lead one to expect. */
struct sums {
    struct trie *steps;
    double *expected; /* by node: sum of X_s y_s / (Y_s + 1) */
    size_t room;
    double base; /* sum of X_s / (2 (Y_s + 1)): of an n-gram that no other window has */
    int64_t windows, clean_windows;
};

static bool grow_expected(struct sums *s, struct err *err)
{
    size_t room = s->steps->room;
    double *at;

    if (room <= s->room)
        return true;
    at = realloc(s->expected, room * sizeof *at);
    if (!at)
        return err_memory(err);
    memset(at + s->room, 0, (room - s->room) * sizeof *at);
    s->expected = at;
    s->room = room;
    return true;
}

/* The n-gram of one scene's node among the sums. */
static bool add_node(struct sums *s, const struct trie *t, uint32_t node, uint32_t *node_of,
                     double weight, struct err *err)
{
    const struct node *n = &t->nodes[node];
    uint32_t name, to;

    if (!trie_name(s->steps, trie_text(t, n->name), &name, err) ||
        !trie_reserve(s->steps, 1, err) || !grow_expected(s, err))
        return false;
    to = trie_make_child(s->steps, node_of[n->parent], name);
    for (unsigned v = 0; v < 2; v++)
        trie_count(s->steps, to, v, n->self[v]);
    s->expected[to] += weight * (double)n->self[PATH_CLEAN];
    node_of[node] = to;
    return true;
}

static bool add_scene(struct sums *s, const struct trie *t, uint32_t scene, uint32_t *node_of,
                      struct err *err)
{
    const struct node *n = &t->nodes[scene];
    double weight = (double)n->self[PATH_JANK] / ((double)n->self[PATH_CLEAN] + 1);

    if (n->self[PATH_JANK] <= 0)
        return true;
    s->windows += n->self[PATH_JANK];
    s->clean_windows += n->self[PATH_CLEAN];
    s->base += weight / 2;
    node_of[scene] = TRIE_ROOT;
    for (uint32_t x = trie_next(t, scene, scene); x != TRIE_NONE; x = trie_next(t, x, scene))
        if (!add_node(s, t, x, node_of, weight, err))
            return false;
    return true;
}

/* Scenes in the order of their names, so that sums come out the same to the last bit. */
struct scene_name {
    const char *text;
    uint32_t node;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct scene_name *)a)->text, ((const struct scene_name *)b)->text);
}

static size_t list_scenes(const struct trie *t, const char *only, struct scene_name *out)
{
    size_t n = 0;

    for (uint32_t c = t->nodes[TRIE_ROOT].first_child; c != TRIE_NONE; c = t->nodes[c].next) {
        const char *text = trie_text(t, t->nodes[c].name);

        if (!only || strcmp(only, text) == 0)
            out[n++] = (struct scene_name){text, c};
    }
    qsort(out, n, sizeof *out, by_text);
    return n;
}

static bool sum_scenes(const struct paths *p, const char *scene, struct sums *s, struct err *err)
{
    const struct trie *t = p->table;
    struct scene_name *scenes = calloc(t->n, sizeof *scenes);
    uint32_t *node_of = calloc(t->n, sizeof *node_of);
    bool ok = scenes && node_of;
    size_t n = ok ? list_scenes(t, scene, scenes) : 0;

    s->steps = trie_new(p->cap);
    ok = (ok && s->steps) || err_memory(err);
    for (size_t i = 0; ok && i < n; i++)
        ok = add_scene(s, t, scenes[i].node, node_of, err);
    free(scenes);
    free(node_of);
    return ok;
}

/* Choice ------------------------------------------------------------------------------------------
 */

static bool same_counts(const struct node *a, const struct node *b)
{
    return a->self[0] == b->self[0] && a->self[1] == b->self[1];
}

/* The same n-gram without its first step. */
static uint32_t without_first(const struct trie *t, uint32_t node)
{
    uint32_t path[PATH_NGRAM_MAX + 1], at = TRIE_ROOT;
    size_t n = 0;

    for (uint32_t x = node; x != TRIE_ROOT; x = t->nodes[x].parent)
        path[n++] = t->nodes[x].name;
    for (size_t i = n - 1; i-- && at != TRIE_NONE;)
        at = trie_find_child(t, at, path[i]);
    return at;
}

/* Which n-grams a longer one says whole. */
static bool *redundant_nodes(const struct trie *t)
{
    bool *redundant = calloc(t->n, sizeof *redundant);

    for (uint32_t x = 1; redundant && x < t->n; x++) {
        uint32_t shorter[] = {t->nodes[x].parent, without_first(t, x)};

        for (int i = 0; i < 2; i++)
            if (shorter[i] != TRIE_ROOT && shorter[i] != TRIE_NONE &&
                same_counts(&t->nodes[x], &t->nodes[shorter[i]]))
                redundant[shorter[i]] = true;
    }
    return redundant;
}

static bool fill(const struct sums *s, uint32_t node, struct arena *mem, struct path_rank *out)
{
    const struct node *n = &s->steps->nodes[node];
    uint32_t path[PATH_NGRAM_MAX + 1];
    const char **steps;

    *out = (struct path_rank){.support = n->self[PATH_JANK],
                              .windows = s->windows,
                              .clean_support = n->self[PATH_CLEAN],
                              .clean_windows = s->clean_windows};
    for (uint32_t x = node; x != TRIE_ROOT; x = s->steps->nodes[x].parent)
        path[out->n++] = s->steps->nodes[x].name;
    steps = arena_array(mem, out->n, sizeof *steps);
    if (!steps)
        return false;
    for (unsigned i = 0; i < out->n; i++) {
        const char *text = trie_text(s->steps, path[out->n - 1 - i]);

        steps[i] = arena_dup(mem, text, strlen(text));
        if (!steps[i])
            return false;
    }
    out->steps = steps;
    out->share = (double)out->support / (double)s->windows;
    out->clean_share = (s->expected[node] + s->base) / (double)s->windows;
    out->lift = ((double)out->support + 0.5) / ((double)s->windows + 1) / out->clean_share;
    return true;
}

static int better_first(const void *a, const void *b)
{
    const struct path_rank *x = a, *y = b;

    if (x->lift != y->lift)
        return x->lift > y->lift ? -1 : 1;
    if (x->support != y->support)
        return x->support > y->support ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    for (unsigned i = 0; i < x->n; i++) {
        int order = strcmp(x->steps[i], y->steps[i]);

        if (order)
            return order;
    }
    return 0;
}

static size_t candidates(const struct trie *t, const bool *redundant, uint32_t *out)
{
    size_t n = 0;

    for (uint32_t x = 1; x < t->n; x++)
        if (t->nodes[x].self[PATH_JANK] >= PATH_SUPPORT_MIN && !redundant[x])
            out[n++] = x;
    return n;
}

static bool rank(const struct sums *s, struct arena *mem, struct path_rank **out, size_t *n,
                 struct err *err)
{
    bool *redundant = redundant_nodes(s->steps);
    uint32_t *nodes = calloc(s->steps->n, sizeof *nodes);
    size_t found = redundant && nodes ? candidates(s->steps, redundant, nodes) : 0;
    struct path_rank *list = arena_array(mem, found + 1, sizeof *list);
    bool ok = redundant && nodes && list;

    for (size_t i = 0; ok && i < found; i++)
        ok = fill(s, nodes[i], mem, &list[i]);
    free(redundant);
    free(nodes);
    if (!ok)
        return err_full(err, "paths");
    qsort(list, found, sizeof *list, better_first);
    *out = list;
    *n = found;
    return true;
}

bool paths_rank(const struct paths *p, const char *scene, size_t max, struct arena *mem,
                struct path_rank **out, size_t *n, struct err *err)
{
    struct sums s = {0};
    bool ok = sum_scenes(p, scene, &s, err) && rank(&s, mem, out, n, err);

    if (ok && *n > max)
        *n = max;
    trie_free(s.steps);
    free(s.expected);
    return ok;
}
