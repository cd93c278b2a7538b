/*
 * metrics: what the HTTP side counts, in Prometheus text format.
 *
 * The tables below are the whole list: each line makes the counter, its name and its HELP text.
 * Counting is a relaxed atomic addition, from any thread. Process-wide; a scrape sees each value as
 * of some moment during it.
 */
#pragma once
#include "base/buf.h"

#include <stdatomic.h>
#include <stdint.h>

#define METRIC_COUNTERS(X)                                                                         \
    X(connections_opened, "framewatch_http_connections_total", "Connections accepted.")            \
    X(bytes_in, "framewatch_http_body_bytes_total", "Bytes of request bodies received.")           \
    X(bytes_out, "framewatch_http_reply_bytes_total", "Bytes of reply bodies handed out.")         \
    X(key_hits, "framewatch_key_cache_hits_total", "API keys answered from the cache.")            \
    X(key_misses, "framewatch_key_cache_misses_total", "API keys asked of the database.")          \
    X(uploads_created, "framewatch_uploads_created_total", "Uploads created.")                     \
    X(uploads_completed, "framewatch_uploads_completed_total", "Uploads that became complete.")    \
    X(upload_bytes, "framewatch_upload_bytes_total", "Bytes of uploads made durable.")             \
    X(commit_batches, "framewatch_commit_batches_total", "Transactions of the committer.")         \
    X(commit_ops, "framewatch_commit_ops_total", "Creations and chunks decided by the committer.") \
    X(commit_failures, "framewatch_commit_failures_total",                                         \
      "Transactions of the committer that failed.")                                                \
    X(commit_poison, "framewatch_commit_poison_total",                                             \
      "Creations and chunks that failed alone as well.")                                           \
    X(newcomers, "framewatch_upload_newcomers_total",                                              \
      "Hung requests ended because a new one for the same upload came.")                           \
    X(broken_bodies, "framewatch_http_broken_bodies_total",                                        \
      "Request bodies that ended before their end.")

/* May go down. */
#define METRIC_GAUGES(X)                                                                           \
    X(connections, "framewatch_http_connections", "Connections open.")                             \
    X(requests_active, "framewatch_http_requests_active", "Requests being received or answered.")  \
    X(commit_queue, "framewatch_commit_queue_ops",                                                 \
      "Creations and chunks waiting to be committed.")                                             \
    X(upload_waiting, "framewatch_upload_waiting_requests",                                        \
      "Requests waiting for an earlier one of the same upload.")                                   \
    X(dispatch_queue, "framewatch_dispatch_queue_requests", "Requests waiting for a thread.")      \
    X(blocks_used, "framewatch_body_blocks_used", "Body buffers in use.")                          \
    X(blocks_total, "framewatch_body_blocks", "Body buffers there are.")

/* Why a request was not served; label `reason` of framewatch_http_refused_total. */
#define METRIC_REFUSALS(X)                                                                         \
    X(bad_request)                                                                                 \
    X(smuggling)                                                                                   \
    X(too_big)                                                                                     \
    X(too_much_work)                                                                               \
    X(crowded)                                                                                     \
    X(unauthorized)                                                                                \
    X(forbidden)                                                                                   \
    X(rate_limited)                                                                                \
    X(no_buffers)                                                                                  \
    X(commit_queue_full)                                                                           \
    X(dispatch_queue_full)                                                                         \
    X(too_many_requests)                                                                           \
    X(database)                                                                                    \
    X(slow_headers)                                                                                \
    X(slow_body)                                                                                   \
    X(slow_reader)                                                                                 \
    X(superseded)                                                                                  \
    X(draining)

enum metric_counter {
#define X(id, name, help) COUNT_##id,
    METRIC_COUNTERS(X)
#undef X
        COUNT_N
};
enum metric_gauge {
#define X(id, name, help) GAUGE_##id,
    METRIC_GAUGES(X)
#undef X
        GAUGE_N
};
enum refusal {
#define X(id) REFUSED_##id,
    METRIC_REFUSALS(X)
#undef X
        REFUSED_N
};

/* Upper bounds of the buckets stand in metrics.c. */
enum metric_histogram {
    HIST_request_seconds, /* observed in us */
    HIST_commit_seconds,  /* observed in us */
    HIST_commit_batch_ops,
    HIST_N
};

#define METRIC_ROUTES_MAX 192

void metric_add(enum metric_counter c, uint64_t n);
void gauge_add(enum metric_gauge g, int64_t n);
void gauge_set(enum metric_gauge g, int64_t v);
void metric_refused(enum refusal why);
void metric_observe(enum metric_histogram h, int64_t v);

/* Routes register once, before requests come; the name must outlive the process. */
unsigned metric_route(const char *name);
void metric_request(unsigned route, int status, int64_t us);

/* All of the above with HELP and TYPE. */
void metrics_write(struct buf *b);
