/* 'part': an uploaded file becomes part of its session, and the session is analysed anew, together
 * with other files of it that wait. */
#include "server/jobs/sessions/part_along.h"
#include "server/jobs/sessions/session_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of equal files the earliest received counts, whichever was analysed first. */
static bool counts_before(const struct stored_part *a, const struct stored_part *b)
{
    if (a->upload_day != b->upload_day)
        return a->upload_day < b->upload_day;
    if (a->received_us != b->received_us)
        return a->received_us < b->received_us;
    return memcmp(a->upload_id.at, b->upload_id.at, 16) < 0;
}

static struct stored_part *find_equal(const struct stored_parts *parts, const struct stored_part *p)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->at[i].part == p->part &&
            memcmp(parts->at[i].sha256.at, p->sha256.at, SHA256_BYTES) == 0)
            return &parts->at[i];
    return NULL;
}

/* Puts the file into the session's list. a->known: the session has this very file already and was
 * analysed by today's rules, so nothing can change. */
static void take_part(struct session_change *c, struct arrival *a)
{
    struct stored_part *equal = find_equal(&c->parts, &a->part);

    a->known = false;
    if (!equal) {
        parts_add(&c->parts, &a->part);
    } else if (counts_before(&a->part, equal)) {
        *equal = a->part;
    } else {
        equal->file = a->part.file;
        equal->decoded = a->part.decoded;
        a->known = session_is_current(c);
    }
}

static bool register_part(struct job_run *run, const struct session_change *c,
                          const struct arrival *a, struct err *err)
{
    const struct stored_part *p = &a->part;

    return a->known ||
           db_exec(run->db, Q_SESSION_STORE_PART,
                   DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(p->part),
                           db_bytes(p->sha256.at, p->sha256.len), db_i64(c->app),
                           db_i64(p->upload_shard), db_uuid(p->upload_id.at), db_i64(p->upload_day),
                           db_i64(p->size), db_bool(a->truncated), db_bool(a->damaged),
                           db_i64(p->received_us)),
                   err);
}

/* The job's own file and those that came along. */
struct arrivals {
    struct arrival own;
    struct company company;
};

static const struct arrival *nth(const struct arrivals *all, size_t i)
{
    return i ? &all->company.at[i - 1] : &all->own;
}

/* Managed stacks belong to a build; what came along with stacks of another one waits for its turn.
 */
static void part_with_strangers(struct arrivals *all)
{
    struct company *c = &all->company;
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!c->at[i].stacks.n || stack_rows_alike(&c->at[i].stacks, &all->own.stacks))
            c->at[kept++] = c->at[i];
    c->n = kept;
}

static bool take_all(struct job_run *run, struct session_change *c, struct arrivals *all,
                     bool *changed, struct stack_rows *stacks, struct err *err)
{
    const struct stack_rows *with_stacks[ALONG_MAX + 1];
    size_t n = 0;

    if (all->company.looked)
        all->own.part.decoded = NULL;
    part_with_strangers(all);
    take_part(c, &all->own);
    for (size_t i = 0; i < all->company.n; i++)
        take_part(c, &all->company.at[i]);
    *changed = false;
    for (size_t i = 0; i <= all->company.n; i++) {
        const struct arrival *a = nth(all, i);

        *changed |= !a->known;
        if (!a->known && a->stacks.n)
            with_stacks[n++] = &a->stacks;
    }
    return stack_rows_join(with_stacks, n, run->mem, stacks, err);
}

static bool store_all(struct job_run *run, struct session_change *c, const struct arrivals *all,
                      const struct stack_rows *stacks, bool beyond, struct err *err)
{
    for (size_t i = 0; i <= all->company.n; i++)
        if (!register_part(run, c, nth(all, i), err))
            return false;
    return beyond ? session_store_beyond(run->db, c, err)
                  : session_store(run->db, c, stacks, run->mem, err);
}

/* New files past what the session may hold change nothing but how many are left out. */
static bool all_beyond(struct job_run *run, struct session_change *c, const struct arrivals *all,
                       const struct stack_rows *stacks)
{
    if (stacks->n || !session_is_full(run, c))
        return false;
    for (size_t i = 0; i <= all->company.n; i++) {
        const struct arrival *a = nth(all, i);

        if (!a->known && !session_leaves_out(c, find_equal(&c->parts, &a->part)))
            return false;
    }
    return true;
}

