#include "stacks/kin.h"

#include "base/buf.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 16
#define LOST_SIDE 2  /* frames that one of two families may lack */
#define LOST_BOTH 3  /* that they may lack together */
#define NAMED_MAX 12 /* alternatives of one member that are looked at */
/* of one member: 1 whole, 3 and 6 without; beginnings; as a mapping has them */
#define VIEWS_MAX (10 + RULES_DEPTH_MAX + 1 + NAMED_MAX)
#define KEY_NAME_MAX (10 * NAME_TEXT_MAX) /* alternatives of a mapping make the longest */
#define DOMINANT 4
#define IMAGES_PART 10
#define BUILDS_PART 2
#define HEAVIEST 8  /* families of one key that others may join */
#define TELLING 5   /* events of the larger one that were to be expected where it is not */
#define TELLING_B 3 /* and of the smaller, where the larger is: if more than one frame is lost */
#define ALIKE 3     /* their rates then differ by less */

const char *const kin_reason_name[] = {"lost", "cut", "named"};

struct kin_family {
    uint8_t fingerprint[FINGERPRINT_BYTES];
    int64_t count;
    size_t joins; /* itself: none */
    const struct match *by;
    bool stays;
};

/* All members of one family that read the same and come from the same place. */
struct group {
    const struct kin_member *member; /* one of them */
    uint32_t family;
    int64_t count;
};

/* What others may have in common with a group: its first names without some. */
struct view {
    uint8_t key[KEY_BYTES];
    uint32_t family, group;
    int64_t count;   /* of the family */
    uint8_t without; /* one bit a name left out */
    uint8_t n_out;   /* of them */
    uint8_t last;    /* place of the outermost name compared */
    enum view_kind { VIEW_LOST, VIEW_BEGINNING, VIEW_CUT, VIEW_NAMED } kind;
    const char *named; /* VIEW_NAMED: the one of several names that was taken; NULL: as it is */
    uint8_t place;     /* of it */
};

struct view_list {
    struct view *at;
    size_t n;
};

/* How much of a family comes from an image that a name of its is in, or from a build. */
struct share {
    uint32_t family;
    unsigned place; /* of the name; builds: 0 */
    int64_t build;
    const char *image;
    int64_t count;
};

struct share_list {
    struct share *at;
    size_t n;
};

/* Weight of `from` that has kin in `into`. */
struct match {
    uint32_t from, into, group;
    enum kin_reason reason;
    uint8_t n_out; /* frames lost on both sides */
    const struct view *mine, *theirs;
    int64_t count;
};

struct image_total {
    const char *image;
    int64_t count;
};

struct work {
    const struct kin_member *members;
    size_t n;
    const struct kin_apart *apart;
    size_t n_apart;
    struct arena *mem;
    struct buf text; /* of a key */
    unsigned depth;
    struct kin_family *families;
    size_t n_families;
    struct group *groups;
    size_t n_groups;
    struct view_list views, heaviest; /* heaviest: families of each key */
    struct match *matches;
    size_t n_matches;
    struct share_list images, builds; /* by family first */
    struct image_total *totals;       /* of each image, over all families */
    size_t n_totals;
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

static struct kin_family *family_at(const struct work *w, const uint8_t *fingerprint)
{
    struct kin_family wanted;

