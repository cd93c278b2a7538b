/*
 * stack_rows: the stacks of a session's parts as the database keeps them: each once, by its hash,
 * with the modules it names and the build it belongs to.
 */
#pragma once
#include "profile/part.h"
#include "server/db/db.h"

/* Stacks of a part as they are kept, made ready before the part's memory goes. */
struct stack_rows {
    struct bytes *hash;
    const char **json;
    int64_t *managed; /* 1: has managed frames, which belong to the part's build */
    size_t n;
    const char *platform, *version_name, *build_uid; /* of that build */
    uint64_t version_code;
    /* modules the stacks name, by debug id in hexadecimal, sorted */
    const char **debug_id, **module;
    int64_t *system;
    size_t n_modules;
};
bool stack_rows_of(const struct part *part, struct arena *mem, struct stack_rows *out,
                   struct err *err) MUST_CHECK;

/* One list of several; all alike. Empty if n is 0. */
bool stack_rows_join(const struct stack_rows *const *rows, size_t n, struct arena *mem,
                     struct stack_rows *out, struct err *err) MUST_CHECK;
/* They belong to one build, so they may be joined. */
bool stack_rows_alike(const struct stack_rows *a, const struct stack_rows *b);

/* Those of a session of the build `build_id`, whose header is `h`. */
bool stack_rows_store(struct db *db, int64_t app, const struct part_header *h, int64_t build_id,
                      const struct stack_rows *s, struct err *err) MUST_CHECK;
