#include "server/api/families/family_preview.h"

#include "server/api/heavy.h"
#include "server/jobs/families/family_kin.h"

#include "base/digest.h"
#include "stacks/distinct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 500
#define BATCH_BYTES ((size_t)128 << 20)
#define SCRATCH_BYTES ((size_t)32 << 20) /* of one stack */
#define RESULT_BYTES ((size_t)64 << 20)
#define KIN_BYTES ((size_t)96 << 20)
#define SHOWN 100           /* of each kind of change */
#define SKETCHES_AT_ONCE 32 /* stacks, with all their counts */

struct stack_row {
    struct bytes hash;
    int64_t kind;
    const char *platform;
    int64_t events;
    struct bytes family;
    const char *title, *owner, *class;
    bool ignored;
    const char *symbols, *frames;
};
static const struct db_col stack_cols[] = {
    DB_COL(stack_row, hash),    DB_COL(stack_row, kind),   DB_COL(stack_row, platform),
    DB_COL(stack_row, events),  DB_COL(stack_row, family), DB_COL(stack_row, title),
    DB_COL(stack_row, owner),   DB_COL(stack_row, class),  DB_COL(stack_row, ignored),
    DB_COL(stack_row, symbols), DB_COL(stack_row, frames),
};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct side { /* of one stack, before or after */
    unsigned char family[FINGERPRINT_BYTES];
    const char *title, *owner;
    bool listed; /* of the app, and not ignored */
};

struct change { /* of a stack; then of all that go from one family to one other */
    struct side now, then;
    int64_t events, stacks;
};

struct affected { /* stacks that change family, place on the list or owner */
    struct bytes *hash;
    int64_t *kind;
    size_t n;
    int64_t events, sessions, installs;
};

struct preview {
    struct req *r;
    struct grouping then;
    struct arena *mem, *batch, *scratch; /* mem: of what is told; scratch: of one stack */
    struct change *at;
    size_t n, text_bytes;
    bool complete;
    struct affected affected;
};

static const char *copy(struct arena *mem, const char *text)
{
    return arena_dup(mem, text ? text : "", text ? strlen(text) : 0);
}

static void note_affected(struct preview *p, const struct stack_row *row, const struct change *c)
{
    struct affected *a = &p->affected;

    if (memcmp(c->now.family, c->then.family, FINGERPRINT_BYTES) == 0 &&
        c->now.listed == c->then.listed && strcmp(c->now.owner, c->then.owner) == 0)
        return;
    a->hash[a->n] = (struct bytes){
        (unsigned char *)arena_dup(p->mem, (const char *)row->hash.at, row->hash.len),
        row->hash.len};
    a->kind[a->n++] = row->kind;
    a->events += row->events;
}

static bool look_at(struct preview *p, const struct stack_row *row, struct err *err)
{
    const struct group_stack stack = {row->kind, row->platform, row->symbols, row->frames};
    struct change *c = &p->at[p->n];
    struct grouped *g;

    p->text_bytes += strlen(row->symbols ? row->symbols : row->frames);
    arena_reset(p->scratch);
    g = arena_alloc(p->scratch, sizeof *g);
    if (!g)
        return err_full(err, "a request");
    if (!group_stack(&p->then, &stack, p->scratch, g, err))
        return false;
    *c = (struct change){.events = row->events, .stacks = 1};
    memcpy(c->now.family, row->family.at, FINGERPRINT_BYTES);
    c->now.title = copy(p->mem, row->title);
    c->now.owner = copy(p->mem, row->owner);
    c->now.listed = strcmp(row->class, stack_class_name[STACK_CLASS_IN_APP]) == 0 && !row->ignored;
    memcpy(c->then.family, g->family, FINGERPRINT_BYTES);
    c->then.title = copy(p->mem, g->is.title);
    c->then.owner = copy(p->mem, g->is.owner);
    c->then.listed = g->is.class == STACK_CLASS_IN_APP && !g->is.ignored;
    p->n++;
    if (!arena_full(p->mem))
        note_affected(p, row, c);
    return !arena_full(p->mem) || err_full(err, "a request");
}

struct key_row {
    struct bytes hash;
    int64_t kind;
};
static const struct db_col key_cols[] = {DB_COL(key_row, hash), DB_COL(key_row, kind)};
static const struct db_map key_map = DB_MAP(key_row, key_cols);

