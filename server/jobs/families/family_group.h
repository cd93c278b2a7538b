/*
 * family_group: which family a stack is of, under an app's rules and what was merged and split, by
 * people or as kin. A pure function of the stack as it reads, of rules and of edits; reading these
 * apart.
 */
#pragma once
#include "server/db/db.h"
#include "server/jobs/families/family_rules.h"
#include "stacks/family.h"

#define FAMILY_HOPS 64 /* edits that one stack may go through */

struct family_edit {
    int64_t edit_id;
    bool split;
    const char *by_kin;          /* why the job 'kin' made it: "lost", "cut", "named"; "": people */
    const char *lost;            /* and the names that are told */
    struct bytes family, target; /* target: of a merge */
    int64_t depth;               /* of a split */
};

struct grouping {
    int64_t version;       /* of rules and edits together */
    int64_t rules_version; /* 0: the defaults, nobody set any */
    struct family_rules rules;
    const struct family_edit *edits; /* those in force, by family */
    size_t n_edits;
};

/* As it stands; lives in mem. */
bool grouping_read(struct db *db, int64_t app, struct arena *mem, struct grouping *out,
                   struct err *err) MUST_CHECK;
/* Makes its rules ready for many stacks: they are then found in one pass over each text, in at most
 * so many steps (analysis/stacks/rules_index.h), past which group_stack() fails with ERR_WORK.
 * Before the grouping moves or goes: grouping_fini(). */
bool grouping_index(struct grouping *g, uint64_t steps, struct err *err) MUST_CHECK;
void grouping_fini(struct grouping *g);
/* Another version from now on, and a job that applies it. Inside the transaction of the change. */
bool grouping_changed(struct db *db, int64_t app, struct err *err) MUST_CHECK;

struct group_stack { /* as stored */
    int64_t kind;    /* enum tally_kind */
    const char *platform, *symbols, *frames;
};

struct grouped {
    unsigned char family[FINGERPRINT_BYTES]; /* the key in force */
    struct family is;
    const char *const *folded; /* root first */
    size_t n_folded;
    const struct stack_frame *frames;
    size_t n_frames;
    const struct family_edit *edits[FAMILY_HOPS]; /* that led from its fingerprint to the key */
    size_t n_edits;
};

/* Lives in mem. */
bool group_stack(const struct grouping *g, const struct group_stack *s, struct arena *mem,
                 struct grouped *out, struct err *err) MUST_CHECK;

/* Whether merges put what is of `from` into `to` in the end, or they are the same. */
bool group_leads(const struct grouping *g, const unsigned char *from, const unsigned char *to);

/* The key of fingerprints by depth; *used (FAMILY_HOPS of them) and *n_used may be NULL. */
void group_key(const struct grouping *g, const unsigned char prints[][FINGERPRINT_BYTES],
               unsigned char key[FINGERPRINT_BYTES], const struct family_edit **used,
               size_t *n_used);
