/* What operators and tools ask of the server itself: /metrics, /readyz and the API's
 * document. (/healthz is answered by the listener itself.) */
#include "server/api/handlers.h"

#include "openapi.h"
#include "server/common/clock.h"
#include "server/db/migrate.h"
#include "server/http/context.h"
#include "server/http/metrics.h"
#include "server/jobs/worker.h"
#include "server/notify/notifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_BYTES ((size_t)1 << 20)
#define FRESH_MS 10000 /* the database is asked no more often, however many scrape */
#define BORROW_MS 200

/* What the database says, as text. One scrape at a time asks anew; meanwhile the others get what
 * was there. */
static struct {
    pthread_mutex_t lock; /* guards the fields below; not held while asking */
    char *text;           /* NULL before the first answer */
    int64_t asked_ms;
    bool up, asking;
} gauges = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_label(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buf_byte(b, '\\');
        if (*value == '\n')
            buf_text(b, "\\n");
        else
            buf_byte(b, (uint8_t)*value);
    }
    buf_byte(b, '"');
}

struct job_gauge {
    const char *kind;
    int64_t ready, running, dead;
    double oldest_due_s;
};
static const struct db_col job_cols[] = {
    DB_COL(job_gauge, kind), DB_COL(job_gauge, ready),        DB_COL(job_gauge, running),
    DB_COL(job_gauge, dead), DB_COL(job_gauge, oldest_due_s),
};
static const struct db_map job_map = DB_MAP(job_gauge, job_cols);

static void put_jobs(struct buf *b, const struct db_rows *rows)
{
    const struct job_gauge *at = rows->at;

    put_head(b, "framewatch_jobs", "gauge", "Jobs in the queue by kind and state.");
    for (size_t i = 0; i < rows->n; i++) {
        const struct {
            const char *state;
            int64_t n;
        } states[] = {{"ready", at[i].ready}, {"running", at[i].running}, {"dead", at[i].dead}};

        for (size_t s = 0; s < 3; s++) {
            buf_text(b, "framewatch_jobs{");
            put_label(b, "kind", at[i].kind);
            buf_printf(b, ",state=\"%s\"} %lld\n", states[s].state, (long long)states[s].n);
        }
    }
    put_head(b, "framewatch_job_oldest_due_seconds", "gauge",
             "How long the job that is due longest has been waiting.");
    for (size_t i = 0; i < rows->n; i++) {
        buf_text(b, "framewatch_job_oldest_due_seconds{");
        put_label(b, "kind", at[i].kind);
        buf_printf(b, "} %.3f\n", at[i].oldest_due_s);
    }
}

struct quarantine_gauge {
    const char *source, *reason;
    int64_t count;
};
static const struct db_col quarantine_cols[] = {DB_COL(quarantine_gauge, source),
                                                DB_COL(quarantine_gauge, reason),
                                                DB_COL(quarantine_gauge, count)};
static const struct db_map quarantine_map = DB_MAP(quarantine_gauge, quarantine_cols);

static void put_quarantine(struct buf *b, const struct db_rows *rows)
{
    const struct quarantine_gauge *at = rows->at;

    put_head(b, "framewatch_quarantine", "gauge",
             "Values and things refused or invalid, kept in table quarantine.");
    for (size_t i = 0; i < rows->n; i++) {
        buf_text(b, "framewatch_quarantine{");
        put_label(b, "source", at[i].source);
        buf_byte(b, ',');
        put_label(b, "reason", at[i].reason);
        buf_printf(b, "} %lld\n", (long long)at[i].count);
    }
}

struct upload_gauge {
    int64_t open, bytes;
};
static const struct db_col upload_cols[] = {DB_COL(upload_gauge, open),
                                            DB_COL(upload_gauge, bytes)};
static const struct db_map upload_map = DB_MAP(upload_gauge, upload_cols);

static void put_uploads(struct buf *b, const struct upload_gauge *u)
{
    put_head(b, "framewatch_uploads_open", "gauge", "Uploads begun and not complete.");
    buf_printf(b, "framewatch_uploads_open %lld\n", (long long)u->open);
    put_head(b, "framewatch_uploads_open_bytes", "gauge", "Bytes that incomplete uploads hold.");
    buf_printf(b, "framewatch_uploads_open_bytes %lld\n", (long long)u->bytes);
}

struct outbox_gauge {
    const char *via;
    int64_t waiting, dead;
    double oldest_due_s;
};
static const struct db_col outbox_cols[] = {
    DB_COL(outbox_gauge, via),
    DB_COL(outbox_gauge, waiting),
    DB_COL(outbox_gauge, dead),
    DB_COL(outbox_gauge, oldest_due_s),
};
static const struct db_map outbox_map = DB_MAP(outbox_gauge, outbox_cols);

