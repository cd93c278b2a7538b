/*
 * context: what handlers may share. Filled by server/main.c before the first request, read-only
 * afterwards, so any thread may read it.
 */
#pragma once
#include "server/db/db.h"
#include "server/http/secret.h"

#include <stddef.h>
#include <stdint.h>

struct worker;   /* of server/jobs */
struct notifier; /* of server/notify */

struct context {
    const char *version;             /* of framewatchd */
    const char *public_url;          /* "https://frames.example.org", or "" if unknown */
    const struct secret *secret;     /* install hashes */
    int64_t login_s;                 /* how long a browser's login lasts */
    size_t max_session_bytes;        /* all parts of a session together, as uploaded */
    struct db_pool *pool;            /* for /metrics and /readyz: they answer without a database */
    const struct worker *worker;     /* of this process, for /metrics; NULL if there is none */
    const struct notifier *notifier; /* the same */
    int64_t started_at_s;            /* Unix time */
    void (*jobs_added)(void *);      /* a hint that jobs were queued; call it after the commit */
    void *jobs_user;
};
