/*
 * notifier: threads that empty the outbox: they claim a channel that has something due, send its
 * oldest delivery and store what became of it.
 *
 * At least once towards the network: a delivery is 'sent' only after the other side took it and
 * that is committed; a sender that dies in between sends again. Once in effect where the other side
 * can tell: tickets are looked up before they are filed again, Alertmanager knows an alert by its
 * labels, webhooks get the same id again.
 *
 * Any number of notifiers in any number of processes share one outbox. Each thread has a connection
 * of its own. notifier_start/stop/wake from any thread.
 */
#pragma once
#include "server/notify/http_out.h"
#include "server/notify/seal.h"

struct notifier_config {
    const char *conninfo;
    unsigned threads; /* 0..16 */
    const struct seal_key *key;
    enum http_out_reach reach;
    const char *ca_file;
    int64_t timeout_ms;                 /* of one request */
    int64_t lease_ms;                   /* of one delivery, all its requests; at least 4 timeouts */
    int64_t max_attempts;               /* then it is 'dead' and waits for a person */
    int64_t backoff_ms, backoff_max_ms; /* doubled with each attempt, half of it by chance */
    int64_t doubt_ms;                   /* at least, after a lost answer: indexes lag behind */
    int64_t poll_ms;                    /* between looks at an empty outbox */
    int64_t look_ms;                    /* between looks at a ticket's state in its tracker */
    int64_t log_days;                   /* deliveries that are over are kept for so long */
    int64_t clock_offset_ms;            /* added to the database's clock: tests look ahead */
    size_t arena_bytes;
    /* One logfmt line a delivery, without newline; from any thread. May be NULL. */
    void (*log)(void *user, const char *line);
    void *log_user;
};

/* Everything but conninfo and key set to its default. */
struct notifier_config notifier_config_default(const char *conninfo, const struct seal_key *key);

struct notifier;

/* Copies *config and its texts, not *key. */
struct notifier *notifier_start(const struct notifier_config *config, struct err *err) MUST_CHECK;
void notifier_stop(struct notifier *n); /* lets a request under way end; NULL is fine */
void notifier_wake(struct notifier *n); /* something was queued; NULL is fine */

struct notifier_counts { /* of this process, since start */
    int64_t sent, failed, dead, looks, lost;
};
void notifier_counts(const struct notifier *n, struct notifier_counts *out);

/* Sends what is due in the calling thread until nothing is. What fails is left with its back-off:
 * that is no error here. counts may be NULL, else they are added to. */
bool notifier_drain(const struct notifier_config *config, struct notifier_counts *counts,
                    struct err *err) MUST_CHECK;
