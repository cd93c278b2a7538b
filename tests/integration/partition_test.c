#include "server/db/migrate.h"
#include "server/db/partition.h"
#include "support/pg.h"

#include <libpq-fe.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct retention keep = {.raw_days = 10, .session_days = 20, .batch = 3};

static char conninfo[PG_CONNINFO_BYTES];
static struct db *db;

static int setup(void **state)
{
    struct err err;

    (void)state;
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game')");
    db = db_open(conninfo, &err);
    return db ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    db_close(db);
    pg_drop_db(conninfo);
    return 0;
}

/* Partitions of a table, by days from today. */
static char *days_of(const char *parent)
{
    return pg_rows(conninfo,
                   "SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') - "
                   "(now() AT TIME ZONE 'UTC')::date AS d FROM pg_inherits "
                   "WHERE inhparent = '%s'::regclass ORDER BY d",
                   parent);
}

static void assert_days(const char *parent, const char *expected)
{
    char *days = days_of(parent);

    assert_string_equal(days, expected);
    free(days);
}

static void make_days(int from, int to)
{
    pg_sql(conninfo,
           "SELECT partition_make((now() AT TIME ZONE 'UTC')::date + %d, "
           "(now() AT TIME ZONE 'UTC')::date + %d)",
           from, to);
}

static void retain(const struct retention *how, struct retention_report *report)
{
    struct err err;

    if (!retention_run(db, how, report, &err))
        fail_msg("%s", err.text);
}

static void yesterday_to_some_days_ahead_exist_for_every_table(void **state)
{
    static const char *const tables[] = {"upload_chunk", "jank_event", "crash", "feedback"};

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        assert_days(tables[i], "-1\n0\n1\n2\n3\n");
}

static void making_them_again_makes_what_is_missing(void **state)
{
    struct err err;

    (void)state;
    assert_true(partition_ensure(db, 3, &err));
    assert_days("crash", "-1\n0\n1\n2\n3\n");
    assert_true(partition_ensure(db, 5, &err));
    assert_days("crash", "-1\n0\n1\n2\n3\n4\n5\n");
    assert_false(partition_ensure(db, -1, &err));
    assert_false(partition_ensure(db, 367, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void a_day_without_a_partition_is_refused(void **state)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *res = PQexec(conn, "INSERT INTO upload_chunk VALUES ('2001-01-01', 64, "
                                 "gen_random_uuid(), 0, 0, '')");

    (void)state;
    assert_string_equal(PQresultErrorField(res, PG_DIAG_SQLSTATE), "23514");
    PQclear(res);
    PQfinish(conn);
}

static void a_partition_has_what_its_table_has(void **state)
{
    (void)state;
    /* bytes stored apart without a try to compress them, unique by key, posts noted */
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_attribute a JOIN pg_inherits i ON "
                                      "i.inhrelid = a.attrelid WHERE i.inhparent = "
                                      "'upload_chunk'::regclass AND a.attname = 'bytes' AND "
                                      "a.attstorage = 'e'"),
                     5);
    pg_sql(conninfo,
           "INSERT INTO crash (day, shard, session_id, crash_id, app_id, source, reason, stack) "
           "VALUES ((now() AT TIME ZONE 'UTC')::date, 64, "
           "'00000000-0000-0000-0000-000000000001', gen_random_uuid(), 1, 'posted', '', '[]')");
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session_posted WHERE crash AND NOT "
                                      "feedback"),
                     1);
}

struct maker {
    bool ok;
    struct err err;
};

static void *make_alone(void *arg)
{
    struct maker *m = arg;
    struct db *own = db_open(conninfo, &m->err);

    m->ok = own && partition_ensure(own, 30, &m->err);
    db_close(own);
    return NULL;
}

static void several_processes_may_make_them_at_once(void **state)
{
    struct maker m[5] = {{0}};
    pthread_t thread[5];

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, make_alone, &m[i]), 0);
    for (int i = 0; i < 5; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 5; i++)
        if (!m[i].ok)
            fail_msg("%s", m[i].err.text);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_inherits "
                                      "WHERE inhparent = 'feedback'::regclass"),
                     32);
}

static void must(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(res));
    PQclear(res);
}

