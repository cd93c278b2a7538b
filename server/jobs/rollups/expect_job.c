/* 'expect': freezes the expectation of each build that has appeared, from its baseline's sessions,
 * and measures the sessions counted before against it. */
#include "server/jobs/job_run.h"
#include "server/jobs/rollups/placement.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SESSIONS 50       /* of a baseline; the first look at a slice wants as many */
#define SAMPLE_SESSIONS 20000 /* the latest so many of a baseline say what is expected */
#define PAGE 200
#define PLACE_PAGE 4096      /* some dozens of each shard: what is written once for them */
#define PASTS_PER_GROUP 2000 /* installs, of each of 64 groups, whose past is kept */
#define MAX_CELLS 20000      /* of (tier or model) x scene; the rest stand behind their tier's */
#define SLOTS 65536          /* power of two, over 2 MAX_CELLS */
#define SUMS_CAP (64u * METRICS_N * METRIC_SUMS)

/* Sums by kind, id and scene ---------------------------------------------------------------------
 */

struct cell {
    int64_t kind, id;
    const char *scene;
    int64_t sum[METRICS_N][METRIC_SUMS];
};

struct cells {
    struct cell **slot; /* open addressing */
    size_t n;
    int64_t sessions, last_us; /* last_us: the earliest received so far */
    unsigned char last_id[16];
    bool cut; /* there are more sessions than were read */
};

