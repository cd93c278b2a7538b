#include "server/jobs/worker.h"

#include "base/digest.h"
#include "server/common/clock.h"
#include "server/common/logfmt.h"
#include "server/jobs/job_run.h"
#include "server/jobs/schedule.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64
#define CLAIM_BYTES 4096
#define IMMEDIATE_TRIES 3 /* after a deadlock or the like, before the attempt counts as failed */

struct worker {
    struct worker_config config;
    char *conninfo;
    pthread_t thread[MAX_THREADS + 1];
    unsigned n_threads;
    struct {
        atomic_int_least64_t done, quarantined, failed, dead, upkeep_runs, upkeep_failures;
    } counts;
    pthread_mutex_t lock; /* guards stopping, wakes */
    pthread_cond_t changed;
    bool stopping;
    uint64_t wakes;
    struct symcache_files *symcaches;
    struct symbol_counters symbols;
};

/* What one job thread owns. */
struct lane {
    struct worker *worker;
    struct db *db;    /* NULL: not connected yet */
    int64_t last_app; /* whose job it claimed last */
    struct arena *claim, *mem, *work;
};

struct worker_config worker_config_default(const char *conninfo)
{
    return (struct worker_config){
        .conninfo = conninfo,
        .threads = 2,
        .lease_ms = 120000,
        .max_attempts = 5,
        .backoff_ms = 2000,
        .backoff_max_ms = 600000,
        .idle_ms = 1800000,
        .poll_min_ms = 20,
        .poll_max_ms = 500,
        .upkeep_ms = 600000,
        .schedule_ms = 10000,
        .max_session_bytes = 16u << 20,
        .arena_bytes = 256u << 20,
        .days_ahead = PARTITION_DAYS_AHEAD,
        .retention = {.raw_days = 30, .session_days = 180},
        .index = {.memory_bytes = (int64_t)4 << 30,
                  .cpu_s = 900,
                  .wall_ms = 1800000,
                  .max_bytes = (int64_t)4 << 30},
        .cache_dir = "",
        .public_url = "",
        .cache_bytes = (int64_t)4 << 30,
    };
}

/* Logs ---------------------------------------------------------------------------------------- */

static void log_job(const struct worker *w, const struct job *job, const char *outcome,
                    int64_t started_us, const char *why)
{
    struct logfmt line = {0};
    char ref[33];

    if (!w->config.log)
        return;
    to_hex(job->ref.at, 16, ref);
    logfmt_i64(&line, "job", job->job_id);
    logfmt_text(&line, "kind", job->kind);
    logfmt_i64(&line, "app", job->app_id);
    logfmt_text(&line, "ref", ref);
    logfmt_i64(&line, "attempt", job->attempts);
    logfmt_text(&line, "outcome", outcome);
    logfmt_i64(&line, "us", now_us() - started_us);
    if (*why)
        logfmt_text(&line, "error", why);
    w->config.log(w->config.log_user, line.text);
}

static void log_trouble(const struct worker *w, const char *what, const char *why)
{
    struct logfmt line = {0};

    if (!w->config.log)
        return;
    logfmt_text(&line, "trouble", what);
    logfmt_text(&line, "error", why);
    w->config.log(w->config.log_user, line.text);
}

/* One job ------------------------------------------------------------------------------------- */

static struct queue_policy policy_of(const struct worker_config *c)
{
    return (struct queue_policy){.clock_offset_ms = c->clock_offset_ms,
                                 .lease_ms = c->lease_ms,
                                 .max_attempts = c->max_attempts,
                                 .backoff_ms = c->backoff_ms,
                                 .backoff_max_ms = c->backoff_max_ms};
}

static bool run_kind(struct job_run *run, enum job_outcome *out, struct err *err)
{
    static const struct {
        const char *name;
        bool (*run)(struct job_run *run, enum job_outcome *out, struct err *err);
    } kinds[] = {{"part", part_job},         {"finish", finish_job},     {"symbols", symbol_job},
                 {"mapping", symbol_job},    {"stacks", stacks_job},     {"restack", stacks_job},
                 {"families", families_job}, {"remap", stacks_job},      {"expect", expect_job},
                 {"kin", kin_job},           {"verdicts", verdicts_job}, {"tickets", tickets_job},
                 {"tiers", tiers_job},       {"alerts", alerts_job},     {"reports", reports_job},
                 {"posted", posted_job}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(run->job.kind, kinds[i].name) == 0)
            return kinds[i].run(run, out, err);
    return err_set(err, ERR_INTERNAL, "no such kind of job: %.40s", run->job.kind);
}

