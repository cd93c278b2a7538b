#include "stacks/trie_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool new_trie(size_t cap, struct trie **out, struct err *err)
{
    *out = trie_new(cap);
    return *out || err_memory(err);
}

/* A child of `parent` by its text. */
static bool child_named(struct trie *t, uint32_t parent, const char *name, uint32_t *out,
                        struct err *err)
{
    uint32_t id;

    if (!trie_name(t, name, &id, err) || !trie_reserve(t, 1, err))
        return false;
    *out = trie_make_child(t, parent, id);
    return true;
}

static void add_values(struct trie *t, uint32_t node, const int64_t by[2])
{
    for (unsigned v = 0; v < 2; v++)
        trie_count(t, node, v, by[v]);
}

/* Prune -------------------------------------------------------------------------------------------
 */

struct pruning {
    struct trie *from, *to;
    uint32_t *node_of; /* of each node of from */
    enum trie_value by;
    double least;
};

static bool keep_or_fold(struct pruning *p, uint32_t node, bool *kept, struct err *err)
{
    const struct node *n = &p->from->nodes[node];
    uint32_t parent = p->node_of[n->parent], to;

    *kept = (double)p->from->totals[node].of[p->by] >= p->least;
    if (!child_named(p->to, parent, *kept ? trie_text(p->from, n->name) : TRIE_OTHER, &to, err))
        return false;
    add_values(p->to, to, *kept ? n->self : p->from->totals[node].of);
    p->node_of[node] = to;
    return true;
}

static bool prune(struct pruning *p, struct err *err)
{
    uint32_t node = trie_next(p->from, TRIE_ROOT, TRIE_ROOT);
    bool kept;

    add_values(p->to, TRIE_ROOT, p->from->nodes[TRIE_ROOT].self);
    while (node != TRIE_NONE) {
        if (!keep_or_fold(p, node, &kept, err))
            return false;
        node = kept ? trie_next(p->from, node, TRIE_ROOT) : trie_skip(p->from, node, TRIE_ROOT);
    }
    return true;
}

bool trie_prune(struct trie *t, enum trie_value by, double share, size_t cap, struct trie **out,
                struct err *err)
{
    struct pruning p = {.from = t, .by = by};

    if (!trie_sort(t, by, err) || !new_trie(cap, &p.to, err))
        return false;
    p.least = share * (double)t->totals[TRIE_ROOT].of[by];
    p.node_of = calloc(t->n, sizeof *p.node_of);

    bool ok = p.node_of ? prune(&p, err) : err_memory(err);

    ok = ok && trie_sort(p.to, by, err);
    free(p.node_of);
    if (ok)
        *out = p.to;
    else
        trie_free(p.to);
    return ok;
}

/* Sandwich ----------------------------------------------------------------------------------------
 */

static bool add_callers(struct trie *t, uint32_t node, struct trie *callers, struct err *err)
{
    uint32_t to = TRIE_ROOT;

    for (uint32_t x = node; x != TRIE_ROOT; x = t->nodes[x].parent)
        if (!child_named(callers, to, trie_text(t, t->nodes[x].name), &to, err))
            return false;
    add_values(callers, to, t->totals[node].of);
    return true;
}

static bool add_callees(struct trie *t, uint32_t top, struct trie *callees, uint32_t *node_of,
                        struct err *err)
{
    for (uint32_t x = top; x != TRIE_NONE; x = trie_next(t, x, top)) {
        uint32_t parent = x == top ? TRIE_ROOT : node_of[t->nodes[x].parent];

        if (!child_named(callees, parent, trie_text(t, t->nodes[x].name), &node_of[x], err))
            return false;
        add_values(callees, node_of[x], t->nodes[x].self);
    }
    return true;
}

static bool split_at(struct trie *t, const char *name, struct trie *callers, struct trie *callees,
                     uint32_t *node_of, struct err *err)
{
    uint32_t node = trie_next(t, TRIE_ROOT, TRIE_ROOT);

    while (node != TRIE_NONE) {
        if (strcmp(trie_text(t, t->nodes[node].name), name) != 0) {
            node = trie_next(t, node, TRIE_ROOT);
            continue;
        }
        if (!add_callers(t, node, callers, err) || !add_callees(t, node, callees, node_of, err))
            return false;
        node = trie_skip(t, node, TRIE_ROOT);
    }
    return trie_sort(callers, TRIE_COUNT, err) && trie_sort(callees, TRIE_COUNT, err);
}

