/* GET /v1/families and GET /v1/families/{id}, …/stacks, …/sessions: families ranked, and one with
 * all that is known of it. What is answered comes from rows a family, a build and a value of a
 * dimension; none of it grows with the number of sessions. */
#include "server/api/args.h"
#include "server/api/families/family_slice.h"
#include "server/api/families/family_why.h"
#include "server/api/handlers.h"
#include "server/api/heavy.h"
#include "server/api/list_page.h"
#include "server/api/tiers/tiers_arg.h"

#include "base/digest.h"
#include "server/jobs/families/family_stack.h"

#include <string.h>

#define LIST_COLUMNS(X)                                                                            \
    X(struct bytes, id)                                                                            \
    X(const char *, kind)                                                                          \
    X(const char *, class)                                                                         \
    X(const char *, title)                                                                         \
    X(const char *, owner)                                                                         \
    X(bool, ignored)                                                                               \
    X(bool, provisional)                                                                           \
    X(int64_t, stacks)                                                                             \
    X(int64_t, events)                                                                             \
    X(int64_t, sessions)                                                                           \
    X(int64_t, installs)                                                                           \
    X(int64_t, jank_ms)                                                                            \
    X(const char *, first_day)                                                                     \
    X(const char *, last_day)                                                                      \
    X(struct bytes, stack)                                                                         \
    X(const char *, first_build_json)                                                              \
    X(const char *, last_build_json)                                                               \
    X(const char *, ticket_json)

struct list_row {
#define X(type, name) type name;
    LIST_COLUMNS(X)
#undef X
    int64_t rank; /* last, so that answers leave it out */
};
static const struct db_col list_cols[] = {
#define X(type, name) DB_COL(list_row, name),
    LIST_COLUMNS(X)
#undef X
        DB_COL(list_row, rank)};
static const struct db_map list_map = DB_MAP(list_row, list_cols);
static const struct db_map list_shown = {list_cols, sizeof list_cols / sizeof *list_cols - 1,
                                         sizeof(struct list_row)};

struct filter {
    struct db_arg kind, class, owner, ignored;
    int64_t min_sessions;
    const char *sort;
};

static bool read_filter(struct req *r, struct filter *f, struct err *err)
{
    static const char *const kinds[] = {"jank", "crash", NULL};
    static const char *const classes[] = {"in_app",         "system_only", "suspended",
                                          "mostly_unknown", "any",         NULL};
    static const char *const sorts[] = {"sessions", "installs", "jank_ms", "events", NULL};
    struct db_arg kind, class, sort;

    if (!arg_choice(r, "kind", kinds, &kind, err) ||
        !arg_choice(r, "class", classes, &class, err) ||
        !arg_choice(r, "sort", sorts, &sort, err) || !arg_text(r, "owner", 256, &f->owner, err) ||
        !arg_bool(r, "ignored", &f->ignored, err))
        return false;
    f->kind = kind.type == ARG_NULL ? db_null() : db_i64(strcmp(kind.text, "crash") == 0);
    f->class = class.type == ARG_NULL           ? db_text("in_app")
               : strcmp(class.text, "any") == 0 ? db_null()
                                                : class;
    if (f->owner.type != ARG_NULL && strcmp(f->owner.text, "-") == 0)
        f->owner = db_text("");
    if (f->ignored.type == ARG_NULL)
        f->ignored = db_bool(false);
    f->sort = sort.type == ARG_NULL ? "sessions" : sort.text;
    return true;
}

/* Sessions that the rate threshold wants: at least one. */
static int64_t least_sessions(const struct grouping *g, const struct family_base *base)
{
    int64_t n = (base->sessions * g->rules.rules.min_rate_ppm + 999999) / 1000000;

    return n > 1 ? n : 1;
}

struct question {
    struct family_slice slice;
    struct filter filter;
    struct grouping grouping;
    struct family_base base;
    int64_t tiers; /* that the app has */
};

static bool fetch(struct req *r, const struct question *q, const struct list_page *p,
                  struct db_arg only, struct db_rows *out, struct err *err)
{
    struct db_arg id = p->id;

