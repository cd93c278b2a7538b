/* GET /v1/jobs and POST /v1/jobs/{id}/retry: the queue, and the jobs that wait for a person. */
#include "server/api/args.h"
#include "server/api/body.h"
#include "server/api/handlers.h"
#include "server/api/list_page.h"

#include "server/http/context.h"

struct job_row {
    int64_t id;
    const char *kind;
    struct bytes ref;
    const char *state;
    int64_t attempts;
    const char *last_error, *run_after, *created_at;
};
static const struct db_col job_cols[] = {
    DB_COL(job_row, id),        DB_COL(job_row, kind),       DB_COL(job_row, ref),
    DB_COL(job_row, state),     DB_COL(job_row, attempts),   DB_COL(job_row, last_error),
    DB_COL(job_row, run_after), DB_COL(job_row, created_at),
};
static const struct db_map job_map = DB_MAP(job_row, job_cols);

bool job_list(struct req *r, struct err *err)
{
    static const char *const names[] = {"state", "limit", "cursor", NULL};
    static const char *const states[] = {"dead", "ready", "running", NULL};
    struct db_arg state;
    struct db_rows rows;
    struct list_page p;
    const char *next = NULL;

    if (!list_page_read(r, names, &p, err) || !arg_choice(r, "state", states, &state, err))
        return false;
    if (state.type == ARG_NULL)
        state = db_text("dead");
    if (!db_all(r->db, Q_JOB_ADMIN_LIST,
                DB_ARGS(db_i64(r->who.app), state, p.key, db_i64(p.limit + 1)), &job_map, r->mem,
                &rows, err))
        return false;
    if (rows.n > (size_t)p.limit) {
        rows.n = (size_t)p.limit;
        next = list_page_next(r, &p, ((const struct job_row *)rows.at)[rows.n - 1].id, NULL);
    }
    return reply_rows(r, 200, &rows, next, err);
}

static bool get(struct req *r, int64_t id, struct job_row *out, struct err *err)
{
    return db_one(r->db, Q_JOB_ADMIN_GET, DB_ARGS(db_i64(r->who.app), db_i64(id)), &job_map, r->mem,
                  out, err) ||
           (err->code == ERR_NOT_FOUND && err_set(err, ERR_NOT_FOUND, "no such job"));
}

static bool retry(struct req *r, int64_t id, struct job_row *out, struct err *err)
{
    int64_t rows;

    if (!db_exec_n(r->db, Q_JOB_ADMIN_RETRY, DB_ARGS(db_i64(r->who.app), db_i64(id)), &rows, err) ||
        !get(r, id, out, err))
        return false;
    if (!rows)
        return err_set(err, ERR_CONFLICT, "the job is %s, not dead", out->state);
    return audit(r, "job.retry", json_pack("{s:I, s:s}", "id", id, "kind", out->kind), err);
}

bool job_retry(struct req *r, struct err *err)
{
    static const char *const names[] = {NULL};
    struct job_row row;
    int64_t id;

    if (!req_query_only(r, names, err) || !param_i64(r, 0, "id", INT64_MAX, &id, err) ||
        !db_begin(r->db, err))
        return false;
    if (!retry(r, id, &row, err) || !db_commit(r->db, err)) {
        db_rollback(r->db);
        return false;
    }
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    return reply_json(r, 200, row_to_json(&job_map, &row), err);
}