bool trie_sandwich(struct trie *t, const char *name, size_t cap, struct trie **callers,
                   struct trie **callees, struct err *err)
{
    struct trie *above = NULL, *below = NULL;
    uint32_t *node_of = NULL;
    bool ok =
        trie_sort(t, TRIE_COUNT, err) && new_trie(cap, &above, err) && new_trie(cap, &below, err);

    if (ok)
        node_of = calloc(t->n, sizeof *node_of);
    ok = ok && (node_of ? split_at(t, name, above, below, node_of, err) : err_memory(err));
    free(node_of);
    if (!ok) {
        trie_free(above);
        trie_free(below);
        return false;
    }
    *callers = above;
    *callees = below;
    return true;
}

/* Diff --------------------------------------------------------------------------------------------
 */

static double share_of(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void add_shares(const struct trie *t, enum trie_value by, const uint32_t *node_of, int side,
                       struct trie_diff_node *nodes)
{
    int64_t whole = t->totals[TRIE_ROOT].of[by];

    for (size_t i = 0; i < t->n; i++) {
        nodes[node_of[i]].self[side] = share_of(t->nodes[i].self[by], whole);
        nodes[node_of[i]].total[side] = share_of(t->totals[i].of[by], whole);
    }
}

struct changed {
    double change;
    const char *name;
    uint32_t node;
};

static int more_changed_first(const void *a, const void *b)
{
    const struct changed *x = a, *y = b;

    if (x->change != y->change)
        return x->change > y->change ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void order_children(struct trie_diff_node *nodes, uint32_t parent, struct changed *room)
{
    size_t n = 0;
    uint32_t *link = &nodes[parent].first_child;

    for (uint32_t c = nodes[parent].first_child; c != TRIE_NONE; c = nodes[c].next)
        room[n++] = (struct changed){fabs(nodes[c].total[1] - nodes[c].total[0]), nodes[c].name, c};
    qsort(room, n, sizeof *room, more_changed_first);
    for (size_t i = 0; i < n; i++) {
        *link = room[i].node;
        link = &nodes[room[i].node].next;
    }
    *link = TRIE_NONE;
}

/* Tree and names of the union; shares still 0. */
static bool union_of(struct trie *a, struct trie *b, struct trie *u, uint32_t *from_a,
                     uint32_t *from_b, struct trie_diff *d, struct err *err)
{
    if (!trie_merge_into(u, a, 1, from_a, err) || !trie_merge_into(u, b, 1, from_b, err))
        return false;
    d->nodes = calloc(u->n, sizeof *d->nodes);
    if (!d->nodes)
        return err_memory(err);
    d->n = u->n;
    for (uint32_t i = 0; i < u->n; i++) {
        const struct node *n = &u->nodes[i];

        d->nodes[i].name = i ? trie_text(u, n->name) : NULL;
        d->nodes[i].parent = n->parent;
        d->nodes[i].first_child = n->first_child;
        d->nodes[i].next = n->next;
    }
    return true;
}

static bool fill_diff(struct trie *a, struct trie *b, enum trie_value by, struct trie_diff *d,
                      struct err *err)
{
    uint32_t *from_a = calloc(a->n, sizeof *from_a), *from_b = calloc(b->n, sizeof *from_b);
    struct changed *room = NULL;
    bool ok = (from_a && from_b) || err_memory(err);

    ok = ok && union_of(a, b, d->names, from_a, from_b, d, err);
    if (ok && !(room = calloc(d->n, sizeof *room)))
        ok = err_memory(err);
    if (ok) {
        add_shares(a, by, from_a, 0, d->nodes);
        add_shares(b, by, from_b, 1, d->nodes);
        for (uint32_t i = 0; i < d->n; i++)
            order_children(d->nodes, i, room);
    }
    free(from_a);
    free(from_b);
    free(room);
    return ok;
}

bool trie_diff(struct trie *a, struct trie *b, enum trie_value by, size_t cap,
               struct trie_diff *out, struct err *err)
{
    struct trie_diff d = {0};

    if (!trie_sort(a, by, err) || !trie_sort(b, by, err) || !new_trie(cap, &d.names, err))
        return false;
    if (!fill_diff(a, b, by, &d, err)) {
        trie_diff_fini(&d);
        return false;
    }
    *out = d;
    return true;
}

void trie_diff_fini(struct trie_diff *d)
{
    free(d->nodes);
    trie_free(d->names);
    *d = (struct trie_diff){0};
}
