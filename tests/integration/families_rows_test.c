/*
 * Questions about families read as many rows with ten times the sessions: counted by the database
 * itself, in the plans of the statements that the API runs.
 */
#include "profile/tally.h"
#include "support/job_fixture.h"
#include "support/pg.h"

#include "base/digest.h"

#include <jansson.h>
#include <libpq-fe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define STACKS 12
#define FEW 300 /* sessions; FW_FAMILY_SESSIONS asks for more */
#define BATCH 100

static char db[PG_CONNINFO_BYTES];

/* Sessions --------------------------------------------------------------------------------------
 */

static void hash_of(unsigned i, unsigned char out[TALLY_HASH_BYTES])
{
    unsigned char sum[SHA256_BYTES];

    sha256(&i, sizeof i, sum);
    memcpy(out, sum, TALLY_HASH_BYTES);
}

/* Builds, models and stacks, named once. */
static void make_names(void)
{
    pg_sql(db, "INSERT INTO app (name) VALUES ('game')");
    pg_sql(db, "INSERT INTO build (app_id, platform, version_name, version_code)"
               " SELECT 1, 'android', '1.' || i, 100 + i FROM generate_series(0, 1) i");
    pg_sql(db, "INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb)"
               " SELECT 1, 'android', 'M', 'Phone ' || i, 's', 4 FROM generate_series(0, 4) i");
    for (unsigned i = 0; i < STACKS; i++) {
        unsigned char hash[TALLY_HASH_BYTES];
        char hex[2 * TALLY_HASH_BYTES + 1];

        hash_of(i, hash);
        to_hex(hash, sizeof hash, hex);
        pg_sql(db,
               "INSERT INTO stack (app_id, hash, frames) VALUES (1, '\\x%s',"
               " '[{\"text\": \"com.studio.F%u.run\"}, {\"text\": \"com.studio.Game.tick\"}]')",
               hex, i / 2);
    }
}

/* The tally of session number i as hexadecimal digits; free(). */
static char *tally_hex(unsigned i)
{
    static const char *const scenes[] = {"battle/dust", "battle/frost", "lobby/"};
    struct tally_scene scene = {scenes[i % 3], 60000000};
    struct tally_line line = {.kind = TALLY_JANK,
                              .scene = scenes[i % 3],
                              .cause = i % 2 ? "unknown" : "cpu_bound",
                              .events = 1 + i % 3,
                              .jank_us = 300000,
                              .start_us = 1000000,
                              .duration_us = 300000};
    const struct tally tally = {.os = i % 4 ? "13" : "14",
                                .counts = true,
                                .foreground_us = 60000000,
                                .scenes = &scene,
                                .n_scenes = 1,
                                .lines = &line,
                                .n_lines = 1};
    struct buf bytes;
    char *hex;

    hash_of(i % STACKS, line.hash);
    buf_init(&bytes, 1 << 16);
    tally_write(&tally, &bytes);
    hex = malloc(2 * bytes.len + 1);
    to_hex(bytes.at, bytes.len, hex);
    buf_fini(&bytes);
    return hex;
}

