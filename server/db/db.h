/*
 * db: runs the statements of sql/queries/ and maps rows onto structs.
 *
 * The only module that sees libpq. A `struct db` is one connection, used by one thread at a time;
 * struct db_pool is thread-safe. Rows, their text and bytes live in the arena given. Statements are
 * prepared once a connection, on first use. A connection that broke is opened again by the next
 * call outside a transaction; the call that met the break fails with ERR_DB.
 *
 * Results travel in binary: cast in SQL so that each column is one of
 *   int64_t       smallint, integer, bigint (NULL reads as 0)
 *   double        float8
 *   bool          boolean
 *   const char *  text (cast json, numeric, timestamptz to text); NULL reads as NULL
 *   struct bytes  bytea or uuid; NULL reads as {NULL, 0}
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "queries.h" /* generated from sql/queries: enum query, query_name[], query_text[] */

#include <stddef.h>
#include <stdint.h>

struct db;

struct bytes {
    const unsigned char *at;
    size_t len;
};

enum db_type { DB_I64, DB_F64, DB_BOOL, DB_TEXT, DB_BYTES };

struct db_col {
    const char *name;
    enum db_type type;
    size_t offset;
};

struct db_map {
    const struct db_col *cols;
    size_t n_cols, row_size;
};

struct db_rows {
    const struct db_map *map;
    void *at; /* n structs of map->row_size bytes */
    size_t n;
};

/* The C type of the field picks the column type, so the two cannot disagree. */
#define DB_TYPE(x)                                                                                 \
    _Generic((x), int64_t: DB_I64, double: DB_F64, bool: DB_BOOL, const char *: DB_TEXT,           \
             struct bytes: DB_BYTES)
#define DB_COL(T, f)                                                                               \
    {                                                                                              \
#f, DB_TYPE(((struct T *)0)->f), offsetof(struct T, f)                                     \
    }
#define DB_MAP(T, c)                                                                               \
    {                                                                                              \
        .cols = (c), .n_cols = sizeof(c) / sizeof *(c), .row_size = sizeof(struct T)               \
    }

/* A parameter. SQL casts it: $1::bigint, $2::text, $3::bytea, $4::uuid (db_uuid), $5::bigint[]. */
struct db_arg {
    enum {
        ARG_NULL,
        ARG_I64,
        ARG_TEXT,
        ARG_BYTES,
        ARG_I64S,
        ARG_TEXTS,
        ARG_BYTESS,
        ARG_UUIDS
    } type;
    size_t n; /* of an array */
    union {
        int64_t i64;
        const char *text;
        struct bytes bytes;
        const int64_t *i64s;
        const char *const *texts;   /* a NULL entry is SQL NULL */
        const struct bytes *bytess; /* bytea[], or uuid[] of 16 bytes each */
    };
};

static inline struct db_arg db_null(void)
{
    return (struct db_arg){.type = ARG_NULL};
}
static inline struct db_arg db_i64(int64_t v)
{
    return (struct db_arg){.type = ARG_I64, .i64 = v};
}
static inline struct db_arg db_bool(bool v)
{
    return (struct db_arg){.type = ARG_TEXT, .text = v ? "t" : "f"};
}
/* NULL is SQL NULL */
static inline struct db_arg db_text(const char *v)
{
    return (struct db_arg){.type = v ? ARG_TEXT : ARG_NULL, .text = v};
}
static inline struct db_arg db_bytes(const void *at, size_t len)
{
    return (struct db_arg){.type = at ? ARG_BYTES : ARG_NULL, .bytes = {at, len}};
}
/* 16 bytes; the parameter is uuid ($n::uuid) */
static inline struct db_arg db_uuid(const void *id)
{
    return db_bytes(id, 16);
}
static inline struct db_arg db_i64s(const int64_t *v, size_t n)
{
    return (struct db_arg){.type = ARG_I64S, .n = n, .i64s = v};
}
static inline struct db_arg db_texts(const char *const *v, size_t n)
{
    return (struct db_arg){.type = ARG_TEXTS, .n = n, .texts = v};
}
static inline struct db_arg db_uuids(const struct bytes *v, size_t n)
{
    return (struct db_arg){.type = ARG_UUIDS, .n = n, .bytess = v};
}
static inline struct db_arg db_bytess(const struct bytes *v, size_t n)
{
    return (struct db_arg){.type = ARG_BYTESS, .n = n, .bytess = v};
}

