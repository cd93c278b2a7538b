#include "support/beta_proof.h"

#include "base/digest.h"
#include "stacks/distinct.h"
#include "stacks/kin.h"
#include "stacks/paths.h"
#include "stacks/trie.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY ((size_t)1 << 30)
#define SCRATCH ((size_t)64 << 20)

struct stack {
    uint8_t key[16];
    int64_t count;
    const char *image[RULES_DEPTH_MAX]; /* literals of the beta's, by name */
    int64_t build;
    struct family family;
    uint8_t plain[16];
};

struct seen {
    uint32_t stack;
    int cause;
    uint64_t session;
    enum stack_class class;
};

struct proof {
    const struct beta *b;
    struct arena *keep, *scratch;
    struct stack *stacks;
    size_t n_stacks;
    uint32_t *table; /* stack + 1 by key */
    size_t places;
    struct seen *seen;
    size_t n_seen;
    struct trie *trie;
    struct paths *paths;
    struct kin_join *joins;
    size_t n_joins;
    struct beta_result r;
    struct err err;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Different stacks --------------------------------------------------------------------------------
 */

static void key_of(const struct beta_jank *j, uint8_t out[16])
{
    struct digest *d = digest_new(DIGEST_SHA256);
    unsigned char sum[SHA256_BYTES];

    for (size_t i = 0; i < j->n; i++) {
        const struct stack_frame *f = &j->frames[i];

        digest_add(d, f->module ? f->module : "", f->module ? strlen(f->module) : 0);
        digest_add(d, &f->offset, sizeof f->offset);
        digest_add(d, f->function ? f->function : "", f->function ? strlen(f->function) + 1 : 0);
    }
    digest_end(d, sum);
    digest_free(d);
    memcpy(out, sum, 16);
}

/* The article's own way: lines that name the app, without their numbers, three of them. */
static void plain_key(const struct beta_jank *j, uint8_t out[16])
{
    struct digest *d = digest_new(DIGEST_SHA256);
    unsigned char sum[SHA256_BYTES];
    unsigned n = 0;

    for (size_t i = 0; i < j->n && n < 3; i++) {
        const struct stack_frame *f = &j->frames[i];
        const char *module = f->module ? f->module : "", *line = f->function ? f->function : "";

        if (!strstr(module, "game") && !strstr(module, "engine") && !strstr(module, "netcore") &&
            !strstr(module, "il2cpp") && !strstr(line, "studio") && !strstr(line, ".lua"))
            continue;
        digest_add(d, line, strlen(line) + 1);
        n++;
    }
    digest_end(d, sum);
    digest_free(d);
    memcpy(out, sum, 16);
}

static struct stack *find(struct proof *p, const uint8_t key[16], bool *is_new)
{
    uint64_t h;
    size_t at;