static void add_sessions(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i += BATCH) {
        struct buf sql;

        buf_init(&sql, 1 << 22);
        buf_text(&sql, "INSERT INTO stack_delta (app_id, shard, session_id, install_hash, build_id,"
                       " day, tier, model_id, sign, tally) VALUES ");
        for (unsigned k = i; k < i + BATCH && k < to; k++) {
            char *hex = tally_hex(k);

            buf_printf(
                &sql,
                "%s(1, %u, md5('%u')::uuid, sha256('%u'), 1 + %u, DATE '2024-05-06' + %u, %u,"
                " 1 + %u, 1, '\\x%s')",
                k > i ? "," : "", 64 + k % 64, k, k / 3, k % 2, k % 2, k % 3, k % 5, hex);
            free(hex);
        }
        buf_byte(&sql, '\0');
        pg_sql(db, "%s", (const char *)sql.at);
        buf_fini(&sql);
    }
    pg_sql(db, "SELECT families_queue(1)");

    struct worker_config config = test_worker(db);
    struct err err = {0};

    if (!worker_drain(&config, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM stack_delta"), 0);
    pg_sql(db, "ANALYZE");
}

/* Rows ------------------------------------------------------------------------------------------
 */

static double number(const json_t *node, const char *name)
{
    return json_number_value(json_object_get(node, name));
}

/* Rows that the node and those below it read from tables, and pairs that joins compared in vain. */
static double rows_read(const json_t *node)
{
    const json_t *below = json_object_get(node, "Plans"), *one;
    double rows = number(node, "Rows Removed by Join Filter") * number(node, "Actual Loops");
    size_t i;

    if (json_object_get(node, "Relation Name"))
        rows += (number(node, "Actual Rows") + number(node, "Rows Removed by Filter") +
                 number(node, "Rows Removed by Index Recheck")) *
                number(node, "Actual Loops");
    json_array_foreach(below, i, one) rows += rows_read(one);
    return rows;
}

/* Of an answer to EXPLAIN; clears it. */
static double rows_of_plan(PGresult *res, enum query q)
{
    double rows;

    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", query_name[q], PQresultErrorMessage(res));

    json_t *plan = json_loads(PQgetvalue(res, 0, 0), 0, NULL);

    rows = rows_read(json_object_get(json_array_get(plan, 0), "Plan"));
    json_decref(plan);
    PQclear(res);
    return rows;
}

static char *with_query(const char *before, enum query q)
{
    struct buf sql;

    buf_init(&sql, 1 << 16);
    buf_text(&sql, before);
    buf_text(&sql, query_text[q]);
    buf_byte(&sql, '\0');
    return (char *)sql.at; /* the caller frees it */
}

static double rows_of(PGconn *conn, enum query q, int n, const char *const *args)
{
    char *sql = with_query("EXPLAIN (ANALYZE, FORMAT JSON) ", q);
    PGresult *res = PQexecParams(conn, sql, n, NULL, args, NULL, NULL, 0);

    free(sql);
    return rows_of_plan(res, q);
}

/* The same by the plan for any values, which a connection that asks often comes to use. */
static double rows_of_any(PGconn *conn, enum query q, const char *args)
{
    char *sql = with_query("SET plan_cache_mode = force_generic_plan; PREPARE q AS ", q);
    char execute[256];
    PGresult *res = PQexec(conn, sql);

    free(sql);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", query_name[q], PQresultErrorMessage(res));
    PQclear(res);
    snprintf(execute, sizeof execute, "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE q(%s)", args);

    double rows = rows_of_plan(PQexec(conn, execute), q);

    PQclear(PQexec(conn, "DEALLOCATE q"));
    return rows;
}

#define QUESTIONS 13

static void all_questions(double rows[QUESTIONS])
{
    char *family = pg_rows(db, "SELECT '\\x' || encode(family, 'hex') FROM family ORDER BY family"
                               " LIMIT 1");
    PGconn *conn = PQconnectdb(db);
    size_t n = 0;

    family[strcspn(family, "\n")] = '\0';
#define ASK(q, ...)                                                                                \
    rows[n++] = rows_of(conn, q, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),      \
                        (const char *const[]){__VA_ARGS__})
#define LIST(build, dim, value)                                                                    \
    ASK(Q_FAMILY_LIST, "1", build, dim, value, NULL, "in_app", NULL, "f", "1", "sessions", NULL,   \
        NULL, "51", NULL)
    LIST("0", "all", "");
    LIST("1", "all", "");
    LIST("1", "tier_scene", "1 battle/frost");
    LIST("0", "model", "2");
    LIST("0", "cause", "unknown");
    ASK(Q_FAMILY_BASE, "1", "1", "tier", "1", "0");
    ASK(Q_FAMILY_BREAKDOWN, "1", family, "0", "50");
    ASK(Q_FAMILY_STACKS, "1", family, NULL, NULL, "51");
    ASK(Q_FAMILY_SESSIONS, "1", family, NULL, "20", "50", "8");
    ASK(Q_FAMILY_SESSIONS, "1", family, "1", "20", "50", "8");
    ASK(Q_FLAME_OF_ALL, "1", "0", NULL, "5000");
    ASK(Q_FLAME_OF_BUILD, "1", "1", "0", NULL, "5000");
    ASK(Q_VERDICT_COUNTS, "1", "2", "1", "20", family);
#undef ASK
    assert_int_equal(n, QUESTIONS);
    PQfinish(conn);
    free(family);
}

