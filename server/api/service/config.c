/* GET and PUT /v1/config: the SDK's remote configuration; docs/remote-config.md. */
#include "server/api/body.h"
#include "server/api/etag.h"
#include "server/api/handlers.h"

#include "base/digest.h"
#include "base/utf8.h"
#include "server/http/problem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SCENES 64
#define MAX_SCENE 130 /* mode/map and a star */

/* The document's members in its own order: X(name, low, high, default). */
#define CONFIG_NUMBERS(X)                                                                          \
    X(hardware_period_ms, 1000, 60000, 5000)                                                       \
    X(slice_ms, 5000, 300000, 30000)                                                               \
    X(jank_stack_ms, 50, 5000, 100)                                                                \
    X(config_period_s, 60, 86400, 3600)
#define CONFIG_METRICS(X)                                                                          \
    X(frames)                                                                                      \
    X(hardware)                                                                                    \
    X(stacks)                                                                                      \
    X(steps)                                                                                       \
    X(positions)                                                                                   \
    X(cpu)                                                                                         \
    X(frequency)                                                                                   \
    X(memory)                                                                                      \
    X(thermal)                                                                                     \
    X(battery)                                                                                     \
    X(threads)                                                                                     \
    X(heap)                                                                                        \
    X(storage)
#define DAILY_BYTES_MAX 1073741824
#define DAILY_BYTES 2097152
#define MONTHLY_BYTES_MAX INT64_C(34359738368)
#define MONTHLY_BYTES 20971520

struct config {
    int64_t version;
    bool enabled;
    struct {
#define X(name) bool name;
        CONFIG_METRICS(X)
#undef X
    } metrics;
#define X(name, low, high, otherwise) int64_t name;
    CONFIG_NUMBERS(X)
#undef X
    json_t *scenes; /* borrowed from the document; NULL: everything */
    int64_t daily_bytes, monthly_bytes;
    bool wifi_only;
};

