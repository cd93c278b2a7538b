/*
 * The insides of rollup, shared by rollup.c (frames and models), rollup_installs.c,
 * rollup_metrics.c and rollup_cells.c (a table each). Lists live in the arena given.
 */
#pragma once
#include "server/jobs/rollups/rollup.h"

/* A row that was locked to be summed anew. */
struct rollup_locked {
    int64_t n;
    struct bytes sums;
};
extern const struct db_map rollup_locked_map;

/* The text's bytes, into the arena; ends the text. */
bool rollup_take_bytes(struct buf *text, struct arena *mem, struct bytes *out,
                       struct err *err) MUST_CHECK;

/* What sessions tell of an install on a build: its own rows, figures that alerts watch alone. */
struct rollup_install {
    const struct rollup_key *key;
    struct contribution delta; /* rows to add */
    struct contribution was, is;
};
struct rollup_installs {
    struct rollup_install *at;
    size_t n;
};

/* install_build; *out: its rows as they were and are, in key order. */
bool rollup_installs_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                           struct arena *mem, struct rollup_installs *out,
                           struct err *err) MUST_CHECK;
/* metric_rollup, whose rows count installs. */
bool rollup_metrics_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                          const struct rollup_installs *installs, struct arena *mem,
                          struct err *err) MUST_CHECK;
/* scene_cell */
bool rollup_cells_apply(struct db *db, int64_t shard, const struct rollup_move *moves, size_t n,
                        struct arena *mem, struct err *err) MUST_CHECK;
