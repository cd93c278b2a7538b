/*
 * chunk_batch: many operations on uploads as one transaction. The committer's own; see
 * chunk_store_pg.c.
 */
#pragma once
#include "server/http/upload_state.h"

#define BATCH_OPS 256

/* Operations sorted by upload, those of one upload in order of arrival. */
struct chunk_batch {
    struct db *db;
    const struct chunk_limits *limits;
    struct arena *mem; /* of the statements' arguments */
    size_t n_ops, n_rows;
    struct chunk_op *op[BATCH_OPS];
    struct upload_state row[BATCH_OPS];
    size_t first_op[BATCH_OPS + 1]; /* of row; those of the next row begin where its end */
    bool fresh[BATCH_OPS];          /* of row: inserted by this batch */
    bool jobs;                      /* it added some */
};

/* Decides op[0 … n_ops) and sends what they bring; sets their answers. It counts with the commit,
 * which comes next. False, also of the commit: nothing of it was stored, the answers say nothing.
 */
bool chunk_batch_fill(struct chunk_batch *b, struct err *err) MUST_CHECK;
bool chunk_batch_commit(struct chunk_batch *b, struct err *err) MUST_CHECK;
