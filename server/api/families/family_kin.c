/* GET /v1/family-kin: families that are likely one, but for frames that a compiler or an unwinder
 * lost; docs/families.md. The job 'kin' merges them, if the rules let it. */
#include "server/jobs/families/family_kin.h"
#include "server/api/args.h"
#include "server/api/families/family_slice.h"
#include "server/api/handlers.h"
#include "server/api/heavy.h"

#include "base/digest.h"

#include <string.h>

#define KEPT_BYTES ((size_t)96 << 20)

static const char *title_of(const struct kin_found *k, const uint8_t *family)
{
    for (size_t i = 0; i < k->n_members; i++) {
        const struct family *f = k->members[i].family;

        if (memcmp(f->fingerprint[f->depth - 1], family, FINGERPRINT_BYTES) == 0)
            return f->title;
    }
    return "";
}

static json_t *side_json(const struct kin_found *k, const uint8_t *family, int64_t events)
{
    char hex[2 * FINGERPRINT_BYTES + 1];

    to_hex(family, FINGERPRINT_BYTES, hex);
    return json_pack("{s:s, s:s, s:I}", "family", hex, "title", title_of(k, family), "events",
                     events);
}

/* The number of the merge that is in force for it. */
static json_t *edit_json(const struct grouping *g, const struct kin_join *j)
{
    for (size_t i = 0; i < g->n_edits; i++)
        if (*g->edits[i].by_kin && memcmp(g->edits[i].family.at, j->from, FINGERPRINT_BYTES) == 0 &&
            memcmp(g->edits[i].target.at, j->into, FINGERPRINT_BYTES) == 0)
            return json_integer(g->edits[i].edit_id);
    return json_null();
}

static bool answer(struct req *r, const struct grouping *g, const struct kin_found *k,
                   struct err *err)
{
    json_t *items = json_array();

    for (size_t i = 0; i < k->n; i++) {
        const struct kin_join *j = &k->joins[i];

        json_array_append_new(items,
                              json_pack("{s:o, s:o, s:s, s:s?, s:s?, s:s?, s:o}",     //
                                        "from", side_json(k, j->from, j->from_count), //
                                        "into", side_json(k, j->into, j->into_count), //
                                        "reason", kin_reason_name[j->reason],         //
                                        "lost", j->lost, "lost_into", j->lost_into, "named",
                                        j->named, "edit", //
                                        edit_json(g, j)));
    }
    return reply_json(r, 200, json_pack("{s:o, s:n}", "items", items, "next"), err);
}

bool family_kin(struct req *r, struct err *err)
{
    static const char *const names[] = {"kind", NULL};
    static const char *const kinds[] = {"jank", "crash", NULL};
    struct arena *kept;
    struct kin_found found;
    struct grouping g;
    struct db_arg kind;
    bool crash, ok;

    if (!req_query_only(r, names, err) || !arg_choice(r, "kind", kinds, &kind, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &g, err))
        return false;
    if (!heavy_enter(err))
        return false;
    crash = kind.type != ARG_NULL && strcmp(kind.text, "crash") == 0;
    kept = arena_new(KEPT_BYTES);
    ok = (kept || err_memory(err)) && grouping_index(&g, HEAVY_STEPS, err) &&
         family_kin_find(r->db, r->who.app, crash, &g, kept, &found, err) &&
         answer(r, &g, &found, err);
    grouping_fini(&g);
    arena_free(kept);
    heavy_leave();
    return ok;
}
