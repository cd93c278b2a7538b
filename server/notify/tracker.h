/*
 * tracker: what a bug tracker must be able to do, so that reconcile.c can keep a ticket as it is
 * wanted. Each call is at most a few requests; false: *out says what became of it, and with
 * maybe_done that it may have had its effect all the same. All of it lives in s->mem.
 */
#pragma once
#include "server/notify/send.h"

#define TRACKER_PAGES_MAX 10 /* of a list that is looked through */
/* How much before an attempt its effect is looked for: clocks differ. */
#define TRACKER_CLOCK_SLACK_US (INT64_C(3600) * 1000000)

/* A ticket as the tracker is to show it. */
struct ticket_text {
    const char *marker; /* letters, digits and '-'; stands in `body` too */
    const char *key, *title;
    const char *body;  /* markdown, with the marker in its last line */
    const char *below; /* what people wrote below that line, in the tracker's own form, or NULL */
    const char *assignee; /* in the tracker's own terms, NULL: nobody */
    json_t *labels;       /* array of texts, borrowed */
    const char *url;      /* of the family's page, "" */
    int64_t version, episode;
};

/* A ticket as the tracker has it. */
struct ticket_seen {
    const char *id, *url;
    const char *word; /* the tracker's own for its state */
    bool closed;
    const char *body; /* NULL: not said */
};

struct tracker {
    /* find asks an index alone, which may be so far behind: an attempt to create a ticket whose
     * answer was lost is not repeated before. 0: find sees all there is. */
    int64_t index_lag_ms;
    /* The project is there and the token may see it. */
    bool (*probe)(struct sending *s, struct outcome *out);
    /* The ticket with that marker. since_us > 0: an attempt to create it began then and may have
     * worked, so an index that lags behind is not to be believed. */
    bool (*find)(struct sending *s, const char *marker, int64_t since_us, struct ticket_seen *seen,
                 bool *found, struct outcome *out);
    bool (*create)(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out);
    /* NULL: this one cannot be asked. *gone: it was deleted. */
    bool (*look)(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                 struct outcome *out);
    bool (*update)(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out);
    bool (*reopen)(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out);
    bool (*comment)(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out);
    /* Whether a comment with that marker is there, made since then. NULL: comments may be sent
     * twice, the receiver tells them apart. */
    bool (*has_comment)(struct sending *s, const char *id, const char *comment_marker,
                        int64_t since_us, bool *has, struct outcome *out);
};

extern const struct tracker gitlab_tracker, github_tracker, jira_tracker, tapd_tracker,
    ticket_webhook_tracker;

/* NULL for kinds that take alerts. */
const struct tracker *tracker_of(enum channel_kind kind);

/* What trackers share ------------------------------------------------------------------------- */

/* A request with the headers given; `tree` (may be NULL) is taken and sent as JSON. */
struct tracker_call {
    const char *method, *url;
    json_t *tree;
    const char *form; /* in place of a tree: application/x-www-form-urlencoded */
    const char *headers[HTTP_OUT_HEADERS];
    const char *user, *password;
};
/* json NULL: the answer's body does not matter. */
bool tracker_send(struct sending *s, const struct tracker_call *call, json_t **json,
                  struct outcome *out);

/* Member of an answer, copied; "" if it is not there or no text. Numbers become texts. */
const char *tracker_text(struct sending *s, const json_t *object, const char *name);
/* "the answer lacks …": SEND_LATER with maybe_done. Always false. */
bool tracker_odd(struct outcome *out, const char *what);
/* What stands below the marker's line in a ticket's text (NULL: not known); "" if nothing. */
const char *tracker_below(const char *text, const char *marker);
/* A part of a path or query, escaped. */
const char *tracker_escape(struct sending *s, const char *text);
/* Markdown in another form, cut to `limit` bytes of markdown with its last line kept. */
enum tracker_form { FORM_MARKDOWN, FORM_GITLAB, FORM_WIKI, FORM_HTML };
const char *tracker_form(struct sending *s, const char *markdown, enum tracker_form form,
                         size_t limit);
/* The same of the ticket's text, and `below` after it. */
const char *tracker_body(struct sending *s, const struct ticket_text *t, enum tracker_form form,
                         size_t limit);
