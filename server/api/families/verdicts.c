/* GET /v1/families/{id}/verdicts and POST /v1/verdict-pairs: whether a fix worked. Verdicts are
 * recorded by the job 'verdicts' when there is enough to look at; asking changes nothing. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/families/family_slice.h"
#include "server/api/handlers.h"
#include "stats/verdict.h"

#include <string.h>

#define LOOK_COLUMNS(X)                                                                            \
    X(int64_t, look)                                                                               \
    X(const char *, label)                                                                         \
    X(const char *, ratio_json)                                                                    \
    X(const char *, low_json)                                                                      \
    X(const char *, high_json)                                                                     \
    X(const char *, phi_json)                                                                      \
    X(const char *, expected_json)                                                                 \
    X(int64_t, events_old)                                                                         \
    X(int64_t, events_new)                                                                         \
    X(int64_t, foreground_old_ms)                                                                  \
    X(int64_t, foreground_new_ms)                                                                  \
    X(const char *, judged_at)

struct look_row {
#define X(type, name) type name;
    LOOK_COLUMNS(X)
#undef X
    int64_t build_id, baseline_id; /* the rest is of the pair */
    const char *build_json, *baseline_json;
    bool latest;
};
static const struct db_col look_cols[] = {
#define X(type, name) DB_COL(look_row, name),
    LOOK_COLUMNS(X)
#undef X
        DB_COL(look_row, build_id),
    DB_COL(look_row, baseline_id),
    DB_COL(look_row, build_json),
    DB_COL(look_row, baseline_json),
    DB_COL(look_row, latest),
};
static const struct db_map look_map = DB_MAP(look_row, look_cols);
static const struct db_map look_shown = {look_cols, sizeof look_cols / sizeof *look_cols - 5,
                                         sizeof(struct look_row)};

/* One pair with its looks, newest first: rows [0, n). */
static json_t *pair_json(const struct look_row *row, size_t n)
{
    json_t *looks = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(looks, row_to_json(&look_shown, &row[i]));
    return json_pack("{s:o, s:o, s:s, s:b, s:o}", "build", json_loads(row->build_json, 0, NULL),
                     "baseline", json_loads(row->baseline_json, 0, NULL), "verdict", row->label,
                     "final", row->look >= VERDICT_LOOKS, "looks", looks);
}

bool family_verdicts(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "baseline", NULL};
    unsigned char id[FINGERPRINT_BYTES];
    struct db_arg build, baseline;
    const struct look_row *row;
    struct db_rows rows;
    json_t *items;
    size_t end;

    if (!req_query_only(r, names, err) || !req_param_id(r, 0, id, err) ||
        !arg_i64(r, "build", 1, INT32_MAX, &build, err) ||
        !arg_i64(r, "baseline", 1, INT32_MAX, &baseline, err) ||
        !db_all(r->db, Q_VERDICT_LIST,
                DB_ARGS(db_i64(r->who.app), db_bytes(id, sizeof id), build, baseline), &look_map,
                r->mem, &rows, err))
        return false;
    if (!rows.n && !family_param(r, 0, id, err)) /* gone families keep their verdicts */
        return false;
    row = rows.at;
    items = json_array();
    for (size_t i = 0; i < rows.n; i = end) {
        for (end = i + 1; end < rows.n; end++)
            if (row[end].build_id != row[i].build_id || row[end].baseline_id != row[i].baseline_id)
                break;
        json_array_append_new(items, pair_json(&row[i], end - i));
    }
    return reply_json(r, 200, json_pack("{s:o, s:n}", "items", items, "next"), err);
}

static bool add_pair(struct req *r, int64_t build, int64_t baseline, struct err *err)
{
    int64_t rows;

    if (!db_exec_n(
            r->db, Q_VERDICT_PAIR_ADD,
            DB_ARGS(db_i64(r->who.app), db_i64(build), db_i64(baseline), db_text(r->who.hint)),
            &rows, err))
        return false;
    if (!rows)
        return err_field(err, ERR_INVALID, "baseline",
                         "and build must be two builds of the app, of one platform");
    return audit(r, "verdict.pair", json_pack("{s:I, s:I}", "build", build, "baseline", baseline),
                 err);
}

bool verdict_pair_post(struct req *r, struct err *err)
{
    static const char *const none[] = {NULL};
    static const char *const members[] = {"build", "baseline", NULL};
    static const struct range id = {1, INT32_MAX, 0};
    int64_t build, baseline;

    if (!req_query_only(r, none, err) || !req_json(r, err) || !json_only(r->json, members, err) ||
        !json_get_i64(r->json, "build", id, true, &build, err) ||
        !json_get_i64(r->json, "baseline", id, true, &baseline, err) || !db_begin(r->db, err))
        return false;
    if (!add_pair(r, build, baseline, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_json(r, 200, json_pack("{s:I, s:I}", "build", build, "baseline", baseline), err);
}