static void put_outbox(struct buf *b, const struct db_rows *rows)
{
    const struct outbox_gauge *at = rows->at;

    put_head(b, "framewatch_deliveries", "gauge",
             "Alerts, reports and tickets in the outbox, by kind of channel and state.");
    for (size_t i = 0; i < rows->n; i++)
        buf_printf(b,
                   "framewatch_deliveries{via=\"%s\",state=\"waiting\"} %lld\n"
                   "framewatch_deliveries{via=\"%s\",state=\"dead\"} %lld\n",
                   at[i].via, (long long)at[i].waiting, at[i].via, (long long)at[i].dead);
    put_head(b, "framewatch_delivery_oldest_due_seconds", "gauge",
             "How long the delivery that is due longest has been waiting.");
    for (size_t i = 0; i < rows->n; i++)
        buf_printf(b, "framewatch_delivery_oldest_due_seconds{via=\"%s\"} %.3f\n", at[i].via,
                   at[i].oldest_due_s);
}

static bool ask_database(struct db *db, struct arena *mem, struct buf *b, struct err *err)
{
    struct db_rows jobs, quarantine, outbox;
    struct upload_gauge uploads;

    if (!db_all(db, Q_METRICS_JOBS, DB_NO_ARGS, &job_map, mem, &jobs, err) ||
        !db_all(db, Q_METRICS_QUARANTINE, DB_NO_ARGS, &quarantine_map, mem, &quarantine, err) ||
        !db_all(db, Q_METRICS_DELIVERIES, DB_NO_ARGS, &outbox_map, mem, &outbox, err) ||
        !db_one(db, Q_METRICS_UPLOADS, DB_NO_ARGS, &upload_map, mem, &uploads, err))
        return false;
    put_jobs(b, &jobs);
    put_quarantine(b, &quarantine);
    put_uploads(b, &uploads);
    put_outbox(b, &outbox);
    return true;
}

/* A new text, or NULL: the database did not answer. */
static char *new_gauges(struct req *r)
{
    struct err err;
    struct buf b;
    size_t len;
    struct db *db = db_borrow(r->ctx->pool, BORROW_MS, &err);
    bool ok;

    buf_init(&b, METRICS_BYTES);
    ok = db && ask_database(db, r->mem, &b, &err);
    db_return(r->ctx->pool, db);
    buf_byte(&b, '\0');
    if (ok && buf_ok(&b))
        return (char *)buf_steal(&b, &len);
    buf_fini(&b);
    return NULL;
}

static void refresh(struct req *r)
{
    int64_t now = now_ms();

    pthread_mutex_lock(&gauges.lock);

    bool due = !gauges.asking && (!gauges.text || !gauges.up || now - gauges.asked_ms >= FRESH_MS);

    gauges.asking = gauges.asking || due;
    pthread_mutex_unlock(&gauges.lock);
    if (!due)
        return;

    char *text = new_gauges(r);

    pthread_mutex_lock(&gauges.lock);
    gauges.asking = false;
    gauges.asked_ms = now;
    gauges.up = text != NULL;
    if (text) {
        free(gauges.text);
        gauges.text = text;
    }
    pthread_mutex_unlock(&gauges.lock);
}

/* Old gauges of a database that is gone are left out: they would look true. */
static void put_database(struct buf *b)
{
    pthread_mutex_lock(&gauges.lock);
    put_head(b, "framewatch_database_up", "gauge", "1 if the database answered the last time.");
    buf_printf(b, "framewatch_database_up %d\n", gauges.up);
    if (gauges.up && gauges.text)
        buf_text(b, gauges.text);
    pthread_mutex_unlock(&gauges.lock);
}

static void put_count(struct buf *b, const char *name, const char *help, int64_t n)
{
    put_head(b, name, "counter", help);
    buf_printf(b, "%s %lld\n", name, (long long)n);
}

static void put_symbols(const struct worker_counts *c, struct buf *b)
{
    put_head(b, "framewatch_symbol_files_total", "counter",
             "Uploaded files of symbols that this process read, by outcome.");
    buf_printf(b, "framewatch_symbol_files_total{outcome=\"stored\"} %lld\n",
               (long long)c->symbols.stored);
    buf_printf(b, "framewatch_symbol_files_total{outcome=\"duplicate\"} %lld\n",
               (long long)c->symbols.duplicate);
    buf_printf(b, "framewatch_symbol_files_total{outcome=\"refused\"} %lld\n",
               (long long)c->symbols.refused);
    put_count(b, "framewatch_symbol_children_killed_total",
              "Indexing processes that met a limit or died.", c->symbols.killed);
    put_count(b, "framewatch_symbol_bytes_total", "Uploaded bytes of symbols that were read.",
              c->symbols.bytes);
    put_count(b, "framewatch_stacks_symbolicated_total", "Stacks read with symbols.",
              c->symbols.stacks);
    put_count(b, "framewatch_symcache_hits_total", "Look-up tables that were mapped already.",
              c->symcaches.hits);
    put_count(b, "framewatch_symcache_maps_total", "Look-up tables mapped.", c->symcaches.maps);
    put_count(b, "framewatch_symcache_fills_total", "Of those, fetched from the database first.",
              c->symcaches.fills);
    put_count(b, "framewatch_symcache_evicted_total", "Files of the cache removed for room.",
              c->symcaches.evicted);
    put_count(b, "framewatch_symcache_damaged_total", "Files of the cache that were not whole.",
              c->symcaches.damaged);
}

