#include "server/jobs/rollups/placement.h"

#include "server/jobs/families/tally_store.h"
#include "server/jobs/rollups/rollup.h"
#include "stats/expectation.h"
#include "stats/rate.h"

#include <stdlib.h>
#include <string.h>

#define CONTRIBUTION_CAP (64u << 20)
#define MAX_TOGETHER 64 /* sessions of a transaction */

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

/* Sessions and what they are measured against ---------------------------------------------------
 */

struct target {
    int64_t n; /* the session, from 1 */
    int64_t build_id, arm;
};
static const struct db_col target_cols[] = {DB_COL(target, n), DB_COL(target, build_id),
                                            DB_COL(target, arm)};
static const struct db_map target_map = DB_MAP(target, target_cols);

struct placing { /* a session */
    const struct placement_key *key;
    struct contribution *c;
    size_t targets, own; /* own: how many rows of c are its own */
};

struct measure { /* a session against one expectation */
    const struct placing *of;
    const struct target *target;
    struct placement_sums *sums; /* one an own row */
};

struct measures {
    struct measure *at;
    size_t n, rows;
};

/* Sums ------------------------------------------------------------------------------------------
 */

struct cell_row {
    int64_t kind, n;
    struct bytes sums;
};
static const struct db_col cell_cols[] = {DB_COL(cell_row, kind), DB_COL(cell_row, n),
                                          DB_COL(cell_row, sums)};
static const struct db_map cell_map = DB_MAP(cell_row, cell_cols);

struct past_row {
    int64_t n;
    struct bytes sums;
};
static const struct db_col past_cols[] = {DB_COL(past_row, n), DB_COL(past_row, sums)};
static const struct db_map past_map = DB_MAP(past_row, past_cols);

static bool out_of_memory(struct err *err)
{
    return err_full(err, "expectations");
}

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

/* What the installs showed on the baselines before the expectations were frozen. */
static bool read_pasts(struct db *db, const struct measures *m, struct arena *mem, struct err *err)
{
    int64_t *build = arena_array(mem, m->n, sizeof *build);
    struct bytes *install = arena_array(mem, m->n, sizeof *install);
    const struct measure **of = arena_array(mem, m->n, sizeof *of);
    struct db_rows rows;
    size_t n = 0;

    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].of->key->install.len)
            continue;
        build[n] = m->at[i].target->build_id;
        install[n] = m->at[i].of->key->install;
        of[n++] = &m->at[i];
    }
    if (!n)
        return true;

    struct db_arg arg[3] = {db_i64s(build, n), db_i64(of[0]->of->key->shard),
                            db_bytess(install, n)};

    if (n == 1) { /* as for targets */
        arg[0] = db_i64(*build);
        arg[2] = db_bytes(install->at, install->len);
    }
    if (!db_all(db, n == 1 ? Q_EXPECTATION_PAST : Q_EXPECTATIONS_PAST, (struct db_args){3, arg},
                &past_map, mem, &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++) {
        const struct past_row *r = (const struct past_row *)rows.at + i;
        const struct measure *one = of[r->n - 1];
        struct contribution past;

        if (!contribution_read(r->sums.at, r->sums.len, mem, &past, err))
            return false;
        add_past(&past, one->of->c->rows, one->of->own, one->sums);
    }
    return true;
}

struct cell_keys {
    int64_t *build, *model, *tier;
    const char **scene;
    size_t n;
};

static bool cell_keys(const struct measures *m, struct arena *mem, struct cell_keys *k)
{
    *k = (struct cell_keys){
        .build = arena_array(mem, m->rows, sizeof *k->build),
        .model = arena_array(mem, m->rows, sizeof *k->model),
        .tier = arena_array(mem, m->rows, sizeof *k->tier),
        .scene = arena_array(mem, m->rows, sizeof *k->scene),
    };
    if (arena_full(mem))
        return false;
    for (size_t i = 0; i < m->n; i++) {
        const struct placing *p = m->at[i].of;

        for (size_t r = 0; r < p->own; r++, k->n++) {
            k->build[k->n] = m->at[i].target->build_id;
            k->model[k->n] = p->key->model_id;
            k->tier[k->n] = p->key->tier;
            k->scene[k->n] = p->c->rows[r].scene;
        }
    }
    return true;
}

