#include "stacks/kin_parts.h"

#include <stdlib.h>

#define KEY_NAME_MAX (10 * NAME_TEXT_MAX) /* alternatives of a mapping make the longest */
#define DOMINANT 4

const char *const kin_reason_name[] = {"lost", "cut", "named"};

/* Families ----------------------------------------------------------------------------------------
 */

static int by_fingerprint(const void *a, const void *b)
{
    return memcmp(((const struct kin_family *)a)->fingerprint,
                  ((const struct kin_family *)b)->fingerprint, FINGERPRINT_BYTES);
}

static const uint8_t *fingerprint_of(const struct kin_work *w, size_t member)
{
    return w->members[member].family->fingerprint[w->depth - 1];
}

static bool takes_part(const struct kin_member *m)
{
    return m->family->class == STACK_CLASS_IN_APP && m->family->n_names && m->count > 0;
}

static void merge_equal(struct kin_work *w)
{
    size_t n = 0;

    qsort(w->families, w->n_families, sizeof *w->families, by_fingerprint);
    for (size_t i = 0; i < w->n_families; i++) {
        if (n && by_fingerprint(&w->families[n - 1], &w->families[i]) == 0) {
            w->families[n - 1].count += w->families[i].count;
            w->families[n - 1].stays |= w->families[i].stays;
        } else {
            w->families[n++] = w->families[i];
        }
    }
    w->n_families = n;
    for (size_t i = 0; i < n; i++)
        w->families[i].joins = i;
}

static struct kin_family *family_at(const struct kin_work *w, const uint8_t *fingerprint)
{
    struct kin_family wanted;

    memcpy(wanted.fingerprint, fingerprint, FINGERPRINT_BYTES);
    return w->n_families
               ? bsearch(&wanted, w->families, w->n_families, sizeof wanted, by_fingerprint)
               : NULL;
}

static bool make_families(struct kin_work *w)
{
    w->families = arena_array(w->mem, w->n + 1, sizeof *w->families);
    if (!w->families)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        struct kin_family *f = &w->families[w->n_families];

        if (!takes_part(&w->members[i]))
            continue;
        memcpy(f->fingerprint, fingerprint_of(w, i), FINGERPRINT_BYTES);
        f->stays = w->members[i].stays;
        f->count = w->members[i].count;
        w->n_families++;
    }
    merge_equal(w);
    return true;
}

/* Groups ------------------------------------------------------------------------------------------
 */

/* Equal fingerprints of the greatest depth are equal names. */
static int by_reading(const void *va, const void *vb)
{
    const struct kin_group *a = va, *b = vb;
    const struct kin_member *x = a->member, *y = b->member;
    int order = memcmp(x->family->fingerprint[RULES_DEPTH_MAX - 1],
                       y->family->fingerprint[RULES_DEPTH_MAX - 1], FINGERPRINT_BYTES);

    if (order || a->family != b->family)
        return order ? order : a->family < b->family ? -1 : 1;
    if (x->build != y->build)
        return x->build < y->build ? -1 : 1;
    if (x->family->cut != y->family->cut)
        return x->family->cut ? -1 : 1;
    for (unsigned i = 0; !order && i < x->family->n_names; i++)
        order = kin_by_text(x->image[i], y->image[i]);
    return order;
}

static bool make_groups(struct kin_work *w)
{
    size_t all = 0, n = 0;

    w->groups = arena_array(w->mem, w->n + 1, sizeof *w->groups);
    if (!w->groups)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (takes_part(&w->members[i]))
            w->groups[all++] = (struct kin_group){
                .member = &w->members[i],
                .family = (uint32_t)(family_at(w, fingerprint_of(w, i)) - w->families),
                .count = w->members[i].count};
    qsort(w->groups, all, sizeof *w->groups, by_reading);
    for (size_t i = 0; i < all; i++) {
        if (n && by_reading(&w->groups[n - 1], &w->groups[i]) == 0)
            w->groups[n - 1].count += w->groups[i].count;
        else
            w->groups[n++] = w->groups[i];
    }
    w->n_groups = n;
    return true;
}

/* Joins -------------------------------------------------------------------------------------------
 */

static bool holds(const struct kin_work *w, const struct kin_match *m)
{
    return m->count * 2 >= w->families[m->from].count &&
           (m->reason != KIN_LOST || kin_could_be_lost(w, m));
}