bool job_extend(struct job_run *run, struct err *err)
{
    struct queue_policy policy = policy_of(run->config);

    if (run->stopping(run->worker))
        return err_set(err, ERR_BUSY, "the worker ends");
    return queue_extend(run->db, &run->job, &policy, err);
}

static bool is_stopping(void *worker)
{
    struct worker *w = worker;

    pthread_mutex_lock(&w->lock);

    bool stopping = w->stopping;

    pthread_mutex_unlock(&w->lock);
    return stopping;
}

static bool run_job(struct lane *lane, const struct job *job, enum job_outcome *out,
                    struct err *err)
{
    for (int i = 1;; i++) {
        struct job_run run = {.db = lane->db,
                              .config = &lane->worker->config,
                              .job = *job,
                              .mem = lane->mem,
                              .work = lane->work,
                              .symcaches = lane->worker->symcaches,
                              .counts = &lane->worker->symbols,
                              .stopping = is_stopping,
                              .worker = lane->worker};
        bool ok;

        arena_reset(lane->mem);
        arena_reset(lane->work);
        ok = run_kind(&run, out, err);
        if (ok) {
            atomic_fetch_add(&lane->worker->counts.done, (int_least64_t)run.along);
            return true;
        }
        db_rollback(lane->db);
        if (i == IMMEDIATE_TRIES || err->code != ERR_DB || !db_transient(lane->db))
            return false;
    }
}

static void job_failed(struct lane *lane, const struct job *job, int64_t started_us,
                       const struct err *why)
{
    struct worker *w = lane->worker;
    struct queue_policy policy = policy_of(&w->config);
    struct err err;
    bool dead = false;

    if (why->code == ERR_CONFLICT) { /* another worker has it by now */
        log_job(w, job, "lost", started_us, why->text);
        return;
    }
    atomic_fetch_add(&w->counts.failed, 1);
    if (!queue_fail(lane->db, job, &policy, why->text, &dead, &err)) {
        log_trouble(w, "job left to its lease", err.text);
        return;
    }
    if (dead)
        atomic_fetch_add(&w->counts.dead, 1);
    log_job(w, job, dead ? "dead" : "failed", started_us, why->text);
}

static void do_job(struct lane *lane, const struct job *job)
{
    static const char *const outcome_name[] = {"done", "quarantined", "later"};
    struct worker *w = lane->worker;
    int64_t started_us = now_us();
    enum job_outcome outcome = JOB_DONE;
    struct err err;

    if (job->dead) {
        atomic_fetch_add(&w->counts.dead, 1);
        log_job(w, job, "dead", started_us, "used up its attempts without an answer");
        return;
    }
    if (!run_job(lane, job, &outcome, &err)) {
        job_failed(lane, job, started_us, &err);
        return;
    }
    if (outcome == JOB_DONE)
        atomic_fetch_add(&w->counts.done, 1);
    else if (outcome == JOB_REFUSED)
        atomic_fetch_add(&w->counts.quarantined, 1);
    log_job(w, job, outcome_name[outcome], started_us, "");
}

static bool lane_open(struct lane *lane, struct worker *w, struct err *err)
{
    *lane = (struct lane){.worker = w,
                          .claim = arena_new(CLAIM_BYTES),
                          .mem = arena_new(w->config.arena_bytes),
                          .work = arena_new(w->config.arena_bytes)};
    return (lane->claim && lane->mem && lane->work) || err_memory(err);
}

static void lane_close(struct lane *lane)
{
    db_close(lane->db);
    arena_free(lane->claim);
    arena_free(lane->mem);
    arena_free(lane->work);
}

/* Claims and runs one job; *found = false if none was due. False: the queue is out of reach. */
static bool lane_step(struct lane *lane, bool *found, struct err *err)
{
    struct queue_policy policy = policy_of(&lane->worker->config);
    struct job job;

    *found = false;
    if (!db_reach(&lane->db, lane->worker->conninfo, err))
        return false;
    arena_reset(lane->claim);
    policy.last_app = lane->last_app;
    if (!queue_claim(lane->db, &policy, lane->claim, &job, found, err))
        return false;
    if (*found) {
        lane->last_app = job.app_id;
        do_job(lane, &job);
    }
    return true;
}

/* Threads ------------------------------------------------------------------------------------- */

