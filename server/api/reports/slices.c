/* GET /v1/slices: percentiles and jank rates of a build, tier and scene, from rollup rows alone: a
 * slice of ten million sessions reads no more than one of ten. */
#include "server/api/args.h"
#include "server/api/handlers.h"

#include "profile/contribution.h"

#include <math.h>

#define GROUPS 64         /* shards of an app */
#define GROUPS_AT_ONCE 16 /* of one statement */
#define TIERS 10          /* 0 (untiered) .. 9 */
#define ROWS_AT_ONCE 20000
#define ROWS_BYTES ((size_t)96 << 20)

struct slice_row {
#define X(name) int64_t name;
    ROLLUP_COLUMNS(X)
#undef X
    struct bytes sketch;
};
static const struct db_col slice_cols[] = {
#define X(name) DB_COL(slice_row, name),
    ROLLUP_COLUMNS(X)
#undef X
        DB_COL(slice_row, sketch)};
static const struct db_map slice_map = DB_MAP(slice_row, slice_cols);

struct ask {
    int64_t build;
    struct db_arg tier, scene, from, to;
};

struct merged {
    struct rollup_delta sum;
    int64_t rows;
};

static bool add_row(const struct slice_row *row, struct rollup_delta *sum, struct err *err)
{
#define X(name) sum->name += row->name;
    ROLLUP_COLUMNS(X)
#undef X
    return sketch_read(row->sketch.at, row->sketch.len, 1, &sum->sketch, err) ||
           err_set(err, ERR_INTERNAL, "a rollup row holds no sketch");
}

/* The rows of shards [first, first + GROUPS_AT_ONCE). */
static bool add_shards(struct req *r, const struct ask *ask, int64_t first, struct arena *mem,
                       struct merged *m, struct err *err)
{
    int64_t shards[GROUPS_AT_ONCE], tiers[TIERS];
    struct db_rows rows;

    for (int i = 0; i < GROUPS_AT_ONCE; i++)
        shards[i] = first + i;
    for (int i = 0; i < TIERS; i++)
        tiers[i] = i;
    if (!db_all(
            r->db, Q_SLICE_ROWS,
            DB_ARGS(db_i64s(shards, GROUPS_AT_ONCE), db_i64(ask->build),
                    ask->tier.type == ARG_NULL ? db_i64s(tiers, TIERS) : db_i64s(&ask->tier.i64, 1),
                    ask->scene, ask->from, ask->to, db_i64(ROWS_AT_ONCE + 1)),
            &slice_map, mem, &rows, err))
        return false;
    if (rows.n > ROWS_AT_ONCE)
        return err_field(err, ERR_TOO_BIG, "from", "spans too many days: narrow from and to");
    for (size_t i = 0; i < rows.n; i++)
        if (!add_row((const struct slice_row *)rows.at + i, &m->sum, err))
            return false;
    m->rows += (int64_t)rows.n;
    return true;
}

static bool merge(struct req *r, const struct ask *ask, struct merged *m, struct err *err)
{
    struct arena *mem = arena_new(ROWS_BYTES);
    int64_t first = r->who.app * GROUPS;
    bool ok = mem || err_memory(err);

    for (int64_t g = 0; ok && g < GROUPS; g += GROUPS_AT_ONCE) {
        ok = add_shards(r, ask, first + g, mem, m, err);
        arena_reset(mem);
    }
    arena_free(mem);
    return ok;
}

/* a per b, times scale; null where there is nothing to divide by. Three decimals at least. */
static json_t *ratio(int64_t a, int64_t b, double scale)
{
    if (b <= 0)
        return json_null();
    return json_real(round((double)a / (double)b * scale * 1e6) / 1e6);
}

static json_t *quantile(const struct sketch *s, double q)
{
    return sketch_total(s) > 0 ? json_integer(llround(sketch_quantile_us(s, q))) : json_null();
}

