/*
 * count_sum: one row of the counts of stacks or families: what it holds, changes added to it, and
 * what becomes of it. Part of family_counts.
 */
#pragma once
#include "server/jobs/families/family_counts.h"
#include "stacks/distinct.h"

struct count_held {
    int64_t events, jank_us;
    struct bytes sessions, installs;
};
extern const struct db_map count_held_map;

struct count_sum {
    int64_t events, jank_us, n_sessions, n_installs;
    struct bytes sessions, installs;
};

struct count_sums { /* while a row is made */
    struct distinct sessions, installs;
    int64_t events, jank_us;
};

/* `row` holds the sketches until the next one. Not distinct: no sketches. */
bool count_begin(struct arena *row, const struct count_held *have, bool distinct,
                 struct count_sums *s, struct err *err) MUST_CHECK;
bool count_add(struct count_sums *s, const struct count_change *c, bool distinct,
               struct err *err) MUST_CHECK;
bool count_end(struct arena *mem, const struct count_sums *s, bool distinct, struct count_sum *out,
               struct err *err) MUST_CHECK;

/* Columns of sums, in the order of the statements. */
struct count_columns {
    int64_t *events, *jank_us, *n_sessions, *n_installs;
    struct bytes *sessions, *installs;
};

bool count_columns_new(struct arena *mem, size_t n, struct count_columns *s) MUST_CHECK;
void count_columns_put(struct count_columns *s, size_t i, const struct count_sum *v);

bool counts_out_of_memory(struct err *err); /* fails */
