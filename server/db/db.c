#include "server/db/db.h"

#include "base/buf.h"

#include <libpq-fe.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 64
#define COPY_BUFFER (64u * 1024) /* small enough to stay in the cache on its way to the socket */
#define COPY_MAX (64u * 1024 * 1024)
#define MAX_RESULT_TEXT (256u * 1024 * 1024)

struct db {
    PGconn *conn;
    char *conninfo;
    bool in_transaction;
    char sqlstate[6];
    bool prepared[QUERY_COUNT];
    struct buf copy; /* rows not yet handed to libpq */
};

static void ignore_notice(void *user, const char *message)
{
    (void)user;
    (void)message;
}

/* libpq ends its messages with a newline and may add lines of context; the first one says it. */
static bool fail(struct db *db, struct err *err, const char *what, const PGresult *res)
{
    const char *text = res ? PQresultErrorMessage(res) : PQerrorMessage(db->conn);
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;

    snprintf(db->sqlstate, sizeof db->sqlstate, "%s", state ? state : "");
    if (PQstatus(db->conn) == CONNECTION_BAD)
        snprintf(db->sqlstate, sizeof db->sqlstate, "08006");
    return err_set(err, ERR_DB, "%s: %.*s", what, (int)strcspn(text, "\n"), text);
}

static bool connect_db(struct db *db, struct err *err)
{
    if (db->conn)
        PQfinish(db->conn);
    memset(db->prepared, 0, sizeof db->prepared);
    db->in_transaction = false;
    db->conn = PQconnectdb(db->conninfo);
    if (PQstatus(db->conn) != CONNECTION_OK)
        return fail(db, err, "connect", NULL);
    PQsetNoticeProcessor(db->conn, ignore_notice, NULL);
    return true;
}

/* In a URI a '/' or '@' of a password, not percent-encoded, makes libpq take the rest of it for a
 * host or port. */
static bool is_misread(const char *conninfo)
{
    const char *rest = strstr(conninfo, "://"), *end;

    if (strncmp(conninfo, "postgres", 8) != 0 || !rest)
        return false;
    rest += 3;
    end = rest + strcspn(rest, "@/?"); /* of the user and password, or of the host */
    return (*end == '@' || *end == '/') && memchr(end + 1, '@', strcspn(end + 1, "?"));
}

/* What libpq says of a connection string that it cannot take quotes it, the password too. */
static bool check_conninfo(const char *conninfo, struct err *err)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool ok = options && !is_misread(conninfo);

    PQconninfoFree(options);
    return ok ||
           err_set(err, ERR_INVALID,
                   "the database's connection string is malformed (it is not shown, for it "
                   "may hold a password; in a URI, / and @ of a password are written %%2F and "
                   "%%40)");
}

struct db *db_open(const char *conninfo, struct err *err)
{
    struct db *db;

    if (!check_conninfo(conninfo, err))
        return NULL;
    db = calloc(1, sizeof *db);
    if (db)
        db->conninfo = strdup(conninfo);
    if (!db || !db->conninfo) {
        free(db);
        err_memory(err);
        return NULL;
    }
    buf_init(&db->copy, COPY_MAX);
    if (connect_db(db, err))
        return db;
    db_close(db);
    return NULL;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (db->conn)
        PQfinish(db->conn);
    buf_fini(&db->copy);
    free(db->conninfo);
    free(db);
}

/* A lost connection is only replaced where no transaction can be cut in two by it. */
static bool ready(struct db *db, struct err *err)
{
    if (PQstatus(db->conn) == CONNECTION_OK)
        return true;
    if (db->in_transaction)
        return fail(db, err, "connection lost", NULL);
    return connect_db(db, err);
}

/* Between calls a server says nothing, apart from changed parameters: what it says then is mostly
 * that it ends the connection, in a message and a close that need not come at once. */
static bool spoke_unasked(struct db *db)
{
    struct pollfd socket = {.fd = PQsocket(db->conn), .events = POLLIN};

    return poll(&socket, 1, 0) != 0;
}

bool db_revive(struct db *db, struct err *err)
{
    if (!db->in_transaction && PQstatus(db->conn) == CONNECTION_OK && !spoke_unasked(db))
        return true;
    return db->in_transaction ? ready(db, err) : connect_db(db, err);
}

