/*
 * job_run: one job in the hands of a worker thread, and the kinds of jobs there are.
 *
 * A kind runs in one transaction of its own, which ends with the job's deletion. It returns false
 * for a fault of ours: the caller rolls back, and the job is tried again. Bad input is not a fault:
 * the kind commits a quarantine row and the job is over (JOB_REFUSED). Kinds that take long
 * (symbols, stacks, families, most that recur) prolong their lease, and may commit parts of their
 * work that can be done twice.
 */
#pragma once
#include "server/jobs/queue.h"
#include "server/jobs/symbols/symcache_files.h"
#include "server/jobs/worker.h"

#include <stdatomic.h>

/* Shared by the threads of a worker. */
struct symbol_counters {
    atomic_int_least64_t stored, duplicate, refused, killed, bytes, stacks;
};

struct job_run {
    struct db *db;
    const struct worker_config *config;
    struct job job;
    size_t along;       /* other jobs that were done with it */
    struct arena *mem;  /* rows and uploaded bytes */
    struct arena *work; /* what is decoded and computed from them; may be reset midway */
    struct symcache_files *symcaches;
    struct symbol_counters *counts;
    bool (*stopping)(void *worker); /* a long job asks now and then, and gives up if so */
    void *worker;
};

/* More time for a job that takes long, outside its transactions. ERR_CONFLICT: another worker has
 * it; ERR_BUSY: the worker is to end. */
bool job_extend(struct job_run *run, struct err *err) MUST_CHECK;

enum job_outcome { JOB_DONE, JOB_REFUSED, JOB_LATER };

bool part_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool finish_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool posted_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool symbol_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool stacks_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool families_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool kin_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool verdicts_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool tickets_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool expect_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool tiers_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool alerts_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
bool reports_job(struct job_run *run, enum job_outcome *out, struct err *err) MUST_CHECK;
