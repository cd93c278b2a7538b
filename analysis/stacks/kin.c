#include "stacks/kin.h"

#include "base/buf.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 16
#define KEYS_MAX (2 * RULES_DEPTH_MAX)    /* of one member */
#define KEY_NAME_MAX (10 * NAME_TEXT_MAX) /* alternatives of a mapping make the longest */
#define DOMINANT 4
#define IMAGES_PART 10
#define BUILDS_PART 2
#define HEAVIEST 8 /* families of one key that others may join */

const char *const kin_reason_name[] = {"lost", "cut"};

struct kin_family {
    uint8_t fingerprint[FINGERPRINT_BYTES];
    int64_t count;
    size_t joins; /* itself: none */
    enum kin_reason reason;
    const char *lost;
};

/* What a member offers to be kin of, or asks for. */
struct key {
    uint8_t bytes[KEY_BYTES];
    uint32_t family, member;
    int64_t count; /* of the family */
    enum kin_reason reason;
    const char *lost;
};

struct key_list {
    struct key *at;
    size_t n;
};

/* How much of a family comes from an image, or a build. */
struct share {
    uint32_t family;
    int64_t build;
    const char *image;
    int64_t count;
};

/* Weight of `from` that has kin in `into`. */
struct match {
    uint32_t from, into, member;
    enum kin_reason reason;
    const char *lost;
    int64_t count;
};

struct work {
    const struct kin_member *members;
    size_t n;
    struct arena *mem;
    struct buf text; /* of a key */
    unsigned depth;
    struct kin_family *families;
    size_t n_families;
    uint32_t *family_of; /* of each member; UINT32_MAX: not in-app */
    struct key_list offers, asks;
    struct key_list whole, lacking; /* the heaviest families of each key among them */
    struct match *matches;
    size_t n_matches;
    struct share *images, *builds; /* by family first */
    size_t n_images, n_builds;
};

/* Families ----------------------------------------------------------------------------------------
 */

static int by_fingerprint(const void *a, const void *b)
{
    return memcmp(((const struct kin_family *)a)->fingerprint,
                  ((const struct kin_family *)b)->fingerprint, FINGERPRINT_BYTES);
}

static const uint8_t *fingerprint_of(const struct work *w, size_t member)
{
    return w->members[member].family->fingerprint[w->depth - 1];
}

static bool takes_part(const struct kin_member *m)
{
    return m->family->class == STACK_CLASS_IN_APP && m->family->n_names && m->count > 0;
}

static void merge_equal(struct work *w)
{
    size_t n = 0;

    qsort(w->families, w->n_families, sizeof *w->families, by_fingerprint);
    for (size_t i = 0; i < w->n_families; i++) {
        if (n && by_fingerprint(&w->families[n - 1], &w->families[i]) == 0)
            w->families[n - 1].count += w->families[i].count;
        else
            w->families[n++] = w->families[i];
    }
    w->n_families = n;
    for (size_t i = 0; i < n; i++)
        w->families[i].joins = i;
}

static bool make_families(struct work *w)
{
    w->families = arena_array(w->mem, w->n + 1, sizeof *w->families);
    w->family_of = arena_array(w->mem, w->n + 1, sizeof *w->family_of);
    if (!w->families || !w->family_of)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (!takes_part(&w->members[i]))
            continue;
        memcpy(w->families[w->n_families].fingerprint, fingerprint_of(w, i), FINGERPRINT_BYTES);
        w->families[w->n_families++].count = w->members[i].count;
    }
    merge_equal(w);
    for (size_t i = 0; i < w->n; i++) {
        struct kin_family wanted, *found;

        w->family_of[i] = UINT32_MAX;
        if (!takes_part(&w->members[i]))
            continue;
        memcpy(wanted.fingerprint, fingerprint_of(w, i), FINGERPRINT_BYTES);
        found = bsearch(&wanted, w->families, w->n_families, sizeof wanted, by_fingerprint);
        w->family_of[i] = (uint32_t)(found - w->families);
    }
    return true;
}