    return db_all(r->db, Q_FAMILY_LIST,
                  DB_ARGS(db_i64(r->who.app), db_i64(q->slice.build), db_text(q->slice.dim),
                          db_text(q->slice.value), q->filter.kind, q->filter.class, q->filter.owner,
                          q->filter.ignored, db_i64(q->filter.min_sessions),
                          db_text(q->filter.sort), p->key, id, db_i64(p->limit + 1), only),
                  &list_map, r->mem, out, err);
}

static json_t *item_json(const struct list_row *row, const struct family_base *base)
{
    json_t *item = row_to_json(&list_shown, row);

    json_object_set_new(item, "rate", share_json(row->sessions, base->sessions));
    return item;
}

static json_t *head_json(const struct question *q)
{
    json_t *slice = slice_json(&q->slice);

    tier_name_put(slice, q->tiers);
    return json_pack("{s:I, s:I, s:I, s:I, s:b, s:o}", "sessions", q->base.sessions, "installs",
                     q->base.installs, "foreground_ms", q->base.foreground_us / 1000,
                     "rules_version", q->grouping.rules_version, "pending", (int)q->base.pending,
                     "slice", slice);
}

bool family_list(struct req *r, struct err *err)
{
    static const char *const names[] = {FAMILY_SLICE_ARGS, "kind", "class", "owner",  "ignored",
                                        "below_rate",      "sort", "limit", "cursor", NULL};
    struct question q = {0};
    struct list_page p;
    struct db_rows rows;
    bool below_rate;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !slice_read(r, &q.slice, err) ||
        !read_filter(r, &q.filter, err) ||
        !req_query_bool(r, "below_rate", false, &below_rate, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &q.grouping, err) ||
        !slice_base(r, &q.slice, &q.grouping, &q.base, err) || !tier_count(r, &q.tiers, err))
        return false;
    q.filter.min_sessions = below_rate ? 0 : least_sessions(&q.grouping, &q.base);
    if (!fetch(r, &q, &p, db_null(), &rows, err))
        return false;

    const struct list_row *row = rows.at;
    size_t shown = rows.n > (size_t)p.limit ? (size_t)p.limit : rows.n;
    json_t *items = json_array(), *tree = head_json(&q);

    if (shown < rows.n)
        next = list_page_next(r, &p, row[shown - 1].rank, row[shown - 1].id.at);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, item_json(&row[i], &q.base));
    json_object_set_new(tree, "items", items);
    json_object_set_new(tree, "next", next ? json_string(next) : json_null());
    return reply_json(r, 200, tree, err);
}

/* One family ------------------------------------------------------------------------------------
 */

#define BREAKDOWN_VALUES 50 /* of each dimension */

struct part_row {
    const char *dim, *value;
    int64_t events, jank_ms, sessions, installs, of_sessions;
    const char *about_json;
};
static const struct db_col part_cols[] = {
    DB_COL(part_row, dim),         DB_COL(part_row, value),      DB_COL(part_row, events),
    DB_COL(part_row, jank_ms),     DB_COL(part_row, sessions),   DB_COL(part_row, installs),
    DB_COL(part_row, of_sessions), DB_COL(part_row, about_json),
};
static const struct db_map part_map = DB_MAP(part_row, part_cols);

/* Names in the answer, and of the member that tells the value. */
static const struct {
    const char *dim, *list, *value;
} parts[] = {
    {"build", "builds", "build"},   {"tier", "tiers", "tier"},   {"scene", "scenes", "scene"},
    {"model", "devices", "device"}, {"os", "os_versions", "os"}, {"cause", "causes", "cause"},
    {"day", "days", "day"},
};
#define PARTS (sizeof parts / sizeof *parts)

static json_t *value_json(const struct part_row *row)
{
    json_t *about = row->about_json ? json_loads(row->about_json, 0, NULL) : NULL;

    if (about)
        return about;
    if (strcmp(row->dim, "tier") == 0)
        return json_integer(row->value[0] - '0');
    return json_string(row->value);
}

