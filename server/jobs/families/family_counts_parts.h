/*
 * The insides of family_counts, shared by family_counts.c (what is gathered), stack_count_rows.c
 * and family_count_rows.c (the rows of each table).
 */
#pragma once
#include "server/jobs/families/count_sum.h"

/* What families are counted by. X(name, column `dim`, by all builds too, counts sessions too, and
 * what sessions are counted by: once, for each scene, or not) */
#define DIMENSIONS(X)                                                                              \
    X(ALL, "all", true, true, ONCE)                                                                \
    X(TIER, "tier", true, true, ONCE)                                                              \
    X(SCENE, "scene", true, true, EACH_SCENE)                                                      \
    X(TIER_SCENE, "tier_scene", true, true, EACH_SCENE)                                            \
    X(MODEL, "model", true, true, ONCE)                                                            \
    X(OS, "os", true, true, ONCE)                                                                  \
    X(CAUSE, "cause", true, true, NEVER)                                                           \
    X(DAY, "day", true, true, ONCE)                                                                \
    X(GROUP, "g", false, false, ONCE)

enum dimension {
#define X(name, text, all_builds, distinct, of_sessions) DIM_##name,
    DIMENSIONS(X)
#undef X
        DIM_COUNT
};
enum of_sessions { ONCE, EACH_SCENE, NEVER };
extern const struct dimension_info {
    const char *text;
    bool all_builds, distinct;
    enum of_sessions of_sessions;
} dimension_info[DIM_COUNT];

struct stack_entry {
    int kind;
    const unsigned char *hash;
    const struct count_facts *facts;
    const struct count_change *change;
};

struct family_entry {
    const unsigned char *family;
    int64_t build_id;
    enum dimension dim;
    const char *value;
    const struct count_change *change;
};

struct list {
    void *at;
    size_t n, size, item;
};

struct counts {
    int64_t app;
    struct arena *mem;   /* what is gathered */
    struct arena *chunk; /* rows that one statement writes */
    struct arena *row;   /* sketches of one of them */
    struct list stacks, families;
};

static inline int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Orders of the lists' entries: equal ones are of one row. */
int counts_by_stack(const void *a, const void *b);
int counts_by_family(const void *a, const void *b);

/* Entries of `n` rows; group[i] is the first entry of row i, group[n] the end. */
bool counts_write_stacks(struct counts *c, struct db *db, const size_t *group, size_t n,
                         struct err *err) MUST_CHECK;
bool counts_write_families(struct counts *c, struct db *db, const size_t *group, size_t n,
                           struct err *err) MUST_CHECK;
/* stack_total and stack_family.events: sums by stack and build, in one statement each. */
bool counts_write_totals(struct counts *c, struct db *db, struct err *err) MUST_CHECK;
