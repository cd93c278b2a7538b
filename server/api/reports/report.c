/* GET /v1/report: a build against its baseline, as of now; GET /v1/reports: those that were made by
 * themselves, as they stood then. */
#include "server/api/args.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"
#include "server/api/tiers/tiers_arg.h"

#include "server/jobs/reports/report_doc.h"

#include <string.h>

#define PAGE_CAP (64u << 20)

static const char *const formats[] = {"json", "csv", "html", NULL};

static bool reply_text(struct req *r, const char *type, void (*write)(const json_t *, struct buf *),
                       json_t *doc, struct err *err)
{
    struct buf text;

    buf_init(&text, PAGE_CAP);
    write(doc, &text);
    json_decref(doc);
    return reply_buf(r, 200, type, &text, err);
}

/* Takes the document. */
static bool reply_doc(struct req *r, const struct db_arg *format, json_t *doc, struct err *err)
{
    const char *as = format->type == ARG_NULL ? "json" : format->text;

    if (strcmp(as, "csv") == 0)
        return reply_text(r, "text/csv; charset=utf-8", report_csv, doc, err);
    if (strcmp(as, "html") == 0) {
        reply_header(r, "Content-Security-Policy",
                     "default-src 'none'; style-src 'unsafe-inline'; sandbox");
        return reply_text(r, "text/html; charset=utf-8", report_html, doc, err);
    }
    return reply_json(r, 200, doc, err);
}

bool report_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "baseline", "tier", "scene", "format", NULL};
    const struct range id = {1, INT32_MAX, 0};
    struct report_ask ask = {.app = r->who.app};
    struct db_arg scene, format;
    json_t *doc;

    if (!req_query_only(r, names, err))
        return false;
    if (!req_query(r, "build"))
        return err_field(err, ERR_INVALID, "build", "is required: the id of a build");
    if (!req_query_i64(r, "build", id, &ask.build, err) ||
        !req_query_i64(r, "baseline", id, &ask.baseline, err) ||
        !arg_tier(r, "tier", &ask.one_tier, &ask.tier, err) ||
        !arg_scene(r, "scene", &scene, err) || !arg_choice(r, "format", formats, &format, err))
        return false;
    ask.one_scene = scene.type != ARG_NULL;
    ask.scene = ask.one_scene ? scene.text : NULL;
    doc = report_doc(r->db, &ask, r->mem, NULL, err);
    return doc && reply_doc(r, &format, doc, err);
}

struct report_row {
    int64_t id;
    const char *kind;
    int64_t build_id, baseline_id, step, sessions;
    const char *made_at;
};
static const struct db_col report_cols[] = {
    DB_COL(report_row, id),          DB_COL(report_row, kind), DB_COL(report_row, build_id),
    DB_COL(report_row, baseline_id), DB_COL(report_row, step), DB_COL(report_row, sessions),
    DB_COL(report_row, made_at),
};
static const struct db_map report_map = DB_MAP(report_row, report_cols);

bool report_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "kind", "limit", "cursor", NULL};
    static const char *const kinds[] = {"comparison", "health", NULL};
    struct db_arg build, kind;
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_i64(r, "build", 1, INT32_MAX, &build, err) ||
        !arg_choice(r, "kind", kinds, &kind, err) ||
        !db_all(r->db, Q_REPORT_LIST,
                DB_ARGS(db_i64(r->who.app), build, kind, p.key, db_i64(p.limit + 1)), &report_map,
                r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct report_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

struct stored_report {
    const char *kind, *document;
};
static const struct db_col stored_cols[] = {DB_COL(stored_report, kind),
                                            DB_COL(stored_report, document)};
static const struct db_map stored_map = DB_MAP(stored_report, stored_cols);

bool report_stored(struct req *r, struct err *err)
{
    static const char *const names[] = {"format", NULL};
    struct stored_report row;
    struct db_arg format;
    int64_t id;
    json_t *doc;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "id", INT64_MAX, &id, err) ||
        !arg_choice(r, "format", formats, &format, err))
        return false;
    if (!db_one(r->db, Q_REPORT_STORED, DB_ARGS(db_i64(r->who.app), db_i64(id)), &stored_map,
                r->mem, &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such report") : false;
    if (strcmp(row.kind, "comparison") != 0 && format.type != ARG_NULL &&
        strcmp(format.text, "json") != 0)
        return err_field(err, ERR_INVALID, "format", "a health check is told as json alone");
    doc = json_loads(row.document, 0, NULL);
    if (!doc)
        return err_set(err, ERR_INTERNAL, "a stored report cannot be read");
    return reply_doc(r, &format, doc, err);
}
