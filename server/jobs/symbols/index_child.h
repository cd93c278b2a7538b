/*
 * index_child: runs `framewatchd index` (index_file.h) as a child process with hard limits, and
 * reads what it left. Thread-safe; the calling thread waits.
 *
 * The child starts with an empty environment and no descriptors but stdin, stdout and stderr;
 * limits on memory, processor time, files and file sizes are set before it runs, and it is killed
 * when its time is up, when the caller asks for it, or when the caller's thread ends.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct index_limits {
    int64_t memory_bytes; /* private memory; mapped files are on top of it */
    int64_t cpu_s, wall_ms;
    int64_t file_bytes; /* of the largest file it may write, and of all it may unpack */
};

struct index_run {
    const char *program; /* framewatchd */
    const char *kind;    /* "symbols" or "mapping" */
    const char *file, *folder;
    struct index_limits limits;
    /* Called about every second while the child runs; false kills it. */
    bool (*tick)(void *user, struct err *err);
    void *user;
};

enum index_end {
    INDEX_DONE,   /* its result is whole */
    INDEX_TIME,   /* killed for processor or wall-clock time */
    INDEX_MEMORY, /* ran out of what it may have */
    INDEX_CRASH   /* died of a signal of its own, or without a result */
};
const char *index_end_reason(enum index_end end); /* as it stands in quarantine */

/* ERR_INTERNAL: it could not be started. Else false only if tick() said so, with its error. */
bool index_child_run(const struct index_run *run, enum index_end *end, struct err *err) MUST_CHECK;