struct db_args {
    size_t n;
    const struct db_arg *v;
};
#define DB_ARGS(...)                                                                               \
    (struct db_args)                                                                               \
    {                                                                                              \
        sizeof((struct db_arg[]){__VA_ARGS__}) / sizeof(struct db_arg), (struct db_arg[])          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define DB_NO_ARGS ((struct db_args){0, NULL})

/* conninfo as libpq takes it; a password never reaches an error text. NULL and err on failure. */
struct db *db_open(const char *conninfo, struct err *err) MUST_CHECK;
void db_close(struct db *db);
/* Before the first call after a rest: a connection that the server closed meanwhile is opened
 * again. Costs no round trip. Nothing inside a transaction. */
bool db_revive(struct db *db, struct err *err) MUST_CHECK;
/* The same of a thread's own connection; NULL: it is opened. */
bool db_reach(struct db **db, const char *conninfo, struct err *err) MUST_CHECK;

/* Statement whose rows, if any, are of no interest. */
bool db_exec(struct db *db, enum query q, struct db_args args, struct err *err) MUST_CHECK;
/* The same, and how many rows it touched. */
bool db_exec_n(struct db *db, enum query q, struct db_args args, int64_t *rows,
               struct err *err) MUST_CHECK;
/* Exactly one row, else ERR_NOT_FOUND (none) or ERR_DB (several). */
bool db_one(struct db *db, enum query q, struct db_args args, const struct db_map *map,
            struct arena *mem, void *out, struct err *err) MUST_CHECK;
/* Any number of rows; ERR_TOO_BIG when the arena is full. */
bool db_all(struct db *db, enum query q, struct db_args args, const struct db_map *map,
            struct arena *mem, struct db_rows *out, struct err *err) MUST_CHECK;

/* Transactions do not nest. After a failure inside, call db_rollback; db_return does it, too. */
bool db_begin(struct db *db, struct err *err) MUST_CHECK;
bool db_commit(struct db *db, struct err *err) MUST_CHECK;
void db_rollback(struct db *db);
bool db_in_transaction(const struct db *db);

/* COPY … FROM STDIN (FORMAT binary): the statement's file name begins with copy_. Rows are put one
 * by one: db_copy_row(n columns), then n times one of the field calls. db_copy_end also on failure
 * midway; it reports the first error. */
bool db_copy_begin(struct db *db, enum query q, struct err *err) MUST_CHECK;
void db_copy_row(struct db *db, unsigned columns);
void db_copy_i32(struct db *db, int32_t v);
void db_copy_i64(struct db *db, int64_t v);
void db_copy_date(struct db *db, int32_t days_since_2000);
void db_copy_bytes(struct db *db, const void *bytes, size_t n); /* bytea or uuid */
/* The same value in pieces: db_copy_open(its length), then db_copy_more() until it is whole. */
void db_copy_open(struct db *db, size_t n);
void db_copy_more(struct db *db, const void *bytes, size_t n);
bool db_copy_end(struct db *db, struct err *err) MUST_CHECK;

/* Run a script of several statements (migrations). */
bool db_script(struct db *db, const char *sql, struct err *err) MUST_CHECK;

/* SQLSTATE of the last failure on this connection, "" if none: "40P01" deadlock, "23505" unique …
 */
const char *db_sqlstate(const struct db *db);
/* True if the last failure may pass when the transaction is run again (deadlock, serialization,
 * lost connection, shutdown, out of connections). */
bool db_transient(const struct db *db);

/* A fixed number of connections, opened on first use. */
struct db_pool;
struct db_pool *db_pool_new(const char *conninfo, unsigned size, struct err *err) MUST_CHECK;
void db_pool_free(struct db_pool *p); /* all connections must be returned */
/* Waits up to timeout_ms for one, else ERR_BUSY. One that was closed while it was idle is opened
 * again first (db_revive). */
struct db *db_borrow(struct db_pool *p, unsigned timeout_ms, struct err *err) MUST_CHECK;
/* Rolls back a transaction that is still open: what others do next must not be part of it. */
void db_return(struct db_pool *p, struct db *db);