static void put_worker(const struct worker *w, struct buf *b)
{
    struct worker_counts c;

    worker_counts(w, &c);
    put_head(b, "framewatch_worker_jobs_total", "counter",
             "Jobs that this process ran, by outcome.");
    buf_printf(b, "framewatch_worker_jobs_total{outcome=\"done\"} %lld\n", (long long)c.done);
    buf_printf(b, "framewatch_worker_jobs_total{outcome=\"quarantined\"} %lld\n",
               (long long)c.quarantined);
    buf_printf(b, "framewatch_worker_jobs_total{outcome=\"failed\"} %lld\n", (long long)c.failed);
    buf_printf(b, "framewatch_worker_jobs_total{outcome=\"dead\"} %lld\n", (long long)c.dead);
    put_head(b, "framewatch_upkeep_runs_total", "counter",
             "Rounds of partitions and retention that this process ran.");
    buf_printf(b, "framewatch_upkeep_runs_total %lld\n", (long long)c.upkeep_runs);
    put_head(b, "framewatch_upkeep_failures_total", "counter", "Those of them that failed.");
    buf_printf(b, "framewatch_upkeep_failures_total %lld\n", (long long)c.upkeep_failures);
    put_symbols(&c, b);
}

static void put_notifier(const struct notifier *n, struct buf *b)
{
    struct notifier_counts c;

    notifier_counts(n, &c);
    put_head(b, "framewatch_deliveries_total", "counter",
             "Attempts of this process to deliver, by outcome.");
    buf_printf(b, "framewatch_deliveries_total{outcome=\"sent\"} %lld\n", (long long)c.sent);
    buf_printf(b, "framewatch_deliveries_total{outcome=\"failed\"} %lld\n", (long long)c.failed);
    buf_printf(b, "framewatch_deliveries_total{outcome=\"dead\"} %lld\n", (long long)c.dead);
    put_count(b, "framewatch_ticket_looks_total",
              "Times this process read a ticket's state in its tracker.", c.looks);
    put_count(b, "framewatch_channel_leases_lost_total",
              "Deliveries that took longer than their lease.", c.lost);
}

static void put_process(const struct context *ctx, struct buf *b)
{
    put_head(b, "framewatch_build_info", "gauge", "1, with the version of framewatchd.");
    buf_text(b, "framewatch_build_info{");
    put_label(b, "version", ctx->version);
    buf_text(b, "} 1\n");
    put_head(b, "process_start_time_seconds", "gauge", "Unix time at which the process began.");
    buf_printf(b, "process_start_time_seconds %lld\n", (long long)ctx->started_at_s);
}

bool metrics_get(struct req *r, struct err *err)
{
    struct buf b;

    if (r->ctx->pool)
        refresh(r);
    buf_init(&b, METRICS_BYTES);
    put_process(r->ctx, &b);
    metrics_write(&b);
    if (r->ctx->worker)
        put_worker(r->ctx->worker, &b);
    if (r->ctx->notifier)
        put_notifier(r->ctx->notifier, &b);
    if (r->ctx->pool)
        put_database(&b);
    if (buf_ok(&b))
        return reply_buf(r, 200, "text/plain; version=0.0.4; charset=utf-8", &b, err);
    buf_fini(&b);
    return err_memory(err);
}

bool ready_get(struct req *r, struct err *err)
{
    struct err why;

    if (migrate_check(r->db, &why))
        return reply_json(r, 200, json_pack("{s:s}", "status", "ready"), err);
    if (why.code == ERR_CONFLICT)
        return err_set(err, ERR_BUSY, "%s", why.text);
    *err = why;
    return false;
}

bool openapi_get(struct req *r, struct err *err)
{
    struct buf b;

    buf_init(&b, METRICS_BYTES);
    buf_put(&b, openapi_json, openapi_json_len);
    reply_header(r, "Cache-Control", "public, max-age=300");
    if (buf_ok(&b))
        return reply_buf(r, 200, "application/json", &b, err);
    buf_fini(&b);
    return err_memory(err);
}