/* Keys --------------------------------------------------------------------------------------------
 */

/* names without number `without` (n: all of them), told apart by reason and kind */
static bool make_key(struct work *w, struct key *k, size_t n, size_t without)
{
    const struct kin_member *m = &w->members[k->member];
    unsigned char sum[SHA256_BYTES];

    buf_reset(&w->text);
    buf_byte(&w->text, (uint8_t)k->reason);
    buf_byte(&w->text, (uint8_t)m->kind);
    for (size_t i = 0; i < n; i++)
        if (i != without)
            buf_put(&w->text, m->family->names[i], strlen(m->family->names[i]) + 1);
    sha256(w->text.at, w->text.len, sum);
    memcpy(k->bytes, sum, KEY_BYTES);
    return buf_ok(&w->text);
}

static struct key *new_key(struct work *w, size_t member, enum kin_reason reason, bool offer)
{
    struct key_list *list = offer ? &w->offers : &w->asks;
    struct key *k = &list->at[list->n++];

    *k = (struct key){.family = w->family_of[member],
                      .member = (uint32_t)member,
                      .count = w->families[w->family_of[member]].count,
                      .reason = reason};
    return k;
}

static size_t in_common(const struct work *w)
{
    return w->depth < KIN_COMMON        ? KIN_COMMON
           : w->depth < RULES_DEPTH_MAX ? w->depth
                                        : RULES_DEPTH_MAX - 1;
}

/* What is left without each of the first names; and as it is, for those that lack one. */
static bool offer_lost(struct work *w, size_t member)
{
    const struct kin_member *m = &w->members[member];
    size_t n = in_common(w) + 1;

    if (m->family->n_names < n)
        return true;
    for (size_t without = 0; without < n; without++) {
        struct key *k = new_key(w, member, KIN_LOST, true);

        k->lost = m->family->names[without];
        if (!make_key(w, k, n, without))
            return false;
    }
    return true;
}

static bool ask_lost(struct work *w, size_t member)
{
    const struct kin_member *m = &w->members[member];
    size_t n = in_common(w);

    return m->family->n_names < n || make_key(w, new_key(w, member, KIN_LOST, false), n, n);
}

static bool offer_beginnings(struct work *w, size_t member)
{
    const struct kin_member *m = &w->members[member];

    for (size_t n = 1; n < m->family->n_names && n < w->depth; n++)
        if (!make_key(w, new_key(w, member, KIN_CUT, true), n, n))
            return false;
    return true;
}

static bool ask_cut(struct work *w, size_t member)
{
    const struct kin_member *m = &w->members[member];
    size_t n = m->family->n_names;

    if (!m->family->cut || n >= w->depth)
        return true;
    return make_key(w, new_key(w, member, KIN_CUT, false), n, n);
}

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, KEY_BYTES);

    if (order)
        return order;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return x->lost && y->lost ? strcmp(x->lost, y->lost) : 0;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return memcmp(a->bytes, b->bytes, KEY_BYTES) == 0;
}

/* Equal keys of one family are one; of many families the heaviest stay. */
static bool thin(struct arena *mem, const struct key_list *all, struct key_list *out)
{
    size_t of_key = 0;

    out->at = arena_array(mem, all->n + 1, sizeof *out->at);
    if (!out->at)
        return false;
    for (size_t i = 0; i < all->n; i++) {
        const struct key *k = &all->at[i], *last = out->n ? &out->at[out->n - 1] : NULL;
        bool same = last && same_key(last, k);

        if (same && last->family == k->family)
            continue;
        of_key = same ? of_key + 1 : 1;
        if (of_key <= HEAVIEST)
            out->at[out->n++] = *k;
    }
    return true;
}

