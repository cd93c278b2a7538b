/*
 * part_arrival: an uploaded file on its way into its session: its bytes, what it says, why it is
 * refused. Inside the job's transaction; all lives in the job's arenas.
 */
#pragma once
#include "base/digest.h"
#include "server/jobs/job_run.h"
#include "server/jobs/sessions/session_store.h"

struct arrival {
    struct job job;    /* whose upload it is */
    bool there;        /* false: deleted since, nothing to analyse */
    bool refused_once; /* by an earlier look at it */
    struct stored_part part;
    unsigned char sha256[SHA256_BYTES], session_id[SESSION_ID_BYTES];
    bool truncated, damaged;
    bool known; /* the session has this very file already */
    struct stack_rows stacks;
    const char *refused, *detail; /* reason as in quarantine, or NULL */
};

/* The file of a->job; sets ->there, or ->refused. */
bool arrival_read(struct job_run *run, struct arrival *a, struct err *err) MUST_CHECK;
/* What it says, decoded in run->work; may set ->refused. */
bool arrival_decode(struct job_run *run, struct arrival *a, struct err *err) MUST_CHECK;
/* Quarantine of the upload: what holds of it, whatever it does to its session. */
bool arrival_note(struct job_run *run, const struct arrival *a, struct err *err) MUST_CHECK;
bool arrival_refuse(struct arrival *a, const char *reason, const char *detail, struct arena *mem);
