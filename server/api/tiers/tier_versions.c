/* GET /v1/tiers/versions: the cuts between tiers, as they were placed; POST: another version. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "server/http/context.h"
#include "server/jobs/schedule.h"
#include "server/jobs/tiers/tier_place.h"

#include <string.h>

#define CUT_MAX_MS 60000

struct version_row {
    int64_t version, tiers;
    const char *cuts_json, *placed_at, *placed_by, *note;
};
static const struct db_col version_cols[] = {
    DB_COL(version_row, version),   DB_COL(version_row, tiers),     DB_COL(version_row, cuts_json),
    DB_COL(version_row, placed_at), DB_COL(version_row, placed_by), DB_COL(version_row, note)};
static const struct db_map version_map = DB_MAP(version_row, version_cols);

bool tier_version_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"limit", "cursor", NULL};
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) ||
        !db_all(r->db, Q_TIER_VERSION_LIST, DB_ARGS(db_i64(r->who.app), p.key, db_i64(p.limit + 1)),
                &version_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next =
            list_page_next(r, &p, ((const struct version_row *)rows.at)[rows.n - 1].version, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

/* Placing -------------------------------------------------------------------------------------- */

static bool read_cuts(const json_t *list, struct tier_cuts *out, struct err *err)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || !n || n >= TIER_MAX_TIERS)
        return err_field(err, ERR_INVALID, "cuts", "must be an array of 1 to %d",
                         TIER_MAX_TIERS - 1);
    out->tiers = (unsigned)n + 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);

        out->ms[i] = json_number_value(v);
        if (!json_is_number(v) || !(out->ms[i] > (i ? out->ms[i - 1] : 0)) ||
            out->ms[i] > CUT_MAX_MS)
            return err_field(err, ERR_INVALID, "cuts",
                             "must be numbers of ms that ascend, above 0 and at most %d",
                             CUT_MAX_MS);
    }
    return true;
}

static bool read_ask(struct req *r, struct tier_ask *ask, struct tier_cuts *given, struct err *err)
{
    static const char *const none[] = {NULL};
    static const char *const names[] = {"tiers", "cuts", "note", NULL};
    const struct range range = {2, TIER_MAX_TIERS, TIER_DEFAULT_TIERS};
    const json_t *cuts;
    int64_t tiers;

    if (!req_query_only(r, none, err) || !req_json(r, err) || !json_only(r->json, names, err) ||
        !json_get_i64(r->json, "tiers", range, false, &tiers, err) ||
        !json_get_prose(r->json, "note", TIER_NOTE_BYTES, "", &ask->note, err))
        return false;
    ask->tiers = (unsigned)tiers;
    cuts = json_object_get(r->json, "cuts");
    if (!cuts)
        return true;
    if (json_object_get(r->json, "tiers"))
        return err_field(err, ERR_INVALID, "cuts", "and tiers exclude each other");
    ask->given = given;
    return read_cuts(cuts, given, err);
}

static bool reply_version(struct req *r, int64_t version, struct err *err)
{
    struct db_rows rows;

    /* the latest below the one after it */
    if (!db_all(r->db, Q_TIER_VERSION_LIST,
                DB_ARGS(db_i64(r->who.app), db_i64(version + 1), db_i64(1)), &version_map, r->mem,
                &rows, err))
        return false;
    return rows.n ? reply_json(r, 200, row_to_json(&version_map, rows.at), err)
                  : err_set(err, ERR_INTERNAL, "the version vanished");
}

bool tier_version_post(struct req *r, struct err *err)
{
    struct tier_ask ask = {.app = r->who.app, .by = r->who.hint, .public_url = r->ctx->public_url};
    struct tier_cuts given;
    int64_t version;

    return read_ask(r, &ask, &given, err) && db_begin(r->db, err) &&
           tier_place(r->db, &ask, r->mem, &version, err) &&
           audit(r, "tiers.place", json_pack("{s:I, s:s}", "version", version, "note", ask.note),
                 err) &&
           schedule_now(r->db, r->who.app, "tiers", err) && db_commit(r->db, err) &&
           reply_version(r, version, err);
}
