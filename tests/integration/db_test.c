#include "server/db/db.h"
#include "support/pg.h"

#include <libpq-fe.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char conninfo[PG_CONNINFO_BYTES];
static struct db *db;
static struct arena *mem;

static int setup(void **state)
{
    struct err err;

    (void)state;
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game')");
    db = db_open(conninfo, &err);
    mem = arena_new(1u << 20);
    return db && mem ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    db_close(db);
    arena_free(mem);
    pg_drop_db(conninfo);
    return 0;
}

static void every_statement_prepares_against_the_migrated_schema(void **state)
{
    PGconn *conn = PQconnectdb(conninfo);
    int wrong = 0;

    (void)state;
    for (int q = 0; q < QUERY_COUNT; q++) {
        if (strncmp(query_name[q], "copy_", 5) == 0)
            continue;

        PGresult *res = PQprepare(conn, query_name[q], query_text[q], 0, NULL);

        if (PQresultStatus(res) != PGRES_COMMAND_OK) {
            print_error("%s: %s", query_name[q], PQresultErrorMessage(res));
            wrong++;
        }
        PQclear(res);
    }
    PQfinish(conn);
    assert_int_equal(wrong, 0);
}

/* Values that break a careless array or text encoding. */
static const char *const odd_texts[] = {"",          "NULL",    "a\"b",  "back\\slash",
                                        "{1,2}",     "a,b",     " ",     "new\nline",
                                        "käse 漢字", "'; DROP", "\\x00", "tab\t"};
#define N_ODD (sizeof odd_texts / sizeof *odd_texts)

static void text_and_integer_arrays_arrive_as_they_were(void **state)
{
    static const int64_t counts[N_ODD] = {0, 1, -1, INT64_MAX, INT64_MIN, 42, 7, 8, 9, 10, 11, 12};
    static const unsigned char ref[16] = {1};
    struct err err;

    (void)state;
    if (!db_exec(db, Q_QUARANTINE_SET,
                 DB_ARGS(db_i64(1), db_text("upload"), db_uuid(ref), db_i64(0),
                         db_texts(odd_texts, N_ODD), db_texts(odd_texts, N_ODD),
                         db_i64s(counts, N_ODD), db_texts(odd_texts, N_ODD)),
                 &err))
        fail_msg("%s", err.text);

    PGconn *conn = PQconnectdb(conninfo);

    for (size_t i = 0; i < N_ODD; i++) {
        const char *values[] = {odd_texts[i]};
        PGresult *res = PQexecParams(conn,
                                     "SELECT count FROM quarantine WHERE reason = $1::text "
                                     "AND detail = $1::text",
                                     1, NULL, values, NULL, NULL, 0);

        assert_int_equal(PQntuples(res), 1);
        assert_true(strtoll(PQgetvalue(res, 0, 0), NULL, 10) == counts[i]);
        PQclear(res);
    }
    PQfinish(conn);
}

static void bytes_arrays_and_uuid_arrays_arrive_as_they_were(void **state)
{
    static const unsigned char raw[2][16] = {{0, 1, 0xff, '\\', '"', 5}, {0x7f}};
    const struct bytes list[] = {{raw[0], 16}, {raw[1], 16}};
    static const char *const frames[] = {"{\"frames\":[1]}", "{\"frames\":[]}"};
    const int64_t t[] = {INT64_MAX, 0}, sig[] = {11, -1};
    static const char *const reason[] = {"SIGSEGV", ""};
    struct err err;

    (void)state;
    if (!db_exec(db, Q_SESSION_STORE_STACKS,
                 DB_ARGS(db_i64(1), db_bytess(list, 2), db_texts(frames, 2),
                         db_i64s((int64_t[]){0, 0}, 2), db_null()),
                 &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM stack WHERE hash = "
                                      "'\\x0001ff5c220500000000000000000000' AND frames = '[1]'"),
                     1);
    if (!db_exec(db, Q_SESSION_STORE_CRASHES,
                 DB_ARGS(db_i64(pg_i64(conninfo, "SELECT (now() AT TIME ZONE 'UTC')::date - "
                                                 "DATE '2000-01-01'")),
                         db_i64(64), db_uuid(raw[0]), db_i64(1), db_uuids(list, 2), db_i64s(t, 2),
                         db_i64s(sig, 2), db_texts(reason, 2), db_texts(frames, 2)),
                 &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM crash WHERE crash_id = "
                                      "'0001ff5c-2205-0000-0000-000000000000' AND "
                                      "t_us = 9223372036854775807"),
                     1);
}

