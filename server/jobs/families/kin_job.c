/* 'kin': merges families that differ by frames which compilers lost, and takes back such merges
 * that hold no longer; on schedule. What is merged in the end is a function of what is counted, of
 * rules, and of what people did: whatever ran before, and when. No counter of a stack moves: the
 * job 'families' applies the merges like those that people make. */
#include "server/jobs/families/family_kin.h"
#include "server/jobs/job_run.h"
#include "stacks/rules_index.h"

#include <string.h>

#define KEPT_BYTES ((size_t)192 << 20)

struct kin_changes {
    int64_t *withdrawn; /* numbers of edits */
    size_t n_withdrawn;
    struct bytes *family, *target; /* to be merged */
    const char **by_kin, **lost;
    size_t n;
};

static bool out_of_memory(struct err *err)
{
    return err_full(err, "kin of families");
}

static bool has(const struct grouping *g, const struct family_edit *wanted)
{
    for (size_t i = 0; i < g->n_edits; i++)
        if (*g->edits[i].by_kin &&
            memcmp(g->edits[i].family.at, wanted->family.at, FINGERPRINT_BYTES) == 0)
            return memcmp(g->edits[i].target.at, wanted->target.at, FINGERPRINT_BYTES) == 0;
    return false;
}

static bool differences(const struct grouping *now, const struct grouping *then, struct arena *mem,
                        struct kin_changes *out, struct err *err)
{
    *out = (struct kin_changes){
        .withdrawn = arena_array(mem, now->n_edits + 1, sizeof *out->withdrawn),
        .family = arena_array(mem, then->n_edits + 1, sizeof *out->family),
        .target = arena_array(mem, then->n_edits + 1, sizeof *out->target),
        .by_kin = arena_array(mem, then->n_edits + 1, sizeof *out->by_kin),
        .lost = arena_array(mem, then->n_edits + 1, sizeof *out->lost),
    };
    if (arena_full(mem))
        return out_of_memory(err);
    for (size_t i = 0; i < now->n_edits; i++)
        if (*now->edits[i].by_kin && !has(then, &now->edits[i]))
            out->withdrawn[out->n_withdrawn++] = now->edits[i].edit_id;
    for (size_t i = 0; i < then->n_edits; i++) {
        const struct family_edit *e = &then->edits[i];

        if (!*e->by_kin || has(now, e))
            continue;
        out->family[out->n] = e->family;
        out->target[out->n] = e->target;
        out->by_kin[out->n] = e->by_kin;
        out->lost[out->n++] = e->lost;
    }
    return true;
}

/* The first statement makes people's edits wait; those before it were read. */
static bool apply(struct job_run *run, const struct kin_changes *c, struct err *err)
{
    int64_t app = run->job.app_id;

    return db_exec(run->db, Q_FAMILY_KIN_WITHDRAW,
                   DB_ARGS(db_i64(app), db_i64s(c->withdrawn, c->n_withdrawn)), err) &&
           db_exec(run->db, Q_FAMILY_KIN_MERGE,
                   DB_ARGS(db_i64(app), db_bytess(c->family, c->n), db_bytess(c->target, c->n),
                           db_texts(c->by_kin, c->n), db_texts(c->lost, c->n)),
                   err) &&
           grouping_changed(run->db, app, err);
}

static bool look(struct job_run *run, struct arena *kept, struct err *err)
{
    struct grouping now, then;
    struct kin_changes c;
    bool ok;

    if (!grouping_read(run->db, run->job.app_id, kept, &now, err))
        return false;
    then = now;
    ok = grouping_index(&then, RULES_NO_LIMIT, err) &&
         family_kin_apply(run->db, run->job.app_id, kept, &then, err);
    grouping_fini(&then);
    return ok && differences(&now, &then, kept, &c, err) &&
           ((!c.n && !c.n_withdrawn) || apply(run, &c, err)) && queue_done(run->db, &run->job, err);
}

bool kin_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct arena *kept = arena_new(KEPT_BYTES);
    /* edits wait from here on; counts are as of one moment: no batch of 'families' in between */
    bool ok = (kept || out_of_memory(err)) && db_begin(run->db, err) &&
              db_exec(run->db, Q_FAMILY_EDITS_LOCK, DB_ARGS(db_i64(run->job.app_id)), err) &&
              db_exec(run->db, Q_FAMILIES_LOCK, DB_ARGS(db_i64(run->job.app_id)), err) &&
              look(run, kept, err) && db_commit(run->db, err);

    arena_free(kept);
    *out = JOB_DONE;
    return ok;
}
