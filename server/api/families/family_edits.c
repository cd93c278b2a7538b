/* POST /v1/families/{id}/merge and …/split, GET /v1/family-edits, POST /v1/family-edits/{id}/undo:
 * families joined and taken apart by hand. Each is a record that stays, also when it is undone, as
 * do the merges that the job 'kin' makes; the job 'families' applies what holds. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/families/family_slice.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "base/digest.h"

#include <string.h>

#define MAX_NOTE 500

struct edit_row {
    int64_t id;
    const char *kind;
    struct bytes family, target;
    int64_t depth;
    const char *by_kin, *lost, *actor, *note, *created_at, *undone_at, *undone_by;
};
static const struct db_col edit_cols[] = {
    DB_COL(edit_row, id),         DB_COL(edit_row, kind),      DB_COL(edit_row, family),
    DB_COL(edit_row, target),     DB_COL(edit_row, depth),     DB_COL(edit_row, by_kin),
    DB_COL(edit_row, lost),       DB_COL(edit_row, actor),     DB_COL(edit_row, note),
    DB_COL(edit_row, created_at), DB_COL(edit_row, undone_at), DB_COL(edit_row, undone_by),
};
static const struct db_map edit_map = DB_MAP(edit_row, edit_cols);

struct check {
    int64_t kind, depth, parts; /* kind -1: no such family */
    bool joined;                /* others are merged into it */
};
static const struct db_col check_cols[] = {
    DB_COL(check, kind),
    DB_COL(check, depth),
    DB_COL(check, parts),
    DB_COL(check, joined),
};
static const struct db_map check_map = DB_MAP(check, check_cols);

static bool look_at(struct req *r, const unsigned char *id, int64_t depth, struct check *out,
                    struct err *err)
{
    return db_one(r->db, Q_FAMILY_EDIT_CHECK,
                  DB_ARGS(db_i64(r->who.app), db_bytes(id, FINGERPRINT_BYTES), db_i64(depth)),
                  &check_map, r->mem, out, err);
}

static json_t *edit_json(const struct edit_row *row)
{
    json_t *tree = row_to_json(&edit_map, row);

    /* what the kind has not is null */
    if (strcmp(row->kind, "merge") == 0)
        json_object_set_new(tree, "depth", json_null());
    return tree;
}

static bool reply_edit(struct req *r, int status, int64_t id, struct err *err)
{
    struct edit_row row;

    return db_one(r->db, Q_FAMILY_EDIT_LIST,
                  DB_ARGS(db_i64(r->who.app), db_i64(id), db_null(), db_i64(1), db_null()),
                  &edit_map, r->mem, &row, err) &&
           reply_json(r, status, edit_json(&row), err);
}

struct id_row {
    int64_t id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

struct wanted {
    const char *kind, *note;
    unsigned char family[FINGERPRINT_BYTES], target[FINGERPRINT_BYTES];
    int64_t depth;
};

static json_t *audit_json(const struct wanted *w, int64_t id)
{
    char family[2 * FINGERPRINT_BYTES + 1], target[2 * FINGERPRINT_BYTES + 1];
    json_t *tree;

    to_hex(w->family, FINGERPRINT_BYTES, family);
    to_hex(w->target, FINGERPRINT_BYTES, target);
    tree = json_pack("{s:I, s:s, s:s}", "edit", id, "family", family, "note", w->note);
    if (w->depth)
        json_object_set_new(tree, "depth", json_integer(w->depth));
    else
        json_object_set_new(tree, "into", json_string(target));
    return tree;
}

static bool add(struct req *r, const struct wanted *w, int64_t *id, struct err *err)
{
    char action[32];
    struct id_row row;

    snprintf(action, sizeof action, "family.%s", w->kind);
    if (!db_one(r->db, Q_FAMILY_EDIT_ADD,
                DB_ARGS(db_i64(r->who.app), db_text(w->kind),
                        db_bytes(w->family, FINGERPRINT_BYTES),
                        w->depth ? db_null() : db_bytes(w->target, FINGERPRINT_BYTES),
                        w->depth ? db_i64(w->depth) : db_null(), db_text(r->who.hint),
                        db_text(w->note)),
                &id_map, r->mem, &row, err))
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_CONFLICT,
                             "this family was merged or split already: undo that first")
                   : false;
    *id = row.id;
    return audit(r, action, audit_json(w, row.id), err);
}

typedef bool check_fn(struct req *r, const struct wanted *w, struct err *err);