static bool change_session(struct job_run *run, struct session_change *c, struct arrivals *all,
                           struct err *err)
{
    struct stack_rows stacks;
    bool changed, beyond;

    if (!take_all(run, c, all, &changed, &stacks, err))
        return false;
    if (!changed)
        return true;
    beyond = all_beyond(run, c, all, &stacks);
    if (!beyond && !session_compute(run, c, err)) {
        /* the file stays, uncounted: what its session was before can no longer be told */
        all->company.n = 0;
        return err->code == ERR_GONE && arrival_refuse(&all->own, "too_late", err->text, run->mem);
    }
    return store_all(run, c, all, &stacks, beyond, err);
}

static bool add_to_session(struct job_run *run, struct arrivals *all, bool alone, struct err *err)
{
    struct session_change c = {0};
    const unsigned char *id = all->own.session_id;

    return session_open(run, id, 1 + ALONG_MAX, &c, err) &&
           (alone || along_find(run, id, c.parts.n, &all->company, err)) &&
           change_session(run, &c, all, err);
}

static bool note_all(struct job_run *run, const struct arrivals *all, struct err *err)
{
    for (size_t i = 0; i <= all->company.n; i++)
        if (!arrival_note(run, nth(all, i), err))
            return false;
    return along_done(run, &all->company, err);
}

static bool analyse(struct job_run *run, struct arrivals *all, bool alone, struct err *err)
{
    struct arrival *own = &all->own;

    if (!arrival_read(run, own, err))
        return false;
    if (!own->there)
        return true;
    return (own->refused || arrival_decode(run, own, err)) &&
           (own->refused || add_to_session(run, all, alone, err)) && note_all(run, all, err);
}

static bool refuse_whole(struct job_run *run, struct arrival *own, const char *detail,
                         struct err *err)
{
    return arrival_read(run, own, err) && arrival_refuse(own, "past_limit", detail, run->mem) &&
           (!own->there || arrival_note(run, own, err));
}

enum manner { TOGETHER, ALONE, REFUSED };

static bool run_once(struct job_run *run, struct arrivals *all, enum manner how, const char *detail,
                     enum job_outcome *out, struct err *err)
{
    bool ok;

    all->own = (struct arrival){.job = run->job};
    all->company.n = 0;
    all->company.looked = false;
    ok = how == REFUSED ? refuse_whole(run, &all->own, detail, err)
                        : analyse(run, all, how == ALONE, err);
    if (!ok || !queue_done(run->db, &run->job, err))
        return false;
    run->along = all->company.n;
    *out = all->own.refused && all->own.there ? JOB_REFUSED : JOB_DONE;
    return true;
}

/* One transaction; rolled back if it does not end well. */
static bool attempt(struct job_run *run, struct arrivals *all, enum manner how, const char *detail,
                    enum job_outcome *out, struct err *err)
{
    if (!db_begin(run->db, err))
        return false;
    if (run_once(run, all, how, detail, out, err))
        return db_commit(run->db, err);
    db_rollback(run->db);
    return false;
}

static void forget(struct job_run *run)
{
    arena_reset(run->mem);
    arena_reset(run->work);
}

static bool run_part(struct job_run *run, struct arrivals *all, enum job_outcome *out,
                     struct err *err)
{
    char detail[sizeof err->text];

    /* if it failed before, it may have been of those that came along */
    if (attempt(run, all, run->job.attempts > 1 ? ALONE : TOGETHER, NULL, out, err))
        return true;
    if (err->code == ERR_TOO_BIG && all->company.looked) {
        forget(run);
        if (attempt(run, all, ALONE, NULL, out, err))
            return true;
    }
    if (err->code != ERR_TOO_BIG)
        return false;
    /* past what a job may hold, found only after the first writes */
    snprintf(detail, sizeof detail, "%s", err->text);
    forget(run);
    return attempt(run, all, REFUSED, detail, out, err);
}

bool part_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct arrivals *all = malloc(sizeof *all);
    bool ok = all ? run_part(run, all, out, err) : err_memory(err);

    free(all);
    return ok;
}
