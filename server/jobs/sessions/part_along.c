#include "server/jobs/sessions/part_along.h"

#include <string.h>

#define LOOK_FROM 8            /* files of a session: from so many on others are looked into */
#define LOOK_BYTES (64 * 1024) /* larger files are not: a session is not flooded with those */

/* What a file that is of no session is marked with, so that it is not looked into again. */
static const unsigned char no_session[SESSION_ID_BYTES];

static const struct db_col waiting_cols[] = {
    DB_COL(job, job_id),
    DB_COL(job, shard),
    DB_COL(job, day),
    DB_COL(job, ref),
};
static const struct db_map waiting_map = DB_MAP(job, waiting_cols);

static bool waiting(struct job_run *run, enum query query, const unsigned char *id,
                    struct db_rows *rows, struct err *err)
{
    return db_all(run->db, query,
                  DB_ARGS(db_i64(run->job.app_id), db_i64(run->job.job_id),
                          db_i64(run->config->clock_offset_ms), db_i64(ALONG_MAX),
                          id ? db_uuid(id) : db_i64(LOOK_BYTES)),
                  &waiting_map, run->mem, rows, err);
}

/* Reads it as the job's own file is read. What is wrong with it is its own job's affair: then it
 * does not come along. False: the database does not answer. */
static bool look_into(struct job_run *run, const struct job *job, struct arrival *a, bool *good,
                      struct err *err)
{
    struct err why = {0};

    *a = (struct arrival){.job = *job};
    a->job.app_id = run->job.app_id;
    arena_reset(run->work);
    *good = arrival_read(run, a, &why) && a->there && !a->refused && arrival_decode(run, a, &why) &&
            !a->refused;
    arena_reset(run->work); /* many of them may be more than a job can hold */
    a->part.decoded = NULL;
    if (why.code == ERR_DB)
        *err = why;
    return why.code != ERR_DB;
}

struct marks {
    size_t n;
    int64_t job_id[ALONG_MAX];
    unsigned char session[ALONG_MAX][SESSION_ID_BYTES];
};

static bool write_marks(struct job_run *run, const struct marks *m, struct err *err)
{
    struct bytes session[ALONG_MAX];

    for (size_t i = 0; i < m->n; i++)
        session[i] = (struct bytes){m->session[i], SESSION_ID_BYTES};
    return !m->n || db_exec(run->db, Q_JOB_MARK,
                            DB_ARGS(db_i64s(m->job_id, m->n), db_uuids(session, m->n)), err);
}

static void mark(struct marks *m, const struct job *job, const unsigned char *session)
{
    m->job_id[m->n] = job->job_id;
    memcpy(m->session[m->n++], session, SESSION_ID_BYTES);
}

/* Takes along those of `job` that are of the session; marks, if not NULL, say whose the others are.
 */
static bool take(struct job_run *run, const unsigned char *id, const struct db_rows *rows,
                 struct company *out, struct marks *marks, struct err *err)
{
    const struct job *job = rows->at;

    for (size_t i = 0; i < rows->n && out->n < ALONG_MAX; i++) {
        struct arrival *a = &out->at[out->n];
        bool good;

        out->looked = true;
        if (!look_into(run, &job[i], a, &good, err))
            return false;
        if (good && memcmp(a->session_id, id, SESSION_ID_BYTES) == 0)
            out->n++;
        else if (marks)
            mark(marks, &job[i], good ? a->session_id : no_session);
    }
    return true;
}

static bool take_known(struct job_run *run, const unsigned char *id, struct company *out,
                       struct err *err)
{
    struct db_rows rows;

    return waiting(run, Q_PART_ALONG, id, &rows, err) && take(run, id, &rows, out, NULL, err);
}

static bool look_around(struct job_run *run, const unsigned char *id, struct company *out,
                        struct err *err)
{
    struct marks *marks = arena_alloc(run->mem, sizeof *marks);
    struct db_rows rows;

    if (!marks)
        return err_full(err, "a look at what else waits");
    marks->n = 0;
    return waiting(run, Q_PART_LOOK, NULL, &rows, err) && take(run, id, &rows, out, marks, err) &&
           write_marks(run, marks, err);
}

bool along_find(struct job_run *run, const unsigned char id[SESSION_ID_BYTES], size_t n_files,
                struct company *out, struct err *err)
{
    out->n = 0;
    out->looked = false;
    return take_known(run, id, out, err) &&
           (n_files < LOOK_FROM || out->n == ALONG_MAX || look_around(run, id, out, err));
}

bool along_done(struct job_run *run, const struct company *c, struct err *err)
{
    int64_t id[ALONG_MAX];

    for (size_t i = 0; i < c->n; i++)
        id[i] = c->at[i].job.job_id;
    return !c->n || db_exec(run->db, Q_JOB_ALONG_DONE, DB_ARGS(db_i64s(id, c->n)), err);
}
