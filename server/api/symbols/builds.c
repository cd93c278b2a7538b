/* POST /v1/builds, GET /v1/builds and GET /v1/builds/{id}: what CI makes known of a build. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include <string.h>

#define MAX_NAME 128
#define MAX_DEBUG_IDS 1024
#define MAX_DEBUG_ID 64 /* hexadecimal digits */

static const char *const platforms[] = {"android", "ios", "linux", "unknown", NULL};

struct build_row {
    int64_t id;
    const char *platform, *version_name;
    int64_t version_code;
    const char *build_uid;
    bool registered;
    const char *package, *git_commit, *debug_ids_json, *mapping_id, *released_at, *created_at;
};
static const struct db_col build_cols[] = {
    DB_COL(build_row, id),
    DB_COL(build_row, platform),
    DB_COL(build_row, version_name),
    DB_COL(build_row, version_code),
    DB_COL(build_row, build_uid),
    DB_COL(build_row, registered),
    DB_COL(build_row, package),
    DB_COL(build_row, git_commit),
    DB_COL(build_row, debug_ids_json),
    DB_COL(build_row, mapping_id),
    DB_COL(build_row, released_at),
    DB_COL(build_row, created_at),
};
static const struct db_map build_map = DB_MAP(build_row, build_cols);

bool build_list(struct req *r, struct err *err)
{
    static const char *const names[] = {
        "platform", "version", "version_code", "registered", "limit", "cursor", NULL};
    struct db_arg platform, version, code, registered;
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) ||
        !arg_choice(r, "platform", platforms, &platform, err) ||
        !arg_text(r, "version", MAX_NAME, &version, err) ||
        !arg_i64(r, "version_code", 0, INT64_MAX, &code, err) ||
        !arg_bool(r, "registered", &registered, err) ||
        !db_all(r->db, Q_BUILD_LIST,
                DB_ARGS(db_i64(r->who.app), platform, version, code, registered, p.key,
                        db_i64(p.limit + 1)),
                &build_map, r->mem, &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct build_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

static bool reply_build(struct req *r, int status, int64_t id, struct err *err)
{
    struct build_row row;

    if (!db_one(r->db, Q_BUILD_GET, DB_ARGS(db_i64(r->who.app), db_i64(id)), &build_map, r->mem,
                &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no such build") : false;
    return reply_json(r, status, row_to_json(&build_map, &row), err);
}

bool build_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    int64_t id;

    return req_query_only(r, names, err) && param_i64(r, 0, "id", INT64_MAX, &id, err) &&
           reply_build(r, 200, id, err);
}

struct build {
    const char *platform, *version_name, *build_uid;
    int64_t version_code;
    struct db_arg package, git_commit, debug_ids, mapping_id, released_us;
};

static bool read_debug_id(const json_t *element, const char **out, struct err *err)
{
    const char *text = json_string_value(element);
    size_t n = text ? strlen(text) : 0;

    if (n < 8 || n > MAX_DEBUG_ID || n % 2 || strspn(text, "0123456789abcdef") != n)
        return err_field(err, ERR_INVALID, "debug_ids",
                         "must hold texts of 8 to %d lower-case hexadecimal digits", MAX_DEBUG_ID);
    *out = text;
    return true;
}

static bool read_debug_ids(struct req *r, struct db_arg *out, struct err *err)
{
    const json_t *list = json_object_get(r->json, "debug_ids");
    size_t n = json_array_size(list);

    *out = db_null();
    if (!list)
        return true;
    if (!json_is_array(list) || n > MAX_DEBUG_IDS)
        return err_field(err, ERR_INVALID, "debug_ids", "must be an array of at most %d texts",
                         MAX_DEBUG_IDS);

    const char **ids = arena_array(r->mem, n, sizeof *ids);

    if (!ids)
        return err_full(err, "a request");
    for (size_t i = 0; i < n; i++)
        if (!read_debug_id(json_array_get(list, i), &ids[i], err))
            return false;
    *out = db_texts(ids, n);
    return true;
}

static bool read_released(struct req *r, struct db_arg *out, struct err *err)
{
    struct db_arg text;
    int64_t us;

    *out = db_null();
    if (!body_text(r->json, "released_at", 40, &text, err))
        return false;
    if (text.type == ARG_NULL)
        return true;
    if (!time_parse(text.text, &us))
        return err_field(err, ERR_INVALID, "released_at", "must be like 2024-05-06T07:08:09Z");
    *out = db_i64(us);
    return true;
}

static bool read_key(const json_t *body, struct build *b, struct err *err)
{
    if (!json_get_text(body, "platform", 16, NULL, &b->platform, err) ||
        !json_get_text(body, "version_name", MAX_NAME, NULL, &b->version_name, err) ||
        !json_get_i64(body, "version_code", (struct range){0, INT64_MAX, 0}, true, &b->version_code,
                      err) ||
        !json_get_text(body, "build_uid", MAX_NAME, "", &b->build_uid, err))
        return false;
    for (const char *const *known = platforms; *known; known++)
        if (strcmp(*known, b->platform) == 0)
            return true;
    return err_field(err, ERR_INVALID, "platform", "is none of android, ios, linux, unknown");
}

static bool read_build(struct req *r, struct build *b, struct err *err)
{
    static const char *const names[] = {
        "platform",   "version_name", "version_code", "build_uid",   "package",
        "git_commit", "debug_ids",    "mapping_id",   "released_at", NULL};

    return req_json(r, err) && json_only(r->json, names, err) && read_key(r->json, b, err) &&
           body_text(r->json, "package", 256, &b->package, err) &&
           body_text(r->json, "git_commit", 64, &b->git_commit, err) &&
           body_text(r->json, "mapping_id", 128, &b->mapping_id, err) &&
           read_debug_ids(r, &b->debug_ids, err) && read_released(r, &b->released_us, err);
}

struct post_row {
    int64_t id;
    bool created, changed;
};
static const struct db_col post_cols[] = {DB_COL(post_row, id), DB_COL(post_row, created),
                                          DB_COL(post_row, changed)};
static const struct db_map post_map = DB_MAP(post_row, post_cols);

static bool upsert(struct req *r, const struct build *b, struct post_row *out, struct err *err)
{
    return db_one(r->db, Q_BUILD_POST,
                  DB_ARGS(db_i64(r->who.app), db_text(b->platform), db_text(b->version_name),
                          db_i64(b->version_code), db_text(b->build_uid), b->package, b->git_commit,
                          b->debug_ids, b->released_us, b->mapping_id),
                  &post_map, r->mem, out, err) &&
           (!out->changed || audit(r, "build.register",
                                   json_pack("{s:I, s:O}", "id", out->id, "build", r->json), err));
}

bool build_post(struct req *r, struct err *err)
{
    struct build b;
    struct post_row row;

    if (!read_build(r, &b, err) || !db_begin(r->db, err))
        return false;
    if (!upsert(r, &b, &row, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    return reply_build(r, row.created ? 201 : 200, row.id, err);
}