bool db_reach(struct db **db, const char *conninfo, struct err *err)
{
    if (*db)
        return db_revive(*db, err);
    *db = db_open(conninfo, err);
    return *db;
}

static bool prepare(struct db *db, enum query q, struct err *err)
{
    if (!ready(db, err))
        return false;
    if (db->prepared[q])
        return true;

    PGresult *res = PQprepare(db->conn, query_name[q], query_text[q], 0, NULL);
    bool ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    if (!ok)
        fail(db, err, query_name[q], res);
    db->prepared[q] = ok;
    PQclear(res);
    return ok;
}

/* Array literals in text form: {"a","b"}; bytea and uuid elements as hex. */
static void put_text_element(struct buf *b, const char *text)
{
    if (!text) {
        buf_text(b, "NULL");
        return;
    }
    buf_byte(b, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)*text);
    }
    buf_byte(b, '"');
}

static void put_bytes_element(struct buf *b, struct bytes bytes, bool uuid)
{
    static const char digit[] = "0123456789abcdef";

    if (!bytes.at) {
        buf_text(b, "NULL");
        return;
    }
    /* uuid takes plain hex; bytea wants \x, doubled inside an array literal */
    buf_text(b, uuid ? "\"" : "\"\\\\x");
    for (size_t i = 0; i < bytes.len; i++) {
        buf_byte(b, (uint8_t)digit[bytes.at[i] >> 4]);
        buf_byte(b, (uint8_t)digit[bytes.at[i] & 15]);
    }
    buf_byte(b, '"');
}

static void put_array(struct buf *b, const struct db_arg *arg)
{
    buf_byte(b, '{');
    for (size_t i = 0; i < arg->n; i++) {
        if (i)
            buf_byte(b, ',');
        if (arg->type == ARG_I64S)
            buf_i64(b, arg->i64s[i]);
        else if (arg->type == ARG_TEXTS)
            put_text_element(b, arg->texts[i]);
        else
            put_bytes_element(b, arg->bytess[i], arg->type == ARG_UUIDS);
    }
    buf_byte(b, '}');
    buf_byte(b, '\0');
}

/* What PQexecPrepared wants, built in one buffer; offsets become pointers when it no longer moves.
 */
struct call {
    const char *value[MAX_ARGS];
    int length[MAX_ARGS], format[MAX_ARGS];
    size_t offset[MAX_ARGS];
    struct buf text;
};

static bool call_init(struct call *call, struct db_args args)
{
    buf_init(&call->text, MAX_RESULT_TEXT);
    for (size_t i = 0; i < args.n; i++) {
        const struct db_arg *arg = &args.v[i];

        call->value[i] = NULL;
        call->length[i] = 0;
        call->format[i] = arg->type == ARG_BYTES;
        call->offset[i] = call->text.len;
        if (arg->type == ARG_TEXT) {
            call->value[i] = arg->text;
        } else if (arg->type == ARG_BYTES) {
            call->value[i] = (const char *)arg->bytes.at;
            call->length[i] = (int)arg->bytes.len;
        } else if (arg->type == ARG_I64) {
            buf_i64(&call->text, arg->i64);
            buf_byte(&call->text, '\0');
        } else if (arg->type != ARG_NULL) {
            put_array(&call->text, arg);
        }
    }
    if (!buf_ok(&call->text))
        return false;
    for (size_t i = 0; i < args.n; i++) {
        int type = (int)args.v[i].type;

        if (type == ARG_I64 || type >= ARG_I64S)
            call->value[i] = (const char *)call->text.at + call->offset[i];
    }
    return true;
}

/* The caller clears *out, also after a failure. */
static bool run(struct db *db, enum query q, struct db_args args, PGresult **out, struct err *err)
{
    struct call call;

    *out = NULL;
    db->sqlstate[0] = '\0';
    if (args.n > MAX_ARGS)
        return err_set(err, ERR_INTERNAL, "%s: too many arguments", query_name[q]);
    if (!prepare(db, q, err))
        return false;
    if (call_init(&call, args))
        *out = PQexecPrepared(db->conn, query_name[q], (int)args.n, call.value, call.length,
                              call.format, 1);
    buf_fini(&call.text);

    ExecStatusType status = PQresultStatus(*out);

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return true;
    return fail(db, err, query_name[q], *out);
}