static bool make_keys(struct work *w)
{
    w->offers.at = arena_array(w->mem, w->n * KEYS_MAX + 1, sizeof *w->offers.at);
    w->asks.at = arena_array(w->mem, w->n * 2 + 1, sizeof *w->asks.at);
    if (!w->offers.at || !w->asks.at)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (w->family_of[i] != UINT32_MAX &&
            !(offer_lost(w, i) && offer_beginnings(w, i) && ask_lost(w, i) && ask_cut(w, i)))
            return false;
    qsort(w->offers.at, w->offers.n, sizeof *w->offers.at, by_key);
    qsort(w->asks.at, w->asks.n, sizeof *w->asks.at, by_key);
    return thin(w->mem, &w->offers, &w->whole) && thin(w->mem, &w->asks, &w->lacking);
}

/* Matches -----------------------------------------------------------------------------------------
 */

static size_t first_of(const struct key_list *list, const struct key *key)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (memcmp(list->at[middle].bytes, key->bytes, KEY_BYTES) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What of `from` finds heavier families in `into`. Without room it is counted only. */
static void match(struct work *w, const struct key *from, const struct key_list *into,
                  struct match *room, size_t *n)
{
    for (size_t i = first_of(into, from); i < into->n && same_key(&into->at[i], from); i++) {
        const struct key *to = &into->at[i];

        if (to->count <= from->count)
            continue;
        if (room)
            room[*n] = (struct match){.from = from->family,
                                      .into = to->family,
                                      .member = from->member,
                                      .reason = from->reason,
                                      .lost = from->lost ? from->lost : to->lost,
                                      .count = w->members[from->member].count};
        ++*n;
    }
}

/* The lighter family is to join the heavier, whichever of them lacks a frame; but what was cut
 * short is never the whole. */
static void match_all(struct work *w, struct match *room, size_t *n)
{
    for (size_t i = 0; i < w->asks.n; i++)
        match(w, &w->asks.at[i], &w->whole, room, n);
    for (size_t i = 0; i < w->offers.n; i++)
        if (w->offers.at[i].reason == KIN_LOST)
            match(w, &w->offers.at[i], &w->lacking, room, n);
}

static int by_pair(const void *a, const void *b)
{
    const struct match *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->into != y->into)
        return x->into < y->into ? -1 : 1;
    if (x->member != y->member)
        return x->member < y->member ? -1 : 1;
    return (int)x->reason - (int)y->reason;
}

/* The reason told for a pair: that of the most weight would need a count of each; the first by name
 * does, since one family's members hardly differ in it. */
static bool prefer(const struct match *a, const struct match *b)
{
    if (a->reason != b->reason)
        return a->reason < b->reason;
    return a->lost && b->lost && strcmp(a->lost, b->lost) < 0;
}

static void sum_pairs(struct work *w)
{
    size_t n = 0;
    uint32_t last = UINT32_MAX;

    qsort(w->matches, w->n_matches, sizeof *w->matches, by_pair);
    for (size_t i = 0; i < w->n_matches; i++) {
        const struct match *m = &w->matches[i];
        struct match *sum = n ? &w->matches[n - 1] : NULL;

        if (!sum || sum->from != m->from || sum->into != m->into) {
            last = m->member;
            w->matches[n++] = *m;
            continue;
        }
        if (m->member != last)
            sum->count += m->count;
        last = m->member;
        if (prefer(m, sum)) {
            sum->reason = m->reason;
            sum->lost = m->lost;
        }
    }
    w->n_matches = n;
}

static bool make_matches(struct work *w)
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

/* Images and builds -------------------------------------------------------------------------------
 */

static int by_source(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->build != y->build)
        return x->build < y->build ? -1 : 1;
    return strcmp(x->image, y->image);
}

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return by_source(a, b);
}

static struct share *sum_shares(struct work *w, bool images, size_t *n)
{
    struct share *list = arena_array(w->mem, w->n + 1, sizeof *list);
    size_t all = 0;

    for (size_t i = 0; list && i < w->n; i++) {
        const struct kin_member *m = &w->members[i];

        if (w->family_of[i] != UINT32_MAX)
            list[all++] = (struct share){.family = w->family_of[i],
                                         .build = images ? 0 : m->build,
                                         .image = images && m->image ? m->image : "",
                                         .count = m->count};
    }
    if (list)
        qsort(list, all, sizeof *list, by_share);
    for (size_t i = 0; i < all; i++) {
        if (*n && by_share(&list[*n - 1], &list[i]) == 0)
            list[*n - 1].count += list[i].count;
        else
            list[(*n)++] = list[i];
    }
    return list;
}

