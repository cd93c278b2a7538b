#include "server/jobs/queue.h"

static const struct db_col job_cols[] = {
    DB_COL(job, job_id), DB_COL(job, shard), DB_COL(job, app_id), DB_COL(job, attempts),
    DB_COL(job, day),    DB_COL(job, kind),  DB_COL(job, ref),    DB_COL(job, dead),
};
static const struct db_map job_map = DB_MAP(job, job_cols);

bool queue_claim(struct db *db, const struct queue_policy *policy, struct arena *mem,
                 struct job *job, bool *found, struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, Q_JOB_CLAIM,
                DB_ARGS(db_i64(policy->clock_offset_ms), db_i64(policy->lease_ms),
                        db_i64(policy->max_attempts), db_i64(policy->last_app)),
                &job_map, mem, &rows, err))
        return false;
    *found = rows.n > 0;
    if (*found)
        *job = *(const struct job *)rows.at;
    return true;
}

static bool still_ours(int64_t rows, const struct job *job, struct err *err)
{
    return rows == 1 ||
           err_set(err, ERR_CONFLICT, "the lease of job %lld ran out", (long long)job->job_id);
}

bool queue_done(struct db *db, const struct job *job, struct err *err)
{
    int64_t rows;

    return db_exec_n(db, Q_JOB_DONE, DB_ARGS(db_i64(job->job_id), db_i64(job->attempts)), &rows,
                     err) &&
           still_ours(rows, job, err);
}

bool queue_later(struct db *db, const struct job *job, int64_t when_us, struct err *err)
{
    int64_t rows;

    return db_exec_n(db, Q_JOB_LATER,
                     DB_ARGS(db_i64(job->job_id), db_i64(job->attempts), db_i64(when_us)), &rows,
                     err) &&
           still_ours(rows, job, err);
}

bool queue_extend(struct db *db, const struct job *job, const struct queue_policy *policy,
                  struct err *err)
{
    int64_t rows;

    return db_exec_n(db, Q_JOB_EXTEND,
                     DB_ARGS(db_i64(job->job_id), db_i64(job->attempts), db_i64(policy->lease_ms),
                             db_i64(policy->clock_offset_ms)),
                     &rows, err) &&
           still_ours(rows, job, err);
}

/* splitmix64: spreads neighbouring numbers over all of 64 bits */
static uint64_t spread(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int64_t queue_backoff_ms(const struct queue_policy *policy, int64_t job_id, int64_t attempts)
{
    int64_t ms = policy->backoff_ms;

    for (int64_t i = 1; i < attempts && ms < policy->backoff_max_ms; i++)
        ms *= 2;
    if (ms > policy->backoff_max_ms)
        ms = policy->backoff_max_ms;

    uint64_t part = spread((uint64_t)job_id * 64 + (uint64_t)attempts) >> 32;

    return ms / 2 + (int64_t)((uint64_t)(ms / 2) * part >> 32);
}

bool queue_fail(struct db *db, const struct job *job, const struct queue_policy *policy,
                const char *why, bool *dead, struct err *err)
{
    int64_t wait = queue_backoff_ms(policy, job->job_id, job->attempts), rows;

    if (!db_exec_n(db, Q_JOB_FAIL,
                   DB_ARGS(db_i64(job->job_id), db_i64(job->attempts), db_i64(policy->max_attempts),
                           db_i64(policy->clock_offset_ms + wait), db_text(why)),
                   &rows, err) ||
        !still_ours(rows, job, err))
        return false;
    *dead = job->attempts >= policy->max_attempts;
    return true;
}
