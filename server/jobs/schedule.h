/*
 * schedule: work that recurs. Each app has one job of each kind listed here; it enters the queue
 * when its period is over. Any number of workers may look at any time: table schedule_run decides,
 * and the queue holds one such job at most.
 *
 * A kind is run like any other job (worker.c), with app_id as all it needs to know; its ref is
 * zero. It may find that nothing is to be done, and must bear being run at any time.
 */
#pragma once
#include "server/db/db.h"

/* SCHEDULE(X): X(kind, seconds between two runs) */
#define SCHEDULE(X)                                                                                \
    X(expect, 60)    /* expectations of new builds */                                              \
    X(tiers, 900)    /* capability of device models */                                             \
    X(alerts, 300)   /* looks at builds that spread */                                             \
    X(reports, 600)  /* comparisons and health checks that are due */                              \
    X(kin, 600)      /* families that are one but for lost frames */                               \
    X(verdicts, 600) /* whether fixes of families worked */                                        \
    X(tickets, 900)  /* the families that are filed */

/* Queues what is due at the database's time plus clock_offset_ms; *queued jobs, new or revived. */
bool schedule_due(struct db *db, int64_t clock_offset_ms, int64_t *queued,
                  struct err *err) MUST_CHECK;

/* The job of that kind and app runs soon, inside the caller's transaction: something it looks at
 * has changed. While it runs already this does nothing: the period brings it again. */
bool schedule_now(struct db *db, int64_t app, const char *kind, struct err *err) MUST_CHECK;

/* Whether it is one of the kinds. */
bool schedule_has(const char *kind);
