/*
 * secret: the server's secret and what is derived from it by HMAC-SHA256. Read-only after loading,
 * so any thread may use it. All servers of one database share one secret: with another one, phones
 * that come back would begin their uploads anew.
 */
#pragma once
#include "base/digest.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES_MIN 32
#define SECRET_BYTES_MAX 1024
#define SECRET_SUBJECT_MAX 1024

struct secret {
    size_t len;
    unsigned char bytes[SECRET_BYTES_MAX];
};

/* The file's bytes without a final newline. Refuses a file that others may read. */
bool secret_load(const char *path, struct secret *out, struct err *err) MUST_CHECK;

/* HMAC over label (at most 16 bytes), app (8 bytes, big-endian) and the first SECRET_SUBJECT_MAX
 * bytes of the subject: no two triples give the same bytes, because no label is the beginning of
 * another. */
void secret_derive(const struct secret *s, const char *label, int64_t app, const void *subject,
                   size_t n, unsigned char out[SHA256_BYTES]);

/* Upload id of a file: the same app and file id make the same upload. Partial uploads
 * (Upload-Concat: partial) have ids of their own, since all parts may carry the whole's file id. */
void secret_upload_id(const struct secret *s, int64_t app, const char *file_id, bool partial,
                      unsigned char id[16]);

/* What is stored in place of an install id. */
void secret_install_hash(const struct secret *s, int64_t app, const void *install, size_t n,
                         unsigned char hash[SHA256_BYTES]);
