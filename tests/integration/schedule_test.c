#include "server/jobs/schedule.h"

#include "server/config.h"
#include "server/notify/notifier.h"
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

/* Of something that comes up just after the kind was queued: until it is queued again. */
static int64_t longest_wait_ms(const char *kind, int64_t look_ms)
{
    int64_t t = 0;

    look(0);
    pg_sql(conninfo, "DELETE FROM job");
    while (!pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = '%s' AND app_id = 1", kind)) {
        assert_true(t < 2 * HOUR_MS);
        pg_sql(conninfo,
               "UPDATE schedule_run SET queued_at = CASE WHEN kind = '%s' THEN now() - %lld * "
               "interval '1 ms' ELSE now() END",
               kind, (long long)(t += look_ms));
        look(0);
    }
    return t + look_ms; /* it may come due just after a look */
}

/* The way of docs/alerts.md: a session without an end, of a model without a tier, of a build
 * without an expectation, each found just after the job that looks for it, one after the other. */
static void an_alert_is_told_within_the_hour_by_the_defaults(void **state)
{
    static const char *const kinds[] = {"tiers", "expect", "alerts"};
    const struct worker_config worker = worker_config_default(conninfo);
    const struct notifier_config notifier = notifier_config_default(conninfo, NULL);
    struct config config;
    int64_t wait_ms;

    (void)state;
    config_default(&config);
    assert_true(worker.schedule_ms > 0);
    wait_ms = worker.poll_max_ms + config.session_idle_ms + worker.poll_max_ms;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        wait_ms += longest_wait_ms(kinds[i], worker.schedule_ms) + worker.poll_max_ms;
    wait_ms += notifier.poll_ms + config.notify_timeout_ms;
    if (wait_ms > HOUR_MS * 9 / 10) /* the rest is for the jobs themselves */
        fail_msg("%lld ms", (long long)wait_ms);
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
        T(an_alert_is_told_within_the_hour_by_the_defaults),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
