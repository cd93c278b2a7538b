/*
 * out_file: the file a command writes its result to. It is whole under its name or not there: bytes
 * go to a nameless file in the same folder, or to one called .framewatch-… where the file system
 * has no nameless ones, and take the name when all is well. Until then, and after a failure, what
 * stood there before stays as it was.
 *
 * "-" and /dev/stdout are standard output, /dev/stderr, /dev/fd/N and /proc/self/fd/N that
 * descriptor: written to where it stands. Pipes, devices and sockets are written as they are. A
 * symbolic link stays, what it points to is replaced. The new file has the permissions of the one
 * it replaces. Any thread; one thread a file.
 */
#pragma once
#include "base/err.h"

#include <limits.h>
#include <stdio.h>

struct out_file {
    FILE *to;  /* write here */
    FILE *say; /* for notes about the result: not among its bytes */
    /* of the module */
    char target[PATH_MAX], temporary[PATH_MAX]; /* "": written where it stands; nameless */
    unsigned mode;
};

/* Name and reason are told; ERR_INVALID. */
bool out_file_open(struct out_file *f, const char *path, struct err *err) MUST_CHECK;
/* Keeps what was written if `ok`, else drops it and leaves *err. `ok`, and the file is kept. */
bool out_file_close(struct out_file *f, bool ok, struct err *err) MUST_CHECK;

/* Open, write, close. */
bool out_file_put(const char *path, const void *bytes, size_t n, struct err *err) MUST_CHECK;