static void empty_arrays_are_arrays(void **state)
{
    static const unsigned char ref[16];
    static const char *const all[] = {"undecodable"};
    struct err err;

    (void)state;
    assert_true(
        db_exec(db, Q_QUARANTINE_SET,
                DB_ARGS(db_i64(1), db_text("upload"), db_uuid(ref), db_i64(0), db_texts(all, 1),
                        db_texts(NULL, 0), db_i64s(NULL, 0), db_texts(NULL, 0)),
                &err));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM quarantine"), 0);
}

/* metrics_jobs returns text, bigint and float8; job_claim smallint-free integers, uuid, boolean. */
struct metric {
    const char *kind;
    int64_t ready;
    double oldest_due_s;
};
struct claimed {
    int64_t job_id, shard, attempts;
    const char *kind;
    struct bytes ref;
    bool dead;
};

static void every_column_type_is_read(void **state)
{
    static const struct db_col metric_cols[] = {DB_COL(metric, kind), DB_COL(metric, ready),
                                                DB_COL(metric, oldest_due_s)};
    static const struct db_map metric_map = DB_MAP(metric, metric_cols);
    static const struct db_col claimed_cols[] = {DB_COL(claimed, job_id),   DB_COL(claimed, shard),
                                                 DB_COL(claimed, attempts), DB_COL(claimed, kind),
                                                 DB_COL(claimed, ref),      DB_COL(claimed, dead)};
    static const struct db_map claimed_map = DB_MAP(claimed, claimed_cols);
    struct db_rows rows;
    struct claimed job;
    struct err err;

    (void)state;
    pg_sql(conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, run_after) VALUES ('part', -3, "
           "'00112233-4455-6677-8899-aabbccddeeff', 1, '2026-01-01', now() - interval '90.5 s')");
    if (!db_all(db, Q_METRICS_JOBS, DB_NO_ARGS, &metric_map, mem, &rows, &err))
        fail_msg("%s", err.text);

    const struct metric *metric = rows.at, *end = metric + rows.n;

    while (metric < end && strcmp(metric->kind, "part") != 0)
        metric++;
    assert_true(metric < end);
    assert_int_equal(metric->ready, 1);
    assert_true(metric->oldest_due_s > 90 && metric->oldest_due_s < 600);
    if (!db_one(db, Q_JOB_CLAIM, DB_ARGS(db_i64(0), db_i64(1000), db_i64(5), db_i64(0)),
                &claimed_map, mem, &job, &err))
        fail_msg("%s", err.text);
    assert_int_equal(job.shard, -3);
    assert_int_equal(job.attempts, 1);
    assert_int_equal(job.ref.len, 16);
    assert_memory_equal(job.ref.at, "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb", 12);
    assert_false(job.dead);
}

static void a_field_of_another_type_than_its_column_is_an_error(void **state)
{
    struct wrong {
        bool now_ms;
    } row;
    static const struct db_col cols[] = {DB_COL(wrong, now_ms)};
    static const struct db_map map = DB_MAP(wrong, cols);
    struct err err;

    (void)state;
    assert_false(db_one(db, Q_NOW, DB_NO_ARGS, &map, mem, &row, &err));
    assert_int_equal(err.code, ERR_DB);
}