static bool read_sums(struct db *db, struct measures *m, struct arena *mem, struct err *err)
{
    struct placement_sums *sums = arena_array(mem, m->rows, sizeof *sums);
    struct cell_keys k;
    struct db_rows rows;
    size_t at = 0;

    if (!sums || !cell_keys(m, mem, &k))
        return out_of_memory(err);
    for (size_t i = 0; i < m->n; at += m->at[i++].of->own)
        m->at[i].sums = &sums[at];
    if (!db_all(db, Q_EXPECTATION_CELLS,
                DB_ARGS(db_i64s(k.build, k.n), db_i64s(k.model, k.n), db_i64s(k.tier, k.n),
                        db_texts(k.scene, k.n)),
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
    return read_pasts(db, m, mem, err);
}

static bool any_measured(const struct metric_row *r)
{
    for (unsigned m = 0; m < METRICS_N; m++)
        if (r->sum[m][SUM_X_N] || r->sum[m][SUM_OWN_N])
            return true;
    return false;
}

/* Measuring -------------------------------------------------------------------------------------
 */

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

static void add_measure(const struct measure *m)
{
    struct contribution *c = m->of->c;

    for (size_t i = 0; i < m->of->own; i++) {
        struct metric_row *to = &c->rows[i];

        if (m->target->arm != ARM_OWN) {
            to = &c->rows[c->n_rows];
            *to = (struct metric_row){
                .build = m->target->build_id, .arm = m->target->arm, .scene = c->rows[i].scene};
        }
        placement_measure(&m->sums[i], (const int64_t(*)[METRIC_SUMS])c->rows[i].sum, to->sum);
        c->n_rows += m->target->arm != ARM_OWN && any_measured(to);
    }
}

static int by_value(const void *va, const void *vb)
{
    const int64_t *a = va, *b = vb;

    return (*a > *b) - (*a < *b);
}

/* Of one session: without arrays the plans are kept, for jobs that count one at a time. */
static bool read_targets_of_one(struct db *db, const struct placement_key *key, struct arena *mem,
                                struct db_rows *out, struct err *err)
{
    const struct db_args build = DB_ARGS(db_i64(key->build_id), db_i64(key->received_us));

    return db_exec(db, Q_EXPECTATION_LOCK_SHARED, (struct db_args){1, build.v}, err) &&
           db_all(db, Q_EXPECTATION_OF, build, &target_map, mem, out, err);
}

/* The expectations of all, by session; each build is locked once, in their order. */
static bool read_targets(struct db *db, const struct placing *p, size_t n, struct arena *mem,
                         struct db_rows *out, struct err *err)
{
    int64_t *build = arena_array(mem, n, sizeof *build);
    int64_t *sorted = arena_array(mem, n, sizeof *sorted);
    int64_t *received = arena_array(mem, n, sizeof *received);
    size_t builds = 0;

    if (n == 1)
        return read_targets_of_one(db, p->key, mem, out, err);
    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        build[i] = sorted[i] = p[i].key->build_id;
        received[i] = p[i].key->received_us;
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        if (!builds || sorted[builds - 1] != sorted[i])
            sorted[builds++] = sorted[i];
    return db_exec(db, Q_EXPECTATIONS_LOCK_SHARED, DB_ARGS(db_i64s(sorted, builds)), err) &&
           db_all(db, Q_EXPECTATIONS_OF, DB_ARGS(db_i64s(build, n), db_i64s(received, n)),
                  &target_map, mem, out, err);
}

static bool find_measures(struct placing *p, size_t n, const struct db_rows *targets,
                          struct arena *mem, struct measures *out, struct err *err)
{
    const struct target *t = targets->at;

    *out = (struct measures){.at = arena_array(mem, targets->n, sizeof *out->at)};
    if (!out->at)
        return out_of_memory(err);
    for (size_t i = 0; i < targets->n; i++)
        p[t[i].n - 1].targets++;
    for (size_t i = 0; i < n; i++)
        if (!own_rows(p[i].c, p[i].targets, mem, &p[i].own))
            return out_of_memory(err);
    for (size_t i = 0; i < targets->n; i++) {
        out->at[out->n++] = (struct measure){.of = &p[t[i].n - 1], .target = &t[i]};
        out->rows += p[t[i].n - 1].own;
    }
    return true;
}

bool placement_set(struct db *db, const struct placement_key *key, struct contribution *c, size_t n,
                   struct arena *mem, struct err *err)
{
    struct placing *p = arena_array(mem, n, sizeof *p);
    struct measures m;
    struct db_rows targets;
    size_t some = 0;

    if (!p)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        if (c[i].n_rows)
            p[some++] = (struct placing){.key = &key[i], .c = &c[i]};
    if (!some)
        return true;
    if (!read_targets(db, p, some, mem, &targets, err) ||
        !find_measures(p, some, &targets, mem, &m, err) || (m.n && !read_sums(db, &m, mem, err)))
        return false;
    for (size_t i = 0; i < m.n; i++)
        add_measure(&m.at[i]);
    for (size_t i = 0; i < some; i++)
        qsort(p[i].c->rows, p[i].c->n_rows, sizeof *p[i].c->rows, by_row);
    return true;
}

/* Sessions once more ----------------------------------------------------------------------------
 */

struct counted {
    int64_t app_id, build_id, model_id, was_tier, is_tier, day, received_us;
    struct bytes session_id, install_hash, contribution, tally;
};
static const struct db_col counted_cols[] = {
    DB_COL(counted, build_id),     DB_COL(counted, model_id),     DB_COL(counted, was_tier),
    DB_COL(counted, is_tier),      DB_COL(counted, day),          DB_COL(counted, received_us),
    DB_COL(counted, install_hash), DB_COL(counted, contribution), DB_COL(counted, tally),
    DB_COL(counted, app_id),       DB_COL(counted, session_id),
};
static const struct db_map counted_map = DB_MAP(counted, counted_cols);

static bool move_tallies(struct db *db, int64_t shard, const struct counted *s, size_t n,
                         struct arena *mem, struct err *err)
{
    struct tally_move *moves = arena_array(mem, n, sizeof *moves);

    if (!moves)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct tally_at was = {s[i].tally,    s[i].install_hash, s[i].build_id,
                                     s[i].model_id, s[i].was_tier,     s[i].day};

        moves[i] = (struct tally_move){s[i].session_id.at, was, was};
        moves[i].is.tier = s[i].is_tier;
    }
    return tally_store(db, s->app_id, shard, moves, n, mem, err);
}

/* As they are to be from now on: moves[i].now. */
static bool place(struct db *db, int64_t shard, const struct counted *s, size_t n,
                  struct arena *mem, struct rollup_move *moves, struct err *err)
{
    struct placement_key *key = arena_array(mem, n, sizeof *key);
    struct contribution *now = arena_array(mem, n, sizeof *now);

    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct rollup_key is = {s[i].build_id, s[i].model_id, s[i].is_tier, s[i].day,
                                      s[i].install_hash};

        moves[i].was = moves[i].is = is;
        moves[i].was.tier = s[i].was_tier;
        key[i] = (struct placement_key){s[i].build_id,    s[i].model_id, s[i].is_tier,
                                        s[i].received_us, shard,         s[i].install_hash};
        if (!contribution_read(s[i].contribution.at, s[i].contribution.len, mem, &moves[i].before,
                               err))
            return false;
        now[i] = moves[i].before;
    }
    if (!placement_set(db, key, now, n, mem, err))
        return false;
    for (size_t i = 0; i < n; i++)
        moves[i].now = now[i];
    return true;
}