/* The first statement makes an app's edits wait for each other, so that what was checked holds. */
static bool keep(struct req *r, const struct wanted *w, check_fn *check, struct err *err)
{
    int64_t id;

    if (!db_begin(r->db, err))
        return false;
    if (!grouping_changed(r->db, r->who.app, err) || !check(r, w, err) || !add(r, w, &id, err) ||
        !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_edit(r, 201, id, err);
}

static bool read_note(struct req *r, const char *const *members, struct wanted *w, struct err *err)
{
    static const char *const none[] = {NULL};

    return req_query_only(r, none, err) && req_json(r, err) && json_only(r->json, members, err) &&
           json_get_prose(r->json, "note", MAX_NOTE, "", &w->note, err);
}

static bool check_merge(struct req *r, const struct wanted *w, struct err *err)
{
    struct check from, into;
    struct grouping g;

    if (!look_at(r, w->family, 1, &from, err) || !look_at(r, w->target, 1, &into, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &g, err))
        return false;
    if (from.kind < 0)
        return err_set(err, ERR_NOT_FOUND, "no such family");
    if (into.kind < 0)
        return err_field(err, ERR_INVALID, "into", "is no family of the app");
    if (from.kind != into.kind)
        return err_field(err, ERR_INVALID, "into", "is of the other kind: janks are not crashes");
    if (group_leads(&g, w->target, w->family)) /* it must not come back */
        return err_field(err, ERR_CONFLICT, "into", "is, or is merged into, this very family");
    return true;
}

bool family_merge(struct req *r, struct err *err)
{
    static const char *const members[] = {"into", "note", NULL};
    struct wanted w = {.kind = "merge"};
    const char *into;

    if (!req_param_id(r, 0, w.family, err) || !read_note(r, members, &w, err) ||
        !json_get_text(r->json, "into", 2 * FINGERPRINT_BYTES, NULL, &into, err))
        return false;
    if (strlen(into) != 2 * FINGERPRINT_BYTES || !from_hex(into, FINGERPRINT_BYTES, w.target))
        return err_field(err, ERR_INVALID, "into", "must be %d hexadecimal digits",
                         2 * FINGERPRINT_BYTES);
    return keep(r, &w, check_merge, err);
}

static bool check_split(struct req *r, const struct wanted *w, struct err *err)
{
    struct check c;

    if (!look_at(r, w->family, w->depth, &c, err))
        return false;
    if (c.kind < 0)
        return err_set(err, ERR_NOT_FOUND, "no such family");
    if (c.joined)
        return err_set(err, ERR_CONFLICT, "others are merged into this family: undo that first");
    if (w->depth <= c.depth)
        return err_field(err, ERR_INVALID, "depth",
                         "must be above %lld, where it is told apart now", (long long)c.depth);
    if (c.parts < 2)
        return err_field(err, ERR_CONFLICT, "depth",
                         "makes nothing of it: its stacks are alike that deep");
    return true;
}

bool family_split(struct req *r, struct err *err)
{
    static const char *const members[] = {"depth", "note", NULL};
    static const struct range depths = {2, RULES_DEPTH_MAX, 0};
    struct wanted w = {.kind = "split"};

    return req_param_id(r, 0, w.family, err) && read_note(r, members, &w, err) &&
           json_get_i64(r->json, "depth", depths, true, &w.depth, err) &&
           keep(r, &w, check_split, err);
}

bool family_edit_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"limit", "cursor", "family", NULL};
    const struct edit_row *row;
    struct db_arg family;
    const char *next = NULL;
    struct list_page p;
    struct db_rows rows;
    json_t *items;

    if (!list_page_read(r, names, &p, err) ||
        !arg_hex(r, "family", FINGERPRINT_BYTES, &family, err) ||
        !db_all(r->db, Q_FAMILY_EDIT_LIST,
                DB_ARGS(db_i64(r->who.app), db_null(), p.key, db_i64(p.limit + 1), family),
                &edit_map, r->mem, &rows, err))
        return false;
    row = rows.at;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, row[rows.n - 1].id, NULL);
    }
    items = json_array();
    for (size_t i = 0; i < rows.n; i++)
        json_array_append_new(items, edit_json(&row[i]));
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next), err);
}

/* Waits for the app's edits before it holds one, like keep(), for whoever has them waits for that
 * one. */
static bool undo(struct req *r, int64_t id, struct err *err)
{
    int64_t rows;

    if (!grouping_changed(r->db, r->who.app, err) ||
        !db_exec_n(r->db, Q_FAMILY_EDIT_UNDO,
                   DB_ARGS(db_i64(r->who.app), db_i64(id), db_text(r->who.hint)), &rows, err))
        return false;
    if (!rows)
        return err_set(err, ERR_NOT_FOUND, "no such merge or split is in force");
    return audit(r, "family.undo", json_pack("{s:I}", "edit", id), err);
}

bool family_edit_undo(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    int64_t id;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "id", INT64_MAX, &id, err) ||
        !db_begin(r->db, err))
        return false;
    if (!undo(r, id, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_edit(r, 200, id, err);
}