    memcpy(wanted.fingerprint, fingerprint, FINGERPRINT_BYTES);
    return w->n_families
               ? bsearch(&wanted, w->families, w->n_families, sizeof wanted, by_fingerprint)
               : NULL;
}

static bool make_families(struct work *w)
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

static int by_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Equal fingerprints of the greatest depth are equal names. */
static int by_reading(const void *va, const void *vb)
{
    const struct group *a = va, *b = vb;
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
        order = by_text(x->image[i], y->image[i]);
    return order;
}

static bool make_groups(struct work *w)
{
    size_t all = 0, n = 0;

    w->groups = arena_array(w->mem, w->n + 1, sizeof *w->groups);
    if (!w->groups)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (takes_part(&w->members[i]))
            w->groups[all++] = (struct group){
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
static bool make_key(struct work *w, struct view *v)
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
static bool add_view(struct work *w, size_t group, enum view_kind kind, unsigned n,
                     unsigned without)
{
    struct view *v = &w->views.at[w->views.n++];

    *v = (struct view){.family = w->groups[group].family,
                       .group = (uint32_t)group,
                       .count = w->families[w->groups[group].family].count,
                       .without = (uint8_t)without,
                       .last = (uint8_t)(n - 1),
                       .n_out = (uint8_t)ones(without),
                       .kind = kind};
    return make_key(w, v);
}

static unsigned in_common(const struct work *w)
{
    return w->depth < KIN_COMMON        ? KIN_COMMON
           : w->depth < RULES_DEPTH_MAX ? w->depth
                                        : RULES_DEPTH_MAX - 1;
}

/* As many names as are to be the same, taken out of the first ones; the last of them is compared,
 * since without it fewer are left out. */
static bool view_lost(struct work *w, size_t group)
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

static bool view_cut(struct work *w, size_t group)
{
    const struct family *f = w->groups[group].member->family;

    for (unsigned n = 1; n < f->n_names && n < w->depth; n++)
        if (!add_view(w, group, VIEW_BEGINNING, n, 0))
            return false;
    return !f->cut || f->n_names >= w->depth || add_view(w, group, VIEW_CUT, f->n_names, 0);
}

static bool add_named(struct work *w, size_t group, unsigned n, unsigned place, const char *named)
{
    struct view *v = &w->views.at[w->views.n];

    if (!named || !add_view(w, group, VIEW_NAMED, n, 0))
        return false;
    v->named = named;
    v->place = (uint8_t)place;
    v->n_out = 1;
    return make_key(w, v);
}

/* Where a mapping allows several names for one place, as it reads with each of them. */
static bool view_named(struct work *w, size_t group)
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
    const struct view *a = va, *b = vb;
    int order = memcmp(a->key, b->key, KEY_BYTES);

    if (order)
        return order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->n_out > b->n_out) - (a->n_out < b->n_out);
}

static int by_view(const void *va, const void *vb)
{
    const struct view *a = va, *b = vb;
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
    return by_text(a->named, b->named);
}

/* Equal keys of one family are one; of many families the heaviest stay. */
static bool keep_heaviest(struct work *w)
{
    struct view_list *out = &w->heaviest;
    size_t of_key = 0;

    out->at = arena_array(w->mem, w->views.n + 1, sizeof *out->at);
    if (!out->at)
        return false;
    for (size_t i = 0; i < w->views.n; i++) {
        const struct view *v = &w->views.at[i], *last = out->n ? &out->at[out->n - 1] : NULL;
        bool same = last && by_key(last, v) == 0;

        if (same && last->family == v->family)
            continue;
        of_key = same ? of_key + 1 : 1;
        if (of_key <= HEAVIEST)
            out->at[out->n++] = *v;
    }
    return true;
}

static bool make_views(struct work *w)
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

static size_t first_of(const struct view_list *list, const struct view *key)
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
static void match(const struct work *w, const struct view *mine, struct view wanted,
                  struct match *room, size_t *n)
{
    static const enum kin_reason reason_of[] = {
        [VIEW_LOST] = KIN_LOST, [VIEW_CUT] = KIN_CUT, [VIEW_NAMED] = KIN_NAMED};
    const struct view_list *list = &w->heaviest;