static size_t slot_of(const struct cells *c, int64_t kind, int64_t id, const char *scene)
{
    uint64_t h = (uint64_t)kind * 31 + (uint64_t)id;

    for (const char *p = scene; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    h ^= h >> 29;

    size_t at = (size_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 48) & (SLOTS - 1);

    while (c->slot[at] && (c->slot[at]->kind != kind || c->slot[at]->id != id ||
                           strcmp(c->slot[at]->scene, scene) != 0))
        at = (at + 1) & (SLOTS - 1);
    return at;
}

/* False: out of memory. */
static bool add_to_cell(struct cells *c, int64_t kind, int64_t id, const struct metric_row *row,
                        struct arena *mem)
{
    size_t at = slot_of(c, kind, id, row->scene);

    if (!c->slot[at]) {
        struct cell *cell = c->n < MAX_CELLS ? arena_alloc(mem, sizeof *cell) : NULL;

        if (!cell)
            return c->n == MAX_CELLS;
        *cell = (struct cell){kind, id, arena_dup(mem, row->scene, strlen(row->scene)), {{0}}};
        if (!cell->scene)
            return false;
        c->slot[at] = cell;
        c->n++;
    }
    for (unsigned m = 0; m < METRICS_N; m++)
        for (unsigned k = 0; k <= SUM_EXPOSURE; k++)
            c->slot[at]->sum[m][k] += row->sum[m][k];
    return true;
}

struct sample {
    int64_t model_id, tier, received_us;
    struct bytes session_id, contribution;
};
static const struct db_col sample_cols[] = {
    DB_COL(sample, model_id),   DB_COL(sample, tier),         DB_COL(sample, received_us),
    DB_COL(sample, session_id), DB_COL(sample, contribution),
};
static const struct db_map sample_map = DB_MAP(sample, sample_cols);

static bool add_session(struct job_run *run, const struct sample *s, struct cells *c,
                        struct err *err)
{
    struct contribution sums;

    if (!contribution_read(s->contribution.at, s->contribution.len, run->work, &sums, err))
        return false;
    for (size_t i = 0; i < sums.n_rows; i++) {
        const struct metric_row *row = &sums.rows[i];

        if (row->arm == ARM_OWN &&
            !(add_to_cell(c, 0, 0, row, run->mem) && add_to_cell(c, 1, s->tier, row, run->mem) &&
              add_to_cell(c, 2, s->model_id, row, run->mem)))
            return err_full(err, "expectations");
    }
    c->sessions++;
    c->last_us = s->received_us;
    memcpy(c->last_id, s->session_id.at, sizeof c->last_id);
    return true;
}

static bool read_baseline(struct job_run *run, int64_t baseline, struct cells *c, struct err *err)
{
    struct db_rows rows = {.n = PAGE};

    *c = (struct cells){.slot = arena_array(run->mem, SLOTS, sizeof *c->slot),
                        .last_us = INT64_C(4000000000) * 1000000};
    memset(c->last_id, 0xff, sizeof c->last_id);
    if (!c->slot)
        return err_full(err, "expectations");
    while (rows.n == PAGE && c->sessions < SAMPLE_SESSIONS) {
        arena_reset(run->work);
        if (!job_extend(run, err) || !db_all(run->db, Q_EXPECTATION_SAMPLE,
                                             DB_ARGS(db_i64(baseline), db_i64(c->last_us),
                                                     db_uuid(c->last_id), db_i64(PAGE)),
                                             &sample_map, run->work, &rows, err))
            return false;
        for (size_t i = 0; i < rows.n; i++)
            if (!add_session(run, (const struct sample *)rows.at + i, c, err))
                return false;
    }
    c->cut = rows.n == PAGE;
    return true;
}

/* Freezing ------------------------------------------------------------------------------------- */

struct wanted {
    int64_t build_id, baseline_id;
};
static const struct db_col wanted_cols[] = {DB_COL(wanted, build_id), DB_COL(wanted, baseline_id)};
static const struct db_map wanted_map = DB_MAP(wanted, wanted_cols);

struct frozen {
    int64_t build_id;
};
static const struct db_col frozen_cols[] = {DB_COL(frozen, build_id)};
static const struct db_map frozen_map = DB_MAP(frozen, frozen_cols);

static bool sums_bytes(const struct cell *cell, struct arena *mem, struct bytes *out)
{
    struct buf text;

    buf_init(&text, SUMS_CAP);
    metric_sums_write(cell->sum, &text);
    *out = (struct bytes){NULL, text.len};
    if (buf_ok(&text))
        out->at = (unsigned char *)arena_dup(mem, (const char *)text.at, text.len);
    buf_fini(&text);
    return out->at;
}

static bool store_cells(struct job_run *run, int64_t build, const struct cells *c, struct err *err)
{
    int64_t *kind = arena_array(run->mem, c->n, sizeof *kind),
            *id = arena_array(run->mem, c->n, sizeof *id);
    const char **scene = arena_array(run->mem, c->n, sizeof *scene);
    struct bytes *sums = arena_array(run->mem, c->n, sizeof *sums);
    size_t n = 0;

    for (size_t i = 0; !arena_full(run->mem) && i < SLOTS; i++) {
        if (!c->slot[i])
            continue;
        kind[n] = c->slot[i]->kind;
        id[n] = c->slot[i]->id;
        scene[n] = c->slot[i]->scene;
        if (!sums_bytes(c->slot[i], run->mem, &sums[n++]))
            break;
    }
    if (arena_full(run->mem) || n != c->n)
        return err_full(err, "expectations");
    return db_exec(run->db, Q_EXPECTATION_CELLS_ADD,
                   DB_ARGS(db_i64(build), db_i64s(kind, n), db_i64s(id, n), db_texts(scene, n),
                           db_bytess(sums, n)),
                   err);
}

static bool lock_builds(struct job_run *run, const struct wanted *w, struct err *err)
{
    int64_t first = w->build_id < w->baseline_id ? w->build_id : w->baseline_id;
    int64_t second = w->build_id + w->baseline_id - first;

    return db_exec(run->db, Q_EXPECTATION_LOCK, DB_ARGS(db_i64(first)), err) &&
           db_exec(run->db, Q_EXPECTATION_LOCK, DB_ARGS(db_i64(second)), err);
}

static bool freeze(struct job_run *run, const struct wanted *w, struct err *err)
{
    struct db_rows rows;
    struct cells c;

    arena_reset(run->mem);
    if (!read_baseline(run, w->baseline_id, &c, err) || !db_begin(run->db, err) ||
        !lock_builds(run, w, err) ||
        !db_all(run->db, Q_EXPECTATION_FREEZE,
                DB_ARGS(db_i64(w->build_id), db_i64(w->baseline_id), db_i64(run->job.app_id),
                        db_i64(c.sessions), c.cut ? db_i64(c.last_us) : db_null(),
                        db_i64(run->config->clock_offset_ms)),
                &frozen_map, run->mem, &rows, err))
        return false;
    return (!rows.n || (store_cells(run, w->build_id, &c, err) &&
                        db_exec(run->db, Q_EXPECTATION_PASTS_ADD,
                                DB_ARGS(db_i64(w->build_id), db_i64(w->baseline_id),
                                        db_i64(run->job.app_id), db_i64(PASTS_PER_GROUP)),
                                err))) &&
           db_commit(run->db, err);
}

static bool freeze_all(struct job_run *run, struct err *err)
{
    struct arena *mem = arena_new(1 << 20); /* over the freezes, which use the run's */
    struct db_rows rows = {0};
    bool ok = mem || err_memory(err);

    ok = ok && db_all(run->db, Q_EXPECTATION_WANTED,
                      DB_ARGS(db_i64(run->job.app_id), db_i64(MIN_SESSIONS)), &wanted_map, mem,
                      &rows, err);
    for (size_t i = 0; ok && i < rows.n; i++)
        ok = freeze(run, (const struct wanted *)rows.at + i, err);
    arena_free(mem);
    return ok;
}

/* Placing -------------------------------------------------------------------------------------- */

struct unplaced {
    int64_t shard, received_us;
    struct bytes session_id;
};
static const struct db_col unplaced_cols[] = {
    DB_COL(unplaced, shard), DB_COL(unplaced, received_us), DB_COL(unplaced, session_id)};
static const struct db_map unplaced_map = DB_MAP(unplaced, unplaced_cols);

/* The next page of one expectation's sessions; *more = false after the last. */
static bool place_page(struct job_run *run, int64_t build, bool *more, struct err *err)
{
    struct db_rows rows;

    arena_reset(run->mem);
    if (!job_extend(run, err) ||
        !db_all(run->db, Q_EXPECTATION_UNPLACED, DB_ARGS(db_i64(build), db_i64(PLACE_PAGE)),
                &unplaced_map, run->mem, &rows, err))
        return false;

    const struct unplaced *s = rows.at;
    struct placement_session *list = arena_array(run->mem, rows.n, sizeof *list);

    if (!list)
        return err_full(err, "expectations");
    for (size_t i = 0; i < rows.n; i++)
        list[i] = (struct placement_session){s[i].shard, s[i].session_id};
    if (!placement_renew(run, list, rows.n, err))
        return false;
    *more = rows.n > 0;
    return db_exec(run->db, Q_EXPECTATION_PLACED,
                   DB_ARGS(db_i64(build), *more ? db_i64(s[rows.n - 1].received_us) : db_null(),
                           *more ? db_uuid(s[rows.n - 1].session_id.at) : db_null()),
                   err);
}

static bool place_all(struct job_run *run, struct err *err)
{
    struct db_rows rows;
    struct frozen next;
    bool more;

    for (;;) {
        arena_reset(run->mem);
        if (!db_all(run->db, Q_EXPECTATION_PLACING, DB_ARGS(db_i64(run->job.app_id)), &frozen_map,
                    run->mem, &rows, err))
            return false;
        if (!rows.n)
            return true;
        next = *(const struct frozen *)rows.at;
        do {
            if (!place_page(run, next.build_id, &more, err))
                return false;
        } while (more);
    }
}

bool expect_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    *out = JOB_DONE;
    return freeze_all(run, err) && place_all(run, err) && db_begin(run->db, err) &&
           db_exec(run->db, Q_EXPECTATION_FORGET,
                   DB_ARGS(db_i64(run->job.app_id), db_i64(run->config->retention.session_days)),
                   err) &&
           queue_done(run->db, &run->job, err) && db_commit(run->db, err);
}