static void making_them_waits_for_no_writer_and_no_writer_for_it(void **state)
{
    PGconn *writer = PQconnectdb(conninfo);
    struct err err;

    (void)state;
    must(writer, "SET lock_timeout = '60s'");
    must(writer, "BEGIN");
    must(writer, "INSERT INTO upload_chunk VALUES ((now() AT TIME ZONE 'UTC')::date, 64, "
                 "gen_random_uuid(), 0, 0, '')");
    assert_true(db_script(db, "SET lock_timeout = '60s'", &err));
    assert_true(db_begin(db, &err));
    if (!partition_ensure(db, 9, &err))
        fail_msg("%s", err.text);
    must(writer, "INSERT INTO upload_chunk VALUES ((now() AT TIME ZONE 'UTC')::date, 64, "
                 "gen_random_uuid(), 0, 0, '')");
    must(writer, "COMMIT");
    assert_true(db_commit(db, &err));
    PQfinish(writer);
}

static void raw_days_and_session_days_are_kept_whole(void **state)
{
    struct retention_report report;

    (void)state;
    make_days(-23, -2);
    retain(&keep, &report);
    assert_days("upload_chunk", "-10\n-9\n-8\n-7\n-6\n-5\n-4\n-3\n-2\n-1\n0\n1\n2\n3\n");
    assert_int_equal(pg_i64(conninfo, "SELECT min(to_date(right(inhrelid::regclass::text, 8), "
                                      "'YYYYMMDD')) - (now() AT TIME ZONE 'UTC')::date "
                                      "FROM pg_inherits WHERE inhparent = 'jank_event'::regclass"),
                     -20);
    assert_int_equal(report.partitions_dropped, 13 + 3 * 3);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND "
                                      "relname ~ '_\\d{8}$'"),
                     pg_i64(conninfo, "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON "
                                      "c.oid = i.inhparent WHERE c.relkind = 'p'"));
    retain(&keep, &report);
    assert_int_equal(report.partitions_dropped, 0);
}

/* One session, its upload and their witnesses, so many days ago. */
static void old_session(int days)
{
    pg_sql(conninfo,
           "WITH d AS (SELECT (now() AT TIME ZONE 'UTC')::date - %d AS day, gen_random_uuid() AS u,"
           " gen_random_uuid() AS s),"
           " b AS (INSERT INTO build (app_id, platform, version_name, version_code) VALUES (1, "
           "'linux', '1', %d) RETURNING build_id),"
           " m AS (INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb) "
           "VALUES (1, 'linux', '', '', '', %d) RETURNING model_id),"
           " u AS (INSERT INTO upload (shard, upload_id, app_id, day, kind, file_id, metadata, "
           "length, at, state, expires_at) SELECT 64, u, 1, day, 'session', '', '', 5, "
           "CASE WHEN %d %% 2 = 0 THEN 5 ELSE 0 END, "
           "CASE WHEN %d %% 2 = 0 THEN 'complete' ELSE 'open' END, now() FROM d),"
           " p AS (INSERT INTO session_part (shard, session_id, part, sha256, app_id, upload_shard,"
           " upload_id, upload_day, size, truncated, damaged) SELECT 64, s, 0, '', 1, 64, u, day, "
           "5, false, false FROM d),"
           " q AS (INSERT INTO quarantine (app_id, source, reason, ref, day, count) "
           "SELECT 1, 'session', 'frame_overlap', s, day, 1 FROM d),"
           " o AS (INSERT INTO session_posted SELECT 64, s, true, false, day FROM d),"
           " j AS (INSERT INTO job (kind, shard, ref, app_id, day, state) "
           "SELECT 'part', 64, u, 1, day, 'dead' FROM d)"
           "INSERT INTO session SELECT 64, s, 1, day, build_id, model_id, 0, NULL, 'final', 0, "
           "now(), now(), 1, 1, 1, true, 0, 0, false, false, '', '', '{}', 0, 0, 0, 0, 0, 0, 0, 0, "
           "0, 0, 0, 0, 0, 0, 0, false, 0, 0, 0, false, false, '{}', '{}' FROM d, b, m",
           days, days, days, days, days);
}

static void rows_past_session_days_are_deleted_in_batches_and_younger_ones_stay(void **state)
{
    struct retention_report report;

    (void)state;
    for (int days = 16; days < 30; days++)
        old_session(days);
    retain(&keep, &report);
    assert_int_equal(report.sessions_deleted, 9);
    assert_int_equal(report.uploads_deleted, 9);
    assert_int_equal(report.quarantine_deleted, 9);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session"), 5);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session_part"), 5);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM upload"), 5);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session_posted"), 5);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 5);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE day < "
                                      "(now() AT TIME ZONE 'UTC')::date - 20"),
                     0);
}

static void an_open_upload_whose_bytes_went_is_closed(void **state)
{
    (void)state;
    old_session(9); /* open, young */
    old_session(15);
    old_session(16); /* complete */
    retain(&keep, NULL);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM upload WHERE state = 'open'"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM upload WHERE state = 'deleted'"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"), 1);
}

