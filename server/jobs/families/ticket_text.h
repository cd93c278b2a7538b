/*
 * ticket_text: what a family's ticket says, in markdown. Names from phones and symbols stand as
 * code, which nothing in them can end.
 */
#pragma once
#include "base/buf.h"
#include "server/db/db.h"
#include "server/jobs/families/family_group.h"

struct ticket_family {
    struct bytes family, filed; /* filed: whose ticket it is: its own, or one merged into it */
    int64_t kind;
    const char *title, *owner;
    int64_t stacks;
    const char *first_day, *last_day;
    int64_t events, jank_ms, sessions, installs, of_sessions, episode;
    const char *came_back_in;         /* NULL: never */
    const char *verdict, *verdict_of; /* NULL: none yet; "2.15.0 (215) against 2.14.0 (214)" */
    const char *ratio, *low, *high;
    int64_t events_new;
    const char *expected;
};

struct ticket_part { /* a value of a dimension */
    const char *dim, *value;
    int64_t events, jank_ms, sessions, installs, of_sessions;
    const char *about_json; /* of a build or device, else NULL */
};

/* parts: by dimension, largest first; stack: of the family's largest stack. */
void ticket_body(const struct ticket_family *f, const struct ticket_part *parts, size_t n,
                 const struct grouped *stack, struct buf *out);
void ticket_verdict(const struct ticket_family *f, struct buf *out);
