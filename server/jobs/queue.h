/*
 * queue: the job table. A claim is a lease: committed first, with the attempt counted, so a job
 * that ends its worker is counted too. Whatever ends a job names the attempt it was claimed with;
 * after the lease ran out and another worker claimed the job, it fails with ERR_CONFLICT.
 */
#pragma once
#include "server/db/db.h"

struct job {
    int64_t job_id, shard, app_id, attempts, day; /* day: since 2000-01-01 */
    const char *kind;
    struct bytes ref; /* 16 bytes: upload, session, look-up table …, as the kind has it */
    bool dead;        /* out of attempts: only to be told of */
};

struct queue_policy {
    int64_t clock_offset_ms, lease_ms, max_attempts, backoff_ms, backoff_max_ms;
    int64_t last_app; /* whose job was claimed last: the next app's turn is now */
};

/* Of the next app that has any, the job due longest; *found = false if none is due. *job lives in
 * mem. */
bool queue_claim(struct db *db, const struct queue_policy *policy, struct arena *mem,
                 struct job *job, bool *found, struct err *err) MUST_CHECK;

/* Inside the transaction that holds the job's results, as its last statement. */
bool queue_done(struct db *db, const struct job *job, struct err *err) MUST_CHECK;
/* The same, but the job stays, for a later moment (us since 1970). */
bool queue_later(struct db *db, const struct job *job, int64_t when_us, struct err *err) MUST_CHECK;

/* Another lease from now on, for a job that takes long. */
bool queue_extend(struct db *db, const struct job *job, const struct queue_policy *policy,
                  struct err *err) MUST_CHECK;

/* After a rollback: back off, or 'dead' after the last attempt (*dead). */
bool queue_fail(struct db *db, const struct job *job, const struct queue_policy *policy,
                const char *why, bool *dead, struct err *err) MUST_CHECK;

/* Milliseconds before the next attempt: backoff_ms doubled with each, at most backoff_max_ms, of
 * which a half is spread by job and attempt so that jobs that failed together do not return
 * together. */
int64_t queue_backoff_ms(const struct queue_policy *policy, int64_t job_id, int64_t attempts);