static uint64_t big_endian(const char *bytes, int n)
{
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v = v << 8 | (unsigned char)bytes[i];
    return v;
}

static bool put_number(void *field, enum db_type type, const char *value, int length)
{
    uint64_t raw = big_endian(value, length <= 8 ? length : 0);

    switch (type) {
    case DB_I64:
        if (length == 2)
            *(int64_t *)field = (int16_t)raw;
        else if (length == 4)
            *(int64_t *)field = (int32_t)raw;
        else
            *(int64_t *)field = (int64_t)raw;
        return length == 2 || length == 4 || length == 8;
    case DB_F64:
        memcpy(field, &raw, sizeof raw);
        return length == 8;
    case DB_BOOL:
        *(bool *)field = raw != 0;
        return length == 1;
    default:
        return false;
    }
}

static bool put_field(void *field, enum db_type type, const char *value, int length,
                      struct arena *mem)
{
    if (type != DB_TEXT && type != DB_BYTES)
        return put_number(field, type, value, length);

    char *copy = arena_dup(mem, value, (size_t)length);

    if (type == DB_TEXT)
        *(const char **)field = copy;
    else
        *(struct bytes *)field = (struct bytes){(unsigned char *)copy, (size_t)length};
    return true;
}

static bool map_column(const PGresult *res, const struct db_col *col, size_t row_size,
                       struct arena *mem, void *rows, struct err *err)
{
    int at = PQfnumber(res, col->name);

    if (at < 0)
        return err_set(err, ERR_DB, "no column %s in the result", col->name);
    for (int r = 0; r < PQntuples(res); r++) {
        char *field = (char *)rows + (size_t)r * row_size + col->offset;

        if (PQgetisnull(res, r, at))
            continue;
        if (!put_field(field, col->type, PQgetvalue(res, r, at), PQgetlength(res, r, at), mem))
            return err_set(err, ERR_DB, "column %s has another type than its field", col->name);
    }
    return true;
}

static bool map_rows(const PGresult *res, const struct db_map *map, struct arena *mem, void *rows,
                     struct err *err)
{
    for (size_t c = 0; c < map->n_cols; c++)
        if (!map_column(res, &map->cols[c], map->row_size, mem, rows, err))
            return false;
    if (arena_full(mem))
        return err_set(err, ERR_TOO_BIG, "result is too big");
    return true;
}

bool db_exec_n(struct db *db, enum query q, struct db_args args, int64_t *rows, struct err *err)
{
    PGresult *res;
    bool ok = run(db, q, args, &res, err);

    if (ok && rows)
        *rows = strtoll(PQcmdTuples(res), NULL, 10);
    PQclear(res);
    return ok;
}

bool db_exec(struct db *db, enum query q, struct db_args args, struct err *err)
{
    return db_exec_n(db, q, args, NULL, err);
}

bool db_all(struct db *db, enum query q, struct db_args args, const struct db_map *map,
            struct arena *mem, struct db_rows *out, struct err *err)
{
    PGresult *res;
    bool ok = false;

    if (!run(db, q, args, &res, err))
        goto out;

    size_t n = (size_t)PQntuples(res);
    void *rows = arena_array(mem, n, map->row_size);

    if (!rows) {
        err_set(err, ERR_TOO_BIG, "%s: result is too big", query_name[q]);
        goto out;
    }
    ok = map_rows(res, map, mem, rows, err);
    if (ok)
        *out = (struct db_rows){map, rows, n};
out:
    PQclear(res);
    return ok;
}

bool db_one(struct db *db, enum query q, struct db_args args, const struct db_map *map,
            struct arena *mem, void *out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, q, args, map, mem, &rows, err))
        return false;
    if (rows.n != 1)
        return err_set(err, rows.n ? ERR_DB : ERR_NOT_FOUND, "%s: %zu rows", query_name[q], rows.n);
    memcpy(out, rows.at, map->row_size);
    return true;
}

bool db_script(struct db *db, const char *sql, struct err *err)
{
    if (!ready(db, err))
        return false;
    db->sqlstate[0] = '\0';

    PGresult *res = PQexec(db->conn, sql);
    ExecStatusType status = PQresultStatus(res);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!ok)
        fail(db, err, "script", res);
    PQclear(res);
    return ok;
}

bool db_begin(struct db *db, struct err *err)
{
    if (!db_script(db, "BEGIN", err))
        return false;
    db->in_transaction = true;
    return true;
}