struct keys {
    struct bytes *hash;
    int64_t *kind;
    size_t n;
};

static bool read_keys(struct preview *p, struct keys *out, struct err *err)
{
    const struct key_row *row;
    struct db_rows rows;

    if (!db_all(p->r->db, Q_FAMILY_PREVIEW_STACKS,
                DB_ARGS(db_i64(p->r->who.app), db_i64(PREVIEW_STACKS + 1)), &key_map, p->mem, &rows,
                err))
        return false;
    row = rows.at;
    out->n = rows.n < PREVIEW_STACKS ? rows.n : PREVIEW_STACKS;
    out->hash = arena_array(p->mem, out->n, sizeof *out->hash);
    out->kind = arena_array(p->mem, out->n, sizeof *out->kind);
    if (arena_full(p->mem))
        return err_full(err, "a request");
    for (size_t i = 0; i < out->n; i++) {
        out->hash[i] = row[i].hash;
        out->kind[i] = row[i].kind;
    }
    p->complete = rows.n <= PREVIEW_STACKS;
    return true;
}

/* The stacks from key number `at` on: *n of them, or fewer from now on if so many are too much. */
static bool read_stacks(struct preview *p, const struct keys *k, size_t at, size_t *n,
                        struct db_rows *out, struct err *err)
{
    for (;; *n /= 2) {
        size_t most = k->n - at < *n ? k->n - at : *n;

        arena_reset(p->batch);
        if (db_all(p->r->db, Q_FAMILY_PREVIEW,
                   DB_ARGS(db_i64(p->r->who.app), db_bytess(k->hash + at, most),
                           db_i64s(k->kind + at, most)),
                   &stack_map, p->batch, out, err))
            return true;
        if (*n == 1 || err->code != ERR_TOO_BIG)
            return false;
    }
}

static bool look_at_all(struct preview *p, struct err *err)
{
    struct keys keys;
    struct db_rows rows;
    size_t n = AT_ONCE;

    if (!read_keys(p, &keys, err))
        return false;
    for (size_t at = 0; at < keys.n; at += n) {
        if (p->text_bytes > PREVIEW_TEXT_BYTES) {
            p->complete = false;
            break;
        }
        if (!read_stacks(p, &keys, at, &n, &rows, err))
            return false;
        for (size_t i = 0; i < rows.n; i++)
            if (!look_at(p, (const struct stack_row *)rows.at + i, err))
                return false;
    }
    return true;
}

/* Who is affected ---------------------------------------------------------------------------------
 */

struct sketch_row {
    struct bytes sessions, installs;
};
static const struct db_col sketch_cols[] = {
    DB_COL(sketch_row, sessions),
    DB_COL(sketch_row, installs),
};
static const struct db_map sketch_map = DB_MAP(sketch_row, sketch_cols);

static bool add_sketches(struct preview *p, size_t from, size_t n, struct distinct *sessions,
                         struct distinct *installs, struct err *err)
{
    const struct affected *a = &p->affected;
    const struct sketch_row *row;
    struct db_rows rows;

    arena_reset(p->batch);
    if (!db_all(p->r->db, Q_STACK_SKETCHES,
                DB_ARGS(db_i64(p->r->who.app), db_bytess(a->hash + from, n),
                        db_i64s(a->kind + from, n)),
                &sketch_map, p->batch, &rows, err))
        return false;
    row = rows.at;
    for (size_t i = 0; i < rows.n; i++)
        if (!distinct_read(row[i].sessions.at, row[i].sessions.len, 1, sessions, err) ||
            !distinct_read(row[i].installs.at, row[i].installs.len, 1, installs, err))
            return false;
    return true;
}

/* Stacks share sessions and installs: their sketches are added, not their numbers. */
static bool count_affected(struct preview *p, struct err *err)
{
    struct affected *a = &p->affected;
    struct distinct sessions, installs;

    distinct_init(&sessions, p->mem);
    distinct_init(&installs, p->mem);
    for (size_t i = 0; i < a->n; i += SKETCHES_AT_ONCE) {
        size_t n = a->n - i < SKETCHES_AT_ONCE ? a->n - i : SKETCHES_AT_ONCE;

        if (!add_sketches(p, i, n, &sessions, &installs, err))
            return false;
    }
    a->sessions = llround(distinct_estimate(&sessions));
    a->installs = llround(distinct_estimate(&installs));
    return true;
}

