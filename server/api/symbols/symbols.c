/* GET /v1/symbols, GET /v1/symbols/files, DELETE /v1/symbols/{id} and GET /v1/builds/{id}/symbols:
 * which symbols there are, what became of their uploads, and what a build's stacks wait for. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "base/digest.h"
#include "server/http/context.h"

#include <string.h>

#define MAX_ID 128
#define MAX_ARCH 16
#define STACKS_MAX 20000 /* of janks, and of crashes: those with most events */

struct symbol_row {
    struct bytes id;
    const char *kind, *debug_id, *guid, *arch, *format, *name, *source_sha256;
    int64_t source_bytes, table_bytes, stored_bytes, version;
    bool dwarf, revealed;
    int64_t functions;
    struct bytes upload;
    const char *created_at;
    int64_t created_us;
};
static const struct db_col symbol_cols[] = {
    DB_COL(symbol_row, id),           DB_COL(symbol_row, kind),
    DB_COL(symbol_row, debug_id),     DB_COL(symbol_row, guid),
    DB_COL(symbol_row, arch),         DB_COL(symbol_row, format),
    DB_COL(symbol_row, name),         DB_COL(symbol_row, source_sha256),
    DB_COL(symbol_row, source_bytes), DB_COL(symbol_row, table_bytes),
    DB_COL(symbol_row, stored_bytes), DB_COL(symbol_row, version),
    DB_COL(symbol_row, dwarf),        DB_COL(symbol_row, functions),
    DB_COL(symbol_row, upload),       DB_COL(symbol_row, created_at),
    DB_COL(symbol_row, created_us),   DB_COL(symbol_row, revealed),
};
static const struct db_map symbol_map = DB_MAP(symbol_row, symbol_cols);

/* The columns but the last, which orders the list. */
static json_t *items(const struct db_rows *rows, const char *order)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->n; i++) {
        json_t *item = row_to_json(rows->map, (const char *)rows->at + i * rows->map->row_size);

        json_object_del(item, order);
        json_array_append_new(list, item);
    }
    return list;
}

static bool reply_page(struct req *r, const struct db_rows *rows, const char *order,
                       const char *next, struct err *err)
{
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items(rows, order), "next", next),
                      err);
}

bool symbol_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"kind",  "debug_id", "arch", "build",
                                        "limit", "cursor",   NULL};
    static const char *const kinds[] = {"native", "mapping", NULL};
    struct db_arg kind, debug_id, arch, build;
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_choice(r, "kind", kinds, &kind, err) ||
        !arg_text(r, "debug_id", MAX_ID, &debug_id, err) ||
        !arg_text(r, "arch", MAX_ARCH, &arch, err) ||
        !arg_i64(r, "build", 0, INT32_MAX, &build, err) ||
        !db_all(r->db, Q_SYMCACHE_LIST,
                DB_ARGS(db_i64(r->who.app), kind, debug_id, arch, build, p.key, p.id,
                        db_i64(p.limit + 1)),
                &symbol_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        const struct symbol_row *last;

        rows.n = (size_t)p.limit;
        last = (const struct symbol_row *)rows.at + rows.n - 1;
        next = list_page_next(r, &p, last->created_us, last->id.at);
    }
    return reply_page(r, &rows, "created_us", next, err);
}

struct file_row {
    struct bytes upload;
    const char *kind, *name, *sha256;
    int64_t size, uploaded_bytes;
    const char *outcome, *reason, *detail;
    int64_t images;
    const char *received_at;
    int64_t received_us;
};
static const struct db_col file_cols[] = {
    DB_COL(file_row, upload),  DB_COL(file_row, kind),        DB_COL(file_row, name),
    DB_COL(file_row, sha256),  DB_COL(file_row, size),        DB_COL(file_row, uploaded_bytes),
    DB_COL(file_row, outcome), DB_COL(file_row, reason),      DB_COL(file_row, detail),
    DB_COL(file_row, images),  DB_COL(file_row, received_at), DB_COL(file_row, received_us),
};
static const struct db_map file_map = DB_MAP(file_row, file_cols);

bool symbol_file_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"upload", "sha256", "outcome", "limit", "cursor", NULL};
    static const char *const outcomes[] = {"stored", "duplicate", "refused", NULL};
    struct db_arg upload, digest, outcome;
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_hex(r, "upload", 16, &upload, err) ||
        !arg_hex(r, "sha256", SHA256_BYTES, &digest, err) ||
        !arg_choice(r, "outcome", outcomes, &outcome, err) ||
        !db_all(
            r->db, Q_SYMBOL_FILE_LIST,
            DB_ARGS(db_i64(r->who.app), upload, digest, outcome, p.key, p.id, db_i64(p.limit + 1)),
            &file_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        const struct file_row *last;

        rows.n = (size_t)p.limit;
        last = (const struct file_row *)rows.at + rows.n - 1;
        next = list_page_next(r, &p, last->received_us, last->upload.at);
    }
    return reply_page(r, &rows, "received_us", next, err);
}

static bool delete_symbols(struct req *r, const unsigned char id[16], struct err *err)
{
    char hex[33];
    int64_t rows;

    to_hex(id, 16, hex);
    if (!db_exec_n(r->db, Q_SYMCACHE_DELETE, DB_ARGS(db_uuid(id), db_i64(r->who.app)), &rows, err))
        return false;
    if (!rows)
        return err_set(err, ERR_NOT_FOUND, "no such symbols");
    return audit(r, "symbols.delete", json_pack("{s:s}", "id", hex), err);
}

bool symbol_delete(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    unsigned char id[16];

    if (!req_query_only(r, names, err) || !req_param_id(r, 0, id, err) || !db_begin(r->db, err))
        return false;
    if (!delete_symbols(r, id, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_empty(r, 204);
}

struct need_row {
    int64_t n;
    const char *kind, *debug_id, *module, *state;
    bool declared;
    int64_t events_waiting, stacks_waiting, events;
};
static const struct db_col need_cols[] = {
    DB_COL(need_row, n),
    DB_COL(need_row, kind),
    DB_COL(need_row, debug_id),
    DB_COL(need_row, module),
    DB_COL(need_row, state),
    DB_COL(need_row, declared),
    DB_COL(need_row, events_waiting),
    DB_COL(need_row, stacks_waiting),
    DB_COL(need_row, events),
};
static const struct db_map need_map = DB_MAP(need_row, need_cols);

static json_t *need_json(const struct need_row *n)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:I}", "kind", n->kind, "debug_id",
                     n->debug_id, "module", n->module, "state", n->state, "declared", n->declared,
                     "events_waiting", n->events_waiting, "stacks_waiting", n->stacks_waiting);
}

bool build_symbols(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct db_rows rows;
    const struct need_row *row;
    int64_t id;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "id", INT32_MAX, &id, err) ||
        !db_all(r->db, Q_BUILD_SYMBOLS, DB_ARGS(db_i64(r->who.app), db_i64(id), db_i64(STACKS_MAX)),
                &need_map, r->mem, &rows, err))
        return false;
    if (!rows.n)
        return err_set(err, ERR_NOT_FOUND, "no such build");

    json_t *needs = json_array();

    row = rows.at;
    for (size_t i = 1; i < rows.n; i++)
        json_array_append_new(needs, need_json(&row[i]));
    return reply_json(r, 200,
                      json_pack("{s:I, s:I, s:I, s:I, s:o}", "build", id, "events", row->events,
                                "events_waiting", row->events_waiting, "stacks_waiting",
                                row->stacks_waiting, "needs", needs),
                      err);
}
