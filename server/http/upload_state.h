/*
 * upload_state: what an operation does to an upload. Pure: the committer reads the rows, lets each
 * operation act on them here in order, and writes what came out in one transaction.
 */
#pragma once
#include "server/http/chunk_store.h"

enum upload_life { UPLOAD_OPEN, UPLOAD_COMPLETE, UPLOAD_DELETED };
const char *upload_life_name(enum upload_life life);
bool upload_life_parse(const char *name, enum upload_life *out) MUST_CHECK;

struct upload_state {
    struct upload_key key;
    bool exists;
    bool expired;   /* while open */
    bool changed;   /* differs from the row in the database */
    bool renewed;   /* its time to live begins again */
    bool completed; /* became complete just now */
    enum upload_kind kind;
    enum tus_concat concat;
    enum upload_life life;
    int64_t app, at, length, expires_s;
    int32_t day; /* days since 2000 */
};

/* Decides op->answer and ->accepted (its chunk is to be stored at op->at), and changes *state. */
void upload_apply(struct upload_state *state, const struct chunk_limits *limits,
                  struct chunk_op *op);
