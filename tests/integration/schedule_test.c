#include "server/jobs/schedule.h"

#include "support/job_fixture.h"
#include "support/pg.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_MS INT64_C(3600000)
#define WORKERS 6

static char conninfo[PG_CONNINFO_BYTES];

static int begin(void **state)
{
    (void)state;
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('one'), ('two')");
    return 0;
}

static int end(void **state)
{
    (void)state;
    pg_drop_db(conninfo);
    return 0;
}

static int64_t look(int64_t offset_ms)
{
    struct err err;
    struct db *db = db_open(conninfo, &err);
    int64_t queued = 0;

    if (!db || !schedule_due(db, offset_ms, &queued, &err))
        fail_msg("%s", err.text);
    db_close(db);
    return queued;
}

static void each_app_gets_each_kind_once_a_period(void **state)
{
    int64_t all = look(0);

    (void)state;
    assert_true(all > 0 && all % 2 == 0);
    assert_int_equal(look(0), 0);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'alerts'"), 2);
    pg_sql(conninfo, "DELETE FROM job");
    assert_int_equal(look(1000), 0);                /* done, but not due again */
    assert_int_equal(look(25 * 24 * HOUR_MS), all); /* all periods are over */
}

static void a_job_that_waits_is_not_queued_twice_and_a_dead_one_lives_again(void **state)
{
    (void)state;
    look(0);
    pg_sql(conninfo, "UPDATE job SET state = 'running', attempts = 1 WHERE kind = 'tiers' AND "
                     "app_id = 1");
    pg_sql(conninfo, "UPDATE job SET state = 'dead', attempts = 5 WHERE kind = 'tiers' AND "
                     "app_id = 2");
    look(25 * 24 * HOUR_MS);
    assert_int_equal(
        pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'tiers' AND state = 'running'"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'tiers' AND state = "
                                      "'ready' AND attempts = 0 AND app_id = 2"),
                     1);
}

static void *look_too(void *arg)
{
    *(int64_t *)arg = look(0);
    return NULL;
}

static void workers_that_look_at_once_queue_each_job_once(void **state)
{
    pthread_t thread[WORKERS];
    int64_t queued[WORKERS], all = 0;

    (void)state;
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, look_too, &queued[i]), 0);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        all += queued[i];
    }
    assert_int_equal(all, pg_i64(conninfo, "SELECT count(*) FROM job"));
    assert_int_equal(all, pg_i64(conninfo, "SELECT count(*) FROM schedule_run"));
}

static void every_scheduled_kind_can_be_run(void **state)
{
    struct worker_config config = test_worker(conninfo);
    struct worker_counts counts = {0};
    struct err err;

    (void)state;
    config.max_attempts = 1;
    look(0);
    if (!worker_drain(&config, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.failed + counts.dead, 0);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE state = 'dead'"), 0);
}

static void a_kind_can_be_asked_for_at_any_time(void **state)
{
    struct err err;
    struct db *db = db_open(conninfo, &err);

    (void)state;
    assert_non_null(db);
    assert_true(schedule_has("alerts"));
    assert_false(schedule_has("part"));
    assert_true(schedule_now(db, 1, "alerts", &err));
    assert_true(schedule_now(db, 1, "alerts", &err));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 1);
    db_close(db);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_app_gets_each_kind_once_a_period),
        T(a_job_that_waits_is_not_queued_twice_and_a_dead_one_lives_again),
        T(workers_that_look_at_once_queue_each_job_once),
        T(every_scheduled_kind_can_be_run),
        T(a_kind_can_be_asked_for_at_any_time),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
