/* What is read from a session's raw files: timeline, janks, traces, and the files themselves. */
#include "server/api/args.h"
#include "server/api/handlers.h"
#include "server/api/sessions/stored_janks.h"
#include "server/api/symbols/stack_symbols.h"

#include "base/digest.h"
#include "profile/timeline.h"
#include "profile/trace.h"
#include "server/jobs/sessions/session_load.h"
#include "server/jobs/sessions/session_parts.h"

#include <stdio.h>
#include <string.h>

#define LOAD_BYTES ((size_t)128 << 20)   /* decoded session */
#define ANSWER_BYTES ((size_t)256 << 20) /* its longest form as text */

struct loaded {
    struct arena *mem; /* of its own: larger than a request's */
    struct session session;
    struct session_result result;
};

static void unload(struct loaded *l)
{
    arena_free(l->mem);
}

static bool load(struct req *r, struct loaded *l, struct err *err)
{
    unsigned char id[16];

    l->mem = NULL;
    if (!req_param_id(r, 0, id, err))
        return false;
    l->mem = arena_new(LOAD_BYTES);
    if (!l->mem)
        return err_memory(err);
    return session_load(r->db, r->who.app, id, l->mem, &l->session, &l->result, err);
}

/* Takes the buffer, also on failure. */
static bool answer(struct req *r, const char *type, struct buf *body, struct err *err)
{
    if (buf_ok(body))
        return reply_buf(r, 200, type, body, err);
    buf_fini(body);
    return err_set(err, ERR_TOO_BIG, "the answer is larger than %zu bytes", ANSWER_BYTES);
}

struct window {
    int64_t from_us, to_us, buckets;
};

static bool read_window(struct req *r, struct window *w, struct err *err)
{
    static const char *const names[] = {"from_us", "to_us", "buckets", NULL};
    static const struct range time = {0, INT64_MAX, 0}, buckets = {0, TIMELINE_MAX_BUCKETS, 0};

    return req_query_only(r, names, err) && req_query_i64(r, "from_us", time, &w->from_us, err) &&
           req_query_i64(r, "to_us", time, &w->to_us, err) &&
           req_query_i64(r, "buckets", buckets, &w->buckets, err);
}

bool session_timeline(struct req *r, struct err *err)
{
    struct loaded l = {0};
    struct window w;
    struct buf body;
    bool ok = false;

    if (!read_window(r, &w, err) || !load(r, &l, err))
        goto out;
    buf_init(&body, ANSWER_BYTES);
    if (!timeline_write(&l.session, &l.result, (uint64_t)w.from_us, (uint64_t)w.to_us,
                        (unsigned)w.buckets, &body, err))
        buf_fini(&body);
    else
        ok = answer(r, "application/json", &body, err);
out:
    unload(&l);
    return ok;
}

/* From the rows: the files are past their retention. */
static bool answer_stored_janks(struct req *r, struct err *err)
{
    unsigned char id[16];
    json_t *tree;

    if (!req_param_id(r, 0, id, err) || !stored_janks(r, id, &tree, err))
        return false;
    if (stack_symbols_add(r, tree, err))
        return reply_json(r, 200, tree, err);
    json_decref(tree);
    return false;
}

/* janks_write() ends with the object's brace: the symbols go before it. */
static bool append_symbols(struct req *r, const struct session *s, struct buf *body,
                           struct err *err)
{
    struct bytes *hash = arena_array(r->mem, s->n_stacks, sizeof *hash);

    if (!hash || !buf_ok(body))
        return err_memory(err);
    for (size_t i = 0; i < s->n_stacks; i++)
        hash[i] = (struct bytes){s->stacks[i].hash, sizeof s->stacks[i].hash};
    body->len--;
    buf_text(body, ",\"symbols\":");
    if (!stack_symbols_write(r, hash, s->n_stacks, body, err))
        return false;
    buf_byte(body, '}');
    return true;
}

bool session_janks(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct loaded l = {0};
    struct buf body;
    bool ok = false;

    if (!req_query_only(r, names, err))
        return false;
    if (!load(r, &l, err)) {
        ok = err->code == ERR_GONE && answer_stored_janks(r, err);
        goto out;
    }
    buf_init(&body, ANSWER_BYTES);
    janks_write(&l.session, &l.result, &body);
    if (!append_symbols(r, &l.session, &body, err))
        buf_fini(&body);
    else
        ok = answer(r, "application/json", &body, err);
out:
    unload(&l);
    return ok;
}

struct trace_format {
    const char *name, *type, *extension;
    void (*write)(const struct session *, const struct session_result *, struct buf *);
};
static const struct trace_format trace_formats[] = {
    {"chrome", "application/json", "json", trace_chrome},
    {"perfetto", "application/octet-stream", "pftrace", trace_perfetto},
};

static bool read_format(struct req *r, const struct trace_format **out, struct err *err)
{
    static const char *const names[] = {"format", NULL};
    const char *given = req_query(r, "format");

    if (!req_query_only(r, names, err))
        return false;
    for (size_t i = 0; i < sizeof trace_formats / sizeof *trace_formats; i++)
        if (!given || strcmp(given, trace_formats[i].name) == 0) {
            *out = &trace_formats[i];
            return true;
        }
    return err_field(err, ERR_INVALID, "format", "is neither chrome nor perfetto");
}