static unsigned few_sessions(void)
{
    const char *more = getenv("FW_FAMILY_SESSIONS");

    return more ? (unsigned)strtoul(more, NULL, 10) : FEW;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Told, not judged. */
static void add_and_tell(unsigned from, unsigned to)
{
    double start = now_s();

    add_sessions(from, to);
    print_message("%u sessions counted in %.1f s\n", to - from, now_s() - start);
}

static void ten_times_the_sessions_read_as_many_rows(void **state)
{
    double few[QUESTIONS], many[QUESTIONS];
    unsigned n = few_sessions();

    (void)state;
    pg_test_db(db);
    make_names();
    add_and_tell(0, n);
    all_questions(few);
    add_and_tell(n, 10 * n);
    assert_int_equal(pg_i64(db, "SELECT events FROM family_count WHERE build_id = 0"
                                " AND dim = 'all'"
                                " AND family = '\\x00000000000000000000000000000000'"),
                     10 * n);
    all_questions(many);
    for (size_t i = 0; i < QUESTIONS; i++) {
        print_message("question %zu: %.0f rows of %u sessions, %.0f of %u\n", i, few[i], n, many[i],
                      10 * n);
        /* plans may differ by some */
        assert_true(few[i] > 0);
        assert_true(many[i] <= few[i] * 1.5 + 64);
    }
    pg_drop_db(db);
}

#define BETA 4000 /* stacks of each of two builds, hardly two of a family */

static void add_stacks(void)
{
    pg_sql(db,
           "CREATE TABLE beta AS"
           " SELECT substr(sha256(convert_to(b || ' ' || i, 'UTF8')), 1, 16) AS hash,"
           "        substr(sha256(convert_to((i %% 1500)::text, 'UTF8')), 1, 16) AS family,"
           "        b AS build_id, 1 + (i = 7)::int AS events"
           " FROM generate_series(1, 2) b, generate_series(1, %d) i",
           BETA);
    pg_sql(db, "INSERT INTO stack_total SELECT 1, hash, 0, build_id, events, 300000 FROM beta");
    pg_sql(db, "INSERT INTO stack_family (app_id, hash, kind, family, prints, grouping, class,"
               " title, owner, ignored, provisional, platform, folded, events)"
               " SELECT 1, hash, 0, family, ARRAY[family], 1, 'in_app', 'a', '', false, false,"
               " 'android', ARRAY['main', 'a'], events FROM beta");
    pg_sql(db, "ANALYZE");
}

static void a_flame_graph_reads_each_of_its_stacks_once(void **state)
{
    PGconn *conn;
    char *family, args[128];
    double whole, few;

    (void)state;
    pg_test_db(db);
    make_names();
    add_stacks();
    conn = PQconnectdb(db);
    family = pg_rows(db, "SELECT DISTINCT family FROM beta ORDER BY family LIMIT 1");
    family[strcspn(family, "\n")] = '\0';
    whole = rows_of_any(conn, Q_FLAME_OF_BUILD, "1, 2, 0, NULL, 5000");
    snprintf(args, sizeof args, "1, 2, 0, '%s', 5000", family);
    few = rows_of_any(conn, Q_FLAME_OF_BUILD, args);
    print_message("of %d stacks: %.0f rows, of one of 1500 families %.0f\n", BETA, whole, few);
    assert_true(whole >= BETA);
    assert_true(whole <= 2 * BETA);
    assert_true(few > 0);
    assert_true(few <= 4 * 2 * (BETA / 1500 + 1));
    snprintf(args, sizeof args, "1, 0, '%s', 5000", family);
    few = rows_of_any(conn, Q_FLAME_OF_ALL, args);
    print_message("in all builds %.0f\n", few);
    assert_true(few > 0);
    assert_true(few <= 4 * 2 * (BETA / 1500 + 1));
    free(family);
    PQfinish(conn);
    pg_drop_db(db);
}

static void whether_stacks_wait_is_told_without_reading_all(void **state)
{
    PGconn *conn;
    double rows;

    (void)state;
    pg_test_db(db);
    make_names();
    add_stacks();
    conn = PQconnectdb(db);
    rows = rows_of_any(conn, Q_FAMILY_BASE, "1, 1, 'all', '', 1");
    print_message("of %d stacks: %.0f rows\n", 2 * BETA, rows);
    assert_true(rows < 16);
    PQfinish(conn);
    pg_drop_db(db);
}

/* A family of so many stacks, each with so many examples of each of two builds. */
static void add_examples(int stacks, int examples)
{
    pg_sql(db, "TRUNCATE stack_family, stack_total, stack_example");
    pg_sql(db,
           "INSERT INTO stack_family (app_id, hash, kind, family, prints, grouping, class, title,"
           " owner, ignored, provisional, platform, folded, events)"
           " SELECT 1, substr(sha256(convert_to(i::text, 'UTF8')), 1, 16), 0,"
           " '\\x00112233445566778899aabbccddeeff', ARRAY['\\x00'::bytea], 1, 'in_app', 'a', '', "
           "false,"
           " false, 'android', ARRAY['main', 'a'], 1 + i %% 9 FROM generate_series(1, %d) i",
           stacks);
    pg_sql(db, "INSERT INTO stack_total SELECT 1, hash, 0, b, 1, 300000"
               " FROM stack_family, generate_series(1, 2) b");
    pg_sql(db,
           "INSERT INTO stack_example (app_id, hash, kind, build_id, slot, priority, shard,"
           " session_id, day, scene, cause, start_us, duration_us)"
           " SELECT 1, f.hash, 0, b, e, '', 64, md5(f.hash::text || b || ' ' || e)::uuid,"
           " DATE '2024-05-06' + (hashtext(f.hash::text || e) & 7), 'lobby/', 'unknown', 0,"
           " 300000 + (hashtext(b || f.hash::text || e) & 65535)"
           " FROM stack_family f, generate_series(1, 2) b, generate_series(0, %d) e",
           examples - 1);
    pg_sql(db, "ANALYZE");
}

/* Of either plan, in both builds or one. */
static void sessions_read(double rows[4])
{
    static const char family[] = "\\x00112233445566778899aabbccddeeff";
    PGconn *conn = PQconnectdb(db);
    size_t n = 0;

    for (int one = 0; one < 2; one++) {
        const char *const args[] = {"1", family, one ? "1" : NULL, "20", "50", "8"};
        char text[128];

        snprintf(text, sizeof text, "1, '%s', %s, 20, 50, 8", family, one ? "1" : "NULL");
        rows[n++] = rows_of(conn, Q_FAMILY_SESSIONS, 6, args);
        rows[n++] = rows_of_any(conn, Q_FAMILY_SESSIONS, text);
    }
    PQfinish(conn);
}

static void a_page_of_a_familys_sessions_reads_as_many_whatever_it_has(void **state)
{
    double few[4], many[4];

    (void)state;
    pg_test_db(db);
    make_names();
    add_examples(300, 12);
    sessions_read(few);
    add_examples(600, 64);
    sessions_read(many);
    for (size_t i = 0; i < 4; i++) {
        print_message("question %zu: %.0f rows of 7200 examples, %.0f of 76800\n", i, few[i],
                      many[i]);
        assert_true(few[i] >= 50 + 50 + 50 + 20);
        assert_true(many[i] <= few[i] * 1.5 + 64);
        assert_true(many[i] < 1000); /* 50 stacks, twice in two builds; then what is answered */
    }
    pg_drop_db(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_times_the_sessions_read_as_many_rows),
        cmocka_unit_test(a_flame_graph_reads_each_of_its_stacks_once),
        cmocka_unit_test(a_page_of_a_familys_sessions_reads_as_many_whatever_it_has),
        cmocka_unit_test(whether_stacks_wait_is_told_without_reading_all),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
