#include "server/jobs/sessions/session_update.h"

#include "server/jobs/sessions/session_load.h"

#include <string.h>

/* Each new file costs a look at all of them, so their number is bounded like their bytes. The SDK
 * begins a file every five minutes and at each change to the background: this is most of a day. */
#define MAX_SESSION_FILES 256

bool session_open(struct job_run *run, const unsigned char id[16], size_t room,
                  struct session_change *out, struct err *err)
{
    int64_t shard = shard_of(run->job.app_id, id);
    struct session_change c = {
        .shard = shard, .app = run->job.app_id, .idle_us = run->config->idle_ms * 1000, .id = id};

    if (!db_exec(run->db, Q_SESSION_STORE_LOCK, DB_ARGS(db_i64(shard), db_uuid(id)), err) ||
        !parts_list(run->db, shard, id, false, room, run->mem, &c.parts, err))
        return false;
    if (c.parts.n) {
        c.first_us = parts_first_us(&c.parts);
        c.first_day = parts_first_day(&c.parts);
    }
    /* a session has a row if and only if it has files */
    if (c.parts.n && !session_read_before(run->db, shard, id, run->mem, &c.before, err))
        return false;
    if (c.parts.n && !c.before.exists)
        return err_set(err, ERR_DB, "the session was removed by retention at this moment");
    *out = c;
    return true;
}

bool session_is_current(const struct session_change *c)
{
    return c->before.analysis_version == ANALYSIS_VERSION &&
           c->before.bounds_version == BOUNDS_VERSION;
}

/* How many of the first files are within max_session_bytes and MAX_SESSION_FILES; at least one. */
static size_t within_limits(const struct stored_parts *parts, size_t max)
{
    size_t n = 0, bytes = 0;

    for (; n < parts->n && n < MAX_SESSION_FILES; n++) {
        bytes += (size_t)parts->at[n].size;
        if (n && bytes > max)
            break;
    }
    return n;
}

bool session_is_full(struct job_run *run, struct session_change *c)
{
    c->used = within_limits(&c->parts, run->config->max_session_bytes);
    c->final = c->before.final;
    return c->before.exists && session_is_current(c) && c->used < c->parts.n &&
           c->before.files == (int64_t)c->used && parts_first_us(&c->parts) == c->first_us &&
           parts_first_day(&c->parts) == c->first_day;
}

bool session_leaves_out(const struct session_change *c, const struct stored_part *part)
{
    return part && (size_t)(part - c->parts.at) >= c->used;
}

static void forget_decoded(struct stored_parts *parts, struct arena *work)
{
    for (size_t i = 0; i < parts->n; i++)
        parts->at[i].decoded = NULL;
    arena_reset(work);
}

static bool decoded_beyond(const struct stored_parts *parts, size_t n)
{
    for (size_t i = n; i < parts->n; i++)
        if (parts->at[i].decoded)
            return true;
    return false;
}

static bool analyse(struct job_run *run, struct session_change *c, struct err *err)
{
    memset(&c->session, 0, sizeof c->session);
    memset(&c->result, 0, sizeof c->result);
    return parts_merge(&c->parts, c->used, run->work, &c->session, err) &&
           session_analyse(&c->session, run->work, &c->result, err);
}

bool session_compute(struct job_run *run, struct session_change *c, struct err *err)
{
    c->used = within_limits(&c->parts, run->config->max_session_bytes);

    struct stored_parts used = {c->parts.at, c->used};

    if (!parts_read(run->db, &used, run->mem, err))
        return false;
    /* what is left out must not take memory either, or the outcome would depend on the order */
    if (decoded_beyond(&c->parts, c->used))
        forget_decoded(&c->parts, run->work);
    while (!analyse(run, c, err)) {
        if (!arena_full(run->work) && err->code != ERR_TOO_BIG)
            return false;
        if (c->used == 1)
            return err_set(err, ERR_TOO_BIG, "the session does not fit into a job's memory");
        c->used /= 2;
        forget_decoded(&c->parts, run->work);
    }
    c->final = c->before.final || c->session.ended;
    return true;
}
