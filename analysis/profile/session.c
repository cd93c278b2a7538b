#include "profile/session.h"

#include "profile/session_merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WALL_LOW_MS INT64_C(1420070400000)  /* 2015-01-01: no supported phone is older */
#define WALL_HIGH_MS INT64_C(4102444800000) /* 2100-01-01 */

const char *const invalid_reason_name[INVALID_COUNT] = {
#define X(name) #name,
    INVALID_REASONS(X)
#undef X
};

/* Choosing the parts ------------------------------------------------------------------------- */

static int by_number_then_best(const void *a, const void *b)
{
    const struct session_part *x = *(const struct session_part *const *)a;
    const struct session_part *y = *(const struct session_part *const *)b;

    if (x->part->header.part != y->part->header.part)
        return x->part->header.part < y->part->header.part ? -1 : 1;
    if (x->part->whole_bytes != y->part->whole_bytes)
        return x->part->whole_bytes > y->part->whole_bytes ? -1 : 1;
    return memcmp(y->sha256, x->sha256, sizeof x->sha256);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || !strcmp(a, b);
}

/* The game runs once a session, so neither its build nor its device changes. */
static bool same_origin(const struct part_header *a, const struct part_header *b)
{
    return same_text(a->platform, b->platform) && same_text(a->version_name, b->version_name) &&
           a->version_code == b->version_code && same_text(a->build_id, b->build_id) &&
           same_text(a->manufacturer, b->manufacturer) && same_text(a->model, b->model) &&
           same_text(a->soc, b->soc);
}

static void choose(struct merge *m, const struct session_part *const *sorted, size_t n)
{
    struct session *s = &m->session;

    for (size_t i = 0; i < n; i++) {
        const struct session_part *p = sorted[i], *before = i ? sorted[i - 1] : NULL;

        if (before && before->part->header.part == p->part->header.part)
            s->n_superseded += memcmp(before->sha256, p->sha256, sizeof p->sha256) != 0;
        else if (m->n && !same_origin(&m->parts[0]->header, &p->part->header))
            s->invalid[INVALID_foreign_header]++;
        else
            m->parts[m->n++] = p->part;
    }
}

static void merge_header(struct merge *m)
{
    struct session *s = &m->session;

    s->header = m->parts[0]->header;
    s->n_parts = m->n;
    for (size_t i = 0; i < m->n; i++) {
        const struct part *p = m->parts[i];

        s->header.environment |= p->header.environment;
        if (p->header.n_evidence > s->header.n_evidence) {
            s->header.evidence = p->header.evidence;
            s->header.n_evidence = p->header.n_evidence;
        }
        s->n_truncated += p->truncated;
        s->invalid[INVALID_unknown_packet] += (int64_t)p->unknown_packets;
        s->invalid[INVALID_control_character] += (int64_t)p->tamed_texts;
        s->invalid[INVALID_too_many_stacks] += (int64_t)p->samples_over_limit;
        if (p->summary)
            s->summary = p->summary;
    }
    s->invalid[INVALID_clock_skew] =
        s->header.wall_start_ms < WALL_LOW_MS || s->header.wall_start_ms > WALL_HIGH_MS;
}

/* Lists sorted by time ------------------------------------------------------------------------ */

bool merge_moment(struct merge *m, size_t part, uint64_t t_us)
{
    if (t_us > MAX_SESSION_US) {
        m->session.invalid[INVALID_time_out_of_range]++;
        return false;
    }
    if (t_us > m->session.end_us)
        m->session.end_us = t_us;

    struct session_span *c = &m->covered[part];

    if (t_us < c->from_us)
        c->from_us = t_us;
    if (t_us > c->to_us)
        c->to_us = t_us;
    return true;
}

static uint64_t time_of(const void *items, size_t i, size_t size)
{
    uint64_t t;

    memcpy(&t, (const char *)items + i * size, sizeof t);
    return t;
}