    memcpy(&h, key, sizeof h);
    for (at = h & (p->places - 1); p->table[at]; at = (at + 1) & (p->places - 1)) {
        struct stack *s = &p->stacks[p->table[at] - 1];

        if (memcmp(s->key, key, sizeof s->key) == 0) {
            *is_new = false;
            return s;
        }
    }
    p->table[at] = (uint32_t)++p->n_stacks;
    *is_new = true;
    memcpy(p->stacks[p->n_stacks - 1].key, key, 16);
    return &p->stacks[p->n_stacks - 1];
}

static bool keep_names(struct proof *p, struct family *f)
{
    for (unsigned i = 0; i < f->n_names; i++) {
        f->names[i] = arena_dup(p->keep, f->names[i], strlen(f->names[i]));
        if (!f->names[i])
            return false;
    }
    f->notes = NULL;
    f->title = NULL;
    return true;
}

static bool add_to_trie(struct proof *p, const struct family *f)
{
    const char *const *names;
    size_t n;
    double from = now();
    bool ok =
        family_folded(f, p->scratch, &names, &n) && trie_add(p->trie, names, n, 1, 0, &p->err);

    p->r.trie_s += now() - from;
    return ok;
}

/* What was said of it before its symbols came, unless said to be provisional, must hold after. */
static bool look_at_raw(struct proof *p, const struct beta_jank *j, const struct family *after)
{
    struct beta_jank *raw = arena_alloc(p->scratch, sizeof *raw);
    struct stack_input in = {0};
    struct family f;
    bool waits = false;

    if (!raw)
        return false;
    beta_raw(j, raw);
    in.frames = raw->frames;
    in.n = raw->n;
    for (size_t i = 0; i < raw->n; i++)
        waits |= raw->frames[i].status == STACK_STATUS_MISSING &&
                 strcmp(raw->frames[i].module, "libunity.so") != 0;
    if (!waits)
        return true;
    if (!family_of(&in, beta_rules(p->b), p->scratch, &f, &p->err))
        return false;
    p->r.late++;
    p->r.late_in_app += f.class == STACK_CLASS_IN_APP;
    p->r.late_moved +=
        f.class == STACK_CLASS_IN_APP && !f.provisional &&
        memcmp(f.fingerprint[f.depth - 1], after->fingerprint[f.depth - 1], FINGERPRINT_BYTES) != 0;
    return true;
}

static bool learn(struct proof *p, struct stack *s, const struct beta_jank *j)
{
    struct stack_input in = {.platform = "android", .frames = j->frames, .n = j->n};
    double from = now();
    bool ok = family_of(&in, beta_rules(p->b), p->scratch, &s->family, &p->err);

    p->r.family_s += now() - from;
    if (!ok || !add_to_trie(p, &s->family))
        return false;
    plain_key(j, s->plain);
    for (size_t i = 0; i < s->family.n_notes; i++)
        if (s->family.notes[i].position)
            s->image[s->family.notes[i].position - 1] = j->frames[i].debug_id;
    s->build = j->build;
    return (!j->late || look_at_raw(p, j, &s->family)) && keep_names(p, &s->family);
}

static bool add_paths(struct proof *p, const struct beta_jank *j, uint64_t i)
{
    double from = now();
    bool ok = paths_add(p->paths, i % 2 ? PATH_JANK : PATH_CLEAN, j->scene, j->step, j->steps, 1,
                        &p->err);

    p->r.paths_s += now() - from;
    return ok;
}

static bool take(struct proof *p, uint64_t i)
{
    struct beta_jank *j = arena_alloc(p->scratch, sizeof *j);
    struct stack *s;
    uint8_t key[16];
    bool is_new;

    if (!j || !beta_jank(p->b, i, p->scratch, j))
        return false;
    key_of(j, key);
    s = find(p, key, &is_new);
    if (is_new && !learn(p, s, j))
        return false;
    s->count++;
    p->seen[p->n_seen++] = (struct seen){(uint32_t)(s - p->stacks), j->cause, j->session, j->class};
    p->r.class_right += s->family.class == j->class;
    return add_paths(p, j, i);
}

/* Kin ---------------------------------------------------------------------------------------------
 */

static int by_from(const void *a, const void *b)
{
    return memcmp(((const struct kin_join *)a)->from, ((const struct kin_join *)b)->from,
                  FINGERPRINT_BYTES);
}

static bool join_kin(struct proof *p)
{
    struct kin_member *members = calloc(p->n_stacks + 1, sizeof *members);
    double from = now();
    bool ok = members != NULL;

    for (size_t i = 0; ok && i < p->n_stacks; i++) {
        members[i] = (struct kin_member){.family = &p->stacks[i].family,
                                         .kind = STACK_JANK,
                                         .build = p->stacks[i].build,
                                         .count = p->stacks[i].count};
        memcpy(members[i].image, p->stacks[i].image, sizeof members[i].image);
    }
    ok = ok && kin_find(members, p->n_stacks, NULL, 0, p->keep, &p->joins, &p->n_joins, &p->err);
    p->r.kin_s = now() - from;
    free(members);
    if (!ok)
        return false;
    qsort(p->joins, p->n_joins, sizeof *p->joins, by_from);
    p->r.joins = (unsigned)p->n_joins;
    return true;
}

static void joined(const struct proof *p, const uint8_t *from, uint8_t out[16])
{
    struct kin_join wanted, *found;

    memcpy(wanted.from, from, FINGERPRINT_BYTES);
    found = bsearch(&wanted, p->joins, p->n_joins, sizeof wanted, by_from);
    memcpy(out, found ? found->into : from, FINGERPRINT_BYTES);
}

/* Scores ------------------------------------------------------------------------------------------
 */

struct placed {
    uint8_t family[16];
    int cause;
    uint64_t session;
};

static int by_family(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = memcmp(x->family, y->family, 16);

    if (order)
        return order;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    return x->session < y->session ? -1 : x->session > y->session;
}

static int by_cause(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    return x->cause < y->cause ? -1 : x->cause > y->cause;
}

static double pairs(size_t n)
{
    return (double)n * ((double)n - 1) / 2;
}

static size_t run(const struct placed *list, size_t n, size_t from, bool cause_too)
{
    size_t to = from + 1;

    while (to < n && memcmp(list[to].family, list[from].family, 16) == 0 &&
           (!cause_too || list[to].cause == list[from].cause))
        to++;
    return to;
}

/* Sorts the list by family. */
static struct pair_score score(struct placed *list, size_t n)
{
    struct pair_score s = {0};
    double both = 0, family = 0, cause = 0;