static bool contribution_bytes(const struct contribution *c, struct arena *mem, struct bytes *out)
{
    struct buf text;

    buf_init(&text, CONTRIBUTION_CAP);
    contribution_write(c, &text);
    *out = (struct bytes){NULL, text.len};
    if (buf_ok(&text))
        out->at = (const unsigned char *)arena_dup(mem, (const char *)text.at, text.len);
    buf_fini(&text);
    return out->at;
}

static bool store(struct db *db, int64_t shard, const struct counted *s,
                  const struct rollup_move *moves, size_t n, struct arena *mem, struct err *err)
{
    struct bytes *id = arena_array(mem, n, sizeof *id);
    struct bytes *sums = arena_array(mem, n, sizeof *sums);
    int64_t *tier = arena_array(mem, n, sizeof *tier);

    for (size_t i = 0; i < n && !arena_full(mem); i++) {
        id[i] = s[i].session_id;
        tier[i] = s[i].is_tier;
        if (!contribution_bytes(&moves[i].now, mem, &sums[i]))
            return err_set(err, ERR_TOO_BIG, "contribution: too big");
    }
    if (arena_full(mem))
        return out_of_memory(err);
    return db_exec(db, Q_PLACEMENT_STORE,
                   DB_ARGS(db_i64(shard), db_uuids(id, n), db_i64s(tier, n), db_bytess(sums, n)),
                   err);
}

