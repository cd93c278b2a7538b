#include "server/jobs/symbols/symcache_pieces.h"

#include <stdlib.h>

#include <zstd.h>

#define LEVEL 6
/* Raw bytes of a piece: what does not compress grows a little, and must not pass 1 MB then. */
#define RAW (SYMCACHE_PIECE - 8192)

static bool write_piece(struct db *db, const unsigned char id[16], int64_t n,
                        const unsigned char *bytes, size_t size, unsigned char *packed,
                        struct err *err)
{
    size_t len = ZSTD_compress(packed, SYMCACHE_PIECE, bytes, size, LEVEL);

    if (ZSTD_isError(len))
        return err_set(err, ERR_INTERNAL, "a piece does not compress: %s", ZSTD_getErrorName(len));
    return db_exec(db, Q_SYMCACHE_PIECE_ADD, DB_ARGS(db_uuid(id), db_i64(n), db_bytes(packed, len)),
                   err);
}

bool symcache_pieces_write(struct db *db, const unsigned char id[16], const void *bytes,
                           size_t size, struct err *err)
{
    unsigned char *packed = malloc(SYMCACHE_PIECE);
    bool ok = packed || err_memory(err);

    for (size_t at = 0; ok && at < size; at += RAW)
        ok = write_piece(db, id, (int64_t)(at / RAW), (const unsigned char *)bytes + at,
                         size - at < RAW ? size - at : RAW, packed, err);
    free(packed);
    return ok;
}

struct piece_row {
    struct bytes bytes;
};
static const struct db_col piece_cols[] = {DB_COL(piece_row, bytes)};
static const struct db_map piece_map = DB_MAP(piece_row, piece_cols);

struct reading {
    struct db *db;
    const unsigned char *id;
    struct arena *mem;
    unsigned char *raw;
    struct digest *digest;
    symcache_piece_sink *sink;
    void *user;
};

static bool read_piece(struct reading *r, int64_t n, int64_t *left, struct err *err)
{
    struct piece_row row;
    size_t len;

    arena_reset(r->mem);
    if (!db_one(r->db, Q_SYMCACHE_PIECE_GET, DB_ARGS(db_uuid(r->id), db_i64(n)), &piece_map, r->mem,
                &row, err))
        return false;
    len = ZSTD_decompress(r->raw, SYMCACHE_PIECE, row.bytes.at, row.bytes.len);
    if (ZSTD_isError(len) || !len || (int64_t)len > *left)
        return err_set(err, ERR_INTERNAL, "piece %lld of a table is damaged", (long long)n);
    *left -= (int64_t)len;
    digest_add(r->digest, r->raw, len);
    return r->sink(r->user, r->raw, len) ||
           err_set(err, ERR_INTERNAL, "a table's bytes cannot be written");
}

bool symcache_pieces_read(struct db *db, const unsigned char id[16], int64_t size,
                          unsigned char sum[SHA256_BYTES], symcache_piece_sink *sink, void *user,
                          struct err *err)
{
    struct reading r = {.db = db,
                        .id = id,
                        .mem = arena_new(4 * SYMCACHE_PIECE),
                        .raw = malloc(SYMCACHE_PIECE),
                        .digest = digest_new(DIGEST_SHA256),
                        .sink = sink,
                        .user = user};
    bool ok = (r.mem && r.raw && r.digest) || err_memory(err);

    for (int64_t n = 0, left = size; ok && left > 0; n++)
        ok = read_piece(&r, n, &left, err);
    if (ok)
        digest_end(r.digest, sum);
    digest_free(r.digest);
    free(r.raw);
    arena_free(r.mem);
    return ok;
}