struct moment {
    uint64_t t;
    size_t at;
};

static int by_time_then_place(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void *merge_sort_by_time(struct arena *mem, void *items, size_t n, size_t size)
{
    size_t sorted = 1;

    while (sorted < n && time_of(items, sorted - 1, size) <= time_of(items, sorted, size))
        sorted++;
    if (sorted >= n)
        return items;

    struct moment *order = arena_array(mem, n, sizeof *order);
    char *out = arena_array(mem, n, size);

    if (!order || !out)
        return NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct moment){time_of(items, i, size), i};
    qsort(order, n, sizeof *order, by_time_then_place);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * size, (char *)items + order[i].at * size, size);
    return out;
}

/* The lists that merge alike: their items begin with their time. */
#define LISTS(X)                                                                                   \
    X(hardware, hardware, struct hardware_sample, t_us)                                            \
    X(scenes, scene_changes, struct part_scene, t_us)                                              \
    X(positions, positions, struct part_position, t_us)                                            \
    X(lifecycle, lifecycle, struct part_lifecycle, t_us)                                           \
    X(steps, steps, struct part_step, t_us)                                                        \
    X(janks, janks, struct part_jank, start_us)                                                    \
    X(crashes, crashes, struct part_crash, t_us)                                                   \
    X(feedback, feedback, struct part_feedback, t_us)                                              \
    X(self_reports, self_reports, struct part_self_report, t_us)

static const struct list {
    size_t from, from_n, to, to_n, size; /* offsets in struct part and struct session */
} lists[] = {
#define X(part_name, session_name, type, time)                                                     \
    {offsetof(struct part, part_name), offsetof(struct part, n_##part_name),                       \
     offsetof(struct session, session_name), offsetof(struct session, n_##session_name),           \
     sizeof(type)},
    LISTS(X)
#undef X
};

#define X(part_name, session_name, type, time)                                                     \
    _Static_assert(offsetof(type, time) == 0, "items begin with their time");
LISTS(X)
#undef X

/* Pointer and count of a list inside a struct, whatever its item type. */
static const void *list_at(const void *owner, size_t items, size_t n, size_t *count)
{
    const void *p;

    memcpy(&p, (const char *)owner + items, sizeof p);
    memcpy(count, (const char *)owner + n, sizeof *count);
    return p;
}

static size_t copy_in_range(struct merge *m, size_t part, const struct list *list, char *out)
{
    size_t n, kept = 0;
    const char *items = list_at(m->parts[part], list->from, list->from_n, &n);

    for (size_t i = 0; i < n; i++)
        if (merge_moment(m, part, time_of(items, i, list->size)))
            memcpy(out + kept++ * list->size, items + i * list->size, list->size);
    return kept;
}

static void merge_list(struct merge *m, const struct list *list)
{
    size_t most = 0, n, kept = 0;

    for (size_t i = 0; i < m->n; i++) {
        list_at(m->parts[i], list->from, list->from_n, &n);
        most += n;
    }

    char *out = arena_array(m->mem, most, list->size);

    for (size_t i = 0; out && i < m->n; i++)
        kept += copy_in_range(m, i, list, out + kept * list->size);

    void *sorted = out ? merge_sort_by_time(m->mem, out, kept, list->size) : NULL;

    if (!sorted)
        return;
    memcpy((char *)&m->session + list->to, &sorted, sizeof sorted);
    memcpy((char *)&m->session + list->to_n, &kept, sizeof kept);
}

/* Values against their bounds ------------------------------------------------------------------ */

static void check_hardware(struct session *s, struct hardware_sample *h)
{
    for (unsigned f = 0; f < HW_COUNT; f++) {
        if (!(h->present >> f & 1))
            continue;
        if (h->value[f] >= hardware_info[f].low && h->value[f] <= hardware_info[f].high)
            continue;
        h->present &= ~(UINT32_C(1) << f);
        h->invalid |= UINT32_C(1) << f;
        s->invalid[INVALID_hardware_out_of_bounds]++;
    }
    for (unsigned c = 0; c < h->n_cores; c++) {
        if (!h->core_khz[c] || (h->core_khz[c] >= CORE_KHZ_LOW && h->core_khz[c] <= CORE_KHZ_HIGH))
            continue;
        h->core_khz[c] = 0;
        h->invalid_cores |= UINT64_C(1) << c;
        s->invalid[INVALID_core_khz_out_of_bounds]++;
    }
}

static bool same_sample(const struct hardware_sample *a, const struct hardware_sample *b)
{
    return a->t_us == b->t_us && a->present == b->present && a->burst == b->burst &&
           a->n_cores == b->n_cores && !memcmp(a->value, b->value, sizeof a->value) &&
           !memcmp(a->core_khz, b->core_khz, sizeof a->core_khz);
}

/* A sample may stand alone and again inside a Jank packet: one of the two is left. */
static void check_samples(struct session *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_hardware; i++)
        if (!i || !same_sample(&s->hardware[i], &s->hardware[i - 1])) {
            s->hardware[kept] = s->hardware[i];
            kept++;
        }
    s->n_hardware = kept;
    for (size_t i = 0; i < kept; i++)
        check_hardware(s, &s->hardware[i]);
}

static void check_positions(struct session *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_positions; i++)
        if (isfinite(s->positions[i].x) && isfinite(s->positions[i].y))
            s->positions[kept++] = s->positions[i];
    s->invalid[INVALID_position_not_finite] += (int64_t)(s->n_positions - kept);
    s->n_positions = kept;
}