static bool renew(struct db *db, int64_t shard, const struct counted *s, size_t n,
                  struct arena *mem, struct err *err)
{
    struct rollup_move *moves = arena_array(mem, n, sizeof *moves);

    if (!moves)
        return out_of_memory(err);
    return place(db, shard, s, n, mem, moves, err) && store(db, shard, s, moves, n, mem, err) &&
           rollup_apply(db, shard, moves, n, mem, err) && move_tallies(db, shard, s, n, mem, err);
}

static bool renew_once(struct db *db, const struct placement_session *s, size_t n,
                       struct arena *mem, struct err *err)
{
    struct bytes *id = arena_array(mem, n, sizeof *id);
    struct db_rows rows;

    if (!id)
        return out_of_memory(err);
    for (size_t i = 0; i < n; i++)
        id[i] = s[i].id;

    struct db_args which = DB_ARGS(db_i64(s->shard), db_uuids(id, n));

    return db_begin(db, err) && db_exec(db, Q_PLACEMENT_LOCK, which, err) &&
           db_all(db, Q_PLACEMENT_SESSIONS, which, &counted_map, mem, &rows, err) &&
           (!rows.n || renew(db, s->shard, rows.at, rows.n, mem, err)) && db_commit(db, err);
}

/* Too much for the memory, or in the way of somebody who locks in another order: by halves. */
static bool renew_some(struct job_run *run, const struct placement_session *s, size_t n,
                       struct err *err)
{
    if (!job_extend(run, err))
        return false;
    arena_reset(run->work);
    if (renew_once(run->db, s, n, run->work, err))
        return true;
    if (n == 1 || (err->code != ERR_TOO_BIG && strncmp(db_sqlstate(run->db), "40", 2) != 0))
        return false;
    db_rollback(run->db);
    return renew_some(run, s, n / 2, err) && renew_some(run, s + n / 2, n - n / 2, err);
}

static int by_shard_and_id(const void *va, const void *vb)
{
    const struct placement_session *a = va, *b = vb;
    int order = (a->shard > b->shard) - (a->shard < b->shard);

    return order ? order : memcmp(a->id.at, b->id.at, 16);
}

bool placement_renew(struct job_run *run, struct placement_session *s, size_t n, struct err *err)
{
    qsort(s, n, sizeof *s, by_shard_and_id);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && end - i < MAX_TOGETHER && s[end].shard == s[i].shard;)
            end++;
        if (!renew_some(run, &s[i], end - i, err))
            return false;
    }
    return true;
}
