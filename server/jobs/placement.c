#include "server/jobs/placement.h"

#include "server/jobs/rollup.h"
#include "server/jobs/tally_store.h"
#include "stats/expectation.h"
#include "stats/rate.h"

#include <stdlib.h>
#include <string.h>

#define CONTRIBUTION_CAP (64u << 20)

static struct moments moments_of(const int64_t sum[METRIC_SUMS])
{
    return (struct moments){.n = sum[SUM_N], .sum_e6 = sum[SUM_VALUE]};
}

static void measure_ln(const struct placement_sums *s, unsigned m, int64_t y,
                       int64_t to[METRIC_SUMS])
{
    struct moments model = moments_of(s->model[m]), tier = moments_of(s->tier[m]),
                   all = moments_of(s->all[m]);
    struct expected own;
    int64_t mu;

    if (!expectation_model(&model, &tier, &all, &mu))
        return;
    to[SUM_X_N] = 1;
    to[SUM_X_VALUE] = expectation_residual(y, mu);
    to[SUM_X_EXPECTED] = mu;
    own = expectation_own(mu, s->past[m][SUM_N], s->past[m][SUM_VALUE]);
    if (!own.weight)
        return;
    to[SUM_OWN_N] = 1;
    to[SUM_OWN_VALUE] = own.weight * expectation_residual(y, own.x_e6);
    to[SUM_OWN_WEIGHT] = own.weight;
}

static void measure_count(const struct placement_sums *s, unsigned m,
                          const int64_t own[METRIC_SUMS], int64_t to[METRIC_SUMS])
{
    const int64_t *tier = s->tier[m][SUM_VALUE] ? s->tier[m] : s->all[m];
    int64_t expected =
        rate_expected(own[SUM_EXPOSURE], s->model[m][SUM_VALUE], s->model[m][SUM_EXPOSURE],
                      tier[SUM_VALUE], tier[SUM_EXPOSURE]);

    if (expected > 0) {
        to[SUM_X_N] = 1;
        to[SUM_X_VALUE] = own[SUM_VALUE];
        to[SUM_X_EXPECTED] = expected;
    }
    if (!s->past[m][SUM_N])
        return;
    expected =
        rate_expected_own(own[SUM_EXPOSURE], s->past[m][SUM_VALUE], s->past[m][SUM_EXPOSURE]);
    if (expected < 0)
        return;
    to[SUM_OWN_N] = 1;
    to[SUM_OWN_VALUE] = own[SUM_VALUE];
    to[SUM_OWN_WEIGHT] = expected;
}

void placement_measure(const struct placement_sums *sums, const int64_t own[METRICS_N][METRIC_SUMS],
                       int64_t to[METRICS_N][METRIC_SUMS])
{
    for (unsigned m = 0; m < METRICS_N; m++) {
        for (unsigned k = SUM_X_N; k < METRIC_SUMS; k++)
            to[m][k] = 0;
        if (!own[m][SUM_N])
            continue;
        if (metric_info[m].kind == METRIC_LN)
            measure_ln(sums, m, own[m][SUM_VALUE], to[m]);
        else
            measure_count(sums, m, own[m], to[m]);
    }
}

/* Cells of one expectation ----------------------------------------------------------------------
 */

struct cell_row {
    int64_t kind, n;
    struct bytes sums;
};
static const struct db_col cell_cols[] = {DB_COL(cell_row, kind), DB_COL(cell_row, n),
                                          DB_COL(cell_row, sums)};
static const struct db_map cell_map = DB_MAP(cell_row, cell_cols);

struct past_row {
    struct bytes sums;
};
static const struct db_col past_cols[] = {DB_COL(past_row, sums)};
static const struct db_map past_map = DB_MAP(past_row, past_cols);

static void add_past(const struct contribution *past, const struct metric_row *own, size_t n,
                     struct placement_sums *sums)
{
    for (size_t i = 0, k = 0; i < past->n_rows && k < n;) {
        int order = strcmp(past->rows[i].scene, own[k].scene);

        for (unsigned m = 0; !order && m < METRICS_N; m++)
            for (unsigned s = 0; s <= SUM_EXPOSURE; s++)
                sums[k].past[m][s] += past->rows[i].sum[m][s];
        i += order <= 0;
        k += order >= 0;
    }
}

