/*
 * part_along: files that wait in the queue and belong to the session at hand come along with the
 * job that is in hand, so that many small files cost few analyses.
 *
 * Which session a waiting file belongs to is known once somebody looked into it (job.session). A
 * session of many files is worth a look into what else waits. Jobs taken along stay locked until
 * the transaction ends: others pass them over.
 */
#pragma once
#include "server/jobs/sessions/part_arrival.h"

#define ALONG_MAX 64 /* files beside the job's own */

struct company {
    struct arrival at[ALONG_MAX]; /* read, decoded once, and of the session */
    size_t n;
    bool looked; /* run->work was used for that: what was decoded in it is gone */
};

/* n_files: of the session so far. */
bool along_find(struct job_run *run, const unsigned char id[SESSION_ID_BYTES], size_t n_files,
                struct company *out, struct err *err) MUST_CHECK;
/* Their jobs are over. */
bool along_done(struct job_run *run, const struct company *c, struct err *err) MUST_CHECK;
