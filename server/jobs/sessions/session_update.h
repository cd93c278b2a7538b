/*
 * session_update: one session from its lock to what its files say together. The caller adds files
 * between session_open and session_compute, and stores the result with session_store().
 */
#pragma once
#include "server/jobs/job_run.h"
#include "server/jobs/sessions/session_store.h"

/* Locks the session of the job's app and reads its row and the list of its files, with room for
 * some more. */
bool session_open(struct job_run *run, const unsigned char id[16], size_t room,
                  struct session_change *out, struct err *err) MUST_CHECK;

/* It was analysed by today's rules. */
bool session_is_current(const struct session_change *c);
/* Before this change it held all that it may, by the number or bytes of its files, and is what it
 * would be again but for files that it leaves out. Sets c->used. */
bool session_is_full(struct job_run *run, struct session_change *c);
/* A file of c->parts is past what the session may hold. */
bool session_leaves_out(const struct session_change *c, const struct stored_part *part);

/* Reads the bytes, decodes, merges, analyses. Files past what one session may hold are left out,
 * always the same ones of the same set: c->used says where. Sets c->final if it is or was.
 * ERR_GONE: bytes are past retention; ERR_TOO_BIG: not even the first file fits. */
bool session_compute(struct job_run *run, struct session_change *c, struct err *err) MUST_CHECK;
