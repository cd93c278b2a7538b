/*
 * chunk_store: where the bytes of uploads go. Whoever wants another store implements this header.
 *
 * Creations and chunks are submitted without waiting and answered on the store's own threads after
 * they are durable: CHUNK_OK is a promise. The other calls run on a dispatcher thread with its
 * connection. Offsets never decrease while an upload lives.
 */
#pragma once
#include "base/arena.h"
#include "server/db/db.h"
#include "server/http/block.h"
#include "server/http/tus_headers.h"

struct upload_key {
    int64_t shard; /* app * 64 + low 6 bits of the id: another app's key leads elsewhere */
    unsigned char id[16];
};
struct upload_key upload_key_of(int64_t app, const unsigned char id[16]);
int upload_key_compare(const struct upload_key *a, const struct upload_key *b);

#define LENGTH_UNKNOWN (-1)

/* What a creation says. The texts must live until the answer. */
struct new_upload {
    int64_t app, length; /* LENGTH_UNKNOWN while deferred */
    enum upload_kind kind;
    enum tus_concat concat; /* none or partial */
    const char *file_id, *metadata;
    bool has_install;
    unsigned char install_hash[SHA256_BYTES];
};

enum chunk_outcome {
    CHUNK_OK,
    CHUNK_NOT_FOUND,
    CHUNK_GONE,         /* deleted or expired */
    CHUNK_OFFSET,       /* not the offset of the upload; `at` is */
    CHUNK_TOO_LONG,     /* past the length, or the kind's limit */
    CHUNK_FINAL,        /* a concatenation takes no bytes */
    CHUNK_LENGTH_FIXED, /* another length was said before */
    CHUNK_OTHER_FILE,   /* the file id was used for another file */
    CHUNK_FAILED,       /* the database did not take it; try again */
    CHUNK_POISON        /* the database refuses this one alone */
};

struct chunk_answer {
    enum chunk_outcome outcome;
    bool created, complete;
    int64_t at, length, expires_s;
    enum upload_kind kind;
};

/* Owned by the caller, untouched by him between submit and done. */
struct chunk_op {
    struct chunk_op *next;
    struct upload_key key;
    bool create; /* then `upload` is set; a known file gives its upload as it stands */
    struct new_upload upload;
    int64_t at;           /* of the chunk: 0 for a creation */
    int64_t length;       /* Upload-Length of a PATCH, LENGTH_UNKNOWN if it has none */
    int64_t expect;       /* bytes to come: refused now if they could not be taken */
    struct block *blocks; /* the chunk; may be empty */
    size_t len;
    struct chunk_answer answer;
    void (*done)(struct chunk_op *op);
    bool accepted, skip; /* the store's own */
    size_t row;
};

struct chunk_limits {
    int64_t session_max, symbols_max; /* bytes of an upload, by kind */
    int64_t expire_s;                 /* an upload not complete by then is given up */
};
int64_t chunk_limit_of(const struct chunk_limits *l, enum upload_kind kind);

struct chunk_store_config {
    const char *conninfo;
    struct chunk_limits limits;
    size_t queue_max; /* operations waiting */
    void (*jobs_added)(void *user);
    void *user;
};

struct chunk_store;
struct chunk_store *chunk_store_start(const struct chunk_store_config *config,
                                      struct err *err) MUST_CHECK;
/* Commits what is queued, then ends. */
void chunk_store_stop(struct chunk_store *s);

/* False: the queue is full. `force` goes past the bound, for bytes that are held already. */
bool chunk_store_submit(struct chunk_store *s, struct chunk_op *op, bool force) MUST_CHECK;
bool chunk_store_roomy(struct chunk_store *s); /* a look before a body is read */

struct upload_info {
    const char *kind, *state, *metadata, *concat;
    int64_t at, length, expires_s;
    bool expired; /* and not complete */
};
/* ERR_NOT_FOUND if that app never had it; a deleted one is found, with its state. */
bool chunk_store_stat(struct db *db, const struct upload_key *key, struct arena *mem,
                      struct upload_info *out, struct err *err) MUST_CHECK;
/* Removes the bytes and marks the upload deleted. ERR_NOT_FOUND, ERR_GONE (deleted before),
 * ERR_FORBIDDEN: complete and handed on, so it stays until retention takes it. */
bool chunk_store_remove(struct db *db, const struct upload_key *key, struct arena *mem,
                        struct err *err) MUST_CHECK;
/* Makes a complete upload of the partial ones, in their order. `concat` is the header to echo.
 * The same creation again gives the same upload. ERR_INVALID: a partial upload is missing or none;
 * ERR_CONFLICT: one is not complete, or the file id was used otherwise; ERR_TOO_BIG. */
bool chunk_store_join(struct db *db, const struct chunk_limits *limits,
                      const struct upload_key *key, const struct new_upload *upload,
                      const struct tus_partials *partials, const char *concat, struct arena *mem,
                      struct err *err) MUST_CHECK;