static void one_row_expected_and_none_found_is_not_found(void **state)
{
    static const struct db_col cols[] = {DB_COL(claimed, job_id)};
    static const struct db_map map = DB_MAP(claimed, cols);
    struct claimed job;
    struct err err;

    (void)state;
    assert_false(db_one(db, Q_JOB_CLAIM, DB_ARGS(db_i64(0), db_i64(1), db_i64(1), db_i64(0)), &map,
                        mem, &job, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void a_result_bigger_than_the_arena_is_refused(void **state)
{
    struct old {
        const char *name;
    };
    static const struct db_col cols[] = {DB_COL(old, name)};
    static const struct db_map map = DB_MAP(old, cols);
    struct arena *tiny = arena_new(64);
    struct db_rows rows;
    struct err err;

    (void)state;
    pg_sql(conninfo, "SELECT partition_make('2020-01-01', '2020-01-09')");
    assert_false(
        db_all(db, Q_RETENTION_PARTITIONS, DB_ARGS(db_i64(1), db_i64(1)), &map, tiny, &rows, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    arena_free(tiny);
}

static void a_broken_statement_inside_a_transaction_undoes_it(void **state)
{
    static const unsigned char ref[16];
    static const char *const one[] = {"r"};
    const int64_t count[] = {1};
    struct db_args good =
        DB_ARGS(db_i64(1), db_text("upload"), db_uuid(ref), db_i64(0), db_texts(one, 1),
                db_texts(one, 1), db_i64s(count, 1), db_texts(one, 1));
    struct db_args bad =
        DB_ARGS(db_i64(999), db_text("upload"), db_uuid(ref), db_i64(0), db_texts(one, 1),
                db_texts(one, 1), db_i64s(count, 1), db_texts(one, 1));
    struct err err;

    (void)state;
    assert_true(db_begin(db, &err));
    assert_true(db_exec(db, Q_QUARANTINE_SET, good, &err));
    assert_false(db_exec(db, Q_QUARANTINE_SET, bad, &err));
    assert_string_equal(db_sqlstate(db), "23503"); /* no such app */
    assert_false(db_transient(db));
    assert_false(db_commit(db, &err));
    db_rollback(db);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM quarantine"), 0);
    assert_true(db_exec(db, Q_QUARANTINE_SET, good, &err));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM quarantine"), 1);
}

static void a_lost_connection_fails_one_call_and_is_opened_again(void **state)
{
    struct err err;

    (void)state;
    assert_true(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
    pg_end_backends(conninfo);
    assert_false(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
    assert_int_equal(err.code, ERR_DB);
    assert_true(db_transient(db));
    if (!db_exec(db, Q_NOW, DB_NO_ARGS, &err))
        fail_msg("%s", err.text);
}

static void a_connection_lost_inside_a_transaction_is_not_replaced_within_it(void **state)
{
    struct err err;

    (void)state;
    assert_true(db_begin(db, &err));
    assert_true(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
    pg_end_backends(conninfo);
    assert_false(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
    assert_false(db_exec(db, Q_NOW, DB_NO_ARGS, &err)); /* would be outside of any transaction */
    assert_false(db_commit(db, &err));
    db_rollback(db);
    assert_true(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
}

static void a_password_never_reaches_an_error_text(void **state)
{
    static const char *const strings[] = {
        "host=/nonexistent dbname=x user=u password=hunter2 port=1",
        "postgresql://u:hunter2@127.0.0.1:1/x",
        "postgresql://u:pass/hunter2@127.0.0.1:1/x", /* what libpq takes for a host or port */
        "postgresql://u:hunter2/pass@127.0.0.1:1/x",
        "postgresql://u:pass@hunter2@127.0.0.1:1/x",
        "postgres://u:hunter2@127.0.0.1:1/x?no=option",
        "host=/nonexistent password=my hunter2", /* no quotes */
        "host=/nonexistent password=my hunter2=x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct err err;

        assert_null(db_open(strings[i], &err));
        assert_int_equal(err.code, i < 2 ? ERR_DB : ERR_INVALID);
        assert_null(strstr(err.text, "hunter2"));
    }
}

static void a_connection_string_with_an_encoded_password_is_taken(void **state)
{
    static const char *const strings[] = {"postgresql://u:a%2Fb%40c@127.0.0.1:1/x",
                                          "postgresql:///x?host=/nonexistent&user=u@realm",
                                          "postgresql://127.0.0.1:1/x"};

    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct err err;

        assert_null(db_open(strings[i], &err));
        assert_int_equal(err.code, ERR_DB); /* nobody listens there */
    }
}

static void a_pool_hands_out_so_many_and_then_waits(void **state)
{
    struct err err;
    struct db_pool *pool = db_pool_new(conninfo, 2, &err);

    (void)state;
    assert_non_null(pool);

    struct db *a = db_borrow(pool, 1000, &err), *b = db_borrow(pool, 1000, &err);

    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_null(db_borrow(pool, 10, &err));
    assert_int_equal(err.code, ERR_BUSY);
    db_return(pool, a);
    assert_ptr_equal(db_borrow(pool, 1000, &err), a);
    db_return(pool, a);
    db_return(pool, b);
    db_pool_free(pool);
}

static void a_transaction_ends_with_its_borrower(void **state)
{
    struct err err;
    struct db_pool *pool = db_pool_new(conninfo, 1, &err);

    (void)state;
    assert_non_null(pool);

    struct db *db = db_borrow(pool, 1000, &err);

    assert_non_null(db);
    assert_true(db_begin(db, &err));
    assert_true(db_script(db, "CREATE TABLE left_open ()", &err));
    db_return(pool, db);
    db = db_borrow(pool, 1000, &err);
    assert_non_null(db);
    assert_true(db_script(db, "CREATE TABLE left_open ()", &err)); /* the first one is gone */
    db_return(pool, db);
    db_pool_free(pool);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM pg_class WHERE relname = 'left_open'"),
                     1);
}

static void a_pool_that_cannot_connect_keeps_its_places(void **state)
{
    struct err err;
    struct db_pool *pool = db_pool_new("host=/nonexistent port=1", 1, &err);

    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 3; i++) {
        assert_null(db_borrow(pool, 10, &err));
        assert_int_equal(err.code, ERR_DB); /* never BUSY: the place was given back */
    }
    db_pool_free(pool);
}

static void a_connection_closed_while_idle_is_replaced_before_it_is_lent(void **state)
{
    struct err err;
    struct db_pool *pool = db_pool_new(conninfo, 2, &err);
    struct db *one[2];

    (void)state;
    assert_non_null(pool);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            one[i] = db_borrow(pool, 1000, &err);
            assert_non_null(one[i]);
            if (!db_exec(one[i], Q_NOW, DB_NO_ARGS, &err))
                fail_msg("round %d, connection %d: %s", round, i, err.text);
        }
        for (int i = 0; i < 2; i++)
            db_return(pool, one[i]);
        pg_end_backends(conninfo);
    }
    db_pool_free(pool);
}

static void reviving_leaves_a_good_connection_and_an_open_transaction_alone(void **state)
{
    struct err err;

    (void)state;
    assert_true(db_script(db, "CREATE TEMP TABLE of_this_connection ()", &err));
    assert_true(db_revive(db, &err));
    assert_true(db_begin(db, &err));
    assert_true(db_script(db, "DROP TABLE of_this_connection", &err));
    assert_true(db_revive(db, &err));
    assert_true(db_commit(db, &err));
    assert_true(db_begin(db, &err));
    pg_end_backends(conninfo);
    assert_false(db_exec(db, Q_NOW, DB_NO_ARGS, &err));
    assert_false(db_revive(db, &err)); /* what follows would be outside of the transaction */
    db_rollback(db);
    assert_true(db_revive(db, &err));
}

static void a_threads_own_connection_is_opened_and_opened_again(void **state)
{
    struct err err;
    struct db *own = NULL;

    (void)state;
    assert_false(db_reach(&own, "host=/nonexistent", &err));
    assert_null(own);
    for (int round = 0; round < 3; round++) {
        if (!db_reach(&own, conninfo, &err) || !db_exec(own, Q_NOW, DB_NO_ARGS, &err))
            fail_msg("round %d: %s", round, err.text);
        pg_end_backends(conninfo);
    }
    db_close(own);
}

struct borrower {
    struct db_pool *pool;
    int failures;
};

static void *borrow_often(void *arg)
{
    struct borrower *b = arg;
    struct err err;

    for (int i = 0; i < 50; i++) {
        struct db *one = db_borrow(b->pool, 20000, &err);

        if (!one || !db_exec(one, Q_NOW, DB_NO_ARGS, &err))
            b->failures++;
        db_return(b->pool, one);
    }
    return NULL;
}

static void many_threads_share_a_small_pool(void **state)
{
    struct err err;
    struct borrower b[8];
    pthread_t thread[8];
    struct db_pool *pool = db_pool_new(conninfo, 3, &err);

    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 8; i++) {
        b[i] = (struct borrower){pool, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, borrow_often, &b[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(b[i].failures, 0);
    }
    db_pool_free(pool);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_statement_prepares_against_the_migrated_schema),
        TEST(text_and_integer_arrays_arrive_as_they_were),
        TEST(bytes_arrays_and_uuid_arrays_arrive_as_they_were),
        TEST(empty_arrays_are_arrays),
        TEST(every_column_type_is_read),
        TEST(a_field_of_another_type_than_its_column_is_an_error),
        TEST(one_row_expected_and_none_found_is_not_found),
        TEST(a_result_bigger_than_the_arena_is_refused),
        TEST(a_broken_statement_inside_a_transaction_undoes_it),
        TEST(a_lost_connection_fails_one_call_and_is_opened_again),
        TEST(a_connection_lost_inside_a_transaction_is_not_replaced_within_it),
        TEST(a_password_never_reaches_an_error_text),
        TEST(a_connection_string_with_an_encoded_password_is_taken),
        TEST(a_pool_hands_out_so_many_and_then_waits),
        TEST(a_transaction_ends_with_its_borrower),
        TEST(a_pool_that_cannot_connect_keeps_its_places),
        TEST(a_connection_closed_while_idle_is_replaced_before_it_is_lent),
        TEST(reviving_leaves_a_good_connection_and_an_open_transaction_alone),
        TEST(a_threads_own_connection_is_opened_and_opened_again),
        TEST(many_threads_share_a_small_pool),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
