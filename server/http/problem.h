/*
 * problem: how failures become HTTP. One table maps error codes to statuses; all refusals leave as
 * problem documents (RFC 9457) with a stable `code`. Pure.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct problem {
    int status;
    const char *code;   /* stable: clients may switch on it */
    const char *detail; /* one sentence for people */
    const char *field;  /* header, argument or JSON field at fault; "" or NULL if none */
};

#define STATUS_CHECKSUM_MISMATCH 460 /* tus */

/* Borrows the text of *err. Of faults of ours the client reads only that they happened. */
struct problem problem_of(const struct err *err);
void problem_write(struct buf *b, const struct problem *p, const char *request_id);