static size_t first_share(const struct share *list, size_t n, uint32_t family)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (list[middle].family < family)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How much of `from` is where `into` is too: at most as much as that has there, if `bounded`. */
static int64_t common(const struct share *list, size_t n, uint32_t from, uint32_t into,
                      bool bounded)
{
    size_t a = first_share(list, n, from), b = first_share(list, n, into);
    int64_t sum = 0;

    while (a < n && list[a].family == from && b < n && list[b].family == into) {
        int order = by_source(&list[a], &list[b]);

        if (order == 0)
            sum += bounded && list[b].count < list[a].count ? list[b].count : list[a].count;
        a += order <= 0;
        b += order >= 0;
    }
    return sum;
}

static bool could_be_lost(const struct work *w, uint32_t from, uint32_t into)
{
    int64_t count = w->families[from].count;

    return common(w->images, w->n_images, from, into, true) * IMAGES_PART <= count &&
           common(w->builds, w->n_builds, from, into, false) * BUILDS_PART >= count;
}

static bool make_shares(struct work *w)
{
    w->images = sum_shares(w, true, &w->n_images);
    w->builds = sum_shares(w, false, &w->n_builds);
    return w->images && w->builds;
}

/* Joins -------------------------------------------------------------------------------------------
 */

/* All pairs of one `from`. */
static void join_one(struct work *w, const struct match *pairs, size_t n)
{
    const struct match *best = NULL;
    int64_t second = 0, heaviest = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t count = w->families[pairs[i].into].count;

        if (pairs[i].count * 2 < w->families[pairs[i].from].count ||
            (pairs[i].reason == KIN_LOST && !could_be_lost(w, pairs[i].from, pairs[i].into)))
            continue;
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
    w->families[best->from].reason = best->reason;
    w->families[best->from].lost = best->lost;
}

static size_t root_of(const struct work *w, size_t family)
{
    while (w->families[family].joins != family)
        family = w->families[family].joins;
    return family;
}

static bool write_joins(struct work *w, struct kin_join **joins, size_t *n_joins)
{
    struct kin_join *list = arena_array(w->mem, w->n_families + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return false;
    for (size_t i = 0; i < w->n_families; i++) {
        const struct kin_family *f = &w->families[i], *root = &w->families[root_of(w, i)];

        if (root == f)
            continue;
        list[n] = (struct kin_join){.reason = f->reason,
                                    .lost = f->lost,
                                    .from_count = f->count,
                                    .into_count = root->count};
        memcpy(list[n].from, f->fingerprint, FINGERPRINT_BYTES);
        memcpy(list[n++].into, root->fingerprint, FINGERPRINT_BYTES);
    }
    *joins = list;
    *n_joins = n;
    return true;
}

static bool find(struct work *w, struct kin_join **joins, size_t *n_joins)
{
    if (w->n > UINT32_MAX / KEYS_MAX || !make_families(w) || !make_keys(w) || !make_matches(w) ||
        !make_shares(w))
        return false;
    for (size_t i = 0, to; i < w->n_matches; i = to) {
        for (to = i + 1; to < w->n_matches && w->matches[to].from == w->matches[i].from; to++)
            ;
        join_one(w, &w->matches[i], to - i);
    }
    return write_joins(w, joins, n_joins);
}

bool kin_find(const struct kin_member *members, size_t n, struct arena *mem,
              struct kin_join **joins, size_t *n_joins, struct err *err)
{
    struct work w = {.members = members, .n = n, .mem = mem};
    bool ok;

    w.depth = n ? members[0].family->depth : RULES_DEPTH_DEFAULT;
    buf_init(&w.text, RULES_DEPTH_MAX * KEY_NAME_MAX);
    ok = find(&w, joins, n_joins);
    buf_fini(&w.text);
    return ok || err_set(err, ERR_TOO_BIG, "out of memory for kin of families");
}
