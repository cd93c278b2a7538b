/*
 * notify: hands alerts and tickets over for delivery.
 *
 * Both calls write rows only, inside the caller's transaction, and are idempotent: a job that runs
 * twice, or hands over the same state again, adds nothing. The network is notifier.h's.
 *
 * Texts may hold anything, also names that phones sent: invalid UTF-8 becomes "?", what is too
 * long for its limit is cut at a character, and each driver escapes for its service. NULL reads as
 * "". What is NOT escaped is the markdown of a ticket's body and comments: put names from phones
 * there with notify_put_code().
 */
#pragma once
#include "base/buf.h"
#include "server/db/db.h"

/* Alerts -------------------------------------------------------------------------------------- */

/* NAME(symbol, name in JSON and in filters of channels, weakest first) */
#define NOTIFY_SEVERITIES(X) X(INFO, "info") X(WARN, "warn") X(ALERT, "alert")
#define NOTIFY_STATES(X)                                                                           \
    X(OPEN, "open")                                                                                \
    X(UPDATED, "updated")                                                                          \
    X(RESOLVED, "resolved")                                                                        \
    X(ACKNOWLEDGED, "acknowledged")                                                                \
    X(SILENCED, "silenced")

#define X(symbol, name) NOTIFY_##symbol,
enum notify_severity { NOTIFY_SEVERITIES(X) NOTIFY_N_SEVERITIES };
enum notify_state { NOTIFY_STATES(X) NOTIFY_N_STATES };
#undef X

/* The state of one alert as it is now. Each (alert_id, version, channel) is told once; of versions
 * that wait together only the newest is told. Alertmanager hears an open, updated or acknowledged
 * alert again before it expires there, until a version says resolved or silenced. */
struct notify_alert {
    int64_t alert_id;
    int64_t version; /* >= 1, grows with every change that is to be told */
    enum notify_state state;
    enum notify_severity severity;
    const char *build, *baseline;     /* "2.15.0 (215)" */
    const char *tier;                 /* "low"; filters of channels compare it */
    const char *scene, *metric;       /* "battle/map7", "frame_p90"; filters compare metric */
    double change;                    /* 0.15 = 15 % more than the baseline; not finite: unknown */
    double change_low, change_high;   /* its interval; not finite: unknown */
    int64_t n;                        /* sessions of the build in the slice */
    const char *summary;              /* one line for people, at most 500 bytes */
    const char *detail;               /* evidence, plain text of a few lines, at most 4,000 bytes */
    const char *url;                  /* page of the alert, absolute; "" if unknown */
    int64_t starts_at_us, ends_at_us; /* since 1970; ends_at_us 0: not over */
};

/* To every enabled alert channel of the app whose filter lets it through. */
bool notify_alert(struct db *db, int64_t app, const struct notify_alert *alert, struct arena *mem,
                  struct err *err) MUST_CHECK;

/* A report of a build, or of its health check, that is ready to be read: told once per (key,
 * version, channel) on alert channels that want reports; never to Alertmanager. */
struct notify_report {
    const char *key;   /* 1..128 bytes: "report 215", "health 215 day 7" */
    int64_t version;   /* >= 1 */
    const char *title; /* one line, at most 200 bytes */
    const char *text;  /* plain text of a few lines, at most 4,000 bytes */
    const char *url;   /* absolute; "" if unknown */
};
bool notify_report(struct db *db, int64_t app, const struct notify_report *report,
                   struct arena *mem, struct err *err) MUST_CHECK;

/* Tickets ------------------------------------------------------------------------------------- */

#define TICKET_KEY_MAX 128       /* bytes */
#define TICKET_BODY_MAX 262144   /* bytes; drivers cut to what their tracker takes */
#define TICKET_COMMENT_MAX 16384 /* bytes */
#define TICKET_LABELS_MAX 16

/* The state one ticket is wanted in. Its key finds it again for ever: a ticket is filed once per
 * (app, tracker channel, key). A ticket that a person closed stays closed and as it is (comments
 * are still said) until `episode` grows; one that a person deleted is filed anew then, not before.
 */
struct ticket_want {
    const char *key;   /* 1..TICKET_KEY_MAX bytes: the family's fingerprint */
    const char *title; /* plain text, one line, at most 240 bytes */
    const char *body;  /* markdown; numbers in it may change as they like, it is edited in place */
    const char *owner; /* as rules name it ("render"); a channel's settings.owners maps it to an
                          assignee of the tracker; "": nobody */
    const char *const *labels; /* besides those of the channel */
    size_t n_labels;
    const char *url; /* the family's page, absolute; "" if unknown; drivers put it below the body */
    /* 0 at first; one more each time the family comes back in a later build after it was fixed. The
     * first time a ticket sees a larger episode, it is reopened if it is closed. */
    int64_t episode;
    const char *comment_id; /* "" or NULL: no comment. Each id is said once per ticket: "verdict of
                               215 against 214: fixed", "episode 2" … at most 128 bytes */
    const char *comment;    /* markdown; the one that goes with a new episode says why it reopens */
};

/* To every enabled tracker channel of the app. */
bool ticket_want(struct db *db, int64_t app, const struct ticket_want *want, struct arena *mem,
                 struct err *err) MUST_CHECK;

/* `text` as inline code of markdown, which nothing inside it can end early or turn into a mention,
 * on one line, at most 200 bytes of it. */
void notify_put_code(struct buf *b, const char *text);