static void check_janks(struct session *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_janks; i++)
        if (s->janks[i].duration_us >= FRAME_LOW_US && s->janks[i].duration_us <= FRAME_HIGH_US)
            s->janks[kept++] = s->janks[i];
    s->invalid[INVALID_jank_out_of_bounds] += (int64_t)(s->n_janks - kept);
    s->n_janks = kept;
}

static int by_length(const void *a, const void *b)
{
    const struct part_jank *const *x = a, *const *y = b;

    if ((*x)->duration_us != (*y)->duration_us)
        return (*x)->duration_us > (*y)->duration_us ? -1 : 1;
    return (*x > *y) - (*x < *y); /* in order of time */
}

/* A real session stays far below; a forged one would make answers of a hundred megabytes. */
static void limit_samples(struct merge *m)
{
    struct session *s = &m->session;
    size_t all = 0;

    for (size_t i = 0; i < s->n_janks; i++)
        all += s->janks[i].n_samples;
    if (all <= MAX_SESSION_SAMPLES)
        return;

    struct part_jank **longest = arena_array(m->mem, s->n_janks, sizeof *longest);
    size_t kept = 0;

    for (size_t i = 0; longest && i < s->n_janks; i++)
        longest[i] = &s->janks[i];
    if (longest)
        qsort(longest, s->n_janks, sizeof(struct part_jank *), by_length);
    for (size_t i = 0; longest && i < s->n_janks; i++) {
        struct part_jank *j = longest[i];

        if (j->n_samples > MAX_SESSION_SAMPLES - kept)
            j->n_samples = MAX_SESSION_SAMPLES - kept;
        kept += j->n_samples;
    }
    s->invalid[INVALID_too_many_stacks] += (int64_t)(all - kept);
}