static json_t *part_json(const struct part_row *row, const char *name, int64_t tiers)
{
    bool cause = strcmp(row->dim, "cause") == 0;
    json_t *part =
        json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o}", name, value_json(row), "events",
                  row->events, "sessions", row->sessions, "installs", row->installs, "jank_ms",
                  row->jank_ms, "of_sessions", cause ? json_null() : json_integer(row->of_sessions),
                  "rate", cause ? json_null() : share_json(row->sessions, row->of_sessions));

    if (strcmp(row->dim, "tier") == 0)
        tier_name_put(part, tiers);
    if (strcmp(row->dim, "model") == 0)
        tier_name_put(json_object_get(part, name), tiers);
    return part;
}

static void add_parts(json_t *tree, const struct db_rows *rows, int64_t tiers)
{
    const struct part_row *row = rows->at;

    for (size_t k = 0; k < PARTS; k++) {
        json_t *list = json_array();

        for (size_t i = 0; i < rows->n; i++)
            if (strcmp(row[i].dim, parts[k].dim) == 0)
                json_array_append_new(list, part_json(&row[i], parts[k].value, tiers));
        json_object_set_new(tree, parts[k].list, list);
    }
}

static json_t *why(struct req *r, const struct grouping *g, const struct family_stack *row,
                   struct err *err)
{
    const struct group_stack stack = {row->kind, row->platform, row->symbols, row->frames};

    return family_why(g, &stack, r->mem, err);
}

static bool largest_stack(struct req *r, const unsigned char *id, const struct grouping *g,
                          json_t *tree, struct err *err)
{
    const struct bytes family = {id, FINGERPRINT_BYTES};
    const struct family_stack *row;
    json_t *reason;

    if (!family_stack_largest(r->db, r->who.app, family, r->mem, &row, err))
        return false;
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "no such family");
    reason = why(r, g, row, err);
    return reason && (json_object_set_new(tree, "why", reason) == 0 || err_memory(err));
}

static bool breakdown(struct req *r, const unsigned char *id, const struct question *q,
                      json_t *tree, struct err *err)
{
    struct db_rows rows;

    if (!db_all(r->db, Q_FAMILY_BREAKDOWN,
                DB_ARGS(db_i64(r->who.app), db_bytes(id, FINGERPRINT_BYTES), db_i64(q->slice.build),
                        db_i64(BREAKDOWN_VALUES)),
                &part_map, r->mem, &rows, err))
        return false;
    add_parts(tree, &rows, q->tiers);
    return true;
}

/* The family's row within the question's build; without counts there, of all builds with zeros. */
static bool find_one(struct req *r, struct question *q, const unsigned char *id, json_t **tree,
                     struct err *err)
{
    const struct bytes only = {id, FINGERPRINT_BYTES};
    const struct list_page one = {.limit = 1, .key = db_null(), .id = db_null()};
    struct db_rows rows;

    q->filter = (struct filter){.ignored = db_bool(true), .sort = "sessions"};
    q->filter.kind = q->filter.class = q->filter.owner = db_null();
    if (!fetch(r, q, &one, db_bytess(&only, 1), &rows, err))
        return false;
    if (rows.n) {
        *tree = item_json(rows.at, &q->base);
        return *tree || err_memory(err);
    }
    if (!q->slice.build)
        return err_set(err, ERR_NOT_FOUND, "no such family");
    return err_field(err, ERR_NOT_FOUND, "build", "this family was not seen in that build");
}

bool family_get(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", NULL};
    struct question q = {.slice = {.dim = "all", .value = ""}};
    unsigned char id[FINGERPRINT_BYTES];
    json_t *tree = NULL;

    if (!req_query_only(r, names, err) || !family_param(r, 0, id, err) ||
        !req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &q.slice.build, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &q.grouping, err) ||
        !slice_base(r, &q.slice, &q.grouping, &q.base, err) || !tier_count(r, &q.tiers, err) ||
        !find_one(r, &q, id, &tree, err))
        return false;
    json_object_set_new(tree, "of", head_json(&q));
    if (largest_stack(r, id, &q.grouping, tree, err) && breakdown(r, id, &q, tree, err))
        return reply_json(r, 200, tree, err);
    json_decref(tree);
    return false;
}

/* Its stacks, each with its reason --------------------------------------------------------------
 */

static json_t *stack_json(const struct family_stack *row, json_t *reason)
{
    char hex[33];

    to_hex(row->hash.at, row->hash.len, hex);
    return json_pack("{s:s, s:I, s:s, s:s, s:s, s:o}", "hash", hex, "events", row->events, "title",
                     row->title, "class", row->class, "state", row->state, "why", reason);
}

