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
    const char *came_back_in; /* "2.15.0 (215) android, 2.15.0 (215) ios"; NULL: in episode 0 */
};

struct ticket_verdict { /* of the platform's newest build that was judged */
    const char *platform;
    int64_t build_id, baseline_id;
    const char *label, *build, *baseline; /* "2.15.0 (215)" */
    const char *ratio, *low, *high;
    int64_t events_new;
    const char *expected;
};

struct ticket_part { /* a value of a dimension */
    const char *dim, *value;
    int64_t events, jank_ms, sessions, installs, of_sessions;
    const char *about_json; /* of a build or device, else NULL */
};

struct ticket_facts {
    const struct ticket_family *family;
    const struct ticket_verdict *verdicts; /* one a platform */
    size_t n_verdicts;
    const struct ticket_part *parts; /* by dimension, largest first */
    size_t n_parts;
    const struct grouped *stack; /* the family's largest */
};

void ticket_body(const struct ticket_facts *facts, struct buf *out);
void ticket_verdict(const struct ticket_verdict *v, struct buf *out);
