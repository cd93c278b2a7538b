/* GET /v1/family-kin: families that are likely one, but for a frame that a compiler or an unwinder
 * lost; docs/families.md. A suggestion: POST /v1/families/{id}/merge takes it up. */
#include "server/api/args.h"
#include "server/api/family_slice.h"
#include "server/api/handlers.h"
#include "server/api/session_rows.h"
#include "server/jobs/family_group.h"
#include "stacks/kin.h"

#include "base/digest.h"

#include <string.h>

#define AT_ONCE 500
#define STACKS 5000 /* those with most events */
#define BATCH_BYTES ((size_t)96 << 20)
#define KEPT_BYTES ((size_t)96 << 20)
#define MEMBERS_MAX 20000 /* stacks times builds */

struct stack_row {
    int64_t kind;
    const char *platform, *symbols, *frames;
    int64_t build_id, events;
};
static const struct db_col stack_cols[] = {
    DB_COL(stack_row, kind),   DB_COL(stack_row, platform), DB_COL(stack_row, symbols),
    DB_COL(stack_row, frames), DB_COL(stack_row, build_id), DB_COL(stack_row, events),
};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct search {
    struct req *r;
    struct grouping grouping;
    struct arena *kept, *batch; /* kept: of the members */
    struct kin_member *members;
    size_t n;
};

/* Of the family what kin are found by. */
static const struct family *keep_family(struct search *s, const struct family *from)
{
    struct family *f = arena_alloc(s->kept, sizeof *f);

    if (!f)
        return NULL;
    *f = *from;
    f->notes = NULL;
    f->n_notes = 0;
    f->title = arena_dup(s->kept, from->title, strlen(from->title));
    for (unsigned i = 0; i < RULES_DEPTH_MAX; i++)
        if (from->names[i])
            f->names[i] = arena_dup(s->kept, from->names[i], strlen(from->names[i]));
    return f;
}

static bool add(struct search *s, const struct stack_row *row, struct err *err)
{
    const struct group_stack stack = {row->kind, row->platform, row->symbols, row->frames};
    struct grouped *g = arena_alloc(s->batch, sizeof *g);
    const char *image = NULL;

    if (!g)
        return out_of_memory(err);
    if (!group_stack(&s->grouping, &stack, s->batch, g, err))
        return false;
    if (g->n_edits || g->is.class != STACK_CLASS_IN_APP)
        return true; /* people have decided, or there is nothing to decide */
    if (g->is.culprit < g->n_frames && g->frames[g->is.culprit].debug_id)
        image = arena_dup(s->kept, g->frames[g->is.culprit].debug_id,
                          strlen(g->frames[g->is.culprit].debug_id));
    s->members[s->n++] = (struct kin_member){.family = keep_family(s, &g->is),
                                             .kind = row->kind ? STACK_CRASH : STACK_JANK,
                                             .image = image,
                                             .build = row->build_id,
                                             .count = row->events};
    return !arena_full(s->kept) || out_of_memory(err);
}

static bool read_members(struct search *s, int64_t kind, struct err *err)
{
    struct db_rows rows = {.n = 1};

    for (int64_t at = 0; rows.n && at < STACKS && s->n < MEMBERS_MAX; at += AT_ONCE) {
        arena_reset(s->batch);
        if (!db_all(s->r->db, Q_FAMILY_KIN_STACKS,
                    DB_ARGS(db_i64(s->r->who.app), db_i64(kind), db_i64(AT_ONCE), db_i64(at)),
                    &stack_map, s->batch, &rows, err))
            return false;
        for (size_t i = 0; i < rows.n && s->n < MEMBERS_MAX; i++)
            if (!add(s, (const struct stack_row *)rows.at + i, err))
                return false;
    }
    return true;
}

static const char *title_of(const struct search *s, const uint8_t *family)
{
    unsigned depth = s->grouping.rules.rules.depth;

    for (size_t i = 0; i < s->n; i++)
        if (memcmp(s->members[i].family->fingerprint[depth - 1], family, FINGERPRINT_BYTES) == 0)
            return s->members[i].family->title;
    return "";
}

static json_t *side_json(const struct search *s, const uint8_t *family, int64_t events)
{
    char hex[2 * FINGERPRINT_BYTES + 1];

    to_hex(family, FINGERPRINT_BYTES, hex);
    return json_pack("{s:s, s:s, s:I}", "family", hex, "title", title_of(s, family), "events",
                     events);
}

static bool answer(struct search *s, struct err *err)
{
    struct kin_join *joins;
    json_t *items;
    size_t n;

    if (!kin_find(s->members, s->n, s->kept, &joins, &n, err))
        return false;
    items = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(items,
                              json_pack("{s:o, s:o, s:s, s:s?}", "from",
                                        side_json(s, joins[i].from, joins[i].from_count), "into",
                                        side_json(s, joins[i].into, joins[i].into_count), "reason",
                                        kin_reason_name[joins[i].reason], "lost", joins[i].lost));
    return reply_json(s->r, 200, json_pack("{s:o, s:n}", "items", items, "next"), err);
}

bool family_kin(struct req *r, struct err *err)
{
    static const char *const names[] = {"kind", NULL};
    static const char *const kinds[] = {"jank", "crash", NULL};
    struct search s = {.r = r};
    struct db_arg kind;
    bool ok;

    if (!req_query_only(r, names, err) || !arg_choice(r, "kind", kinds, &kind, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &s.grouping, err))
        return false;
    s.kept = arena_new(KEPT_BYTES);
    s.batch = arena_new(BATCH_BYTES);
    s.members = s.kept ? arena_array(s.kept, MEMBERS_MAX, sizeof *s.members) : NULL;
    ok = (s.members && s.batch) || out_of_memory(err);
    ok = ok && read_members(&s, kind.type != ARG_NULL && strcmp(kind.text, "crash") == 0, err) &&
         answer(&s, err);
    arena_free(s.batch);
    arena_free(s.kept);
    return ok;
}