static bool read_metrics(const json_t *doc, struct config *c, struct err *err)
{
#define X(name) #name,
    static const char *const names[] = {CONFIG_METRICS(X) NULL};
#undef X
    const json_t *metrics = json_object_get(doc, "metrics");

    if (metrics && !json_is_object(metrics))
        return err_field(err, ERR_INVALID, "metrics", "must be an object");
    if (metrics && !json_only(metrics, names, err))
        return body_inside(err, "metrics");
#define X(name)                                                                                    \
    if (!json_get_bool(metrics, #name, true, &c->metrics.name, err))                               \
        return body_inside(err, "metrics");
    CONFIG_METRICS(X)
#undef X
    return true;
}

static bool read_upload(const json_t *doc, struct config *c, struct err *err)
{
    static const char *const names[] = {"daily_bytes", "monthly_bytes", "wifi_only", NULL};
    static const struct range daily = {0, DAILY_BYTES_MAX, DAILY_BYTES},
                              monthly = {0, MONTHLY_BYTES_MAX, MONTHLY_BYTES};
    const json_t *upload = json_object_get(doc, "upload");

    if (upload && !json_is_object(upload))
        return err_field(err, ERR_INVALID, "upload", "must be an object");
    if ((upload && !json_only(upload, names, err)) ||
        !json_get_i64(upload, "daily_bytes", daily, false, &c->daily_bytes, err) ||
        !json_get_i64(upload, "monthly_bytes", monthly, false, &c->monthly_bytes, err) ||
        !json_get_bool(upload, "wifi_only", true, &c->wifi_only, err))
        return body_inside(err, "upload");
    return true;
}

/* "mode/map", or a beginning of it and a star. */
static bool is_pattern(const json_t *scene)
{
    const char *text = json_string_value(scene), *star;
    size_t n = text ? strlen(text) : 0;

    if (n < 1 || n > MAX_SCENE || !utf8_is_tame(text, ""))
        return false;
    star = strchr(text, '*');
    return !star || star == text + n - 1;
}

static bool read_scenes(const json_t *doc, struct config *c, struct err *err)
{
    json_t *scene;
    size_t i;

    c->scenes = json_object_get(doc, "scenes");
    if (!c->scenes)
        return true;
    if (!json_is_array(c->scenes) || json_array_size(c->scenes) < 1 ||
        json_array_size(c->scenes) > MAX_SCENES)
        return err_field(err, ERR_INVALID, "scenes", "must be an array of 1 to %d patterns",
                         MAX_SCENES);
    json_array_foreach(c->scenes, i, scene) if (!is_pattern(scene)) return err_field(
        err, ERR_INVALID, "scenes",
        "pattern %zu must be a text of 1 to %d bytes without control characters, with a star "
        "at most at its end",
        i, MAX_SCENE);
    return true;
}

static bool read_config(const json_t *doc, struct config *c, struct err *err)
{
#define X(name, low, high, otherwise) #name,
    static const char *const names[] = {"version", "enabled", "metrics",
                                        "scenes",  "upload",  CONFIG_NUMBERS(X) NULL};
#undef X
    static const struct range version = {0, INT64_MAX, -1};

    if (!json_is_object(doc))
        return err_set(err, ERR_INVALID, "the configuration must be an object");
    if (!json_only(doc, names, err) ||
        !json_get_i64(doc, "version", version, false, &c->version, err) ||
        !json_get_bool(doc, "enabled", true, &c->enabled, err))
        return false;
#define X(name, low, high, otherwise)                                                              \
    if (!json_get_i64(doc, #name, (struct range){low, high, otherwise}, false, &c->name, err))     \
        return false;
    CONFIG_NUMBERS(X)
#undef X
    return read_metrics(doc, c, err) && read_upload(doc, c, err) && read_scenes(doc, c, err);
}

/* The whole document, defaults filled in, members always in the same order. */
static json_t *config_json(const struct config *c)
{
    json_t *metrics = json_object();
    json_t *scenes = c->scenes ? json_incref(c->scenes) : json_pack("[s]", "*");

#define X(name) json_object_set_new(metrics, #name, json_boolean(c->metrics.name));
    CONFIG_METRICS(X)
#undef X
    return json_pack("{s:I, s:b, s:o, s:I, s:I, s:I, s:o, s:{s:I, s:I, s:b}, s:I}",        //
                     "version", c->version, "enabled", c->enabled, "metrics", metrics,     //
                     "hardware_period_ms", c->hardware_period_ms, "slice_ms", c->slice_ms, //
                     "jank_stack_ms", c->jank_stack_ms, "scenes", scenes,                  //
                     "upload", "daily_bytes", c->daily_bytes, "monthly_bytes",             //
                     c->monthly_bytes, "wifi_only", c->wifi_only,                          //
                     "config_period_s", c->config_period_s);
}

/* A document with its text and tag. */
struct answer {
    int64_t version;
    const char *text;
    char etag[2 * 16 + 3];
};

static bool render(struct req *r, const struct config *c, struct answer *out, struct err *err)
{
    json_t *tree = config_json(c);
    char *text = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
    unsigned char sum[SHA256_BYTES];

    json_decref(tree);
    if (!text)
        return err_memory(err);
    out->version = c->version;
    out->text = arena_dup(r->mem, text, strlen(text));
    sha256(text, strlen(text), sum);
    free(text);
    out->etag[0] = '"';
    to_hex(sum, 16, out->etag + 1);
    out->etag[33] = '"';
    out->etag[34] = '\0';
    return out->text || err_memory(err);
}

/* A stored text (NULL: none) as the answer it makes under today's defaults. */
static bool render_text(struct req *r, const char *text, int64_t version, struct answer *out,
                        struct err *err)
{
    json_t *doc = text ? json_loads(text, 0, NULL) : json_object();
    struct config c = {0};
    bool ok = read_config(doc, &c, err);

    c.version = version;
    ok = ok ? render(r, &c, out, err)
            : err_set(err, ERR_INTERNAL, "the stored configuration is damaged");
    json_decref(doc);
    return ok;
}

struct config_row {
    int64_t version;
    const char *body;
};
static const struct db_col config_cols[] = {DB_COL(config_row, version), DB_COL(config_row, body)};
static const struct db_map config_map = DB_MAP(config_row, config_cols);

static bool current(struct req *r, struct answer *out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(r->db, Q_CONFIG_GET, DB_ARGS(db_i64(r->who.app)), &config_map, r->mem, &rows, err))
        return false;
    if (!rows.n)
        return render_text(r, NULL, 0, out, err);

    const struct config_row *row = rows.at;

    return render_text(r, row->body, row->version, out, err);
}

static bool reply_config(struct req *r, const struct answer *a, struct err *err)
{
    struct buf body;

    reply_header(r, "ETag", a->etag);
    reply_header(r, "Cache-Control", "private, no-cache");
    buf_init(&body, CONFIG_BODY_BYTES * 2);
    buf_text(&body, a->text);
    if (buf_ok(&body))
        return reply_buf(r, 200, "application/json", &body, err);
    buf_fini(&body);
    return err_memory(err);
}

bool config_get(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    const char *have = req_header(r, "If-None-Match");
    struct answer a;

    if (!req_query_only(r, names, err) || !current(r, &a, err))
        return false;
    if (!have || !etag_in(have, a.etag, true))
        return reply_config(r, &a, err);
    reply_header(r, "ETag", a.etag);
    reply_header(r, "Cache-Control", "private, no-cache");
    return reply_empty(r, 304);
}

static bool reply_precondition(struct req *r, struct err *err)
{
    static const struct problem p = {412, "precondition_failed",
                                     "The configuration is not the one that If-Match names.",
                                     "If-Match"};
    struct buf body;

    buf_init(&body, 4096);
    problem_write(&body, &p, r->request_id);
    if (buf_ok(&body))
        return reply_buf(r, p.status, "application/problem+json", &body, err);
    buf_fini(&body);
    return err_memory(err);
}

struct version_row {
    int64_t version;
};
static const struct db_col version_cols[] = {DB_COL(version_row, version)};
static const struct db_map version_map = DB_MAP(version_row, version_cols);

/* Stores `next` in place of `before`, unless somebody else was faster. */
static bool replace(struct req *r, const struct answer *before, const char *next, int64_t *version,
                    struct err *err)
{
    struct version_row row;

    if (!db_begin(r->db, err))
        return false;

    bool ok = db_one(r->db, Q_CONFIG_PUT,
                     DB_ARGS(db_i64(r->who.app), db_i64(before->version), db_text(next)),
                     &version_map, r->mem, &row, err);

    if (!ok && err->code == ERR_NOT_FOUND)
        err_set(err, ERR_CONFLICT,
                "the configuration was changed at the same moment; read it "
                "again");
    ok = ok &&
         audit(r, "config.change",
               json_pack("{s:I, s:I}", "from", before->version, "to", row.version), err) &&
         db_commit(r->db, err);
    if (ok)
        *version = row.version;
    else
        db_rollback(r->db);
    return ok;
}

bool config_put(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    const char *if_match = req_header(r, "If-Match");
    struct config c = {0};
    struct answer before, next;

    if (!req_query_only(r, names, err) || !req_json(r, err) || !read_config(r->json, &c, err) ||
        !current(r, &before, err))
        return false;
    if (if_match && !etag_in(if_match, before.etag, false))
        return reply_precondition(r, err);
    if (c.version >= 0 && c.version != before.version)
        return err_field(err, ERR_CONFLICT, "version", "is %lld now: read it again",
                         (long long)before.version);
    c.version = before.version;
    if (!render(r, &c, &next, err))
        return false;
    if (strcmp(next.etag, before.etag) == 0)
        return reply_config(r, &before, err);
    if (!replace(r, &before, next.text, &c.version, err) || !render(r, &c, &next, err))
        return false;
    return reply_config(r, &next, err);
}
