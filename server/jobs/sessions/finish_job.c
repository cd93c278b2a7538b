/* 'finish': a session without a new part for the idle time is final, and counted. */
#include "server/jobs/job_run.h"
#include "server/jobs/quarantine.h"
#include "server/jobs/sessions/session_update.h"

struct due {
    bool due;
    int64_t due_us;
};
static const struct db_col due_cols[] = {DB_COL(due, due), DB_COL(due, due_us)};
static const struct db_map due_map = DB_MAP(due, due_cols);

static bool read_due(struct job_run *run, const struct session_change *c, struct due *out,
                     struct err *err)
{
    return db_one(run->db, Q_SESSION_STORE_DUE,
                  DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(run->config->idle_ms),
                          db_i64(run->config->clock_offset_ms)),
                  &due_map, run->mem, out, err);
}

/* Past retention before it was counted: nothing left to count it from. */
static bool close_unread(struct job_run *run, const struct session_change *c, struct err *err)
{
    static const char *const reasons[] = {"too_late"};
    const struct refusal now = {"too_late", "its uploads went before it was counted", 1};

    return db_exec(run->db, Q_SESSION_STORE_CLOSE, DB_ARGS(db_i64(c->shard), db_uuid(c->id)),
                   err) &&
           quarantine_set(run->db, c->app, "session", c->id, c->before.day, reasons, 1, &now, 1,
                          err);
}

static bool close_session(struct job_run *run, struct session_change *c, struct err *err)
{
    static const struct stack_rows no_stacks;

    if (!session_compute(run, c, err))
        return err->code == ERR_GONE && close_unread(run, c, err);
    c->final = true;
    return session_store(run->db, c, &no_stacks, run->mem, err);
}

static bool finish(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct session_change c;
    struct due when;

    *out = JOB_DONE;
    if (!session_open(run, run->job.ref.at, 0, &c, err))
        return false;
    if (!c.before.exists || c.before.final)
        return queue_done(run->db, &run->job, err);
    if (!read_due(run, &c, &when, err))
        return false;
    if (!when.due) {
        *out = JOB_LATER;
        return queue_later(run->db, &run->job, when.due_us, err);
    }
    return close_session(run, &c, err) && queue_done(run->db, &run->job, err);
}

bool finish_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    return db_begin(run->db, err) && finish(run, out, err) && db_commit(run->db, err);
}
