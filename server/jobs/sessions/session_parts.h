/*
 * session_parts: the stored files of one session: their list, their bytes, and what they say
 * together. No writes. All lives in the arenas given.
 */
#pragma once
#include "profile/session.h"
#include "server/db/db.h"

struct stored_part {
    int64_t part, upload_shard, upload_day, size, received_us;
    struct bytes sha256, upload_id, install_hash;
    bool kept;                  /* its upload was not deleted */
    struct bytes file;          /* after parts_read() */
    const struct part *decoded; /* NULL: parts_merge() decodes it */
};

struct stored_parts { /* by part number, then SHA-256 */
    struct stored_part *at;
    size_t n;
};

/* All files, or those only that the session's row was made of. `room` more entries may be added. */
bool parts_list(struct db *db, int64_t shard, const unsigned char session_id[16], bool used_only,
                size_t room, struct arena *mem, struct stored_parts *out,
                struct err *err) MUST_CHECK;

/* When the first of them came, and on which day; of at least one. */
int64_t parts_first_us(const struct stored_parts *parts);
int64_t parts_first_day(const struct stored_parts *parts);

/* Adds one at its place; the list must have room. */
void parts_add(struct stored_parts *parts, const struct stored_part *part);

/* Bytes of all that have none yet, checked against length and CRC. ERR_GONE if some are past
 * retention or deleted; ERR_INTERNAL if stored bytes are not what was acknowledged. */
bool parts_read(struct db *db, struct stored_parts *parts, struct arena *mem,
                struct err *err) MUST_CHECK;

/* Whether what was uploaded on that day is still there. */
bool part_day_kept(struct db *db, int64_t day, struct arena *mem, bool *out,
                   struct err *err) MUST_CHECK;

/* Decodes the first n and merges them. */
bool parts_merge(const struct stored_parts *parts, size_t n, struct arena *mem, struct session *out,
                 struct err *err) MUST_CHECK;

/* Chunks of one upload in order of `at`, as rows of a statement: one byte string of `size`. */
struct chunk_row {
    int64_t n, at, crc32c;
    struct bytes bytes;
};
bool chunks_join(const struct chunk_row *chunks, size_t n, int64_t size, struct arena *mem,
                 struct bytes *out, struct err *err) MUST_CHECK;
