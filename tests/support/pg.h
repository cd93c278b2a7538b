/*
 * pg: a private PostgreSQL for one test program. Unix socket only, in a temporary folder, never as
 * root; one migrated template database, cloned for each test.
 *
 * If FW_TEST_PG names the socket folder of a running server (port 5432, superuser `postgres`,
 * trust), that one is used and left alone, so that several test programs share one start.
 * The server and its folder go away with the program, however it ends: a guard process waits for
 * its death. Call from the main thread. Failures here end the running CMocka test (fail_msg).
 *
 *     int main(void)
 *     {
 *         return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
 *     }
 */
#pragma once
#include "base/err.h"

#include <stdint.h>

#define PG_CONNINFO_BYTES 256

/* CMocka group fixtures: start (or reuse) with fsync off; stop. */
int pg_group_setup(void **state);
int pg_group_teardown(void **state);

/* The same without CMocka. pg_start also starts a server of its own if `own` (crash tests) even if
 * FW_TEST_PG is set. Starting twice is one start. */
struct pg_options {
    bool fsync;        /* also synchronous_commit and full_page_writes */
    bool own;          /* not the one of FW_TEST_PG */
    const char *extra; /* more lines for postgresql.conf, or NULL */
};
bool pg_start(struct pg_options options, struct err *err) MUST_CHECK;
void pg_stop(void);

/* A fresh database with the whole schema and partitions around today; conninfo for db_open(). */
void pg_test_db(char conninfo[PG_CONNINFO_BYTES]);
/* The same without tables. */
void pg_empty_db(char conninfo[PG_CONNINFO_BYTES]);
/* Ends its connections and removes it. Those that remain go with pg_stop(). */
void pg_drop_db(const char *conninfo);

/* Crash tests, own server only. kill -9 of the postmaster and all its backends; start again on the
 * same data, returns when it answers. */
void pg_kill9(void);
void pg_restart(void);
/* Ends every backend connected to that database except the caller's (57P01 at their next call). */
void pg_end_backends(const char *conninfo);
/* Whether that database takes new connections. */
void pg_admit(const char *conninfo, bool on);

/* CPU seconds of the own server so far, all its processes. */
double pg_cpu_s(void);

/* Ad-hoc SQL for arranging and checking. Text goes in as it is: constants of the test only. */
void pg_sql(const char *conninfo, const char *fmt, ...) PRINTF_LIKE(2, 3);
int64_t pg_i64(const char *conninfo, const char *fmt, ...) PRINTF_LIKE(2, 3); /* NULL reads as 0 */
/* All rows, columns separated by '|', rows ended by '\n'; the caller frees it. */
char *pg_rows(const char *conninfo, const char *fmt, ...) PRINTF_LIKE(2, 3);
