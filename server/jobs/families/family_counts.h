/*
 * family_counts: changes of the counts of stacks and of families, gathered and written together.
 *
 * All is linear: a change is events, microseconds and a set of sessions and installs (as cells of a
 * sketch, or as whole sketches) with a sign. Rows whose events come down to 0 are removed, so that
 * what the tables hold is a function of what was added alone. The caller's transaction holds
 * families_lock. One owner; memory grows with what is gathered until counts_flush().
 */
#pragma once
#include "server/db/db.h"
#include "stacks/family.h"

struct count_facts {                              /* what an event counts under beside its stack */
    int64_t shard, build_id, day, tier, model_id; /* day: since 2000-01-01 */
    const char *os, *scene, *cause;
};

struct count_change {
    int64_t events, jank_us;   /* signed */
    int sign;                  /* of the session and install */
    uint32_t session, install; /* cells … */
    bool has_install;
    struct bytes sessions, installs; /* … or, where .at is not NULL, whole sketches as stored */
};

struct counts;

struct counts *counts_new(int64_t app); /* NULL: out of memory */
void counts_free(struct counts *c);     /* NULL is fine */

/* Texts and bytes are borrowed until the flush. */
bool counts_add_stack(struct counts *c, int kind, const unsigned char hash[16],
                      const struct count_facts *facts, const struct count_change *change,
                      struct err *err) MUST_CHECK;
bool counts_add_family(struct counts *c, const unsigned char family[FINGERPRINT_BYTES],
                       const struct count_facts *facts, const struct count_change *change,
                       struct err *err) MUST_CHECK;

/* Of sessions themselves, in place of a family: family_all_sessions. events: sessions, jank_us:
 * time in the foreground. `scene`: of that scene alone; else of the whole session, whatever the
 * scene. */
bool counts_add_session(struct counts *c, const struct count_facts *facts, bool scene,
                        const struct count_change *change, struct err *err) MUST_CHECK;
extern const unsigned char family_all_sessions[FINGERPRINT_BYTES]; /* zeros */

size_t counts_waiting(const struct counts *c); /* rows' worth of changes gathered */

/* Writes stack_count, stack_total, stack_family.events and family_count; empty afterwards. */
bool counts_flush(struct counts *c, struct db *db, struct err *err) MUST_CHECK;
