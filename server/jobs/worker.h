/*
 * worker: threads that claim jobs and run them, and one that keeps partitions and retention.
 *
 * Job kinds: 'part' analyses an uploaded file into its session, 'finish' closes an idle session,
 * 'posted' counts one anew that a crash was posted to; 'symbols' and 'mapping' make look-up tables
 * of an upload, 'stacks' reads new stacks with them, 'restack' and 'remap' those that waited for
 * one; 'families' counts stacks. Those of schedule.h recur, one an app. Any number of workers in
 * any number of processes share one queue. Each thread has a connection of its own. A lost database
 * is waited for, never fatal. worker_start/stop/wake from any thread.
 */
#pragma once
#include "base/err.h"
#include "server/db/partition.h"
#include "server/jobs/symbols/symcache_files.h"

#include <stddef.h>
#include <stdint.h>

/* How uploaded symbols are read: in a child process, within these limits. */
struct index_settings {
    const char *program; /* framewatchd; NULL: this worker cannot */
    int64_t memory_bytes, cpu_s, wall_ms;
    int64_t max_bytes; /* of a file, unpacked */
};

struct worker_config {
    const char *conninfo;
    unsigned threads;     /* job threads, 0..64; 0 = upkeep only (a server without worker) */
    int64_t lease_ms;     /* a running job past it may be claimed again */
    int64_t max_attempts; /* then the job is 'dead' and waits for a person */
    int64_t backoff_ms;   /* before the 2nd attempt; doubled each time, with jitter */
    int64_t backoff_max_ms;
    int64_t idle_ms;                  /* a session without a new part for so long is final */
    int64_t poll_min_ms, poll_max_ms; /* between looks at an empty queue */
    int64_t upkeep_ms;                /* between rounds of partitions and retention */
    int64_t families_ms;              /* counts of stacks may wait so long for more to come */
    int64_t schedule_ms;              /* between looks at what recurs (schedule.h); 0: none */
    size_t max_session_bytes;         /* all parts of a session together, as uploaded */
    size_t arena_bytes;               /* memory of one job */
    int days_ahead;                   /* partitions */
    struct retention retention;
    struct index_settings index;
    const char *cache_dir; /* of look-up tables of symbols; "": a temporary one */
    int64_t cache_bytes;
    const char *public_url;  /* of the pages, for links in what is told; "" if unknown */
    int64_t clock_offset_ms; /* added to the database's clock: tests look into the future */
    /* One logfmt line a finished or failed job, without newline; from any thread. May be NULL. */
    void (*log)(void *user, const char *line);
    void *log_user;
};

/* Everything but conninfo set to its default. */
struct worker_config worker_config_default(const char *conninfo);

struct worker;

/* Copies *config and conninfo. NULL and err if a thread cannot be started or a value is absurd. */
struct worker *worker_start(const struct worker_config *config, struct err *err) MUST_CHECK;
/* Lets running jobs end, then frees. NULL is fine. */
void worker_stop(struct worker *w);
/* A hint that jobs were queued (the accept path of the same process); cheap, never blocks long. */
void worker_wake(struct worker *w);

struct symbol_counts { /* of this process, since start */
    int64_t stored, duplicate, refused, killed, bytes, stacks;
};

struct worker_counts {
    int64_t done, quarantined, failed, dead; /* jobs of this process, since start */
    int64_t upkeep_runs, upkeep_failures;
    struct symbol_counts symbols;
    struct symcache_files_counts symcaches;
};
void worker_counts(const struct worker *w, struct worker_counts *out);

/* Runs due jobs in the calling thread until none is due; counts (may be NULL) are added to. A job
 * that fails is counted and left with its back-off: that is not an error here. */
bool worker_drain(const struct worker_config *config, struct worker_counts *counts,
                  struct err *err) MUST_CHECK;
