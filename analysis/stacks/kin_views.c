#include "base/digest.h"
#include "stacks/kin_parts.h"

#include <stdlib.h>

#define LOST_SIDE 2 /* frames that one of two families may lack */
#define LOST_BOTH 3 /* that they may lack together */
#define HEAVIEST 8  /* families of one key that others may join */

/* Views -------------------------------------------------------------------------------------------
 */

static unsigned ones(unsigned bits)
{
    unsigned n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* The names of a view, told apart by kind of stack and of likeness. */
static bool make_key(struct kin_work *w, struct kin_view *v)
{
    static const uint8_t likeness[] = {
        [VIEW_LOST] = 1, [VIEW_BEGINNING] = 0, [VIEW_CUT] = 0, [VIEW_NAMED] = 2};
    const struct kin_member *m = w->groups[v->group].member;
    unsigned char sum[SHA256_BYTES];

    buf_reset(&w->text);
    buf_byte(&w->text, likeness[v->kind]);
    buf_byte(&w->text, (uint8_t)m->kind);
    for (unsigned i = 0; i <= v->last; i++) {
        const char *name = v->named && i == v->place ? v->named : m->family->names[i];

        if (!(v->without >> i & 1))
            buf_put(&w->text, name, strlen(name) + 1);
    }
    sha256(w->text.at, w->text.len, sum);
    memcpy(v->key, sum, KEY_BYTES);
    return buf_ok(&w->text);
}

/* The first n names but those left out. */
static bool add_view(struct kin_work *w, size_t group, enum kin_view_kind kind, unsigned n,
                     unsigned without)
{
    struct kin_view *v = &w->views.at[w->views.n++];

    *v = (struct kin_view){.family = w->groups[group].family,
                           .group = (uint32_t)group,
                           .count = w->families[w->groups[group].family].count,
                           .without = (uint8_t)without,
                           .last = (uint8_t)(n - 1),
                           .n_out = (uint8_t)ones(without),
                           .kind = kind};
    return make_key(w, v);
}

static unsigned in_common(const struct kin_work *w)
{
    return w->depth < KIN_COMMON        ? KIN_COMMON
           : w->depth < RULES_DEPTH_MAX ? w->depth
                                        : RULES_DEPTH_MAX - 1;
}

/* As many names as are to be the same, taken out of the first ones; the last of them is compared,
 * since without it fewer are left out. */
static bool view_lost(struct kin_work *w, size_t group)
{
    unsigned n_names = w->groups[group].member->family->n_names;

    for (unsigned out = 0; out <= LOST_SIDE; out++) {
        unsigned n = in_common(w) + out;

        if (n > n_names)
            break;
        for (unsigned without = 0; without < 1u << (n - 1); without++)
            if (ones(without) == out && !add_view(w, group, VIEW_LOST, n, without))
                return false;
    }
    return true;
}

static bool view_cut(struct kin_work *w, size_t group)
{
    const struct family *f = w->groups[group].member->family;

    for (unsigned n = 1; n < f->n_names && n < w->depth; n++)
        if (!add_view(w, group, VIEW_BEGINNING, n, 0))
            return false;
    return !f->cut || f->n_names >= w->depth || add_view(w, group, VIEW_CUT, f->n_names, 0);
}

static bool add_named(struct kin_work *w, size_t group, unsigned n, unsigned place,
                      const char *named)
{
    struct kin_view *v = &w->views.at[w->views.n];

    if (!named || !add_view(w, group, VIEW_NAMED, n, 0))
        return false;
    v->named = named;
    v->place = (uint8_t)place;
    v->n_out = 1;
    return make_key(w, v);
}

/* Where a mapping allows several names for one place, as it reads with each of them. */
static bool view_named(struct kin_work *w, size_t group)
{
    const struct family *f = w->groups[group].member->family;
    unsigned n = f->n_names < in_common(w) ? f->n_names : in_common(w), named = 0;

    if (!add_view(w, group, VIEW_NAMED, n, 0))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const char *at = f->names[i], *end;

        if (!strchr(at, '|') || strstr(at, "operator|"))
            continue;
        for (; *at && named < NAMED_MAX; at = *end ? end + 1 : end) {
            end = at + strcspn(at, "|");
            if (end > at && ++named &&
                !add_named(w, group, n, i, arena_dup(w->mem, at, (size_t)(end - at))))
                return false;
        }
    }
    return true;
}

static int by_key(const void *va, const void *vb)
{
    const struct kin_view *a = va, *b = vb;
    int order = memcmp(a->key, b->key, KEY_BYTES);

    if (order)
        return order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->n_out > b->n_out) - (a->n_out < b->n_out);
}

static int by_view(const void *va, const void *vb)
{
    const struct kin_view *a = va, *b = vb;
    int order = by_key(a, b);

    if (order)
        return order;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->without != b->without)
        return a->without < b->without ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return kin_by_text(a->named, b->named);
}