/* Sums ------------------------------------------------------------------------------------------
 */

static int by_now(const void *va, const void *vb)
{
    const struct change *a = va, *b = vb;
    int order = memcmp(a->now.family, b->now.family, FINGERPRINT_BYTES);

    return order ? order : memcmp(a->then.family, b->then.family, FINGERPRINT_BYTES);
}

static int by_then(const void *va, const void *vb)
{
    const struct change *a = va, *b = vb;
    int order = memcmp(a->then.family, b->then.family, FINGERPRINT_BYTES);

    return order ? order : memcmp(a->now.family, b->now.family, FINGERPRINT_BYTES);
}

/* One entry for each pair of families; names are those of the pair's largest stack, which came
 * first. */
static void join(struct preview *p)
{
    size_t n = 0;

    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, by_now);
    for (size_t i = 0; i < p->n; i++) {
        if (n && by_now(&p->at[n - 1], &p->at[i]) == 0) {
            p->at[n - 1].events += p->at[i].events;
            p->at[n - 1].stacks += p->at[i].stacks;
            p->at[n - 1].now.listed |= p->at[i].now.listed;
            p->at[n - 1].then.listed |= p->at[i].then.listed;
        } else {
            p->at[n++] = p->at[i];
        }
    }
    p->n = n;
}

static json_t *side_json(const struct side *s, int64_t events, int64_t stacks)
{
    char hex[2 * FINGERPRINT_BYTES + 1];

    to_hex(s->family, FINGERPRINT_BYTES, hex);
    return json_pack("{s:s, s:s, s:o, s:I, s:I}", "family", hex, "title", s->title, "owner",
                     *s->owner ? json_string(s->owner) : json_null(), "events", events, "stacks",
                     stacks);
}

struct told { /* one change for people, and its weight */
    json_t *tree;
    int64_t events;
};

static int by_events(const void *va, const void *vb)
{
    const struct told *a = va, *b = vb;

    return (a->events < b->events) - (a->events > b->events);
}

/* The heaviest of them, and how many there are: {"count", "items"}. */
static json_t *told_json(struct told *told, size_t n)
{
    json_t *list = json_array();

    if (n)
        qsort(told, n, sizeof *told, by_events);
    for (size_t i = 0; i < n; i++) {
        if (i < SHOWN)
            json_array_append_new(list, told[i].tree);
        else
            json_decref(told[i].tree);
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)n, "items", list);
}

/* Runs of equal families on one side with several on the other. */
static json_t *fans(struct preview *p, bool split, struct told *told)
{
    size_t n = 0, end;

    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, split ? by_now : by_then);
    for (size_t i = 0; i < p->n; i = end) {
        const struct side *one = split ? &p->at[i].now : &p->at[i].then;
        int64_t events = 0, stacks = 0;
        json_t *others = json_array();

        for (end = i; end < p->n; end++) {
            const struct change *c = &p->at[end];
            const struct side *this = split ? &c->now : &c->then;

            if (memcmp(this->family, one->family, FINGERPRINT_BYTES) != 0)
                break;
            events += c->events;
            stacks += c->stacks;
            json_array_append_new(others,
                                  side_json(split ? &c->then : &c->now, c->events, c->stacks));
        }
        if (end - i < 2) {
            json_decref(others);
            continue;
        }
        told[n].events = events;
        told[n].tree = side_json(one, events, stacks);
        json_object_set_new(told[n++].tree, split ? "into" : "from", others);
    }
    return told_json(told, n);
}

/* Families that leave the list (or, seen from behind, come onto it). */
static json_t *leaving(struct preview *p, bool back, struct told *told)
{
    size_t n = 0, end;

    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, back ? by_then : by_now);
    for (size_t i = 0; i < p->n; i = end) {
        const struct side *one = back ? &p->at[i].then : &p->at[i].now;
        bool here = false, there = false;
        int64_t events = 0, stacks = 0;

        for (end = i; end < p->n; end++) {
            const struct change *c = &p->at[end];

            if (memcmp((back ? &c->then : &c->now)->family, one->family, FINGERPRINT_BYTES) != 0)
                break;
            here |= back ? c->then.listed : c->now.listed;
            there |= back ? c->now.listed : c->then.listed;
            events += c->events;
            stacks += c->stacks;
        }
        if (!here || there)
            continue;
        told[n++] = (struct told){side_json(one, events, stacks), events};
    }
    return told_json(told, n);
}