    qsort(list, n, sizeof *list, by_cause);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && list[to].cause == list[from].cause; to++)
            ;
        cause += pairs(to - from);
    }
    qsort(list, n, sizeof *list, by_family);
    for (size_t from = 0, to; from < n; from = to) {
        to = run(list, n, from, true);
        both += pairs(to - from);
    }
    for (size_t from = 0, to; from < n; from = to, s.families++) {
        to = run(list, n, from, false);
        family += pairs(to - from);
    }
    s.precision = family > 0 ? both / family : 1;
    s.recall = cause > 0 ? both / cause : 1;
    return s;
}

enum way { PLAIN, FINGERPRINT, KIN };

/* Janks of the app by the truth. What is not in-app by the analysis is in no family. */
static size_t place(const struct proof *p, enum way way, struct placed *list)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_seen; i++) {
        const struct seen *j = &p->seen[i];
        const struct stack *s = &p->stacks[j->stack];

        if (j->class != STACK_CLASS_IN_APP)
            continue;
        list[n].cause = j->cause;
        list[n].session = j->session;
        if (way == PLAIN) {
            memcpy(list[n].family, s->plain, 16);
        } else if (s->family.class != STACK_CLASS_IN_APP) {
            memset(list[n].family, 0, 16);
            memcpy(list[n].family, &i, sizeof i);
        } else if (way == FINGERPRINT) {
            memcpy(list[n].family, s->family.fingerprint[s->family.depth - 1], 16);
        } else {
            joined(p, s->family.fingerprint[s->family.depth - 1], list[n].family);
        }
        n++;
    }
    return n;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t distinct_numbers(uint64_t *ids, size_t n)
{
    size_t found = 0;

    qsort(ids, n, sizeof *ids, by_number);
    for (size_t i = 0; i < n; i++)
        found += i == 0 || ids[i] != ids[i - 1];
    return found;
}

/* How far the sketch of a family is off its true number of sessions. */
static bool check_distinct(struct proof *p, const struct placed *list, size_t n)
{
    uint64_t *ids = calloc(n, sizeof *ids);
    struct distinct d;
    double sessions, off;
    bool ok = ids != NULL;

    arena_reset(p->scratch);
    distinct_init(&d, p->scratch);
    for (size_t i = 0; ok && i < n; i++) {
        ids[i] = list[i].session;
        ok = distinct_add(&d, distinct_cell(&ids[i], sizeof *ids), 1, &p->err);
    }
    if (ok) {
        sessions = (double)distinct_numbers(ids, n);
        off = fabs(distinct_estimate(&d) - sessions) / sessions;
        p->r.distinct_error = off > p->r.distinct_error ? off : p->r.distinct_error;
    }
    free(ids);
    return ok;
}