/* Numbers that contradict each other would poison what they are added to. */
static bool plausible(const struct part_summary *s)
{
    uint64_t janks = (uint64_t)s->janks[0] + s->janks[1] + s->janks[2];
    uint64_t frames = s->sketch ? (uint64_t)sketch_total(s->sketch) : s->frames;
    uint64_t scene_ms = 0;

    for (size_t i = 0; i < s->n_scenes; i++) {
        const struct part_scene_summary *c = &s->scenes[i];

        if (c->foreground_ms > MAX_SESSION_US / 1000 ||
            (uint64_t)c->janks[0] + c->janks[1] + c->janks[2] > janks ||
            (c->sketch && (uint64_t)sketch_total(c->sketch) > frames))
            return false;
        scene_ms += c->foreground_ms;
    }
    return s->foreground_ms <= MAX_SESSION_US / 1000 && scene_ms <= s->foreground_ms + 1000 &&
           s->frames == frames && janks <= frames && s->frame_max_us <= FRAME_HIGH_US &&
           s->frame_sum_us <= MAX_SESSION_US && frames <= s->frame_sum_us / FRAME_LOW_US &&
           s->jank_ms <= s->frame_sum_us / 1000;
}

static void check_summary(struct session *s)
{
    if (s->summary && !plausible(s->summary)) {
        s->summary = NULL;
        s->invalid[INVALID_summary_out_of_bounds]++;
    }
}

static int by_hash(const void *a, const void *b)
{
    const struct part_stack *x = a, *y = b;

    return memcmp(x->hash, y->hash, sizeof x->hash);
}

static int by_hash_then_thread(const void *a, const void *b)
{
    const struct part_stack *x = a, *y = b;
    int order = by_hash(a, b);

    return order ? order : strcmp(x->thread, y->thread);
}

static void merge_stacks(struct merge *m)
{
    struct session *s = &m->session;
    size_t most = 0, kept = 0;

    for (size_t i = 0; i < m->n; i++)
        most += m->parts[i]->n_stacks;
    s->stacks = arena_array(m->mem, most, sizeof *s->stacks);
    if (!s->stacks)
        return;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->parts[i]->n_stacks; k++)
            s->stacks[kept++] = m->parts[i]->stacks[k];
    qsort(s->stacks, kept, sizeof *s->stacks, by_hash_then_thread);
    for (size_t i = 0; i < kept; i++)
        if (!s->n_stacks || by_hash(&s->stacks[s->n_stacks - 1], &s->stacks[i]))
            s->stacks[s->n_stacks++] = s->stacks[i];
}

/* The end, and how far a jank lasts that nothing comes after. */
static void merge_ends(struct merge *m)
{
    struct session *s = &m->session;

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->parts[i]->n_janks; k++) {
            const struct part_jank *j = &m->parts[i]->janks[k];

            if (j->start_us <= MAX_SESSION_US && j->duration_us <= FRAME_HIGH_US)
                merge_moment(m, i, j->start_us + j->duration_us);
        }
    for (size_t i = 0; i < m->n; i++)
        if (m->parts[i]->ended && merge_moment(m, i, m->parts[i]->end_us)) {
            s->ended = true;
            s->end_reason = m->parts[i]->end_reason;
        }
}

/* Foreground ----------------------------------------------------------------------------------- */

/* Background spans of the lifecycle; a session begins in the foreground. */
static struct session_span *background(struct merge *m, size_t *n)
{
    const struct session *s = &m->session;
    struct session_span *away = arena_array(m->mem, s->n_lifecycle + 1, sizeof *away);
    bool inside = false;

    *n = 0;
    for (size_t i = 0; away && i < s->n_lifecycle; i++) {
        const struct part_lifecycle *l = &s->lifecycle[i];

        if (l->kind == LIFE_BACKGROUND && !inside) {
            away[*n] = (struct session_span){l->t_us, UINT64_MAX};
            inside = true;
        } else if (l->kind == LIFE_FOREGROUND && inside) {
            away[(*n)++].to_us = l->t_us;
            inside = false;
        }
    }
    *n += inside;
    return away;
}

static int by_from(const void *a, const void *b)
{
    const struct session_span *x = a, *y = b;

    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x->to_us < y->to_us ? -1 : x->to_us > y->to_us;
}

