/* /v1/family-rules: an app's rules of families, every version kept; docs/families.md. A change
 * moves no count of a stack: the job 'families' groups the stacks anew. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/etag.h"
#include "server/api/families/family_preview.h"
#include "server/api/handlers.h"
#include "server/api/heavy.h"
#include "server/api/list_page.h"
#include "server/jobs/families/family_group.h"

#include "base/digest.h"
#include "server/http/problem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NOTE 500

/* A document with its text and tag. */
struct answer {
    int64_t version;
    const char *text; /* canonical, without version */
    char etag[2 * 16 + 3];
};

static bool render(struct req *r, const struct family_rules *rules, int64_t version,
                   struct answer *out, struct err *err)
{
    json_t *tree = family_rules_json(rules);
    char *text = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
    unsigned char sum[SHA256_BYTES];

    json_decref(tree);
    if (!text)
        return err_memory(err);
    out->version = version;
    out->text = arena_dup(r->mem, text, strlen(text));
    sha256(text, strlen(text), sum);
    free(text);
    out->etag[0] = '"';
    to_hex(sum, 16, out->etag + 1);
    out->etag[33] = '"';
    out->etag[34] = '\0';
    return out->text || err_memory(err);
}

static bool current(struct req *r, struct grouping *g, struct answer *out, struct err *err)
{
    return grouping_read(r->db, r->who.app, r->mem, g, err) &&
           render(r, &g->rules, g->rules_version, out, err);
}

static bool reply_rules(struct req *r, const struct answer *a, struct err *err)
{
    json_t *tree = json_loads(a->text, 0, NULL);

    reply_header(r, "ETag", a->etag);
    reply_header(r, "Cache-Control", "private, no-cache");
    json_object_set_new(tree, "version", json_integer(a->version));
    return reply_json(r, 200, tree, err);
}

bool family_rules_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    const char *have = req_header(r, "If-None-Match");
    struct grouping g;
    struct answer a;

    if (!req_query_only(r, names, err) || !current(r, &g, &a, err))
        return false;
    if (!have || !etag_in(have, a.etag, true))
        return reply_rules(r, &a, err);
    reply_header(r, "ETag", a.etag);
    reply_header(r, "Cache-Control", "private, no-cache");
    return reply_empty(r, 304);
}

static bool reply_precondition(struct req *r, struct err *err)
{
    static const struct problem p = {412, "precondition_failed",
                                     "The rules are not the ones that If-Match names.", "If-Match"};
    struct buf body;

    buf_init(&body, 4096);
    problem_write(&body, &p, r->request_id);
    if (buf_ok(&body))
        return reply_buf(r, p.status, "application/problem+json", &body, err);
    buf_fini(&body);
    return err_memory(err);
}

static bool put(struct req *r, int64_t before, const char *text, const char *note, struct err *err)
{
    int64_t rows;

    if (!db_exec_n(r->db, Q_FAMILY_RULE_PUT,
                   DB_ARGS(db_i64(r->who.app), db_i64(before), db_text(text), db_text(r->who.hint),
                           db_text(note)),
                   &rows, err))
        return false;
    if (!rows)
        return err_set(err, ERR_CONFLICT,
                       "the rules were changed at the same moment; read them again");
    return audit(r, "family_rules.change",
                 json_pack("{s:I, s:I, s:s}", "from", before, "to", before + 1, "note", note),
                 err) &&
           grouping_changed(r->db, r->who.app, err);
}

