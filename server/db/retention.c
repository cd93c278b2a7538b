#include "server/db/partition.h"

#include <stdio.h>
#include <string.h>

#define MEM_BYTES (4u * 1024 * 1024)
#define DEFAULT_BATCH 1000

struct old_partition {
    const char *name, *parent, *state;
};
static const struct db_col partition_cols[] = {
    DB_COL(old_partition, name),
    DB_COL(old_partition, parent),
    DB_COL(old_partition, state),
};
static const struct db_map partition_map = DB_MAP(old_partition, partition_cols);

/* Identifiers cannot be parameters. These are our own tables' names, of the form the statement
 * asked for: letters, '_' and digits. */
static bool ddl(struct db *db, const char *before, const char *parent, const char *middle,
                const char *name, const char *after, struct err *err)
{
    char sql[256];

    snprintf(sql, sizeof sql, "%s%s%s%s%s", before, parent, middle, name, after);
    return db_script(db, sql, err);
}

static bool drop_partition(struct db *db, const struct old_partition *p, struct err *err)
{
    bool attached = strcmp(p->state, "attached") == 0, pending = strcmp(p->state, "pending") == 0;

    if ((attached || pending) && !ddl(db, "ALTER TABLE ", p->parent, " DETACH PARTITION ", p->name,
                                      attached ? " CONCURRENTLY" : " FINALIZE", err))
        return false;
    return ddl(db, "DROP TABLE ", "", "", p->name, "", err);
}

static bool drop_partitions(struct db *db, const struct retention *keep, struct arena *mem,
                            int64_t *dropped, struct err *err)
{
    struct db_rows rows;

    if (!db_all(db, Q_RETENTION_PARTITIONS,
                DB_ARGS(db_i64(keep->raw_days), db_i64(keep->session_days)), &partition_map, mem,
                &rows, err))
        return false;
    for (size_t i = 0; i < rows.n; i++) {
        if (!drop_partition(db, (const struct old_partition *)rows.at + i, err))
            return false;
        ++*dropped;
    }
    return true;
}

/* Runs the statement until it finds nothing more, each time in a transaction of its own. */
static bool batches(struct db *db, enum query q, int days, int batch, int64_t *total,
                    struct err *err)
{
    int64_t rows = 1;

    while (rows > 0) {
        if (!db_exec_n(db, q, DB_ARGS(db_i64(days), db_i64(batch)), &rows, err))
            return false;
        *total += rows;
    }
    return true;
}

static bool drop_all(struct db *db, const struct retention *keep, struct arena *mem,
                     struct retention_report *out, struct err *err)
{
    int days = keep->session_days, n = keep->batch ? keep->batch : DEFAULT_BATCH;
    int64_t other = 0;

    return batches(db, Q_RETENTION_OPEN_UPLOADS, keep->raw_days, n, &other, err) &&
           drop_partitions(db, keep, mem, &out->partitions_dropped, err) &&
           batches(db, Q_RETENTION_SESSIONS, days, n, &out->sessions_deleted, err) &&
           batches(db, Q_RETENTION_UPLOADS, days, n, &out->uploads_deleted, err) &&
           batches(db, Q_RETENTION_QUARANTINE, days, n, &out->quarantine_deleted, err) &&
           batches(db, Q_RETENTION_POSTED, days, n, &other, err) &&
           batches(db, Q_RETENTION_EXAMPLES, days, n, &other, err) &&
           batches(db, Q_RETENTION_WINDOWS, days, n, &other, err) &&
           batches(db, Q_RETENTION_DEAD_JOBS, days, n, &other, err) &&
           batches(db, Q_RETENTION_ERASED_UPLOADS_CLOSE, days, n, &other, err) &&
           batches(db, Q_RETENTION_ERASED_UPLOADS, days, n, &out->uploads_deleted, err) &&
           batches(db, Q_RETENTION_ERASED, days, n, &out->sessions_deleted, err) &&
           batches(db, Q_RETENTION_ERASURES, days, n, &other, err);
}

bool retention_run(struct db *db, const struct retention *keep, struct retention_report *out,
                   struct err *err)
{
    struct retention_report report = {0};
    struct arena *mem;
    struct err other;

    if (keep->raw_days < 1 || keep->session_days < keep->raw_days || keep->batch < 0)
        return err_set(err, ERR_INVALID, "retention: %d raw days, %d session days", keep->raw_days,
                       keep->session_days);
    mem = arena_new(MEM_BYTES);
    if (!mem)
        return err_memory(err);

    /* a transaction left open by somebody must not hold upkeep for ever */
    bool ok = db_script(db, "SET statement_timeout = '120s'", err) &&
              drop_all(db, keep, mem, &report, err);

    if (!db_script(db, "RESET statement_timeout", ok ? err : &other))
        ok = false;
    arena_free(mem);
    if (out)
        *out = report;
    return ok;
}

static bool try_lock(struct db *db, bool *locked, struct err *err)
{
    struct row {
        bool locked;
    } row = {false};
    static const struct db_col cols[] = {DB_COL(row, locked)};
    static const struct db_map map = DB_MAP(row, cols);
    struct arena *mem = arena_new(4096);
    bool ok =
        mem ? db_one(db, Q_RETENTION_TRY_LOCK, DB_NO_ARGS, &map, mem, &row, err) : err_memory(err);

    arena_free(mem);
    *locked = row.locked;
    return ok;
}

bool maintenance_run(struct db *db, int days_ahead, const struct retention *keep, bool *done,
                     struct retention_report *out, struct err *err)
{
    bool locked, ok;
    struct err other;

    *done = false;
    if (!try_lock(db, &locked, err))
        return false;
    if (!locked)
        return true;
    ok = partition_ensure(db, days_ahead, err) && retention_run(db, keep, out, err);
    if (!db_exec(db, Q_RETENTION_UNLOCK, DB_NO_ARGS, ok ? err : &other))
        ok = false;
    *done = ok;
    return ok;
}
