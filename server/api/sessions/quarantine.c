/* GET /v1/quarantine: what was refused or invalid, counted by source and reason. */
#include "server/api/args.h"
#include "server/api/handlers.h"

#define RECENT_MAX 50
#define THINGS_MAX 100000 /* the latest, of all sources together */

struct reason_row {
    const char *source, *reason;
    int64_t count, things;
    const char *last_at, *recent_json;
};
static const struct db_col reason_cols[] = {
    DB_COL(reason_row, source), DB_COL(reason_row, reason),  DB_COL(reason_row, count),
    DB_COL(reason_row, things), DB_COL(reason_row, last_at), DB_COL(reason_row, recent_json),
};
static const struct db_map reason_map = DB_MAP(reason_row, reason_cols);

bool quarantine_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"source", "from", "recent", NULL};
    static const char *const sources[] = {"upload",   "part",    "session", "crash",
                                          "feedback", "symbols", NULL};
    static const struct range recent = {0, RECENT_MAX, 5};
    struct db_arg source, from;
    struct db_rows rows;
    int64_t n;

    if (!req_query_only(r, names, err) || !arg_choice(r, "source", sources, &source, err) ||
        !arg_time(r, "from", &from, err) || !req_query_i64(r, "recent", recent, &n, err))
        return false;
    if (from.type == ARG_NULL)
        from = db_i64(0);
    if (!db_all(r->db, Q_QUARANTINE_BY_REASON,
                DB_ARGS(db_i64(r->who.app), from, source, db_i64(n), db_i64(THINGS_MAX)),
                &reason_map, r->mem, &rows, err))
        return false;
    return reply_rows(r, 200, &rows, NULL, err);
}