bool db_commit(struct db *db, struct err *err)
{
    if (!ready(db, err))
        return false;

    PGresult *res = PQexec(db->conn, "COMMIT");
    /* COMMIT of a failed transaction succeeds as ROLLBACK: the tag tells */
    bool ok = PQresultStatus(res) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(res), "COMMIT") == 0;

    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        fail(db, err, "commit", res);
    else if (!ok)
        err_set(err, ERR_DB, "commit: the transaction had failed");
    if (ok || PQstatus(db->conn) == CONNECTION_OK)
        db->in_transaction = false;
    PQclear(res);
    return ok;
}

void db_rollback(struct db *db)
{
    if (PQstatus(db->conn) == CONNECTION_OK)
        PQclear(PQexec(db->conn, "ROLLBACK"));
    db->in_transaction = false;
}

bool db_in_transaction(const struct db *db)
{
    return db->in_transaction;
}

bool db_copy_begin(struct db *db, enum query q, struct err *err)
{
    static const unsigned char header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

    if (!ready(db, err))
        return false;
    db->sqlstate[0] = '\0';

    PGresult *res = PQexec(db->conn, query_text[q]);
    bool ok = PQresultStatus(res) == PGRES_COPY_IN;

    if (!ok)
        fail(db, err, query_name[q], res);
    PQclear(res);
    buf_reset(&db->copy);
    buf_put(&db->copy, header, sizeof header);
    return ok;
}

static void put_big_endian(struct buf *b, uint64_t v, unsigned n)
{
    unsigned char bytes[8];

    for (unsigned i = n; i > 0; i--, v >>= 8)
        bytes[i - 1] = (unsigned char)v;
    buf_put(b, bytes, n);
}

static void copy_flush(struct db *db)
{
    if (!buf_ok(&db->copy))
        return;
    if (PQputCopyData(db->conn, (const char *)db->copy.at, (int)db->copy.len) != 1)
        db->copy.failed = true;
    else
        buf_reset(&db->copy);
}

void db_copy_row(struct db *db, unsigned columns)
{
    if (db->copy.len >= COPY_BUFFER)
        copy_flush(db);
    put_big_endian(&db->copy, columns, 2);
}

void db_copy_i32(struct db *db, int32_t v)
{
    put_big_endian(&db->copy, 4, 4);
    put_big_endian(&db->copy, (uint32_t)v, 4);
}

void db_copy_i64(struct db *db, int64_t v)
{
    put_big_endian(&db->copy, 8, 4);
    put_big_endian(&db->copy, (uint64_t)v, 8);
}

void db_copy_date(struct db *db, int32_t days_since_2000)
{
    db_copy_i32(db, days_since_2000);
}

void db_copy_open(struct db *db, size_t n)
{
    put_big_endian(&db->copy, n, 4);
}

void db_copy_more(struct db *db, const void *bytes, size_t n)
{
    buf_put(&db->copy, bytes, n);
}

void db_copy_bytes(struct db *db, const void *bytes, size_t n)
{
    db_copy_open(db, n);
    db_copy_more(db, bytes, n);
}

static bool copy_result(struct db *db, bool sent, struct err *err)
{
    bool ok = sent;

    if (!sent)
        fail(db, err, "copy", NULL);
    for (PGresult *res; (res = PQgetResult(db->conn)); PQclear(res)) {
        if (ok && PQresultStatus(res) != PGRES_COMMAND_OK)
            ok = fail(db, err, "copy", res);
    }
    return ok;
}

bool db_copy_end(struct db *db, struct err *err)
{
    put_big_endian(&db->copy, 0xffff, 2);
    copy_flush(db);

    bool complete = buf_ok(&db->copy);
    int sent = PQputCopyEnd(db->conn, complete ? NULL : "rows could not be sent");

    return copy_result(db, complete && sent == 1, err);
}

const char *db_sqlstate(const struct db *db)
{
    return db->sqlstate;
}

bool db_transient(const struct db *db)
{
    /* classes: 08 connection, 40 rollback, 53 resources, 57P shutdown and crash */
    static const char *const prefix[] = {"08", "40", "53", "57P", "55P03"};

    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (strncmp(db->sqlstate, prefix[i], strlen(prefix[i])) == 0)
            return true;
    return false;
}