static json_t *owners(struct preview *p, struct told *told)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct change *c = &p->at[i];

        if (strcmp(c->now.owner, c->then.owner) == 0)
            continue;
        told[n].events = c->events;
        told[n].tree = side_json(&c->then, c->events, c->stacks);
        json_object_set_new(told[n++].tree, "owner_before",
                            *c->now.owner ? json_string(c->now.owner) : json_null());
    }
    return told_json(told, n);
}

static int64_t families(struct preview *p, bool then, bool listed)
{
    int64_t n = 0;
    const struct side *last = NULL;
    bool counted = false;

    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, then ? by_then : by_now);
    for (size_t i = 0; i < p->n; i++) {
        const struct side *s = then ? &p->at[i].then : &p->at[i].now;

        if (!last || memcmp(last->family, s->family, FINGERPRINT_BYTES) != 0)
            counted = false;
        if (!counted && (!listed || s->listed)) {
            counted = true;
            n++;
        }
        last = s;
    }
    return n;
}

static int64_t moved_events(const struct preview *p)
{
    int64_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (memcmp(p->at[i].now.family, p->at[i].then.family, FINGERPRINT_BYTES) != 0)
            n += p->at[i].events;
    return n;
}

static json_t *tell(struct preview *p, int64_t stacks, struct err *err)
{
    struct told *told = arena_array(p->mem, p->n, sizeof *told);
    json_t *before, *after;

    if (!told) {
        err_memory(err);
        return NULL;
    }
    before = json_pack("{s:I, s:I}", "families", families(p, false, false), "listed",
                       families(p, false, true));
    after = json_pack("{s:I, s:I}", "families", families(p, true, false), "listed",
                      families(p, true, true));

    json_t *tree = json_object();

    json_object_set_new(tree, "stacks", json_integer(stacks));
    json_object_set_new(tree, "complete", json_boolean(p->complete));
    json_object_set_new(tree, "before", before);
    json_object_set_new(tree, "after", after);
    json_object_set_new(tree, "events_moved", json_integer(moved_events(p)));
    json_object_set_new(tree, "affected",
                        json_pack("{s:I, s:I, s:I, s:I}", "stacks", (json_int_t)p->affected.n,
                                  "events", (json_int_t)p->affected.events, "sessions",
                                  (json_int_t)p->affected.sessions, "installs",
                                  (json_int_t)p->affected.installs));
    json_object_set_new(tree, "split", fans(p, true, told));
    json_object_set_new(tree, "merged", fans(p, false, told));
    json_object_set_new(tree, "vanish", leaving(p, false, told));
    json_object_set_new(tree, "appear", leaving(p, true, told));
    json_object_set_new(tree, "owners", owners(p, told));
    return tree;
}

json_t *family_preview(struct req *r, const struct grouping *now, const struct family_rules *then,
                       struct err *err)
{
    struct preview p = {.r = r, .then = *now};
    struct arena *kin;
    json_t *tree = NULL;

    p.then.rules = *then;
    p.mem = arena_new(RESULT_BYTES);
    p.batch = arena_new(BATCH_BYTES);
    p.scratch = arena_new(SCRATCH_BYTES);
    p.at = p.mem ? arena_array(p.mem, PREVIEW_STACKS, sizeof *p.at) : NULL;
    p.affected.hash = p.mem ? arena_array(p.mem, PREVIEW_STACKS, sizeof *p.affected.hash) : NULL;
    p.affected.kind = p.mem ? arena_array(p.mem, PREVIEW_STACKS, sizeof *p.affected.kind) : NULL;
    kin = arena_new(KIN_BYTES);
    if (!p.at || !p.batch || !p.scratch || !kin || arena_full(p.mem)) {
        err_memory(err);
    } else if (grouping_index(&p.then, HEAVY_STEPS, err) &&
               family_kin_apply(r->db, r->who.app, kin, &p.then, err) && look_at_all(&p, err) &&
               count_affected(&p, err)) {
        int64_t stacks = (int64_t)p.n;

        join(&p);
        tree = tell(&p, stacks, err);
    }
    grouping_fini(&p.then);
    arena_free(kin);
    arena_free(p.scratch);
    arena_free(p.batch);
    arena_free(p.mem);
    return tree;
}