/* What the install showed on the baseline before the expectation was frozen. */
static bool read_past(struct db *db, int64_t build, const struct placement_key *key,
                      const struct metric_row *own, size_t n, struct arena *mem,
                      struct placement_sums *sums, struct err *err)
{
    struct db_rows rows;

    if (!key->install.len)
        return true;
    if (!db_all(
            db, Q_EXPECTATION_PAST,
            DB_ARGS(db_i64(build), db_i64(key->shard), db_bytes(key->install.at, key->install.len)),
            &past_map, mem, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++) {
        const struct past_row *r = (const struct past_row *)rows.at + i;
        struct contribution past;

        if (!contribution_read(r->sums.at, r->sums.len, mem, &past, err))
            return false;
        add_past(&past, own, n, sums);
    }
    return true;
}

/* One a row of `own`, in its order. */
static bool read_sums(struct db *db, int64_t build, const struct placement_key *key,
                      const struct metric_row *own, size_t n, struct arena *mem,
                      struct placement_sums **out, struct err *err)
{
    struct placement_sums *sums = arena_array(mem, n, sizeof *sums);
    const char **scene = arena_array(mem, n, sizeof *scene);
    struct db_rows rows;

    if (!sums || !scene)
        return err_set(err, ERR_TOO_BIG, "expectation: out of memory");
    for (size_t i = 0; i < n; i++)
        scene[i] = own[i].scene;
    if (!db_all(
            db, Q_EXPECTATION_CELLS,
            DB_ARGS(db_i64(build), db_i64(key->model_id), db_i64(key->tier), db_texts(scene, n)),
            &cell_map, mem, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++) {
        const struct cell_row *r = (const struct cell_row *)rows.at + i;
        struct placement_sums *s = &sums[r->n - 1];

        if (!metric_sums_add(r->sums.at, r->sums.len,
                             r->kind == 0   ? s->all
                             : r->kind == 1 ? s->tier
                                            : s->model,
                             err))
            return false;
    }
    *out = sums;
    return read_past(db, build, key, own, n, mem, sums, err);
}

static bool any_measured(const struct metric_row *r)
{
    for (unsigned m = 0; m < METRICS_N; m++)
        if (r->sum[m][SUM_X_N] || r->sum[m][SUM_OWN_N])
            return true;
    return false;
}

/* A session -------------------------------------------------------------------------------------
 */

struct target {
    int64_t build_id, arm;
};
static const struct db_col target_cols[] = {DB_COL(target, build_id), DB_COL(target, arm)};
static const struct db_map target_map = DB_MAP(target, target_cols);

static int by_row(const void *a, const void *b)
{
    return metric_row_order(a, b);
}

/* Own rows without expectations, in a new array with room for all targets. */
static bool own_rows(struct contribution *c, size_t targets, struct arena *mem, size_t *n_own)
{
    struct metric_row *rows = arena_array(mem, c->n_rows * (targets + 1), sizeof *rows);
    size_t n = 0;

    if (!rows)
        return false;
    for (size_t i = 0; i < c->n_rows; i++) {
        if (c->rows[i].arm != ARM_OWN)
            continue;
        rows[n] = c->rows[i];
        for (unsigned m = 0; m < METRICS_N; m++)
            for (unsigned k = SUM_X_N; k < METRIC_SUMS; k++)
                rows[n].sum[m][k] = 0;
        n++;
    }
    c->rows = rows;
    c->n_rows = *n_own = n;
    return true;
}

static bool add_target(struct db *db, const struct placement_key *key, const struct target *t,
                       struct contribution *c, size_t n_own, struct arena *mem, struct err *err)
{
    struct placement_sums *sums = NULL;

