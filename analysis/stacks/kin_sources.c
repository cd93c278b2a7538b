#include "stacks/kin_parts.h"

#include <stdlib.h>

#define IMAGES_PART 10
#define BUILDS_PART 2
#define TELLING 5   /* events of the larger one that were to be expected where it is not */
#define TELLING_B 3 /* and of the smaller, where the larger is: if more than one frame is lost */
#define ALIKE 3     /* their rates then differ by less */

/* Images and builds -------------------------------------------------------------------------------
 */

static int by_source(const struct kin_share *a, const struct kin_share *b)
{
    if (a->build != b->build)
        return a->build < b->build ? -1 : 1;
    return strcmp(a->image, b->image);
}

static int by_place(const struct kin_share *a, uint32_t family, unsigned place)
{
    if (a->family != family)
        return a->family < family ? -1 : 1;
    return (a->place > place) - (a->place < place);
}

static int by_share(const void *va, const void *vb)
{
    const struct kin_share *a = va, *b = vb;
    int order = by_place(a, b->family, b->place);

    return order ? order : by_source(a, b);
}

static void sum_shares(struct kin_share_list *list)
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

static const char *image_at(const struct kin_group *g, unsigned place)
{
    const char *image = g->member->image[place];

    return image ? image : "";
}

static int by_image(const void *va, const void *vb)
{
    const struct kin_image_total *a = va, *b = vb;

    return strcmp(a->image, b->image);
}

/* A group counts once for an image, however many of its names are there. */
static void add_totals(struct kin_work *w, const struct kin_group *g)
{
    for (unsigned i = 0; i < g->member->family->n_names; i++) {
        bool again = false;

        for (unsigned k = 0; k < i; k++)
            again |= strcmp(image_at(g, i), image_at(g, k)) == 0;
        if (!again)
            w->totals[w->n_totals++] = (struct kin_image_total){image_at(g, i), g->count};
    }
}

static void sum_totals(struct kin_work *w)
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

bool kin_make_shares(struct kin_work *w)
{
    size_t room = w->n_groups * RULES_DEPTH_MAX + 1;

    w->images.at = arena_array(w->mem, room, sizeof *w->images.at);
    w->totals = arena_array(w->mem, room, sizeof *w->totals);
    w->builds.at = arena_array(w->mem, w->n_groups + 1, sizeof *w->builds.at);
    if (!w->images.at || !w->totals || !w->builds.at)
        return false;
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct kin_group *g = &w->groups[i];

        w->builds.at[w->builds.n++] =
            (struct kin_share){g->family, 0, g->member->build, "", g->count};
        for (unsigned k = 0; k < g->member->family->n_names; k++)
            w->images.at[w->images.n++] =
                (struct kin_share){g->family, k, 0, image_at(g, k), g->count};
        add_totals(w, g);
    }
    sum_shares(&w->images);
    sum_shares(&w->builds);
    sum_totals(w);
    return true;
}

/* Those of a family and place: from the first on, as many as `n` says. */
static const struct kin_share *shares_of(const struct kin_share_list *list, uint32_t family,
                                         unsigned place, size_t *n)
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

static double total_of(const struct kin_work *w, const struct kin_share *s)
{
    const struct kin_image_total wanted = {s->image, 0}, *found;

    found = w->n_totals ? bsearch(&wanted, w->totals, w->n_totals, sizeof wanted, by_image) : NULL;
    return found ? (double)found->count : 0;
}

static struct sources compare(const struct kin_work *w, const struct kin_share *a, size_t n_a,
                              const struct kin_share *b, size_t n_b)
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

/* Of one way and the other, each would have been met where the other is, were they two: and where
 * more frames are to have vanished, names say less, so what one image lacks the other must make up
 * for. */
static bool is_telling(const struct kin_work *w, const struct kin_match *m, const struct sources *s)
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

bool kin_could_be_lost(const struct kin_work *w, const struct kin_match *m)
{
    int64_t count = w->families[m->from].count;
    size_t n, n_into;
    const struct kin_share *from = shares_of(&w->builds, m->from, 0, &n);
    const struct kin_share *into = shares_of(&w->builds, m->into, 0, &n_into);
    struct sources s = compare(w, from, n, into, n_into);

    if (s.of_first * BUILDS_PART < count)
        return false;
    from = shares_of(&w->images, m->from, m->mine->last, &n);
    into = shares_of(&w->images, m->into, m->theirs->last, &n_into);
    s = compare(w, from, n, into, n_into);
    return s.least * IMAGES_PART <= count && is_telling(w, m, &s);
}