static json_t *frame_times(const struct rollup_delta *s)
{
    json_t *mean = s->frames > 0 ? json_integer(s->frame_sum_us / s->frames) : json_null();

    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "p50_us", quantile(&s->sketch, 0.5), "p90_us",
                     quantile(&s->sketch, 0.9), "p95_us", quantile(&s->sketch, 0.95), "p99_us",
                     quantile(&s->sketch, 0.99), "mean_us", mean);
}

#define TEN_MINUTES_US 6e8
#define MINUTE_MS_PER_US 60000.0 /* us of jank per us of foreground, as ms per minute */

static json_t *jank_rates(const struct rollup_delta *s)
{
    int64_t all = s->janks_minor + s->janks_normal + s->janks_severe, base = s->foreground_us;
    int64_t full = base - s->summary_foreground_us; /* what tells more than janks */

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",                                 //
        "janks_per_10min", ratio(all, base, TEN_MINUTES_US),                                  //
        "minor_per_10min", ratio(s->janks_minor, base, TEN_MINUTES_US),                       //
        "normal_per_10min", ratio(s->janks_normal, base, TEN_MINUTES_US),                     //
        "severe_per_10min", ratio(s->janks_severe, base, TEN_MINUTES_US),                     //
        "jank_ms_per_minute", ratio(s->jank_us, base, MINUTE_MS_PER_US),                      //
        "perfdog_janks_per_10min", ratio(s->perfdog_janks, full, TEN_MINUTES_US),             //
        "perfdog_big_janks_per_10min", ratio(s->perfdog_big_janks, full, TEN_MINUTES_US),     //
        "perfdog_stutter_percent", ratio(s->perfdog_stutter_us, full, 100),                   //
        "missed_frames_percent", ratio(s->missed_frames, s->frames - s->summary_frames, 100), //
        "slow_sessions_percent", ratio(s->slow_sessions, s->sessions - s->summary_sessions, 100));
}

static json_t *counts(const struct rollup_delta *s)
{
    json_t *tree = json_object();

#define X(name) json_object_set_new(tree, #name, json_integer(s->name));
    ROLLUP_COLUMNS(X)
#undef X
    return tree;
}

static bool read_ask(struct req *r, struct ask *ask, struct err *err)
{
    static const char *const names[] = {"build", "tier", "scene", "from", "to", NULL};

    if (!req_query_only(r, names, err))
        return false;
    if (!req_query(r, "build"))
        return err_field(err, ERR_INVALID, "build", "is required: the id of a build");
    if (!req_query_i64(r, "build", (struct range){1, INT32_MAX, 0}, &ask->build, err) ||
        !arg_i64(r, "tier", 0, TIERS - 1, &ask->tier, err) ||
        !arg_day(r, "from", &ask->from, err) || !arg_day(r, "to", &ask->to, err) ||
        !arg_text(r, "scene", 256, &ask->scene, err))
        return false;
    if (ask->scene.type == ARG_NULL)
        ask->scene = db_text(""); /* whole sessions */
    return true;
}

static json_t *or_null(struct db_arg arg)
{
    if (arg.type == ARG_I64)
        return json_integer(arg.i64);
    return arg.type == ARG_TEXT ? json_string(arg.text) : json_null();
}

bool slice_get(struct req *r, struct err *err)
{
    struct ask ask;
    struct merged *m = arena_alloc(r->mem, sizeof *m);

    if (!m)
        return err_full(err, "a request");
    if (!read_ask(r, &ask, err) || !merge(r, &ask, m, err))
        return false;
    return reply_json(r, 200,
                      json_pack("{s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}",  //
                                "build_id", ask.build, "tier", or_null(ask.tier), //
                                "scene", or_null(ask.scene),                      //
                                "from", or_null(ask.from), "to", or_null(ask.to), //
                                "rows", m->rows, "counts", counts(&m->sum),       //
                                "frame_time", frame_times(&m->sum), "rates", jank_rates(&m->sum)),
                      err);
}
