/* GET /v1/health-check: is a release well observed? A day whose check was made by itself is told as
 * it stood then. */
#include "server/api/args.h"
#include "server/api/handlers.h"

#include "server/jobs/reports/health.h"

struct kept_row {
    const char *document, *made_at;
};
static const struct db_col kept_cols[] = {DB_COL(kept_row, document), DB_COL(kept_row, made_at)};
static const struct db_map kept_map = DB_MAP(kept_row, kept_cols);

/* Replaces the document by the one that was kept of its build and this day, if there is one. */
static bool put_kept(struct req *r, int64_t day, json_t **doc, struct err *err)
{
    int64_t build = json_integer_value(json_object_get(json_object_get(*doc, "build"), "id"));
    struct db_rows rows;

    if (!db_all(r->db, Q_HEALTH_KEPT, DB_ARGS(db_i64(r->who.app), db_i64(build), db_i64(day)),
                &kept_map, r->mem, &rows, err))
        return false;
    if (!rows.n)
        return true;

    const struct kept_row *kept = rows.at;

    json_decref(*doc);
    *doc = json_loads(kept->document, 0, NULL);
    return (*doc && json_object_set_new(*doc, "made_at", json_string(kept->made_at)) == 0) ||
           err_set(err, ERR_INTERNAL, "a stored check cannot be read");
}

bool health_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "day", NULL};
    int64_t build, day;
    json_t *doc;

    if (!req_query_only(r, names, err) ||
        !req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &build, err) ||
        !req_query_i64(r, "day", (struct range){1, 60, 0}, &day, err))
        return false;
    doc = health_doc(r->db, r->who.app, build, day, 0, r->mem, err);
    if (!doc)
        return false;
    if (day && !put_kept(r, day, &doc, err)) {
        json_decref(doc);
        return false;
    }
    return reply_json(r, 200, doc, err);
}
