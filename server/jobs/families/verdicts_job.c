/* 'verdicts': looks whether fixes worked, family by family and pair of builds; on schedule. A look
 * is taken when the expected events have come to the next of its steps (verdict.h), and recorded: a
 * verdict stands until the next look, however often the job runs or somebody asks. */
#include "server/jobs/job_run.h"
#include "stats/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEWEST_BUILDS 8 /* of a platform, that are still judged */
#define FAMILY_BYTES 16

struct pair {
    int64_t build_id, baseline_id;
};
static const struct db_col pair_cols[] = {DB_COL(pair, build_id), DB_COL(pair, baseline_id)};
static const struct db_map pair_map = DB_MAP(pair, pair_cols);

struct count_row {
    struct bytes family;
    bool new;
    int64_t g, events, jank_us, looks;
};
static const struct db_col count_cols[] = {
    DB_COL(count_row, family), DB_COL(count_row, new),     DB_COL(count_row, g),
    DB_COL(count_row, events), DB_COL(count_row, jank_us), DB_COL(count_row, looks),
};
static const struct db_map count_map = DB_MAP(count_row, count_cols);

struct arms {
    struct rates old, new;
};

static bool is_all_sessions(const struct count_row *row)
{
    static const unsigned char zeros[FAMILY_BYTES];

    return memcmp(row->family.at, zeros, FAMILY_BYTES) == 0;
}

/* Time in the foreground by install group: the exposure of every family. */
static void read_exposure(const struct db_rows *rows, struct arms *out)
{
    const struct count_row *row = rows->at;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < rows->n; i++)
        if (is_all_sessions(&row[i]))
            rates_add(row[i].new ? &out->new : &out->old, (unsigned)row[i].g, 0, row[i].jank_us);
}

/* A float8 parameter as text: finite, or SQL NULL. */
struct number {
    char text[32];
};

static struct db_arg number(struct number *n, double v)
{
    if (!isfinite(v))
        return db_null();
    snprintf(n->text, sizeof n->text, "%.9g", v);
    return db_text(n->text);
}

static bool record(struct job_run *run, const struct pair *p, struct bytes family,
                   const struct verdict *v, struct err *err)
{
    struct number ratio, low, high, phi, expected;

    return db_exec(run->db, Q_VERDICT_ADD,
                   DB_ARGS(db_i64(run->job.app_id), db_bytes(family.at, family.len),
                           db_i64(p->build_id), db_i64(p->baseline_id), db_i64(v->looks),
                           db_text(verdict_text(v->label)), number(&ratio, v->rr.ratio),
                           number(&low, v->rr.bounds.low), number(&high, v->rr.bounds.high),
                           number(&phi, v->rr.phi), number(&expected, v->rr.expected),
                           db_i64(v->rr.count[0]), db_i64(v->rr.count[1]),
                           db_i64(v->rr.exposure[0]), db_i64(v->rr.exposure[1])),
                   err);
}

/* Rows [from, to) are of one family. */
static bool judge(struct job_run *run, const struct pair *p, const struct arms *exposure,
                  const struct count_row *row, size_t n, struct err *err)
{
    struct arms arms = *exposure;
    struct verdict v;

    for (size_t i = 0; i < n; i++)
        rates_add(row[i].new ? &arms.new : &arms.old, (unsigned)row[i].g, row[i].events, 0);
    if (!verdict_judge(&arms.old, &arms.new, &v) || v.looks <= (unsigned)row->looks)
        return true;
    return record(run, p, row->family, &v, err);
}

static bool judge_pair(struct job_run *run, const struct pair *p, struct err *err)
{
    const struct count_row *row;
    struct arms exposure;
    struct db_rows rows;
    size_t end;

    arena_reset(run->work);
    if (!db_all(run->db, Q_VERDICT_COUNTS,
                DB_ARGS(db_i64(run->job.app_id), db_i64(p->build_id), db_i64(p->baseline_id),
                        db_i64(VERDICT_FIRST_LOOK), db_null()),
                &count_map, run->work, &rows, err))
        return false;
    row = rows.at;
    read_exposure(&rows, &exposure);
    for (size_t i = 0; i < rows.n; i = end) {
        for (end = i + 1; end < rows.n; end++)
            if (memcmp(row[end].family.at, row[i].family.at, FAMILY_BYTES) != 0)
                break;
        if (!is_all_sessions(&row[i]) && !judge(run, p, &exposure, &row[i], end - i, err))
            return false;
    }
    return true;
}

static bool judge_all(struct job_run *run, struct err *err)
{
    const struct pair *p;
    struct db_rows pairs;

    if (!db_all(run->db, Q_VERDICT_PAIRS, DB_ARGS(db_i64(run->job.app_id), db_i64(NEWEST_BUILDS)),
                &pair_map, run->mem, &pairs, err))
        return false;
    p = pairs.at;
    for (size_t i = 0; i < pairs.n; i++)
        if (!judge_pair(run, &p[i], err))
            return false;
    return queue_done(run->db, &run->job, err);
}

bool verdicts_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    *out = JOB_DONE;
    /* counts as of one moment: no batch of the job 'families' in between */
    return db_begin(run->db, err) &&
           db_exec(run->db, Q_FAMILIES_LOCK, DB_ARGS(db_i64(run->job.app_id)), err) &&
           judge_all(run, err) && db_commit(run->db, err);
}