static bool stacks_json(struct req *r, const struct grouping *g, const struct family_stack *row,
                        size_t n, json_t *items, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        json_t *reason = why(r, g, &row[i], err);

        if (!reason)
            return false;
        json_array_append_new(items, stack_json(&row[i], reason));
    }
    return true;
}

bool family_stacks(struct req *r, struct err *err)
{
    static const char *const names[] = {"limit", "cursor", NULL};
    unsigned char id[FINGERPRINT_BYTES];
    struct grouping g;
    struct list_page p;
    struct db_rows rows;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !family_param(r, 0, id, err) ||
        !grouping_read(r->db, r->who.app, r->mem, &g, err) ||
        !db_all(
            r->db, Q_FAMILY_STACKS,
            DB_ARGS(db_i64(r->who.app), db_bytes(id, sizeof id), p.key, p.id, db_i64(p.limit + 1)),
            &family_stack_map, r->mem, &rows, err))
        return false;

    const struct family_stack *row = rows.at;
    size_t shown = rows.n > (size_t)p.limit ? (size_t)p.limit : rows.n;
    json_t *items = json_array();
    bool ok = grouping_index(&g, HEAVY_STEPS, err) && stacks_json(r, &g, row, shown, items, err);

    grouping_fini(&g);
    if (!ok) {
        json_decref(items);
        return false;
    }
    if (shown < rows.n)
        next = list_page_next(r, &p, row[shown - 1].events, row[shown - 1].hash.at);
    return reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next), err);
}

/* Sessions that show it --------------------------------------------------------------------------
 */

#define EXAMPLE_STACKS 50 /* the largest */
#define EXAMPLE_BUILDS 8  /* of each, the newest */

struct example_row {
    struct bytes session, stack;
    const char *day, *scene, *cause;
    int64_t start_us, duration_us;
    const char *platform, *version_name;
    int64_t version_code, build_id;
    const char *manufacturer, *model;
    int64_t tier;
    const char *os_version;
    int64_t p90_us;
    bool kept;
};
static const struct db_col example_cols[] = {
    DB_COL(example_row, session),      DB_COL(example_row, stack),
    DB_COL(example_row, day),          DB_COL(example_row, scene),
    DB_COL(example_row, cause),        DB_COL(example_row, start_us),
    DB_COL(example_row, duration_us),  DB_COL(example_row, platform),
    DB_COL(example_row, version_name), DB_COL(example_row, version_code),
    DB_COL(example_row, build_id),     DB_COL(example_row, manufacturer),
    DB_COL(example_row, model),        DB_COL(example_row, tier),
    DB_COL(example_row, os_version),   DB_COL(example_row, p90_us),
    DB_COL(example_row, kept),
};
static const struct db_map example_map = DB_MAP(example_row, example_cols);

bool family_sessions(struct req *r, struct err *err)
{
    static const char *const names[] = {"build", "limit", NULL};
    unsigned char id[FINGERPRINT_BYTES];
    struct db_arg build;
    struct db_rows rows;
    int64_t limit, tiers;

    if (!req_query_only(r, names, err) || !family_param(r, 0, id, err) ||
        !arg_i64(r, "build", 1, INT32_MAX, &build, err) ||
        !req_query_i64(r, "limit", (struct range){1, LIST_PAGE_MAX, 20}, &limit, err) ||
        !tier_count(r, &tiers, err) ||
        !db_all(r->db, Q_FAMILY_SESSIONS,
                DB_ARGS(db_i64(r->who.app), db_bytes(id, sizeof id), build, db_i64(limit),
                        db_i64(EXAMPLE_STACKS), db_i64(EXAMPLE_BUILDS)),
                &example_map, r->mem, &rows, err))
        return false;

    const struct example_row *row = rows.at;
    json_t *items = json_array();

    for (size_t i = 0; i < rows.n; i++) {
        json_t *item = row_to_json(&example_map, &row[i]);

        tier_name_put(item, tiers);
        json_array_append_new(items, item);
    }
    return reply_json(r, 200, json_pack("{s:o, s:n}", "items", items, "next"), err);
}
