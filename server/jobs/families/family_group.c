#include "server/jobs/families/family_group.h"

#include "profile/tally.h"
#include "server/jobs/families/stack_read.h"
#include "stacks/rules_index.h"

#include <string.h>

struct state {
    int64_t version, rules_version;
    const char *body;
};
static const struct db_col state_cols[] = {
    DB_COL(state, version),
    DB_COL(state, rules_version),
    DB_COL(state, body),
};
static const struct db_map state_map = DB_MAP(state, state_cols);

static const struct db_col edit_cols[] = {
    DB_COL(family_edit, edit_id), DB_COL(family_edit, split), DB_COL(family_edit, family),
    DB_COL(family_edit, target),  DB_COL(family_edit, depth), DB_COL(family_edit, by_kin),
    DB_COL(family_edit, lost),
};
static const struct db_map edit_map = DB_MAP(family_edit, edit_cols);

bool grouping_read(struct db *db, int64_t app, struct arena *mem, struct grouping *out,
                   struct err *err)
{
    struct grouping g = {0};
    struct db_rows edits;
    struct state state;

    if (!db_one(db, Q_FAMILY_GROUPING_GET, DB_ARGS(db_i64(app)), &state_map, mem, &state, err) ||
        !db_all(db, Q_FAMILY_EDIT_ACTIVE, DB_ARGS(db_i64(app)), &edit_map, mem, &edits, err) ||
        !family_rules_parse(state.body, mem, &g.rules, err))
        return false;
    g.version = state.version;
    g.rules_version = state.rules_version;
    g.edits = edits.at;
    g.n_edits = edits.n;
    *out = g;
    return true;
}

bool grouping_index(struct grouping *g, uint64_t steps, struct err *err)
{
    return rules_index_new(&g->rules.rules, steps, &g->rules.rules.index, err);
}

void grouping_fini(struct grouping *g)
{
    rules_index_free(g->rules.rules.index);
    g->rules.rules.index = NULL;
}

bool grouping_changed(struct db *db, int64_t app, struct err *err)
{
    return db_exec(db, Q_FAMILY_GROUPING_NEXT, DB_ARGS(db_i64(app)), err) &&
           db_exec(db, Q_FAMILIES_QUEUE, DB_ARGS(db_i64(app)), err);
}

static const struct family_edit *find_edit(const struct grouping *g, const unsigned char *family)
{
    size_t low = 0, high = g->n_edits;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = memcmp(g->edits[mid].family.at, family, FINGERPRINT_BYTES);

        if (!order)
            return &g->edits[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool group_leads(const struct grouping *g, const unsigned char *from, const unsigned char *to)
{
    const unsigned char *at = from;

    for (int hops = 0; hops < FAMILY_HOPS; hops++) {
        const unsigned char *next = NULL;

        if (memcmp(at, to, FINGERPRINT_BYTES) == 0)
            return true;
        for (size_t i = 0; i < g->n_edits; i++)
            if (!g->edits[i].split && memcmp(g->edits[i].family.at, at, FINGERPRINT_BYTES) == 0)
                next = g->edits[i].target.at;
        if (!next)
            return false;
        at = next;
    }
    return true;
}

void group_key(const struct grouping *g, const unsigned char prints[][FINGERPRINT_BYTES],
               unsigned char key[FINGERPRINT_BYTES], const struct family_edit **used,
               size_t *n_used)
{
    size_t n = 0;

    memcpy(key, prints[g->rules.rules.depth - 1], FINGERPRINT_BYTES);
    while (n < FAMILY_HOPS) {
        const struct family_edit *e = find_edit(g, key);
        const unsigned char *next = !e ? NULL : e->split ? prints[e->depth - 1] : e->target.at;

        if (!next || memcmp(next, key, FINGERPRINT_BYTES) == 0)
            break;
        memcpy(key, next, FINGERPRINT_BYTES);
        if (used)
            used[n] = e;
        n++;
    }
    if (n_used)
        *n_used = n;
}

bool group_stack(const struct grouping *g, const struct group_stack *s, struct arena *mem,
                 struct grouped *out, struct err *err)
{
    struct stack_frame *frames;
    struct stack_input in = {.kind = s->kind == TALLY_CRASH ? STACK_CRASH : STACK_JANK,
                             .platform = s->platform};

    memset(out, 0, sizeof *out);
    if (!stack_read(s->symbols, s->frames, mem, &frames, &in.n, err))
        return false;
    in.frames = frames;
    if (!family_of(&in, &g->rules.rules, mem, &out->is, err))
        return false;
    if (!family_folded(&out->is, mem, &out->folded, &out->n_folded))
        return err_full(err, "stacks");
    out->frames = frames;
    out->n_frames = in.n;
    group_key(g, (const unsigned char(*)[FINGERPRINT_BYTES])out->is.fingerprint, out->family,
              out->edits, &out->n_edits);
    return true;
}
