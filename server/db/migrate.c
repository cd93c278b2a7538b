#include "server/db/migrate.h"

#include "base/digest.h"
#include "migrations.h" /* generated from sql/migrations */
#include "server/db/partition.h"

#include <string.h>

#define MEM_BYTES (256u * 1024)

/* schema_migration is not a migration: what it records must exist before the first one. */
static const char lock_sql[] = "SELECT pg_advisory_xact_lock(hashtext('framewatch.migrate'))";
static const char table_sql[] = "CREATE TABLE IF NOT EXISTS schema_migration ("
                                "number integer PRIMARY KEY, name text NOT NULL UNIQUE, "
                                "sha256 bytea NOT NULL, binary_version text NOT NULL, "
                                "applied_at timestamptz NOT NULL DEFAULT now())";

struct applied {
    int64_t number;
    const char *name;
    struct bytes sha256;
};
static const struct db_col applied_cols[] = {
    DB_COL(applied, number),
    DB_COL(applied, name),
    DB_COL(applied, sha256),
};
static const struct db_map applied_map = DB_MAP(applied, applied_cols);

static bool check_one(const struct applied *a, size_t i, struct err *err)
{
    unsigned char sha[SHA256_BYTES];

    if (i >= MIGRATION_COUNT)
        return err_set(err, ERR_CONFLICT,
                       "the database has migration %s, newer than this program (%s): upgrade it",
                       a->name, FW_VERSION);
    sha256(migration_text[i], strlen(migration_text[i]), sha);
    if (a->number != (int64_t)i + 1 || strcmp(a->name, migration_name[i]) != 0 ||
        a->sha256.len != sizeof sha || memcmp(a->sha256.at, sha, sizeof sha) != 0)
        return err_set(err, ERR_CONFLICT,
                       "migration %s of the database is not this program's %s: one of them was "
                       "altered",
                       a->name, migration_name[i]);
    return true;
}

/* *n = how many of our migrations the database has; all of its own are ours. */
static bool read_applied(struct db *db, size_t *n, struct err *err)
{
    struct arena *mem = arena_new(MEM_BYTES);
    struct db_rows rows = {0};
    bool ok = mem ? db_all(db, Q_MIGRATION_LIST, DB_NO_ARGS, &applied_map, mem, &rows, err)
                  : err_memory(err);

    for (size_t i = 0; ok && i < rows.n; i++)
        ok = check_one((const struct applied *)rows.at + i, i, err);
    if (ok)
        *n = rows.n;
    arena_free(mem);
    return ok;
}

static bool apply(struct db *db, size_t i, struct err *err)
{
    unsigned char sha[SHA256_BYTES];
    struct err why;

    if (!db_script(db, migration_text[i], &why))
        return err_set(err, why.code, "migration %s: %s", migration_name[i], why.text);
    sha256(migration_text[i], strlen(migration_text[i]), sha);
    return db_exec(db, Q_MIGRATION_ADD,
                   DB_ARGS(db_i64((int64_t)i + 1), db_text(migration_name[i]),
                           db_bytes(sha, sizeof sha), db_text(FW_VERSION)),
                   err);
}

/* One transaction: lock, look, apply the next one if any is missing. Looking again under each lock
 * makes any number of migrating processes, and any crash between two steps, harmless. */
static bool step(struct db *db, bool *more, struct err *err)
{
    size_t n = 0;

    if (!db_begin(db, err))
        return false;

    bool ok = db_script(db, lock_sql, err) && db_script(db, table_sql, err) &&
              read_applied(db, &n, err) && (n == MIGRATION_COUNT || apply(db, n, err)) &&
              db_commit(db, err);

    if (!ok)
        db_rollback(db);
    *more = ok && n < MIGRATION_COUNT;
    return ok;
}

bool migrate_run(struct db *db, unsigned *applied, struct err *err)
{
    unsigned count = 0;
    bool more = true;

    while (more) {
        if (!step(db, &more, err))
            return false;
        count += more;
    }
    if (!partition_ensure(db, PARTITION_DAYS_AHEAD, err))
        return false;
    if (applied)
        *applied = count;
    return true;
}

static bool table_exists(struct db *db, bool *out, struct err *err)
{
    struct row {
        bool present;
    } row = {false};
    static const struct db_col cols[] = {DB_COL(row, present)};
    static const struct db_map map = DB_MAP(row, cols);
    struct arena *mem = arena_new(4096);
    bool ok =
        mem ? db_one(db, Q_MIGRATION_EXISTS, DB_NO_ARGS, &map, mem, &row, err) : err_memory(err);

    arena_free(mem);
    *out = row.present;
    return ok;
}

bool migrate_check(struct db *db, struct err *err)
{
    bool present;
    size_t n = 0;

    if (!table_exists(db, &present, err) || (present && !read_applied(db, &n, err)))
        return false;
    if (n == MIGRATION_COUNT)
        return true;
    return err_set(err, ERR_CONFLICT,
                   "the database has %zu of %d migrations: run `framewatchd migrate` first", n,
                   MIGRATION_COUNT);
}
