/* GET /v1/flame, /v1/flame/diff and /v1/families/{id}/flame: stacks as a tree of calls, for a page
 * (pruned), and folded, for speedscope and for pprof. */
#include "server/api/args.h"
#include "server/api/families/family_slice.h"
#include "server/api/families/flame_stacks.h"
#include "server/api/handlers.h"
#include "stacks/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES ((size_t)64 << 20)
#define NODES_DEFAULT 2000
#define NODES_MAX 20000
#define PRUNE_PPM_DEFAULT 1000 /* 0.1 % */
#define MAX_FUNCTION 1024

struct ask {
    struct flame_ask of;
    const char *format;
    enum trie_value by;
    int64_t prune_ppm, nodes;
    const char *function; /* NULL: the whole tree */
    bool callers;
};

static bool read_view(struct req *r, struct ask *a, struct err *err)
{
    static const char *const values[] = {"events", "ms", NULL};
    static const char *const formats[] = {"json", "folded", "speedscope", "pprof", NULL};
    static const char *const sides[] = {"callers", "callees", NULL};
    struct db_arg value, format, function, side;

    if (!arg_choice(r, "value", values, &value, err) ||
        !arg_choice(r, "format", formats, &format, err) ||
        !arg_text(r, "function", MAX_FUNCTION, &function, err) ||
        !arg_choice(r, "side", sides, &side, err) ||
        !req_query_i64(r, "prune_ppm", (struct range){0, 1000000, PRUNE_PPM_DEFAULT}, &a->prune_ppm,
                       err) ||
        !req_query_i64(r, "nodes", (struct range){1, NODES_MAX, NODES_DEFAULT}, &a->nodes, err))
        return false;
    if (side.type != ARG_NULL && function.type == ARG_NULL)
        return err_field(err, ERR_INVALID, "side", "is of a function: name one");
    a->by = value.type != ARG_NULL && strcmp(value.text, "ms") == 0 ? TRIE_WEIGHT : TRIE_COUNT;
    a->format = format.type == ARG_NULL ? "json" : format.text;
    a->function = function.text;
    a->callers = side.type != ARG_NULL && strcmp(side.text, "callers") == 0;
    return true;
}

static bool read_kind(struct req *r, int64_t *kind, struct err *err)
{
    static const char *const kinds[] = {"jank", "crash", NULL};
    struct db_arg text;

    if (!arg_choice(r, "kind", kinds, &text, err))
        return false;
    *kind = text.type != ARG_NULL && strcmp(text.text, "crash") == 0;
    return true;
}

/* The tree in place of the flame's: of one function, if one is named. */
static bool focus(struct flame *f, const struct ask *a, struct err *err)
{
    struct trie *callers = NULL, *callees = NULL;

    if (!a->function)
        return true;
    if (!trie_sandwich(f->tree, a->function, FLAME_TREE_BYTES, &callers, &callees, err))
        return false;
    trie_free(f->tree);
    f->tree = a->callers ? callers : callees;
    trie_free(a->callers ? callees : callers);
    return true;
}

static bool prune(struct flame *f, const struct ask *a, struct err *err)
{
    struct trie *pruned;

    if (!trie_sort(f->tree, a->by, err))
        return false;
    if (!a->prune_ppm)
        return true;
    if (!trie_prune(f->tree, a->by, (double)a->prune_ppm / 1e6, FLAME_TREE_BYTES, &pruned, err))
        return false;
    trie_free(f->tree);
    f->tree = pruned;
    return trie_sort(f->tree, a->by, err);
}

static const char *title_of(struct req *r, const struct ask *a)
{
    char text[128], build[32] = "all builds";
    int n;

    if (a->of.build)
        snprintf(build, sizeof build, "build %lld", (long long)a->of.build);
    n = snprintf(text, sizeof text, "%s, %s stacks%s", build, a->of.kind ? "crash" : "jank",
                 a->of.family ? " of a family" : "");
    return arena_dup(r->mem, text, (size_t)n);
}

static bool write_json(const struct flame *f, const struct ask *a, struct buf *out, struct err *err)
{
    buf_printf(out,
               "{\"stacks\":%lld,\"complete\":%s,\"events\":%lld,\"of_events\":%lld,"
               "\"jank_ms\":%lld,\"of_jank_ms\":%lld,\"value\":\"%s\",\"prune_ppm\":%lld,\"tree\":",
               (long long)f->stacks, f->events == f->of_events ? "true" : "false",
               (long long)f->events, (long long)f->of_events, (long long)f->jank_us / 1000,
               (long long)f->of_jank_us / 1000, a->by == TRIE_WEIGHT ? "ms" : "events",
               (long long)a->prune_ppm);
    if (!export_trie_json(f->tree, a->by, (size_t)a->nodes, out, err))
        return false;
    buf_byte(out, '}');
    return true;
}

static bool write_as(struct req *r, const struct flame *f, const struct ask *a, struct buf *out,
                     const char **type, struct err *err)
{
    const struct export_about about = {.title = title_of(r, a),
                                       .count_name = a->of.kind ? "crashes" : "janks",
                                       .weight_name = "jank time"};

    *type = "application/json";
    if (strcmp(a->format, "json") == 0)
        return write_json(f, a, out, err);
    if (strcmp(a->format, "speedscope") == 0) {
        export_speedscope(f->tree, a->by, &about, out);
        return true;
    }
    if (strcmp(a->format, "pprof") == 0) {
        *type = "application/octet-stream";
        return export_pprof(f->tree, &about, out, err);
    }
    *type = "text/plain; charset=utf-8";
    export_folded(f->tree, a->by, out);
    return true;
}

