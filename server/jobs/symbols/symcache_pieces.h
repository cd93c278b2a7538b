/*
 * symcache_pieces: a look-up table's bytes in the database, in pieces of at most 1 MB, each
 * compressed alone, so that neither side ever holds more than a piece. Within the caller's
 * transaction, if there is one.
 */
#pragma once
#include "base/digest.h"
#include "server/db/db.h"

#define SYMCACHE_PIECE ((size_t)1 << 20) /* before and after compression */

/* Writes the pieces of `size` bytes at `bytes`. */
bool symcache_pieces_write(struct db *db, const unsigned char id[16], const void *bytes,
                           size_t size, struct err *err) MUST_CHECK;

typedef bool symcache_piece_sink(void *user, const void *bytes, size_t n);

/* Reads exactly `size` bytes into the sink, and their digest. ERR_NOT_FOUND: it is gone. */
bool symcache_pieces_read(struct db *db, const unsigned char id[16], int64_t size,
                          unsigned char sum[SHA256_BYTES], symcache_piece_sink *sink, void *user,
                          struct err *err) MUST_CHECK;
