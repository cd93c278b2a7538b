/*
 * mapped: a file's bytes, mapped read-only. Single-threaded. The file must not be shortened while
 * it is mapped (the kernel then ends the process with SIGBUS).
 */
#pragma once
#include "base/err.h"

#include <stddef.h>

struct mapped {
    const void *bytes; /* NULL when empty */
    size_t size;
};

/* ERR_NOT_FOUND, ERR_INVALID (a folder, empty) or ERR_INTERNAL. Release with mapped_close(). */
bool mapped_open(struct mapped *m, const char *path, struct err *err) MUST_CHECK;
void mapped_close(struct mapped *m); /* fine on a zeroed one */
