#include "server/jobs/families/family_kin.h"

#include "profile/tally.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 500
#define BATCH_BYTES ((size_t)96 << 20)
#define SCRATCH_BYTES ((size_t)32 << 20) /* of one stack */
#define MEMBERS_MAX 20000                /* stacks times builds */

struct stack_row {
    struct bytes hash;
    int64_t kind;
    const char *platform, *symbols, *frames;
    int64_t build_id, events;
};
static const struct db_col stack_cols[] = {
    DB_COL(stack_row, hash),    DB_COL(stack_row, kind),   DB_COL(stack_row, platform),
    DB_COL(stack_row, symbols), DB_COL(stack_row, frames), DB_COL(stack_row, build_id),
    DB_COL(stack_row, events),
};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct apart_row {
    struct bytes family, target;
};
static const struct db_col apart_cols[] = {
    DB_COL(apart_row, family),
    DB_COL(apart_row, target),
};
static const struct db_map apart_map = DB_MAP(apart_row, apart_cols);

struct search {
    struct db *db;
    int64_t app;
    const struct grouping *grouping;
    struct arena *mem, *batch, *scratch;
    struct kin_member *members;
    size_t n;
    struct kin_apart *apart;
    size_t n_apart;
};

static bool out_of_memory(struct err *err)
{
    return err_full(err, "kin of families");
}

/* Members ---------------------------------------------------------------------------------------
 */

/* Of the family what kin are found and told by. */
static const struct family *keep_family(struct search *s, const struct family *from)
{
    struct family *f = arena_alloc(s->mem, sizeof *f);

    if (!f)
        return NULL;
    *f = *from;
    f->notes = NULL;
    f->n_notes = 0;
    f->owner = NULL;
    f->owner_rule = f->ignore_rule = NULL;
    f->title = arena_dup(s->mem, from->title, strlen(from->title));
    for (unsigned i = 0; i < from->n_names; i++)
        f->names[i] = arena_dup(s->mem, from->names[i], strlen(from->names[i]));
    return f;
}

static void keep_images(struct search *s, const struct grouped *g, struct kin_member *m)
{
    for (size_t i = 0; i < g->n_frames && i < g->is.n_notes; i++) {
        const char *id = g->frames[i].debug_id;
        uint8_t position = g->is.notes[i].position;

        if (position && id)
            m->image[position - 1] = arena_dup(s->mem, id, strlen(id));
    }
}

static bool was_set_apart(const struct search *s, const unsigned char *family)
{
    for (size_t i = 0; i < s->n_apart; i++)
        if (memcmp(s->apart[i].one, family, FINGERPRINT_BYTES) == 0)
            return true;
    return false;
}

/* What people split is no family to be joined, and where they put one it stays. Merges of kin are
 * what is to be found anew. */
static bool by_people(const struct grouped *g, bool split)
{
    for (size_t i = 0; i < g->n_edits && !*g->edits[i]->by_kin; i++)
        if (g->edits[i]->split == split)
            return true;
    return false;
}

/* A stack's rows, one a build, come one after the other as the database looks them up: it is
 * grouped once for all of them. Where they do not, it is grouped again. */
static bool add_build(struct search *s, const struct stack_row *row, const struct stack_row *last,
                      bool last_added)
{
    if (!last || last->hash.len != row->hash.len ||
        memcmp(last->hash.at, row->hash.at, row->hash.len) != 0)
        return false;
    if (last_added) {
        s->members[s->n] = s->members[s->n - 1];
        s->members[s->n].build = row->build_id;
        s->members[s->n++].count = row->events;
    }
    return true;
}

static bool add(struct search *s, const struct stack_row *row, struct err *err)
{
    const struct group_stack stack = {row->kind, row->platform, row->symbols, row->frames};
    struct kin_member *m = &s->members[s->n];
    struct grouped *g;

    arena_reset(s->scratch);
    g = arena_alloc(s->scratch, sizeof *g);
    if (!g)
        return out_of_memory(err);
    if (!group_stack(s->grouping, &stack, s->scratch, g, err))
        return false;
    if (g->is.class != STACK_CLASS_IN_APP || g->is.provisional || by_people(g, true))
        return true;
    *m = (struct kin_member){.family = keep_family(s, &g->is),
                             .kind = row->kind == TALLY_CRASH ? STACK_CRASH : STACK_JANK,
                             .build = row->build_id,
                             .count = row->events,
                             .stays = by_people(g, false) ||
                                      was_set_apart(s, g->is.fingerprint[g->is.depth - 1])};
    keep_images(s, g, m);
    s->n++;
    return !arena_full(s->mem) || out_of_memory(err);
}

/* The stacks from `at` on: *n of them, or fewer from now on if so many are too much. */
static bool read_stacks(struct search *s, int64_t kind, int64_t at, int64_t *n, struct db_rows *out,
                        struct err *err)
{
    for (;; *n /= 2) {
        arena_reset(s->batch);
        if (db_all(s->db, Q_FAMILY_KIN_STACKS,
                   DB_ARGS(db_i64(s->app), db_i64(kind), db_i64(*n), db_i64(at)), &stack_map,
                   s->batch, out, err))
            return true;
        if (*n == 1 || err->code != ERR_TOO_BIG)
            return false;
    }
}