    if (!read_sums(db, t->build_id, key, c->rows, n_own, mem, &sums, err))
        return false;
    for (size_t i = 0; i < n_own; i++) {
        struct metric_row *to = &c->rows[i];

        if (t->arm != ARM_OWN) {
            to = &c->rows[c->n_rows];
            *to =
                (struct metric_row){.build = t->build_id, .arm = t->arm, .scene = c->rows[i].scene};
        }
        placement_measure(&sums[i], (const int64_t(*)[METRIC_SUMS])c->rows[i].sum, to->sum);
        c->n_rows += t->arm != ARM_OWN && any_measured(to);
    }
    return true;
}

bool placement_set(struct db *db, const struct placement_key *key, struct contribution *c,
                   struct arena *mem, struct err *err)
{
    struct db_args build = DB_ARGS(db_i64(key->build_id), db_i64(key->received_us));
    struct db_rows targets;
    size_t n_own;

    if (!c->n_rows)
        return true;
    if (!db_exec(db, Q_EXPECTATION_LOCK_SHARED, (struct db_args){1, build.v}, err) ||
        !db_all(db, Q_EXPECTATION_OF, build, &target_map, mem, &targets, err))
        return false;
    if (!own_rows(c, targets.n, mem, &n_own))
        return err_set(err, ERR_TOO_BIG, "expectation: out of memory");
    for (size_t i = 0; i < targets.n; i++)
        if (!add_target(db, key, (const struct target *)targets.at + i, c, n_own, mem, err))
            return false;
    qsort(c->rows, c->n_rows, sizeof *c->rows, by_row);
    return true;
}

/* A session once more ---------------------------------------------------------------------------
 */

struct counted {
    int64_t app_id, build_id, model_id, was_tier, is_tier, day, received_us;
    struct bytes install_hash, contribution, tally;
};
static const struct db_col counted_cols[] = {
    DB_COL(counted, build_id),     DB_COL(counted, model_id),     DB_COL(counted, was_tier),
    DB_COL(counted, is_tier),      DB_COL(counted, day),          DB_COL(counted, received_us),
    DB_COL(counted, install_hash), DB_COL(counted, contribution), DB_COL(counted, tally),
    DB_COL(counted, app_id),
};
static const struct db_map counted_map = DB_MAP(counted, counted_cols);

static bool move_tally(struct db *db, int64_t shard, const unsigned char id[16],
                       const struct counted *s, struct err *err)
{
    const struct tally_at was = {s->tally,    s->install_hash, s->build_id,
                                 s->model_id, s->was_tier,     s->day},
                          is = {s->tally,    s->install_hash, s->build_id,
                                s->model_id, s->is_tier,      s->day};

    return tally_store(db, s->app_id, shard, id, &was, &is, err);
}

static bool renew(struct db *db, int64_t shard, const unsigned char id[16], const struct counted *s,
                  struct arena *mem, struct err *err)
{
    const struct placement_key key = {s->build_id,    s->model_id, s->is_tier,
                                      s->received_us, shard,       s->install_hash};
    const struct rollup_key was = {s->build_id, s->model_id, s->was_tier, s->day, s->install_hash},
                            is = {s->build_id, s->model_id, s->is_tier, s->day, s->install_hash};
    struct contribution before, now;
    struct buf text;
    bool ok;

    if (!contribution_read(s->contribution.at, s->contribution.len, mem, &before, err))
        return false;
    now = before;
    if (!placement_set(db, &key, &now, mem, err))
        return false;
    buf_init(&text, CONTRIBUTION_CAP);
    contribution_write(&now, &text);
    ok = buf_ok(&text) ? db_exec(db, Q_PLACEMENT_STORE,
                                 DB_ARGS(db_i64(shard), db_uuid(id), db_i64(s->is_tier),
                                         db_bytes(text.at, text.len)),
                                 err)
                       : err_set(err, ERR_TOO_BIG, "contribution: too big");
    buf_fini(&text);
    return ok && rollup_apply(db, shard, &was, &before, &is, &now, mem, err) &&
           move_tally(db, shard, id, s, err);
}

bool placement_renew(struct db *db, int64_t shard, const unsigned char id[16], struct arena *mem,
                     struct err *err)
{
    struct db_args which = DB_ARGS(db_i64(shard), db_uuid(id));
    struct db_rows rows;

    return db_begin(db, err) && db_exec(db, Q_SESSION_STORE_LOCK, which, err) &&
           db_all(db, Q_PLACEMENT_SESSION, which, &counted_map, mem, &rows, err) &&
           (!rows.n || renew(db, shard, id, rows.at, mem, err)) && db_commit(db, err);
}