/* Puts `next` in place of version `before`, unless they say the same. */
static bool replace(struct req *r, const struct answer *before, struct answer *next,
                    const char *note, struct err *err)
{
    next->version = before->version;
    if (strcmp(next->etag, before->etag) == 0)
        return reply_rules(r, next, err);
    if (!db_begin(r->db, err))
        return false;
    if (!put(r, before->version, next->text, note, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    next->version++;
    return reply_rules(r, next, err);
}

/* The document of the body without the members that are about it. */
static bool read_body(struct req *r, int64_t *version, const char **note,
                      struct family_rules *rules, struct err *err)
{
    static const struct range versions = {0, INT64_MAX, -1};

    if (!req_json(r, err))
        return false;
    if (!json_is_object(r->json))
        return err_set(err, ERR_INVALID, "the rules must be an object");
    if (!json_get_i64(r->json, "version", versions, false, version, err) ||
        !json_get_prose(r->json, "note", MAX_NOTE, "", note, err))
        return false;
    *note = arena_dup(r->mem, *note, strlen(*note));
    json_object_del(r->json, "version");
    json_object_del(r->json, "note");
    return family_rules_read(r->json, r->mem, rules, err);
}

bool family_rules_put(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    const char *if_match = req_header(r, "If-Match"), *note;
    struct family_rules rules;
    struct grouping g;
    struct answer before, next;
    int64_t version;

    if (!req_query_only(r, names, err) || !read_body(r, &version, &note, &rules, err) ||
        !current(r, &g, &before, err))
        return false;
    if (if_match && !etag_in(if_match, before.etag, false))
        return reply_precondition(r, err);
    if (version >= 0 && version != before.version)
        return err_field(err, ERR_CONFLICT, "version", "is %lld now: read them again",
                         (long long)before.version);
    return render(r, &rules, 0, &next, err) && replace(r, &before, &next, note, err);
}

bool family_rules_preview(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct family_rules rules;
    struct grouping g;
    const char *note;
    int64_t version;
    json_t *tree;

    if (!req_query_only(r, names, err) || !read_body(r, &version, &note, &rules, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &g, err))
        return false;
    if (!heavy_enter(err))
        return false;
    tree = family_preview(r, &g, &rules, err);
    heavy_leave();
    return tree && reply_json(r, 200, tree, err);
}

/* Versions --------------------------------------------------------------------------------------
 */

struct version_row {
    int64_t version;
    const char *actor, *note, *rules_json, *created_at;
};
static const struct db_col version_cols[] = {
    DB_COL(version_row, version),    DB_COL(version_row, actor),      DB_COL(version_row, note),
    DB_COL(version_row, rules_json), DB_COL(version_row, created_at),
};
static const struct db_map version_map = DB_MAP(version_row, version_cols);

bool family_rules_history(struct req *r, struct err *err)
{
    static const char *const names[] = {"limit", "cursor", NULL};
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) ||
        !db_all(r->db, Q_FAMILY_RULE_HISTORY,
                DB_ARGS(db_i64(r->who.app), p.key, db_i64(p.limit + 1)), &version_map, r->mem,
                &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next =
            list_page_next(r, &p, ((const struct version_row *)rows.at)[rows.n - 1].version, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

struct stored {
    int64_t version;
    const char *body;
};
static const struct db_col stored_cols[] = {DB_COL(stored, version), DB_COL(stored, body)};
static const struct db_map stored_map = DB_MAP(stored, stored_cols);

/* Version 0: the defaults. */
static bool read_version(struct req *r, int64_t version, struct family_rules *out, struct err *err)
{
    struct stored row = {0, NULL};

    if (version && !db_one(r->db, Q_FAMILY_RULE_GET, DB_ARGS(db_i64(r->who.app), db_i64(version)),
                           &stored_map, r->mem, &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such version") : false;
    return family_rules_parse(row.body, r->mem, out, err);
}

bool family_rules_restore(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct family_rules rules;
    struct grouping g;
    struct answer before, next;
    char note[64];
    int64_t version;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "version", INT64_MAX, &version, err) ||
        !read_version(r, version, &rules, err) || !current(r, &g, &before, err) ||
        !render(r, &rules, 0, &next, err))
        return false;
    snprintf(note, sizeof note, "as in version %lld", (long long)version);
    return replace(r, &before, &next, note, err);
}
