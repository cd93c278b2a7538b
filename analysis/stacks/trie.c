#include "stacks/trie.h"

#include "stacks/trie_parts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_NODES 64
#define FIRST_PLACES 256
#define TEXT_MAX ((size_t)1 << 31)
#define NODES_MAX ((size_t)1 << 30)

/* Memory ------------------------------------------------------------------------------------------
 */

static bool too_big(struct err *err)
{
    return err_set(err, ERR_TOO_BIG, "the stacks need more memory than is allowed");
}

/* Grows *at from `had` to `want` bytes, within the cap. */
static bool grow(struct trie *t, void **at, size_t had, size_t want, struct err *err)
{
    void *p;

    if (want - had > t->cap - t->bytes)
        return too_big(err);
    p = realloc(*at, want);
    if (!p)
        return err_memory(err);
    *at = p;
    t->bytes += want - had;
    return true;
}

static size_t next_room(size_t room, size_t need, size_t first)
{
    size_t size = room ? room : first;

    while (size < need)
        size *= 2;
    return size;
}

struct trie *trie_new(size_t cap)
{
    struct trie *t = calloc(1, sizeof *t);
    struct err err;

    if (!t)
        return NULL;
    t->cap = cap;
    /* Names are strangers': nobody can tell beforehand which would meet in the tables. */
    t->seed = (uint64_t)(uintptr_t)t * 0x9e3779b97f4a7c15u;
    if (!trie_reserve(t, 1, &err)) {
        trie_free(t);
        return NULL;
    }
    t->nodes[t->n++] = (struct node){TRIE_NONE, TRIE_NONE, TRIE_NONE, TRIE_NONE, {0, 0}};
    return t;
}

void trie_free(struct trie *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->totals);
    free(t->children);
    free(t->text);
    free(t->name_at);
    free(t->names);
    free(t);
}

size_t trie_bytes(const struct trie *t)
{
    return t->bytes;
}

size_t trie_nodes(const struct trie *t)
{
    return t->n;
}

/* Hash tables -------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint64_t hash_text(const struct trie *t, const char *text, size_t n)
{
    uint64_t h = t->seed ^ n, word;

    for (; n >= 8; n -= 8, text += 8) {
        memcpy(&word, text, 8);
        h = mix(h ^ word);
    }
    word = 0;
    memcpy(&word, text, n);
    return mix(h ^ word);
}

static uint64_t hash_child(const struct trie *t, uint32_t parent, uint32_t name)
{
    return mix(t->seed ^ ((uint64_t)parent << 32 | name));
}

static void place(uint32_t *table, size_t places, uint64_t hash, uint32_t number)
{
    size_t at = hash & (places - 1);

    while (table[at])
        at = (at + 1) & (places - 1);
    table[at] = number + 1;
}

/* A table at most half full. The old one goes once the new one stands. */
static bool new_table(struct trie *t, size_t had, size_t need, uint32_t **out, size_t *places,
                      struct err *err)
{
    size_t n = next_room(had, 2 * need, FIRST_PLACES);

    *out = NULL;
    if (n == had)
        return true;
    if (n * sizeof **out > t->cap - t->bytes)
        return too_big(err);
    *out = calloc(n, sizeof **out);
    if (!*out)
        return err_memory(err);
    t->bytes += (n - had) * sizeof **out;
    *places = n;
    return true;
}

static bool reserve_children(struct trie *t, size_t nodes, struct err *err)
{
    uint32_t *table;
    size_t places;

    if (!new_table(t, t->n_children, t->n + nodes, &table, &places, err))
        return false;
    if (!table)
        return true;
    for (size_t i = 1; i < t->n; i++)
        place(table, places, hash_child(t, t->nodes[i].parent, t->nodes[i].name), (uint32_t)i);
    free(t->children);
    t->children = table;
    t->n_children = places;
    return true;
}

bool trie_reserve(struct trie *t, size_t nodes, struct err *err)
{
    if (nodes > NODES_MAX || t->n + nodes > NODES_MAX)
        return too_big(err);
    if (t->n + nodes > t->room) {
        size_t room = next_room(t->room, t->n + nodes, FIRST_NODES);

        if (!grow(t, (void **)&t->nodes, t->room * sizeof *t->nodes, room * sizeof *t->nodes, err))
            return false;
        t->room = room;
    }
    return reserve_children(t, nodes, err);
}

/* Names -------------------------------------------------------------------------------------------
 */

const char *trie_text(const struct trie *t, uint32_t name)
{
    return t->text + t->name_at[name];
}