static bool add_rows(struct search *s, const struct db_rows *rows, struct err *err)
{
    const struct stack_row *row = rows->at;
    bool added = false;

    for (size_t i = 0; i < rows->n && s->n < MEMBERS_MAX; i++) {
        size_t before = s->n;

        if (add_build(s, &row[i], i ? &row[i - 1] : NULL, added))
            continue;
        if (!add(s, &row[i], err))
            return false;
        added = s->n > before;
    }
    return true;
}

static bool read_members(struct search *s, int64_t kind, struct err *err)
{
    struct db_rows rows = {.n = 1};
    int64_t n = AT_ONCE;

    for (int64_t at = 0; rows.n && at < KIN_STACKS && s->n < MEMBERS_MAX; at += n)
        if (!read_stacks(s, kind, at, &n, &rows, err) || !add_rows(s, &rows, err))
            return false;
    return true;
}

static bool read_apart(struct search *s, struct err *err)
{
    struct db_rows rows;
    const struct apart_row *row;

    if (!db_all(s->db, Q_FAMILY_KIN_APART, DB_ARGS(db_i64(s->app)), &apart_map, s->mem, &rows, err))
        return false;
    row = rows.at;
    s->apart = arena_array(s->mem, rows.n + 1, sizeof *s->apart);
    if (!s->apart)
        return out_of_memory(err);
    for (s->n_apart = 0; s->n_apart < rows.n; s->n_apart++) {
        memcpy(s->apart[s->n_apart].one, row[s->n_apart].family.at, FINGERPRINT_BYTES);
        memcpy(s->apart[s->n_apart].other, row[s->n_apart].target.at, FINGERPRINT_BYTES);
    }
    return true;
}

bool family_kin_find(struct db *db, int64_t app, int64_t kind, const struct grouping *g,
                     struct arena *mem, struct kin_found *out, struct err *err)
{
    struct search s = {.db = db, .app = app, .grouping = g, .mem = mem};
    struct kin_join *joins;
    bool ok;

    s.batch = arena_new(BATCH_BYTES);
    s.scratch = arena_new(SCRATCH_BYTES);
    s.members = arena_array(mem, MEMBERS_MAX, sizeof *s.members);
    ok = (s.members && s.batch && s.scratch) || out_of_memory(err);
    ok = ok && read_apart(&s, err) && read_members(&s, kind, err) &&
         kin_find(s.members, s.n, s.apart, s.n_apart, mem, &joins, &out->n, err);
    arena_free(s.scratch);
    arena_free(s.batch);
    if (!ok)
        return false;
    out->joins = joins;
    out->members = s.members;
    out->n_members = s.n;
    return true;
}

/* Merges ----------------------------------------------------------------------------------------
 */

static int by_family(const void *va, const void *vb)
{
    const struct family_edit *a = va, *b = vb;

    return memcmp(a->family.at, b->family.at, FINGERPRINT_BYTES);
}

static const char *lost_text(const struct kin_join *j, struct arena *mem)
{
    struct buf text;
    const char *copy;

    buf_init(&text, (size_t)1 << 20);
    buf_text(&text, j->lost ? j->lost : j->named ? j->named : "");
    if (j->lost_into) {
        buf_text(&text, j->lost ? "; the other: " : "the other: ");
        buf_text(&text, j->lost_into);
    }
    copy = buf_ok(&text) ? arena_dup(mem, text.at ? (const char *)text.at : "", text.len) : NULL;
    buf_fini(&text);
    return copy;
}

/* Unless what people merged leads back to it already. */
static void add_edit(struct grouping *g, struct family_edit *edits, const struct kin_join *j,
                     const char *lost)
{
    struct family_edit *e = &edits[g->n_edits];

    if (group_leads(g, j->into, j->from))
        return;
    *e = (struct family_edit){.by_kin = kin_reason_name[j->reason],
                              .lost = lost,
                              .family = {j->from, FINGERPRINT_BYTES},
                              .target = {j->into, FINGERPRINT_BYTES}};
    g->n_edits++;
}

static bool add_kin(struct db *db, int64_t app, int64_t kind, struct arena *mem, struct grouping *g,
                    struct err *err)
{
    struct kin_found found;
    struct family_edit *edits;

    if (!family_kin_find(db, app, kind, g, mem, &found, err))
        return false;
    edits = arena_array(mem, g->n_edits + found.n + 1, sizeof *edits);
    if (!edits)
        return out_of_memory(err);
    if (g->n_edits)
        memcpy(edits, g->edits, g->n_edits * sizeof *edits);
    g->edits = edits;
    for (size_t i = 0; i < found.n; i++) {
        const char *lost = lost_text(&found.joins[i], mem);

        if (!lost)
            return out_of_memory(err);
        add_edit(g, edits, &found.joins[i], lost);
    }
    if (g->n_edits)
        qsort(edits, g->n_edits, sizeof *edits, by_family);
    return true;
}

bool family_kin_apply(struct db *db, int64_t app, struct arena *mem, struct grouping *g,
                      struct err *err)
{
    struct family_edit *people = arena_array(mem, g->n_edits + 1, sizeof *people);
    size_t n = 0;

    if (!people)
        return out_of_memory(err);
    for (size_t i = 0; i < g->n_edits; i++)
        if (!*g->edits[i].by_kin)
            people[n++] = g->edits[i];
    g->edits = people;
    g->n_edits = n;
    return !g->rules.kin || (add_kin(db, app, TALLY_JANK, mem, g, err) &&
                             add_kin(db, app, TALLY_CRASH, mem, g, err));
}