    for (size_t i = first_of(list, &wanted); i < list->n && by_key(&list->at[i], &wanted) == 0;
         i++) {
        const struct view *theirs = &list->at[i];

        if (theirs->count <= mine->count)
            continue;
        if (room)
            room[*n] = (struct match){.from = mine->family,
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
static void match_all(const struct work *w, struct match *room, size_t *n)
{
    for (size_t i = 0; i < w->views.n; i++) {
        const struct view *mine = &w->views.at[i];
        struct view wanted = *mine;

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
    const struct match *a = va, *b = vb;

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
static void sum_pairs(struct work *w)
{
    size_t n = 0;
    uint32_t last = UINT32_MAX;

    qsort(w->matches, w->n_matches, sizeof *w->matches, by_pair);
    for (size_t i = 0; i < w->n_matches; i++) {
        const struct match *m = &w->matches[i];
        struct match *sum = n ? &w->matches[n - 1] : NULL;

        if (!sum || sum->from != m->from || sum->into != m->into || sum->n_out != m->n_out ||
            sum->reason != m->reason)
            w->matches[n++] = *m;
        else if (m->group != last)
            sum->count += m->count;
        last = m->group;
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

static int by_source(const struct share *a, const struct share *b)
{
    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    return strcmp(a->image, b->image);
}

static int by_place(const struct share *a, uint32_t family, unsigned place)
{
    if (a->family != family)
        return a->family < family ? -1 : 1;
    return (a->place > place) - (a->place < place);
}

static int by_share(const void *va, const void *vb)
{
    const struct share *a = va, *b = vb;
    int order = by_place(a, b->family, b->place);

    return order ? order : by_source(a, b);
}

static void sum_shares(struct share_list *list)
{
    size_t n = 0;

    qsort(list->at, list->n, sizeof *list->at, by_share);
    for (size_t i = 0; i < list->n; i++) {
        if (n && by_share(&list->at[n - 1], &list->at[i]) == 0)
            list->at[n - 1].count += list->at[i].count;
        else
            list->at[n++] = list->at[i];
    }
    list->n = n;
}

static const char *image_at(const struct group *g, unsigned place)
{
    const char *image = g->member->image[place];

    return image ? image : "";
}

static int by_image(const void *va, const void *vb)
{
    const struct image_total *a = va, *b = vb;

    return strcmp(a->image, b->image);
}

/* A group counts once for an image, however many of its names are there. */
static void add_totals(struct work *w, const struct group *g)
{
    for (unsigned i = 0; i < g->member->family->n_names; i++) {
        bool again = false;

        for (unsigned k = 0; k < i; k++)
            again |= strcmp(image_at(g, i), image_at(g, k)) == 0;
        if (!again)
            w->totals[w->n_totals++] = (struct image_total){image_at(g, i), g->count};
    }
}

static void sum_totals(struct work *w)
{
    size_t n = 0;

    qsort(w->totals, w->n_totals, sizeof *w->totals, by_image);
    for (size_t i = 0; i < w->n_totals; i++) {
        if (n && by_image(&w->totals[n - 1], &w->totals[i]) == 0)
            w->totals[n - 1].count += w->totals[i].count;
        else
            w->totals[n++] = w->totals[i];
    }
    w->n_totals = n;
}

static bool make_shares(struct work *w)
{
    size_t room = w->n_groups * RULES_DEPTH_MAX + 1;

    w->images.at = arena_array(w->mem, room, sizeof *w->images.at);
    w->totals = arena_array(w->mem, room, sizeof *w->totals);
    w->builds.at = arena_array(w->mem, w->n_groups + 1, sizeof *w->builds.at);
    if (!w->images.at || !w->totals || !w->builds.at)
        return false;
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct group *g = &w->groups[i];

        w->builds.at[w->builds.n++] = (struct share){g->family, 0, g->member->build, "", g->count};
        for (unsigned k = 0; k < g->member->family->n_names; k++)
            w->images.at[w->images.n++] = (struct share){g->family, k, 0, image_at(g, k), g->count};
        add_totals(w, g);
    }
    sum_shares(&w->images);
    sum_shares(&w->builds);
    sum_totals(w);
    return true;
}

/* Those of a family and place: from the first on, as many as `n` says. */
static const struct share *shares_of(const struct share_list *list, uint32_t family, unsigned place,
                                     size_t *n)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (by_place(&list->at[middle], family, place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < list->n && by_place(&list->at[low + *n], family, place) == 0;)
        ++*n;
    return list->at + low;
}

/* What two families come from. */
struct sources {
    int64_t least;    /* events in the same sources: of each the lesser number */
    int64_t of_first; /* the first one's there */
    double first, second,
        second_alone; /* all events of its sources; of those that are not the first's */
};

static double total_of(const struct work *w, const struct share *s)
{
    const struct image_total wanted = {s->image, 0}, *found;

    found = w->n_totals ? bsearch(&wanted, w->totals, w->n_totals, sizeof wanted, by_image) : NULL;
    return found ? (double)found->count : 0;
}

static struct sources compare(const struct work *w, const struct share *a, size_t n_a,
                              const struct share *b, size_t n_b)
{
    struct sources s = {0};

    for (size_t i = 0, k = 0; i < n_a || k < n_b;) {
        int order = i == n_a ? 1 : k == n_b ? -1 : by_source(&a[i], &b[k]);

        if (order == 0) {
            s.least += a[i].count < b[k].count ? a[i].count : b[k].count;
            s.of_first += a[i].count;
        }
        if (order <= 0)
            s.first += total_of(w, &a[i]);
        if (order >= 0)
            s.second += total_of(w, &b[k]);
        if (order > 0)
            s.second_alone += total_of(w, &b[k]);
        i += order <= 0;
        k += order >= 0;
    }
    return s;
}

/* Joins -------------------------------------------------------------------------------------------
 */

/* Of one way and the other, each would have been met where the other is, were they two: and where
 * more frames are to have vanished, names say less, so what one image lacks the other must make up
 * for. */
static bool is_telling(const struct work *w, const struct match *m, const struct sources *s)
{
    double from = (double)w->families[m->from].count, into = (double)w->families[m->into].count;
    double all = s->first + s->second_alone;

    if (into * s->first < TELLING * all)
        return false;
    if (m->n_out == 1)
        return true;
    return from * s->second >= TELLING_B * all && from * s->second < ALIKE * into * s->first &&
           into * s->first < ALIKE * from * s->second;
}

static bool could_be_lost(const struct work *w, const struct match *m)
{
    int64_t count = w->families[m->from].count;
    size_t n, n_into;
    const struct share *from = shares_of(&w->builds, m->from, 0, &n);
    const struct share *into = shares_of(&w->builds, m->into, 0, &n_into);
    struct sources s = compare(w, from, n, into, n_into);

    if (s.of_first * BUILDS_PART < count)
        return false;
    from = shares_of(&w->images, m->from, m->mine->last, &n);
    into = shares_of(&w->images, m->into, m->theirs->last, &n_into);
    s = compare(w, from, n, into, n_into);
    return s.least * IMAGES_PART <= count && is_telling(w, m, &s);
}

static bool holds(const struct work *w, const struct match *m)
{
    return m->count * 2 >= w->families[m->from].count &&
           (m->reason != KIN_LOST || could_be_lost(w, m));
}

/* All pairs of one `from`. The fewest frames lost go first; a doubtful guess is none. */
static void join_one(struct work *w, const struct match *pairs, size_t n)
{
    const struct match *best = NULL;
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

static size_t root_of(const struct work *w, size_t family)
{
    while (w->families[family].joins != family)
        family = w->families[family].joins;
    return family;
}

/* Whatever leads the one to the other is not done: at its end that is nearer to it. */
static void keep_apart(struct work *w, const struct kin_apart *apart)
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
static bool names_of(struct work *w, const struct view *v, const char **out)
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

static bool write_join(struct work *w, const struct kin_family *f, const struct kin_family *root,
                       struct kin_join *out)
{
    *out = (struct kin_join){
        .reason = f->by->reason, .from_count = f->count, .into_count = root->count};
    memcpy(out->from, f->fingerprint, FINGERPRINT_BYTES);
    memcpy(out->into, root->fingerprint, FINGERPRINT_BYTES);
    out->named = f->by->mine->named ? f->by->mine->named : f->by->theirs->named;
    return names_of(w, f->by->theirs, &out->lost) && names_of(w, f->by->mine, &out->lost_into);
}

static bool write_joins(struct work *w, struct kin_join **joins, size_t *n_joins)
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

static bool find(struct work *w, struct kin_join **joins, size_t *n_joins)
{
    if (w->n > UINT32_MAX / VIEWS_MAX || !make_families(w) || !make_groups(w) || !make_views(w) ||
        !make_matches(w) || !make_shares(w))
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
    struct work w = {.members = members, .n = n, .apart = apart, .n_apart = n_apart, .mem = mem};
    bool ok;

    w.depth = n ? members[0].family->depth : RULES_DEPTH_DEFAULT;
    buf_init(&w.text, RULES_DEPTH_MAX * KEY_NAME_MAX);
    ok = find(&w, joins, n_joins);
    buf_fini(&w.text);
    return ok || err_full(err, "kin of families");
}