/* Every family of more than half a per cent of the janks; the list is sorted by family. */
static bool check_families(struct proof *p, const struct placed *list, size_t n)
{
    for (size_t from = 0, to; from < n; from = to) {
        to = run(list, n, from, false);
        if ((to - from) * 200 > n && !check_distinct(p, list + from, to - from))
            return false;
    }
    return true;
}

/* A cause is found if one family holds nine tenths of its janks, and hardly others. */
static void count_found(struct proof *p, const struct placed *list, size_t n, size_t least)
{
    size_t total[256] = {0};

    for (size_t i = 0; i < n; i++)
        if (list[i].cause < 256)
            total[list[i].cause]++;
    for (size_t c = 0; c < 256; c++)
        p->r.causes += total[c] >= least;
    for (size_t from = 0, to; from < n; from = to) {
        to = run(list, n, from, false);
        for (size_t at = from, next; at < to; at = next) {
            next = run(list, to, at, true);

            int cause = list[at].cause;

            p->r.causes_found += cause < 256 && total[cause] >= least &&
                                 (next - at) * 10 >= total[cause] * 9 &&
                                 (next - at) * 10 >= (to - from) * 9;
        }
    }
}

static bool score_all(struct proof *p, uint64_t installs)
{
    struct placed *list = calloc(p->n_seen + 1, sizeof *list);
    bool ok = list != NULL;

    if (ok) {
        p->r.plain = score(list, place(p, PLAIN, list));
        p->r.fingerprint = score(list, place(p, FINGERPRINT, list));
        size_t n = place(p, KIN, list);

        p->r.kin = score(list, n);
        count_found(p, list, n, (size_t)(installs / 1000));
        ok = check_families(p, list, n);
    }
    free(list);
    return ok;
}

static bool finish_trie(struct proof *p)
{
    struct trie *pruned;
    double from = now();

    if (!trie_prune(p->trie, TRIE_COUNT, 0.001, MEMORY, &pruned, &p->err))
        return false;
    p->r.trie_s += now() - from;
    p->r.trie_nodes = trie_nodes(p->trie);
    p->r.trie_bytes = trie_bytes(p->trie);
    p->r.pruned_nodes = trie_nodes(pruned);
    trie_free(pruned);
    return true;
}

static bool prove(struct proof *p, uint64_t janks, uint64_t installs)
{
    for (uint64_t i = 0; i < janks; i++) {
        arena_reset(p->scratch);
        if (!take(p, i))
            return false;
    }
    p->r.janks = janks;
    p->r.stacks = p->n_stacks;
    p->r.class_right /= (double)janks;
    return join_kin(p) && score_all(p, installs) && finish_trie(p);
}

static bool begin(struct proof *p, uint64_t janks)
{
    p->places = 1024;
    while (p->places < 2 * janks)
        p->places *= 2;
    p->keep = arena_new(MEMORY);
    p->scratch = arena_new(SCRATCH);
    p->stacks = calloc(janks + 1, sizeof *p->stacks);
    p->seen = calloc(janks + 1, sizeof *p->seen);
    p->table = calloc(p->places, sizeof *p->table);
    p->trie = trie_new(MEMORY);
    p->paths = paths_new(MEMORY);
    return p->keep && p->scratch && p->stacks && p->seen && p->table && p->trie && p->paths;
}

bool beta_prove(const struct beta *b, uint64_t janks, uint64_t installs, struct beta_result *out)
{
    struct proof p = {.b = b};
    bool ok = begin(&p, janks) && prove(&p, janks, installs);

    if (!ok)
        fprintf(stderr, "beta: %s\n", p.err.text);
    *out = p.r;
    free(p.stacks);
    free(p.seen);
    free(p.table);
    trie_free(p.trie);
    paths_free(p.paths);
    arena_free(p.keep);
    arena_free(p.scratch);
    return ok;
}