/* Until stopped, woken (if wakes is not NULL: later than *wakes) or timed out. False: stopped. */
static bool rest(struct worker *w, int64_t ms, uint64_t *wakes, bool *woken)
{
    struct timespec until = monotonic_in(ms);
    bool going;

    pthread_mutex_lock(&w->lock);
    while (!w->stopping && (!wakes || *wakes == w->wakes))
        if (pthread_cond_timedwait(&w->changed, &w->lock, &until) != 0)
            break;
    going = !w->stopping;
    if (wakes) {
        *woken = *wakes != w->wakes;
        *wakes = w->wakes;
    }
    pthread_mutex_unlock(&w->lock);
    return going;
}

static void *job_thread(void *arg)
{
    struct worker *w = arg;
    int64_t pause_ms = w->config.poll_min_ms;
    uint64_t wakes = 0;
    struct lane lane;
    bool found, woken, well = true;
    struct err err;

    if (!lane_open(&lane, w, &err)) {
        log_trouble(w, "job thread", err.text);
        lane_close(&lane);
        return NULL;
    }
    while (!is_stopping(w)) {
        bool ok = lane_step(&lane, &found, &err);

        if (!ok && well) /* once an outage */
            log_trouble(w, "queue out of reach", err.text);
        well = ok;
        if (found) {
            pause_ms = w->config.poll_min_ms;
            continue;
        }
        rest(w, pause_ms, &wakes, &woken);
        pause_ms = woken ? w->config.poll_min_ms : pause_ms * 2;
        if (pause_ms > w->config.poll_max_ms)
            pause_ms = w->config.poll_max_ms;
    }
    lane_close(&lane);
    return NULL;
}

static bool upkeep(struct worker *w, struct db **db, struct err *err)
{
    struct retention_report report = {0};
    char line[160];
    bool done;

    if (!db_reach(db, w->conninfo, err))
        return false;
    if (!maintenance_run(*db, w->config.days_ahead, &w->config.retention, &done, &report, err))
        return false;
    atomic_fetch_add(&w->counts.upkeep_runs, done);
    if (!db_exec(*db, Q_SYMCACHE_OUTDATED,
                 DB_ARGS(db_i64(SYMCACHE_VERSION), db_i64(RETRACE_VERSION),
                         db_i64(w->config.retention.raw_days)),
                 err))
        return false;
    if (report.partitions_dropped + report.sessions_deleted + report.uploads_deleted == 0)
        return true;
    snprintf(line, sizeof line, "retention partitions=%lld sessions=%lld uploads=%lld",
             (long long)report.partitions_dropped, (long long)report.sessions_deleted,
             (long long)report.uploads_deleted);
    if (w->config.log)
        w->config.log(w->config.log_user, line);
    return true;
}

/* Queues what recurs and is due. */
static bool look_at_schedule(struct worker *w, struct db **db, struct err *err)
{
    int64_t queued = 0;

    if (!db_reach(db, w->conninfo, err))
        return false;
    if (!schedule_due(*db, w->config.clock_offset_ms, &queued, err))
        return false;
    if (queued)
        worker_wake(w);
    return true;
}

/* What the upkeep thread does by turns, each with its own pace; after a failure sooner again. */
struct chore {
    const char *name;
    bool (*run)(struct worker *w, struct db **db, struct err *err);
    int64_t period_ms, retry_ms, due_us;
};

static void do_chore(struct worker *w, struct chore *c, struct db **db)
{
    int64_t pause_ms = c->period_ms;
    struct err err;

    if (!c->period_ms || now_us() < c->due_us)
        return;
    if (c->run(w, db, &err)) {
        c->retry_ms = w->config.poll_max_ms;
    } else {
        atomic_fetch_add(&w->counts.upkeep_failures, 1);
        log_trouble(w, c->name, err.text);
        c->retry_ms = c->retry_ms * 2 < c->period_ms ? c->retry_ms * 2 : c->period_ms;
        pause_ms = c->retry_ms;
    }
    c->due_us = now_us() + pause_ms * 1000;
}

static void *upkeep_thread(void *arg)
{
    struct worker *w = arg;
    struct chore upkeep_chore = {"upkeep", upkeep, w->config.upkeep_ms, w->config.poll_max_ms, 0};
    struct chore schedule_chore = {"schedule", look_at_schedule, w->config.schedule_ms,
                                   w->config.poll_max_ms, 0};
    struct db *db = NULL;
    int64_t next_us;

    do {
        do_chore(w, &upkeep_chore, &db);
        do_chore(w, &schedule_chore, &db);
        next_us = upkeep_chore.due_us;
        if (schedule_chore.period_ms && schedule_chore.due_us < next_us)
            next_us = schedule_chore.due_us;
    } while (rest(w, (next_us - now_us()) / 1000 + 1, NULL, NULL));
    db_close(db);
    return NULL;
}

