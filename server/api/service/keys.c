/* GET /v1/keys: which keys open the app. Keys themselves are nowhere: the server has digests. */
#include "server/api/handlers.h"

struct key_row {
    const char *hint, *role, *label, *created_at, *revoked_at;
};
static const struct db_col key_cols[] = {
    DB_COL(key_row, hint),       DB_COL(key_row, role),       DB_COL(key_row, label),
    DB_COL(key_row, created_at), DB_COL(key_row, revoked_at),
};
static const struct db_map key_map = DB_MAP(key_row, key_cols);

bool key_list(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct db_rows rows;

    if (!req_query_only(r, names, err) ||
        !db_all(r->db, Q_KEY_LIST, DB_ARGS(db_i64(r->who.app)), &key_map, r->mem, &rows, err))
        return false;
    return reply_rows(r, 200, &rows, NULL, err);
}