static bool reserve_name(struct trie *t, size_t len, struct err *err)
{
    uint32_t *table;
    size_t places;

    if (len >= TEXT_MAX - t->text_len)
        return too_big(err);
    if (t->text_len + len + 1 > t->text_room) {
        size_t room = next_room(t->text_room, t->text_len + len + 1, 4096);

        if (!grow(t, (void **)&t->text, t->text_room, room, err))
            return false;
        t->text_room = room;
    }
    if (t->n_names == t->names_room) {
        size_t room = next_room(t->names_room, t->n_names + 1, FIRST_NODES);

        if (!grow(t, (void **)&t->name_at, t->names_room * sizeof *t->name_at,
                  room * sizeof *t->name_at, err))
            return false;
        t->names_room = room;
    }
    if (!new_table(t, t->n_name_places, t->n_names + 1, &table, &places, err))
        return false;
    if (!table)
        return true;
    for (uint32_t i = 0; i < t->n_names; i++)
        place(table, places, hash_text(t, trie_text(t, i), strlen(trie_text(t, i))), i);
    free(t->names);
    t->names = table;
    t->n_name_places = places;
    return true;
}

static uint32_t find_name(const struct trie *t, const char *name, uint64_t hash)
{
    if (!t->n_name_places)
        return TRIE_NONE;
    for (size_t at = hash & (t->n_name_places - 1); t->names[at];
         at = (at + 1) & (t->n_name_places - 1))
        if (strcmp(trie_text(t, t->names[at] - 1), name) == 0)
            return t->names[at] - 1;
    return TRIE_NONE;
}

bool trie_name(struct trie *t, const char *name, uint32_t *id, struct err *err)
{
    size_t len = strlen(name);
    uint64_t hash = hash_text(t, name, len);
    uint32_t found = find_name(t, name, hash);

    if (found == TRIE_NONE) {
        if (!reserve_name(t, len, err))
            return false;
        found = (uint32_t)t->n_names;
        memcpy(t->text + t->text_len, name, len + 1);
        t->name_at[t->n_names++] = (uint32_t)t->text_len;
        t->text_len += len + 1;
        place(t->names, t->n_name_places, hash, found);
    }
    *id = found;
    return true;
}

/* Nodes -------------------------------------------------------------------------------------------
 */

uint32_t trie_find_child(const struct trie *t, uint32_t parent, uint32_t name)
{
    size_t mask = t->n_children - 1;

    for (size_t at = hash_child(t, parent, name) & mask; t->children[at]; at = (at + 1) & mask) {
        uint32_t node = t->children[at] - 1;

        if (t->nodes[node].parent == parent && t->nodes[node].name == name)
            return node;
    }
    return TRIE_NONE;
}

uint32_t trie_make_child(struct trie *t, uint32_t parent, uint32_t name)
{
    uint32_t node = trie_find_child(t, parent, name);

    if (node != TRIE_NONE)
        return node;
    node = (uint32_t)t->n++;
    t->nodes[node] = (struct node){name, parent, TRIE_NONE, t->nodes[parent].first_child, {0, 0}};
    t->nodes[parent].first_child = node;
    place(t->children, t->n_children, hash_child(t, parent, name), node);
    return node;
}

static void add_to(int64_t *value, int64_t by, int sign)
{
    *value =
        (int64_t)(sign < 0 ? (uint64_t)*value - (uint64_t)by : (uint64_t)*value + (uint64_t)by);
}

bool trie_add_ids(struct trie *t, const uint32_t *names, size_t n, int64_t count, int64_t weight,
                  struct err *err)
{
    uint32_t node = TRIE_ROOT;

    if (n > TRIE_DEPTH_MAX)
        return err_set(err, ERR_TOO_BIG, "a stack has more than %d frames", TRIE_DEPTH_MAX);
    if (!trie_reserve(t, n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        node = trie_make_child(t, node, names[i]);
    add_to(&t->nodes[node].self[TRIE_COUNT], count, 1);
    add_to(&t->nodes[node].self[TRIE_WEIGHT], weight, 1);
    return true;
}

bool trie_add(struct trie *t, const char *const *frames, size_t n, int64_t count, int64_t weight,
              struct err *err)
{
    uint32_t names[TRIE_DEPTH_MAX];

    for (size_t i = 0; i < n && i < TRIE_DEPTH_MAX; i++)
        if (!trie_name(t, frames[i], &names[i], err))
            return false;
    return trie_add_ids(t, names, n, count, weight, err);
}

/* Merging -----------------------------------------------------------------------------------------
 */

static bool map_names(struct trie *into, const struct trie *from, uint32_t *name_of,
                      struct err *err)
{
    for (uint32_t i = 0; i < from->n_names; i++)
        if (!trie_name(into, trie_text(from, i), &name_of[i], err))
            return false;
    return true;
}

/* Where each node is in `into`; TRIE_NONE where it is not yet. */
static size_t count_new(const struct trie *into, const struct trie *from, const uint32_t *name_of,
                        uint32_t *node_of)
{
    size_t n = 0;

    node_of[TRIE_ROOT] = TRIE_ROOT;
    for (size_t i = 1; i < from->n; i++) {
        uint32_t parent = node_of[from->nodes[i].parent];

        node_of[i] = parent == TRIE_NONE
                         ? TRIE_NONE
                         : trie_find_child(into, parent, name_of[from->nodes[i].name]);
        n += node_of[i] == TRIE_NONE;
    }
    return n;
}

static void add_nodes(struct trie *into, const struct trie *from, int sign, const uint32_t *name_of,
                      uint32_t *node_of)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct node *f = &from->nodes[i];

        if (i && node_of[i] == TRIE_NONE)
            node_of[i] = trie_make_child(into, node_of[f->parent], name_of[f->name]);
        for (unsigned v = 0; v < 2; v++)
            add_to(&into->nodes[node_of[i]].self[v], f->self[v], sign);
    }
}