static bool reply(struct req *r, const struct flame *f, const struct ask *a, struct err *err)
{
    const char *type;
    struct buf out;

    buf_init(&out, ANSWER_BYTES);
    if (write_as(r, f, a, &out, &type, err)) {
        if (buf_ok(&out))
            return reply_buf(r, 200, type, &out, err);
        err_set(err, ERR_TOO_BIG, "the flame graph is too big: prune more");
    }
    buf_fini(&out);
    return false;
}

static bool answer(struct req *r, const struct ask *a, struct err *err)
{
    struct flame f;
    bool ok;

    if (!flame_read(r, &a->of, &f, err))
        return false;
    ok = focus(&f, a, err) && prune(&f, a, err) && reply(r, &f, a, err);
    trie_free(f.tree);
    return ok;
}

bool flame_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "kind",     "value", "format", "prune_ppm",
                                        "nodes", "function", "side",  NULL};
    struct ask a = {0};

    return req_query_only(r, names, err) &&
           req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &a.of.build, err) &&
           read_kind(r, &a.of.kind, err) && read_view(r, &a, err) && answer(r, &a, err);
}

struct kind_row {
    int64_t kind;
};
static const struct db_col kind_cols[] = {DB_COL(kind_row, kind)};
static const struct db_map kind_map = DB_MAP(kind_row, kind_cols);

bool family_flame(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "value",    "format", "prune_ppm",
                                        "nodes", "function", "side",   NULL};
    unsigned char id[FINGERPRINT_BYTES];
    struct ask a = {.of = {.family = id}};
    struct kind_row row;

    if (!req_query_only(r, names, err) || !family_param(r, 0, id, err) ||
        !req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &a.of.build, err) ||
        !read_view(r, &a, err) ||
        !db_one(r->db, Q_FAMILY_KIND, DB_ARGS(db_i64(r->who.app), db_bytes(id, sizeof id)),
                &kind_map, r->mem, &row, err))
        return false;
    a.of.kind = row.kind;
    return answer(r, &a, err);
}

/* Two builds ------------------------------------------------------------------------------------
 */

static json_t *side_json(const struct flame *f, int64_t build)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "build", build, "stacks", f->stacks, "events",
                     f->events, "of_events", f->of_events, "jank_ms", f->jank_us / 1000);
}

static bool reply_diff(struct req *r, const struct flame f[2], const struct ask a[2],
                       const struct trie_diff *d, struct err *err)
{
    json_t *head =
        json_pack("{s:o, s:o, s:s}", "a", side_json(&f[0], a[0].of.build), "b",
                  side_json(&f[1], a[1].of.build), "value", a->by == TRIE_WEIGHT ? "ms" : "events");
    char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
    struct buf out;
    bool ok = text || err_memory(err);

    json_decref(head);
    buf_init(&out, ANSWER_BYTES);
    if (ok) {
        buf_put(&out, text, strlen(text) - 1); /* its last brace comes after the tree */
        buf_text(&out, ",\"tree\":");
        ok = export_diff_json(d, (size_t)a->nodes, &out, err);
        buf_byte(&out, '}');
    }
    free(text);
    if (ok && buf_ok(&out))
        return reply_buf(r, 200, "application/json", &out, err);
    buf_fini(&out);
    return ok ? err_set(err, ERR_TOO_BIG, "the difference is too big: ask for fewer nodes") : false;
}

static bool diff(struct req *r, struct ask a[2], struct err *err)
{
    struct flame f[2] = {{.tree = NULL}, {.tree = NULL}};
    struct trie_diff d = {0};
    bool ok;

    ok = flame_read(r, &a[0].of, &f[0], err) && flame_read(r, &a[1].of, &f[1], err) &&
         trie_diff(f[0].tree, f[1].tree, a->by, 2 * FLAME_TREE_BYTES, &d, err) &&
         reply_diff(r, f, a, &d, err);
    trie_diff_fini(&d);
    trie_free(f[0].tree);
    trie_free(f[1].tree);
    return ok;
}

bool flame_diff(struct req *r, struct err *err)
{
    static const char *const names[] = {"a", "b", "kind", "value", "nodes", NULL};
    static const char *const side[] = {"a", "b"};
    static const char *const values[] = {"events", "ms", NULL};
    struct ask a[2] = {{.by = TRIE_COUNT}, {.by = TRIE_COUNT}};
    struct db_arg value;

    if (!req_query_only(r, names, err) || !read_kind(r, &a[0].of.kind, err) ||
        !arg_choice(r, "value", values, &value, err) ||
        !req_query_i64(r, "nodes", (struct range){1, NODES_MAX, NODES_DEFAULT}, &a[0].nodes, err))
        return false;
    if (value.type != ARG_NULL && strcmp(value.text, "ms") == 0)
        a[0].by = TRIE_WEIGHT;
    a[1] = a[0];
    for (int i = 0; i < 2; i++) {
        if (!req_query(r, side[i]))
            return err_field(err, ERR_INVALID, side[i], "is required: the id of a build");
        if (!req_query_i64(r, side[i], (struct range){1, INT32_MAX, 0}, &a[i].of.build, err))
            return false;
    }
    return diff(r, a, err);
}
