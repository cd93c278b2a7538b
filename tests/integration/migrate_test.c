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

/* Rows that are there already --------------------------------------------------------------------
 */

static void apply(int from, const char *until)
{
    for (int i = from; i < MIGRATION_COUNT && strncmp(migration_name[i], until, 3) != 0; i++)
        pg_sql(conninfo, "%s", migration_text[i]);
}

static void apply_one(const char *number)
{
    for (int i = 0; i < MIGRATION_COUNT; i++)
        if (strncmp(migration_name[i], number, 3) == 0)
            pg_sql(conninfo, "%s", migration_text[i]);
}

static void expect_rows(const char *query, const char *rows)
{
    char *found = pg_rows(conninfo, "%s", query);

    assert_string_equal(found, rows);
    free(found);
}

/* Families 1 to 3 as the last version left them. Builds: 1 android 214, 2 ios 214, 3 android 215, 4
 * ios 215, 5 linux 3. */
static void fill_tickets(void)
{
    pg_sql(conninfo,
           "INSERT INTO app (name) VALUES ('game');"
           "INSERT INTO build (app_id, platform, version_name, version_code) VALUES"
           " (1, 'android', '2.14', 214), (1, 'ios', '2.14', 214), (1, 'android', '2.15', 215),"
           " (1, 'ios', '2.15', 215), (1, 'linux', '1', 3);"
           "INSERT INTO family_count (app_id, build_id, dim, value, family, events, jank_us,"
           " n_sessions, n_installs, sessions, installs)"
           " SELECT 1, b, 'all', '', decode(repeat(f, 16), 'hex'), 1, 1, 1, 1, '', ''"
           " FROM (VALUES (1, '00'), (2, '00'), (3, '00'), (4, '00'), (5, '00'), (1, '01'),"
           " (2, '01'), (3, '01'), (1, '02'), (2, '02')) AS v (b, f);"
           "INSERT INTO family_ticket (app_id, family, episode, resolved_build, resolved_how,"
           " came_back_in) VALUES"
           " (1, decode(repeat('01', 16), 'hex'), 0, 2, 'closed', NULL),"
           " (1, decode(repeat('02', 16), 'hex'), 0, 1, 'fixed', NULL),"
           " (1, decode(repeat('03', 16), 'hex'), 2, NULL, '', 2)");
}

/* Family 1: when it was closed no build above 2 had it, so android 215 came later. */
static void filed_families_are_gone_on_each_platform_after_027(void **state)
{
    (void)state;
    apply(0, "027");
    fill_tickets();
    apply_one("027");
    expect_rows("SELECT get_byte(family, 0), platform, resolved_build, resolved_how, came_back_in,"
                " back_episode FROM family_ticket_platform ORDER BY 1, 2",
                "1|android|1|closed|NULL|0\n"
                "1|ios|2|closed|NULL|0\n"
                "1|linux|5|closed|NULL|0\n"
                "2|android|1|fixed|NULL|0\n"
                "3|ios|NULL||2|2\n");
    expect_rows("SELECT get_byte(family, 0), episode, closed FROM family_ticket ORDER BY 1",
                "1|0|t\n2|0|f\n3|2|f\n");
}

/* Both platforms' builds read "2.15 (215) against 2.14 (214)"; ios was the one that was told. */
static void comments_of_verdicts_are_not_said_again_after_027(void **state)
{
    (void)state;
    apply(0, "027");
    fill_tickets();
    pg_sql(
        conninfo,
        "INSERT INTO verdict (app_id, family, build_id, baseline_id, look, label, low, phi,"
        " expected, events_old, events_new, exposure_old_us, exposure_new_us)"
        " SELECT 1, decode(repeat('02', 16), 'hex'), b, b - 2, 1, 'improved', 0, 1, 1, 1, 1, 1, 1"
        " FROM generate_series(3, 4) AS b;"
        "INSERT INTO channel (app_id, name, kind, takes, rate_per_min)"
        " VALUES (1, 't', 'ticket_webhook', 'ticket', 60);"
        "INSERT INTO ticket (app_id, channel_id, key, marker, wanted, wanted_hash)"
        " VALUES (1, 1, repeat('02', 16), 'm', '{}', '');"
        "INSERT INTO ticket_comment (ticket_id, comment_id, body, said_at)"
        " SELECT 1, 'verdict ' || left(encode(sha256('2.15 (215) against 2.14 (214)'), 'hex'), 16)"
        " || ': improved', 'text', now();"
        "INSERT INTO ticket_comment (ticket_id, comment_id, body) VALUES (1, 'episode 1', 'text')");
    apply_one("027");
    expect_rows("SELECT comment_id FROM ticket_comment WHERE said_at IS NOT NULL"
                " AND comment_id NOT LIKE 'verdict ________________: %'",
                "verdict ios 4 against 2: improved\n");
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM ticket_comment"), 3);
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
        TEST(filed_families_are_gone_on_each_platform_after_027),
        TEST(comments_of_verdicts_are_not_said_again_after_027),
        TEST(several_processes_may_migrate_at_once),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
