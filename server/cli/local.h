/*
 * local: a session read from its files, without a server: the same answers that the API gives, made
 * here. What only a server knows (build, tier, install) is missing.
 */
#pragma once
#include "base/err.h"

#include <jansson.h>

struct local_session {
    json_t *summary, *timeline, *janks; /* json_decref each */
};

/* Files of one session, in any order. buckets as in the timeline's query. */
bool local_session_read(char *const *files, int n, unsigned buckets, struct local_session *out,
                        struct err *err) MUST_CHECK;

/* The whole file, at most FILE_MAX_BYTES; free(). "-" is standard input. */
#define FILE_MAX_BYTES ((size_t)64 << 20) /* a session upload is at most 8 MB */
unsigned char *file_read(const char *path, size_t *n, struct err *err) MUST_CHECK;