/* Equal keys of one family are one; of many families the heaviest stay. */
static bool keep_heaviest(struct kin_work *w)
{
    struct kin_view_list *out = &w->heaviest;
    size_t of_key = 0;

    out->at = arena_array(w->mem, w->views.n + 1, sizeof *out->at);
    if (!out->at)
        return false;
    for (size_t i = 0; i < w->views.n; i++) {
        const struct kin_view *v = &w->views.at[i], *last = out->n ? &out->at[out->n - 1] : NULL;
        bool same = last && by_key(last, v) == 0;

        if (same && last->family == v->family)
            continue;
        of_key = same ? of_key + 1 : 1;
        if (of_key <= HEAVIEST)
            out->at[out->n++] = *v;
    }
    return true;
}

bool kin_make_views(struct kin_work *w)
{
    w->views.at = arena_array(w->mem, w->n_groups * VIEWS_MAX + 1, sizeof *w->views.at);
    if (!w->views.at)
        return false;
    for (size_t i = 0; i < w->n_groups; i++)
        if (!view_lost(w, i) || !view_cut(w, i) || !view_named(w, i))
            return false;
    qsort(w->views.at, w->views.n, sizeof *w->views.at, by_view);
    return keep_heaviest(w);
}

/* Matches -----------------------------------------------------------------------------------------
 */

static size_t first_of(const struct kin_view_list *list, const struct kin_view *key)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (by_key(&list->at[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Heavier families that look like `mine` from where `wanted` tells. Without room they are counted
 * only. */
static void match(const struct kin_work *w, const struct kin_view *mine, struct kin_view wanted,
                  struct kin_match *room, size_t *n)
{
    static const enum kin_reason reason_of[] = {
        [VIEW_LOST] = KIN_LOST, [VIEW_CUT] = KIN_CUT, [VIEW_NAMED] = KIN_NAMED};
    const struct kin_view_list *list = &w->heaviest;

    for (size_t i = first_of(list, &wanted); i < list->n && by_key(&list->at[i], &wanted) == 0;
         i++) {
        const struct kin_view *theirs = &list->at[i];

        if (theirs->count <= mine->count)
            continue;
        if (room)
            room[*n] = (struct kin_match){.from = mine->family,
                                          .into = theirs->family,
                                          .group = mine->group,
                                          .reason = reason_of[mine->kind],
                                          .n_out = (uint8_t)(mine->n_out + theirs->n_out),
                                          .mine = mine,
                                          .theirs = theirs,
                                          .count = w->groups[mine->group].count};
        ++*n;
    }
}

/* The lighter family is to join the heavier, whichever of them lacks a frame; but what was cut
 * short is never the whole. */
static void match_all(const struct kin_work *w, struct kin_match *room, size_t *n)
{
    for (size_t i = 0; i < w->views.n; i++) {
        const struct kin_view *mine = &w->views.at[i];
        struct kin_view wanted = *mine;

        if (w->families[mine->family].stays || mine->kind == VIEW_BEGINNING)
            continue;
        if (mine->kind == VIEW_CUT) {
            wanted.kind = VIEW_BEGINNING;
            match(w, mine, wanted, room, n);
            continue;
        }
        for (wanted.n_out = 0; wanted.n_out <= LOST_SIDE; wanted.n_out++)
            if (wanted.n_out + mine->n_out && wanted.n_out + mine->n_out <= LOST_BOTH)
                match(w, mine, wanted, room, n);
    }
}

static int by_pair(const void *va, const void *vb)
{
    const struct kin_match *a = va, *b = vb;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->into != b->into)
        return a->into < b->into ? -1 : 1;
    if (a->n_out != b->n_out)
        return a->n_out < b->n_out ? -1 : 1;
    if (a->reason != b->reason)
        return a->reason < b->reason ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->mine->without != b->mine->without)
        return a->mine->without < b->mine->without ? -1 : 1;
    return (a->theirs->without > b->theirs->without) - (a->theirs->without < b->theirs->without);
}

/* One a pair, reason and number of frames. The frames told are those of the first by place: one
 * family's stacks hardly differ in it. */
static void sum_pairs(struct kin_work *w)
{
    size_t n = 0;
    uint32_t last = UINT32_MAX;

    qsort(w->matches, w->n_matches, sizeof *w->matches, by_pair);
    for (size_t i = 0; i < w->n_matches; i++) {
        const struct kin_match *m = &w->matches[i];
        struct kin_match *sum = n ? &w->matches[n - 1] : NULL;

        if (!sum || sum->from != m->from || sum->into != m->into || sum->n_out != m->n_out ||
            sum->reason != m->reason)
            w->matches[n++] = *m;
        else if (m->group != last)
            sum->count += m->count;
        last = m->group;
    }
    w->n_matches = n;
}

bool kin_make_matches(struct kin_work *w)
{
    size_t n = 0;

    match_all(w, NULL, &n);
    w->matches = arena_array(w->mem, n + 1, sizeof *w->matches);
    if (!w->matches)
        return false;
    match_all(w, w->matches, &w->n_matches);
    sum_pairs(w);
    return true;
}
