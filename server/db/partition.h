/*
 * partition: one partition a UTC day for upload_chunk, jank_event, crash and feedback, made ahead
 * and dropped by retention. There is no default partition: a row of a day without one is refused.
 *
 * Making takes no lock that readers or writers of the tables wait for, and neither does dropping
 * (DETACH CONCURRENTLY first). Safe from any number of processes at once. Days are the database's.
 */
#pragma once
#include "base/err.h"
#include "server/db/db.h"

#define PARTITION_DAYS_AHEAD 3

/* Partitions of yesterday .. today + days_ahead (0..366) exist when it returns true. */
bool partition_ensure(struct db *db, int days_ahead, struct err *err) MUST_CHECK;

struct retention {
    int raw_days;     /* uploaded bytes are kept for so many whole days; default 30 */
    int session_days; /* sessions and their events; at least raw_days; default 180 */
    int batch;        /* rows deleted in one transaction; 0 = 1000 */
};

struct retention_report {
    int64_t partitions_dropped, sessions_deleted, uploads_deleted, quarantine_deleted;
};

/* Drops what is past its time. Outside a transaction. Stopping midway is fine: the next run goes
 * on. *out (may be NULL) is filled as far as it came, also on failure. */
bool retention_run(struct db *db, const struct retention *keep, struct retention_report *out,
                   struct err *err) MUST_CHECK;

/* One round of upkeep (partitions ahead, then retention) if no other process is at it: *done tells.
 */
bool maintenance_run(struct db *db, int days_ahead, const struct retention *keep, bool *done,
                     struct retention_report *out, struct err *err) MUST_CHECK;