/* A browser saves it under a name that tells which session it is. */
static void name_file(struct req *r, const unsigned char id[16], const char *extension)
{
    char hex[33], value[96];

    to_hex(id, 16, hex);
    snprintf(value, sizeof value, "attachment; filename=\"%s.%s\"", hex, extension);
    reply_header(r, "Content-Disposition", value);
}

bool session_trace(struct req *r, struct err *err)
{
    const struct trace_format *format = NULL;
    struct loaded l = {0};
    struct buf body;
    bool ok = false;

    if (!read_format(r, &format, err) || !load(r, &l, err))
        goto out;
    buf_init(&body, ANSWER_BYTES);
    format->write(&l.session, &l.result, &body);
    if (buf_ok(&body))
        name_file(r, l.session.header.session_id, format->extension);
    ok = answer(r, format->type, &body, err);
out:
    unload(&l);
    return ok;
}

struct part_row {
    int64_t part;
    struct bytes sha256;
    int64_t size;
    bool truncated, damaged;
    const char *received_at;
};
static const struct db_col part_cols[] = {
    DB_COL(part_row, part),      DB_COL(part_row, sha256),  DB_COL(part_row, size),
    DB_COL(part_row, truncated), DB_COL(part_row, damaged), DB_COL(part_row, received_at),
};
static const struct db_map part_map = DB_MAP(part_row, part_cols);

static json_t *part_json(struct req *r, const struct part_row *row)
{
    char hex[2 * SHA256_BYTES + 1];
    json_t *part = row_to_json(&part_map, row);

    to_hex(row->sha256.at, row->sha256.len, hex);
    json_object_set_new(part, "href",
                        json_sprintf("%s/%lld?sha256=%s", r->path, (long long)row->part, hex));
    return part;
}

bool session_raw_list(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    unsigned char id[16];
    struct db_rows rows;

    if (!req_query_only(r, names, err) || !req_param_id(r, 0, id, err) ||
        !db_all(r->db, Q_SESSION_RAW_PARTS,
                DB_ARGS(db_i64(shard_of(r->who.app, id)), db_uuid(id), db_i64(r->who.app)),
                &part_map, r->mem, &rows, err))
        return false;
    if (!rows.n)
        return err_set(err, ERR_NOT_FOUND, "no such session");

    json_t *items = json_array();

    for (size_t i = 0; i < rows.n; i++)
        json_array_append_new(items, part_json(r, (const struct part_row *)rows.at + i));
    return reply_json(r, 200, json_pack("{s:o, s:n}", "items", items, "next"), err);
}

/* The file of that number; of several, the one whose digest was asked for, else the first. */
static bool choose_part(struct req *r, const struct stored_parts *parts, struct stored_part *out,
                        struct err *err)
{
    struct db_arg sha256;
    int64_t number;

    if (!param_i64(r, 1, "part", UINT32_MAX, &number, err) ||
        !arg_hex(r, "sha256", SHA256_BYTES, &sha256, err))
        return false;
    for (size_t i = 0; i < parts->n; i++) {
        const struct stored_part *p = &parts->at[i];

        if (p->part == number &&
            (sha256.type == ARG_NULL || memcmp(p->sha256.at, sha256.bytes.at, SHA256_BYTES) == 0)) {
            *out = *p;
            return true;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "the session has no such part");
}

static bool read_part(struct req *r, struct arena *mem, struct stored_part *out, struct err *err)
{
    unsigned char id[16], sum[SHA256_BYTES];
    struct stored_parts parts, one = {out, 1};

    if (!req_param_id(r, 0, id, err) ||
        !parts_list(r->db, shard_of(r->who.app, id), id, false, 0, mem, &parts, err))
        return false;
    if (!parts.n)
        return err_set(err, ERR_NOT_FOUND, "no such session");
    if (!choose_part(r, &parts, out, err) || !parts_read(r->db, &one, mem, err))
        return false;
    sha256(out->file.at, out->file.len, sum);
    return memcmp(sum, out->sha256.at, sizeof sum) == 0 ||
           err_set(err, ERR_INTERNAL, "the stored bytes are not those that arrived");
}

static bool reply_part(struct req *r, const struct stored_part *part, struct err *err)
{
    char hex[2 * SHA256_BYTES + 1], etag[sizeof hex + 2];
    struct buf body;

    to_hex(part->sha256.at, part->sha256.len, hex);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    reply_header(r, "ETag", etag);
    buf_init(&body, ANSWER_BYTES);
    buf_put(&body, part->file.at, part->file.len);
    return answer(r, "application/zstd", &body, err);
}

bool session_raw_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"sha256", NULL};
    struct arena *mem = arena_new(LOAD_BYTES);
    struct stored_part part = {0};
    bool ok = mem || err_memory(err);

    ok = ok && req_query_only(r, names, err) && read_part(r, mem, &part, err) &&
         reply_part(r, &part, err);
    arena_free(mem);
    return ok;
}
