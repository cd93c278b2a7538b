#include "migrations.h"
#include "server/db/migrate.h"
#include "support/pg.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char conninfo[PG_CONNINFO_BYTES];
static struct db *db;

static int setup(void **state)
{
    struct err err;

    (void)state;
    pg_empty_db(conninfo);
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

static void must_migrate(void)
{
    struct err err;

    if (!migrate_run(db, NULL, &err))
        fail_msg("%s", err.text);
}

static void migrations_are_numbered_from_1_without_a_gap(void **state)
{
    (void)state;
    for (int i = 0; i < MIGRATION_COUNT; i++)
        assert_int_equal(strtol(migration_name[i], NULL, 10), i + 1);
}

static void an_empty_database_is_migrated_once(void **state)
{
    unsigned applied = 0;
    struct err err;

    (void)state;
    if (!migrate_run(db, &applied, &err))
        fail_msg("%s", err.text);
    assert_int_equal(applied, MIGRATION_COUNT);
    assert_true(migrate_run(db, &applied, &err));
    assert_int_equal(applied, 0);
    assert_true(migrate_check(db, &err));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM schema_migration "
                                      "WHERE length(sha256) = 32 AND binary_version <> ''"),
                     MIGRATION_COUNT);
}

static void a_migrated_database_takes_uploads_of_today_and_tomorrow(void **state)
{
    (void)state;
    must_migrate();
    pg_sql(conninfo, "INSERT INTO upload_chunk SELECT (now() AT TIME ZONE 'UTC')::date + i, 64, "
                     "gen_random_uuid(), 0, 0, '' FROM generate_series(-1, 1) AS i");
}

static void an_empty_database_is_refused_at_start(void **state)
{
    struct err err;

    (void)state;
    assert_false(migrate_check(db, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "0 of"));
    assert_non_null(strstr(err.text, "migrate"));
}

static void an_older_schema_is_refused_at_start_and_then_completed(void **state)
{
    unsigned applied;
    struct err err;

    (void)state;
    must_migrate();
    /* as if the last migration had never been */
    pg_sql(conninfo, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    db_close(db);
    db = db_open(conninfo, &err);
    assert_non_null(db);
    pg_sql(conninfo, "%s", migration_text[0]);
    pg_sql(conninfo,
           "CREATE TABLE schema_migration (number integer PRIMARY KEY, name text NOT NULL, sha256 "
           "bytea NOT NULL, binary_version text NOT NULL, applied_at timestamptz DEFAULT now());"
           "INSERT INTO schema_migration VALUES (1, '%s', sha256(convert_to($x$%s$x$, 'UTF8')), "
           "'0')",
           migration_name[0], migration_text[0]);
    assert_false(migrate_check(db, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    if (!migrate_run(db, &applied, &err))
        fail_msg("%s", err.text);
    assert_int_equal(applied, MIGRATION_COUNT - 1);
    assert_true(migrate_check(db, &err));
}

static void a_newer_schema_is_refused(void **state)
{
    struct err err;

    (void)state;
    must_migrate();
    pg_sql(conninfo, "INSERT INTO schema_migration VALUES (9999, '9999_future', '\\x00', '9.9')");
    assert_false(migrate_check(db, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "9999_future"));
    assert_non_null(strstr(err.text, "newer"));
    assert_false(migrate_run(db, NULL, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
}

static void an_altered_migration_is_refused(void **state)
{
    struct err err;

    (void)state;
    must_migrate();
    pg_sql(conninfo, "UPDATE schema_migration SET sha256 = sha256('other') WHERE number = 1");
    assert_false(migrate_check(db, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, migration_name[0]));
    assert_false(migrate_run(db, NULL, &err));
}

static void a_migration_that_fails_leaves_nothing_behind(void **state)
{
    struct err err;

    (void)state;
    pg_sql(conninfo, "CREATE TABLE audit (in_the_way integer)");
    assert_false(migrate_run(db, NULL, &err));
    assert_non_null(strstr(err.text, migration_name[0]));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_tables "
                                      "WHERE schemaname = 'public'"),
                     1);
    pg_sql(conninfo, "DROP TABLE audit");
    must_migrate();
}

struct migrator {
    unsigned applied;
    bool ok;
    struct err err;
};

static void *migrate_alone(void *arg)
{
    struct migrator *m = arg;
    struct db *own = db_open(conninfo, &m->err);

    m->ok = own && migrate_run(own, &m->applied, &m->err);
    db_close(own);
    return NULL;
}

static void several_processes_may_migrate_at_once(void **state)
{
    struct migrator m[6] = {{0}};
    pthread_t thread[6];
    unsigned applied = 0;

    (void)state;
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, migrate_alone, &m[i]), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 6; i++) {
        if (!m[i].ok)
            fail_msg("%s", m[i].err.text);
        applied += m[i].applied;
    }
    assert_int_equal(applied, MIGRATION_COUNT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migrations_are_numbered_from_1_without_a_gap),
        TEST(an_empty_database_is_migrated_once),
        TEST(a_migrated_database_takes_uploads_of_today_and_tomorrow),
        TEST(an_empty_database_is_refused_at_start),
        TEST(an_older_schema_is_refused_at_start_and_then_completed),
        TEST(a_newer_schema_is_refused),
        TEST(an_altered_migration_is_refused),
        TEST(a_migration_that_fails_leaves_nothing_behind),
        TEST(several_processes_may_migrate_at_once),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
