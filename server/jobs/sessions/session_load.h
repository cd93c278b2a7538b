/*
 * session_load: a session as its raw parts say, decoded, merged and analysed again.
 *
 * Reads what the worker registered in session_part; nothing is written. Everything lives in `mem`
 * (a 10-minute session takes about 4 MB), whose cap bounds the work: ERR_TOO_BIG past it.
 */
#pragma once
#include "profile/analyse.h"
#include "server/db/db.h"

/* The leading column of session and upload keys: g = low 6 bits of the id. */
static inline int64_t shard_of(int64_t app, const unsigned char id[16])
{
    return app * 64 + (id[15] & 63);
}

/* ERR_NOT_FOUND: no such session of that app; ERR_GONE: its uploads are past retention. */
bool session_load(struct db *db, int64_t app, const unsigned char session_id[16], struct arena *mem,
                  struct session *out, struct session_result *result, struct err *err) MUST_CHECK;