bool trie_merge_into(struct trie *into, const struct trie *from, int sign, uint32_t *node_of,
                     struct err *err)
{
    uint32_t *name_of = calloc(from->n_names + 1, sizeof *name_of);
    bool ok = name_of || err_memory(err);

    ok = ok && map_names(into, from, name_of, err) &&
         trie_reserve(into, count_new(into, from, name_of, node_of), err);
    if (ok)
        add_nodes(into, from, sign, name_of, node_of);
    free(name_of);
    return ok;
}

bool trie_merge(struct trie *into, const struct trie *from, int sign, struct err *err)
{
    uint32_t *node_of = calloc(from->n, sizeof *node_of);
    bool ok = node_of ? trie_merge_into(into, from, sign, node_of, err) : err_memory(err);

    free(node_of);
    return ok;
}

/* Reading -----------------------------------------------------------------------------------------
 */

uint32_t trie_skip(const struct trie *t, uint32_t node, uint32_t top)
{
    while (node != top) {
        if (t->nodes[node].next != TRIE_NONE)
            return t->nodes[node].next;
        node = t->nodes[node].parent;
    }
    return TRIE_NONE;
}

uint32_t trie_next(const struct trie *t, uint32_t node, uint32_t top)
{
    uint32_t child = t->nodes[node].first_child;

    return child != TRIE_NONE ? child : trie_skip(t, node, top);
}

struct trie_node trie_at(const struct trie *t, uint32_t node)
{
    const struct node *x = &t->nodes[node];
    struct trie_node out = {
        .name = node == TRIE_ROOT ? NULL : trie_text(t, x->name),
        .parent = x->parent,
        .first_child = x->first_child,
        .next = x->next,
        .self = {x->self[0], x->self[1]},
    };

    if (node < t->n_totals)
        memcpy(out.total, t->totals[node].of, sizeof out.total);
    return out;
}

static bool add_totals(struct trie *t, struct err *err)
{
    if (t->n_totals < t->n && !grow(t, (void **)&t->totals, t->n_totals * sizeof *t->totals,
                                    t->n * sizeof *t->totals, err))
        return false;
    t->n_totals = t->n;
    for (size_t i = 0; i < t->n; i++)
        memcpy(t->totals[i].of, t->nodes[i].self, sizeof t->totals[i].of);
    for (size_t i = t->n; i-- > 1;)
        for (unsigned v = 0; v < 2; v++)
            add_to(&t->totals[t->nodes[i].parent].of[v], t->totals[i].of[v], 1);
    return true;
}

struct sibling {
    int64_t total;
    const char *name;
    uint32_t node;
};

static int heavier_first(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;

    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->name, y->name);
}

static size_t gather_children(const struct trie *t, uint32_t parent, enum trie_value by,
                              struct sibling *out)
{
    size_t n = 0;

    for (uint32_t c = t->nodes[parent].first_child; c != TRIE_NONE; c = t->nodes[c].next)
        out[n++] = (struct sibling){t->totals[c].of[by], trie_text(t, t->nodes[c].name), c};
    return n;
}

static void relink(struct trie *t, uint32_t parent, const struct sibling *s, size_t n)
{
    uint32_t *link = &t->nodes[parent].first_child;

    for (size_t i = 0; i < n; i++) {
        *link = s[i].node;
        link = &t->nodes[s[i].node].next;
    }
    *link = TRIE_NONE;
}

static size_t most_children(const struct trie *t)
{
    size_t most = 0;

    for (size_t i = 0; i < t->n; i++) {
        size_t n = 0;

        for (uint32_t c = t->nodes[i].first_child; c != TRIE_NONE; c = t->nodes[c].next)
            n++;
        most = n > most ? n : most;
    }
    return most;
}

bool trie_sort(struct trie *t, enum trie_value by, struct err *err)
{
    struct sibling *s = calloc(most_children(t) + 1, sizeof *s);

    if (!s)
        return err_memory(err);
    if (!add_totals(t, err)) {
        free(s);
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        size_t n = gather_children(t, i, by, s);

        if (n > 1) {
            qsort(s, n, sizeof *s, heavier_first);
            relink(t, i, s, n);
        }
    }
    free(s);
    return true;
}