static void a_drop_cut_short_is_finished_by_the_next_run(void **state)
{
    PGconn *reader = PQconnectdb(conninfo), *cut = PQconnectdb(conninfo);
    char *name, sql[200], why[256];
    PGcancel *cancel = PQgetCancel(cut);
    PGresult *res;

    (void)state;
    make_days(-13, -12);
    name = pg_rows(conninfo, "SELECT 'upload_chunk' || to_char((now() AT TIME ZONE 'UTC')::date - "
                             "13, '_YYYYMMDD')");
    name[strlen(name) - 1] = '\0';
    /* a reader keeps the detach from ending, and it is cancelled halfway */
    must(reader, "BEGIN");
    must(reader, "SELECT count(*) FROM upload_chunk");
    snprintf(sql, sizeof sql, "ALTER TABLE upload_chunk DETACH PARTITION %s CONCURRENTLY", name);
    assert_int_equal(PQsendQuery(cut, sql), 1);
    while (pg_i64(conninfo, "SELECT count(*) FROM pg_inherits WHERE inhdetachpending") == 0)
        ;
    assert_int_equal(PQcancel(cancel, why, sizeof why), 1);
    while ((res = PQgetResult(cut)))
        PQclear(res);
    PQfreeCancel(cancel);
    must(reader, "COMMIT");
    PQfinish(reader);
    PQfinish(cut);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_inherits WHERE inhdetachpending"),
                     1);
    /* and one that was detached, but not dropped */
    pg_sql(conninfo,
           "DO $$ BEGIN EXECUTE 'ALTER TABLE upload_chunk DETACH PARTITION upload_chunk' || "
           "to_char((now() AT TIME ZONE 'UTC')::date - 12, '_YYYYMMDD'); END $$");
    retain(&keep, NULL);
    assert_days("upload_chunk", "-1\n0\n1\n2\n3\n");
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND "
                                      "relname ~ '^upload_chunk_\\d{8}$'"),
                     5);
    free(name);
}

static void a_partition_that_was_detached_is_taken_back_when_its_day_is_wanted(void **state)
{
    struct err err;

    (void)state;
    pg_sql(conninfo,
           "DO $$ BEGIN EXECUTE 'ALTER TABLE upload_chunk DETACH PARTITION upload_chunk' || "
           "to_char((now() AT TIME ZONE 'UTC')::date + 1, '_YYYYMMDD'); END $$");
    assert_days("upload_chunk", "-1\n0\n2\n3\n");
    if (!partition_ensure(db, 3, &err))
        fail_msg("%s", err.text);
    assert_days("upload_chunk", "-1\n0\n1\n2\n3\n");
}

static void absurd_retention_is_refused(void **state)
{
    const struct retention bad[] = {{0, 20, 0}, {10, 9, 0}, {10, 20, -1}};
    struct err err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_false(retention_run(db, &bad[i], NULL, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void one_process_at_a_time_does_the_upkeep(void **state)
{
    struct err err;
    struct db *other = db_open(conninfo, &err);
    bool done;

    (void)state;
    assert_non_null(other);
    assert_true(db_exec(other, Q_RETENTION_TRY_LOCK, DB_NO_ARGS, &err));
    assert_true(maintenance_run(db, 4, &keep, &done, NULL, &err));
    assert_false(done);
    assert_days("crash", "-1\n0\n1\n2\n3\n");
    db_close(other); /* ends its lock; the server may take a moment to notice */
    for (int i = 0; i < 1000 && !done; i++)
        assert_true(maintenance_run(db, 4, &keep, &done, NULL, &err));
    assert_true(done);
    assert_days("crash", "-1\n0\n1\n2\n3\n4\n");
    assert_true(maintenance_run(db, 4, &keep, &done, NULL, &err));
    assert_true(done);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(yesterday_to_some_days_ahead_exist_for_every_table),
        TEST(making_them_again_makes_what_is_missing),
        TEST(a_day_without_a_partition_is_refused),
        TEST(a_partition_has_what_its_table_has),
        TEST(several_processes_may_make_them_at_once),
        TEST(making_them_waits_for_no_writer_and_no_writer_for_it),
        TEST(raw_days_and_session_days_are_kept_whole),
        TEST(rows_past_session_days_are_deleted_in_batches_and_younger_ones_stay),
        TEST(an_open_upload_whose_bytes_went_is_closed),
        TEST(a_drop_cut_short_is_finished_by_the_next_run),
        TEST(a_partition_that_was_detached_is_taken_back_when_its_day_is_wanted),
        TEST(absurd_retention_is_refused),
        TEST(one_process_at_a_time_does_the_upkeep),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