/* All pairs of one `from`. The fewest frames lost go first; a doubtful guess is none. */
static void join_one(struct kin_work *w, const struct kin_match *pairs, size_t n)
{
    const struct kin_match *best = NULL;
    int64_t second = 0, heaviest = 0;
    unsigned least = UINT8_MAX;

    for (size_t i = 0; i < n; i++) {
        int64_t count = w->families[pairs[i].into].count;
        unsigned out = pairs[i].reason == KIN_LOST ? pairs[i].n_out : 1;

        if (out > least || (best && pairs[i].into == best->into) || !holds(w, &pairs[i]))
            continue;
        if (out < least)
            second = heaviest = 0;
        least = out;
        if (count > heaviest) {
            second = heaviest;
            heaviest = count;
            best = &pairs[i];
        } else if (count > second) {
            second = count;
        }
    }
    if (!best || second * DOMINANT > heaviest)
        return;
    w->families[best->from].joins = best->into;
    w->families[best->from].by = best;
}

static size_t root_of(const struct kin_work *w, size_t family)
{
    while (w->families[family].joins != family)
        family = w->families[family].joins;
    return family;
}

/* Whatever leads the one to the other is not done: at its end that is nearer to it. */
static void keep_apart(struct kin_work *w, const struct kin_apart *apart)
{
    const struct kin_family *a = family_at(w, apart->one), *b = family_at(w, apart->other);
    size_t i, k;

    if (!a || !b || a == b)
        return;
    i = (size_t)(a - w->families);
    k = (size_t)(b - w->families);
    while (root_of(w, i) == root_of(w, k)) {
        size_t cut = w->families[i].joins != i ? i : k;

        w->families[cut].joins = cut;
    }
}

/* The names a view leaves out; NULL: none. */
static bool names_of(struct kin_work *w, const struct kin_view *v, const char **out)
{
    const struct family *f = w->groups[v->group].member->family;

    *out = NULL;
    if (!v->without)
        return true;
    buf_reset(&w->text);
    for (unsigned i = 0; i <= v->last; i++) {
        if (!(v->without >> i & 1))
            continue;
        if (w->text.len)
            buf_text(&w->text, ", ");
        buf_text(&w->text, f->names[i]);
    }
    *out = buf_ok(&w->text) ? arena_dup(w->mem, (const char *)w->text.at, w->text.len) : NULL;
    return *out;
}

static bool write_join(struct kin_work *w, const struct kin_family *f,
                       const struct kin_family *root, struct kin_join *out)
{
    *out = (struct kin_join){
        .reason = f->by->reason, .from_count = f->count, .into_count = root->count};
    memcpy(out->from, f->fingerprint, FINGERPRINT_BYTES);
    memcpy(out->into, root->fingerprint, FINGERPRINT_BYTES);
    out->named = f->by->mine->named ? f->by->mine->named : f->by->theirs->named;
    return names_of(w, f->by->theirs, &out->lost) && names_of(w, f->by->mine, &out->lost_into);
}

static bool write_joins(struct kin_work *w, struct kin_join **joins, size_t *n_joins)
{
    struct kin_join *list = arena_array(w->mem, w->n_families + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return false;
    for (size_t i = 0; i < w->n_families; i++) {
        const struct kin_family *f = &w->families[i], *root = &w->families[root_of(w, i)];

        if (root != f && !write_join(w, f, root, &list[n++]))
            return false;
    }
    *joins = list;
    *n_joins = n;
    return true;
}

static bool find(struct kin_work *w, struct kin_join **joins, size_t *n_joins)
{
    if (w->n > UINT32_MAX / VIEWS_MAX || !make_families(w) || !make_groups(w) ||
        !kin_make_views(w) || !kin_make_matches(w) || !kin_make_shares(w))
        return false;
    for (size_t i = 0, to; i < w->n_matches; i = to) {
        for (to = i + 1; to < w->n_matches && w->matches[to].from == w->matches[i].from; to++)
            ;
        join_one(w, &w->matches[i], to - i);
    }
    for (size_t i = 0; i < w->n_apart; i++)
        keep_apart(w, &w->apart[i]);
    return write_joins(w, joins, n_joins);
}

bool kin_find(const struct kin_member *members, size_t n, const struct kin_apart *apart,
              size_t n_apart, struct arena *mem, struct kin_join **joins, size_t *n_joins,
              struct err *err)
{
    struct kin_work w = {
        .members = members, .n = n, .apart = apart, .n_apart = n_apart, .mem = mem};
    bool ok;

    w.depth = n ? members[0].family->depth : RULES_DEPTH_DEFAULT;
    buf_init(&w.text, RULES_DEPTH_MAX * KEY_NAME_MAX);
    ok = find(&w, joins, n_joins);
    buf_fini(&w.text);
    return ok || err_full(err, "kin of families");
}
