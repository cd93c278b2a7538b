/*
 * job_fixture: what the accept path leaves behind, put there by plain SQL, and what the worker
 * makes of it, as one text. For tests of the worker without a server.
 */
#pragma once
#include "server/jobs/worker.h"

#include <stddef.h>
#include <stdint.h>

struct test_upload {
    int64_t app;
    unsigned char id[16];
    const unsigned char *bytes;
    size_t n;
    size_t chunk;        /* bytes a chunk; 0 = 256 KB */
    const char *kind;    /* NULL = "session" */
    const char *install; /* hashed into install_hash; NULL = none */
    int days_ago;        /* its UTC day */
    int64_t received_us; /* completed so long after noon of that day */
};

/* Upload row, chunks and job, in one transaction. Putting the same one again only queues its job
 * anew if that is gone (a replay). */
void put_upload(const char *conninfo, const struct test_upload *u);

/* A worker's configuration for tests: no back-off, no leases to wait for. */
struct worker_config test_worker(const char *conninfo);

/* Runs all that is due, then closes every open session as if the idle time were over; fails the
 * test if the queue is not empty afterwards. */
void drain_all(const struct worker_config *config);

/* Every table the worker writes, rows sorted, without arrival times and with names in place of
 * generated ids. The caller frees it. */
char *dump_results(const char *conninfo);
