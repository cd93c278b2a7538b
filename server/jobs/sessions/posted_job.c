/* 'posted': a crash was posted to a session that was counted already; it is counted anew with it.
 */
#include "server/jobs/job_run.h"
#include "server/jobs/sessions/session_update.h"

static bool count_anew(struct job_run *run, struct session_change *c, struct err *err)
{
    static const struct stack_rows no_stacks;

    /* its files are past retention: what was counted of it stands */
    if (!session_compute(run, c, err))
        return err->code == ERR_GONE;
    return session_store(run->db, c, &no_stacks, run->mem, err);
}

static bool posted(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct session_change c;

    *out = JOB_DONE;
    /* one that is open is counted with its crashes when it ends */
    return session_open(run, run->job.ref.at, 0, &c, err) &&
           (!c.before.exists || !c.before.final || count_anew(run, &c, err)) &&
           queue_done(run->db, &run->job, err);
}

bool posted_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    return db_begin(run->db, err) && posted(run, out, err) && db_commit(run->db, err);
}