static bool check_config(const struct worker_config *c, struct err *err)
{
    const struct {
        const char *name;
        int64_t value, min;
    } bounds[] = {
        {"lease_ms", c->lease_ms, 1},
        {"max_attempts", c->max_attempts, 1},
        {"cache_bytes", c->cache_bytes, 0},
        {"backoff_ms", c->backoff_ms, 0},
        {"backoff_max_ms", c->backoff_max_ms, c->backoff_ms},
        {"idle_ms", c->idle_ms, 0},
        {"poll_min_ms", c->poll_min_ms, 1},
        {"poll_max_ms", c->poll_max_ms, c->poll_min_ms},
        {"upkeep_ms", c->upkeep_ms, 1},
        {"schedule_ms", c->schedule_ms, 0},
        {"arena_bytes", (int64_t)c->arena_bytes, 1 << 20},
    };

    if (c->threads > MAX_THREADS)
        return err_field(err, ERR_INVALID, "threads", "at most %d threads", MAX_THREADS);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].value < bounds[i].min)
            return err_field(err, ERR_INVALID, bounds[i].name, "%s is below %lld", bounds[i].name,
                             (long long)bounds[i].min);
    return true;
}

static struct worker *worker_new(const struct worker_config *config, struct err *err)
{
    struct worker *w;

    if (!check_config(config, err))
        return NULL;
    w = calloc(1, sizeof *w);
    if (w)
        w->conninfo = strdup(config->conninfo);
    if (!w || !w->conninfo) {
        free(w);
        err_memory(err);
        return NULL;
    }
    w->config = *config;
    w->config.conninfo = w->conninfo;
    w->symcaches = symcache_files_new(config->cache_dir, config->cache_bytes, err);
    if (!w->symcaches) {
        free(w->conninfo);
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    monotonic_cond_init(&w->changed);
    return w;
}

static void worker_free(struct worker *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    symcache_files_free(w->symcaches);
    free(w->conninfo);
    free(w);
}

struct worker *worker_start(const struct worker_config *config, struct err *err)
{
    struct worker *w = worker_new(config, err);

    if (!w)
        return NULL;
    for (unsigned i = 0; i <= config->threads; i++) {
        if (pthread_create(&w->thread[i], NULL, i ? job_thread : upkeep_thread, w) != 0) {
            worker_stop(w);
            err_set(err, ERR_INTERNAL, "a worker thread could not be started");
            return NULL;
        }
        w->n_threads++;
    }
    return w;
}

void worker_stop(struct worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++)
        pthread_join(w->thread[i], NULL);
    worker_free(w);
}

void worker_wake(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->wakes++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void worker_counts(const struct worker *w, struct worker_counts *out)
{
    struct worker *counted = (struct worker *)(uintptr_t)w; /* atomic loads want it so */

    *out = (struct worker_counts){
        .done = atomic_load(&counted->counts.done),
        .quarantined = atomic_load(&counted->counts.quarantined),
        .failed = atomic_load(&counted->counts.failed),
        .dead = atomic_load(&counted->counts.dead),
        .upkeep_runs = atomic_load(&counted->counts.upkeep_runs),
        .upkeep_failures = atomic_load(&counted->counts.upkeep_failures),
        .symbols = {.stored = atomic_load(&counted->symbols.stored),
                    .duplicate = atomic_load(&counted->symbols.duplicate),
                    .refused = atomic_load(&counted->symbols.refused),
                    .killed = atomic_load(&counted->symbols.killed),
                    .bytes = atomic_load(&counted->symbols.bytes),
                    .stacks = atomic_load(&counted->symbols.stacks)},
    };
    symcache_files_counts(w->symcaches, &out->symcaches);
}

bool worker_drain(const struct worker_config *config, struct worker_counts *counts, struct err *err)
{
    struct worker *w = worker_new(config, err);
    struct worker_counts now;
    struct lane lane;
    bool found = true, ok;

    if (!w)
        return false;
    ok = lane_open(&lane, w, err);
    while (ok && found)
        ok = lane_step(&lane, &found, err);
    lane_close(&lane);
    worker_counts(w, &now);
    worker_free(w);
    if (counts) {
        counts->done += now.done;
        counts->quarantined += now.quarantined;
        counts->failed += now.failed;
        counts->dead += now.dead;
    }
    return ok;
}