/* What the parts cover, as disjoint spans: a part lasts until the next number begins. */
static size_t join_covered(struct merge *m)
{
    struct session_span *c = m->covered;
    size_t n = 0;

    for (size_t i = 0; i + 1 < m->n; i++)
        if (m->parts[i]->header.part + 1 == m->parts[i + 1]->header.part &&
            c[i].to_us < c[i + 1].from_us && c[i + 1].from_us <= MAX_SESSION_US)
            c[i].to_us = c[i + 1].from_us;
    qsort(c, m->n, sizeof *c, by_from);
    for (size_t i = 0; i < m->n; i++) {
        if (n && c[i].from_us <= c[n - 1].to_us)
            c[n - 1].to_us = c[i].to_us > c[n - 1].to_us ? c[i].to_us : c[n - 1].to_us;
        else if (c[i].from_us < c[i].to_us)
            c[n++] = c[i];
    }
    return n;
}

/* covered minus away, both sorted and disjoint. */
static void merge_foreground(struct merge *m, const struct session_span *away, size_t n_away)
{
    struct session *s = &m->session;
    size_t n = join_covered(m), a = 0;

    s->foreground = arena_array(m->mem, n + n_away, sizeof *s->foreground);
    for (size_t i = 0; s->foreground && i < n; i++) {
        uint64_t from = m->covered[i].from_us, to = m->covered[i].to_us;

        while (a < n_away && away[a].to_us <= from)
            a++;
        for (size_t k = a; k < n_away && away[k].from_us < to; k++) {
            if (away[k].from_us > from)
                s->foreground[s->n_foreground++] = (struct session_span){from, away[k].from_us};
            from = away[k].to_us;
        }
        if (from < to)
            s->foreground[s->n_foreground++] = (struct session_span){from, to};
    }
}

/* The whole ---------------------------------------------------------------------------------------
 */

static bool check_ids(const struct session_part *parts, size_t n, struct err *err)
{
    if (!n)
        return err_set(err, ERR_INVALID, "a session has at least one part");
    for (size_t i = 1; i < n; i++)
        if (memcmp(parts[i].part->header.session_id, parts[0].part->header.session_id,
                   SESSION_ID_BYTES) != 0)
            return err_set(err, ERR_INVALID, "part %zu of %zu is of another session", i + 1, n);
    return true;
}

static bool begin(struct merge *m, const struct session_part *parts, size_t n)
{
    const struct session_part **sorted = arena_array(m->mem, n, sizeof *sorted);

    m->parts = arena_array(m->mem, n, sizeof *m->parts);
    m->covered = arena_array(m->mem, n, sizeof *m->covered);
    if (!sorted || !m->parts || !m->covered)
        return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &parts[i];
    qsort(sorted, n, sizeof *sorted, by_number_then_best);
    choose(m, sorted, n);
    for (size_t i = 0; i < m->n; i++) {
        uint64_t start = m->parts[i]->header.part_start_us;

        m->covered[i] = (struct session_span){UINT64_MAX, 0};
        merge_moment(m, i, start);
    }
    return true;
}

bool session_merge(const struct session_part *parts, size_t n, struct arena *mem,
                   struct session *out, struct err *err)
{
    struct merge m = {.mem = mem};
    size_t n_away = 0;

    if (!check_ids(parts, n, err))
        return false;
    if (!begin(&m, parts, n))
        goto full;
    merge_header(&m);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        merge_list(&m, &lists[i]);
    merge_stacks(&m);
    merge_ends(&m);
    check_samples(&m.session);
    check_positions(&m.session);
    check_janks(&m.session);
    limit_samples(&m);
    check_summary(&m.session);

    merge_scenes(&m);

    const struct session_span *away = background(&m, &n_away);

    if (!arena_full(mem))
        merge_frames(&m, away, n_away);
    merge_foreground(&m, away, n_away);
    if (arena_full(mem))
        goto full;
    *out = m.session;
    return true;
full:
    return err_set(err, ERR_TOO_BIG, "%zu parts need more memory than a session may take", n);
}
