/* GET /v1/adoption: which builds are played, day by day, from rollup rows alone: ten million
 * sessions are no more rows than ten. */
#include "server/api/args.h"
#include "server/api/handlers.h"

#define BUILDS_MAX 40 /* each is 640 looks into an index */
#define DAYS_MAX 366

struct build_row {
    int64_t build_id, version_code;
    const char *platform, *version_name, *days_json;
    bool registered;
};
static const struct db_col build_cols[] = {
    DB_COL(build_row, build_id),     DB_COL(build_row, platform),   DB_COL(build_row, version_name),
    DB_COL(build_row, version_code), DB_COL(build_row, registered), DB_COL(build_row, days_json),
};
static const struct db_map build_map = DB_MAP(build_row, build_cols);

bool adoption_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "days", "to", NULL};
    struct db_rows rows;
    struct db_arg to;
    int64_t build, days;

    if (!req_query_only(r, names, err))
        return false;
    if (!req_query(r, "build"))
        return err_field(err, ERR_INVALID, "build", "is required: the id of a build");
    if (!req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &build, err) ||
        !req_query_i64(r, "days", (struct range){1, DAYS_MAX, 60}, &days, err) ||
        !arg_day(r, "to", &to, err))
        return false;
    if (!db_all(r->db, Q_ADOPTION,
                DB_ARGS(db_i64(r->who.app), db_i64(build), db_i64(days), to, db_i64(BUILDS_MAX)),
                &build_map, r->mem, &rows, err))
        return false;
    if (!rows.n)
        return err_set(err, ERR_NOT_FOUND, "there is no such build");
    return reply_rows(r, 200, &rows, NULL, err);
}
