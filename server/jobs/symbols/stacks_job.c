/* 'stacks': reads the stacks of an app that nobody has read with symbols yet. 'restack': reads
 * those again that a new look-up table speaks of. 'remap': those of a build that has another
 * mapping. What they write is a function of stacks and symbols alone; no counter is theirs. */
#include "server/jobs/job_run.h"
#include "server/jobs/symbols/symbolicate.h"

#include <string.h>

#define BATCH 256
#define JOINED 512 /* jobs that come next, looked through for others of the kind */
#define SYMBOLS_BYTES ((size_t)64 << 20) /* of a batch's text */
#define HASH_BYTES 16

struct stack_row {
    struct bytes hash;
    const char *frames_json;
    int64_t build_id;
};
static const struct db_col stack_cols[] = {
    DB_COL(stack_row, hash),
    DB_COL(stack_row, frames_json),
    DB_COL(stack_row, build_id),
};
static const struct db_map stack_map = DB_MAP(stack_row, stack_cols);

struct restacking {
    struct job_run *run;
    struct symbolicator symbols;
    enum query next;
    unsigned char after[HASH_BYTES]; /* the last hash that was read */
    size_t after_len;                /* 0: from the first on */
};

/* The next batch, its rows locked. */
static bool next_batch(struct restacking *r, struct db_rows *out, struct err *err)
{
    struct job_run *run = r->run;
    struct db_arg app = db_i64(run->job.app_id), after = db_bytes(r->after, r->after_len);
    const unsigned char *ref = run->job.ref.at;
    struct db_arg of = db_uuid(ref);

    if (r->next == Q_STACK_PENDING)
        return db_exec(run->db, Q_STACK_JOBS_JOIN, DB_ARGS(app, db_i64(JOINED)), err) &&
               db_all(run->db, r->next, DB_ARGS(app, db_i64(BATCH)), &stack_map, run->work, out,
                      err);
    if (r->next == Q_STACK_OF_BUILD)
        of = db_i64((int64_t)ref[12] << 24 | ref[13] << 16 | ref[14] << 8 | ref[15]);
    return db_all(run->db, r->next, DB_ARGS(app, of, after, db_i64(BATCH)), &stack_map, run->work,
                  out, err);
}

static bool read_stack(struct restacking *r, const struct stack_row *row, const char **symbols,
                       const char **state, struct err *err)
{
    struct buf text;
    enum stack_state s;
    bool ok;

    buf_init(&text, SYMBOLS_BYTES);
    ok = symbolicate(&r->symbols, row->frames_json, row->build_id, &text, &s, err);
    if (ok) {
        *symbols = buf_ok(&text) ? arena_dup(r->run->work, (const char *)text.at, text.len) : NULL;
        *state = stack_state_name[s];
        ok = *symbols || err_set(err, ERR_TOO_BIG, "the stacks of a batch are too long");
    }
    buf_fini(&text);
    return ok;
}

static bool read_batch(struct restacking *r, const struct db_rows *rows, struct err *err)
{
    struct job_run *run = r->run;
    const struct stack_row *row = rows->at;
    struct bytes *hash = arena_array(run->work, rows->n, sizeof *hash);
    const char **symbols = arena_array(run->work, rows->n, sizeof *symbols);
    const char **state = arena_array(run->work, rows->n, sizeof *state);

    if (arena_full(run->work))
        return err_full(err, "stacks");
    for (size_t i = 0; i < rows->n; i++) {
        hash[i] = row[i].hash;
        if (!read_stack(r, &row[i], &symbols[i], &state[i], err))
            return false;
    }
    return db_exec(run->db, Q_STACK_SYMBOLICATED,
                   DB_ARGS(db_i64(run->job.app_id), db_bytess(hash, rows->n),
                           db_texts(state, rows->n), db_texts(symbols, rows->n)),
                   err);
}

/* One transaction; *more: there may be others after it. */
static bool batch(struct restacking *r, bool last, bool *more, struct err *err)
{
    struct job_run *run = r->run;
    struct db_rows rows;

    symbolicator_forget(&r->symbols);
    arena_reset(run->work);
    if (!db_begin(run->db, err) || !next_batch(r, &rows, err))
        return false;
    *more = rows.n == BATCH;
    if (rows.n) {
        const struct bytes *hash = &((const struct stack_row *)rows.at)[rows.n - 1].hash;

        r->after_len = hash->len < HASH_BYTES ? hash->len : HASH_BYTES;
        memcpy(r->after, hash->at, r->after_len);
        if (!read_batch(r, &rows, err))
            return false;
    }
    if (last && !*more && !queue_done(run->db, &run->job, err))
        return false;
    if (!db_commit(run->db, err))
        return false;
    atomic_fetch_add(&run->counts->stacks, (int64_t)rows.n);
    return true;
}

static bool all_batches(struct restacking *r, bool last, struct err *err)
{
    for (bool more = true; more;)
        if (!batch(r, last, &more, err) || (more && !job_extend(r->run, err)))
            return false;
    return true;
}

static bool run_all(struct restacking *r, struct err *err)
{
    const char *kind = r->run->job.kind;

    if (strcmp(kind, "stacks") == 0)
        r->next = Q_STACK_PENDING;
    else if (strcmp(kind, "remap") == 0)
        r->next = Q_STACK_OF_BUILD;
    else {
        r->next = Q_STACK_NEEDING;
        if (!all_batches(r, false, err))
            return false;
        r->after_len = 0;
        r->next = Q_STACK_OF_MAPPING;
    }
    return all_batches(r, true, err);
}

bool stacks_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct restacking r = {.run = run};
    bool ok;

    ok = symbolicator_init(&r.symbols, run->db, run->symcaches, run->work, run->job.app_id, err) &&
         run_all(&r, err);
    symbolicator_fini(&r.symbols);
    if (ok)
        *out = JOB_DONE;
    return ok;
}
