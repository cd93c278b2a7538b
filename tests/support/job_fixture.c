#include "support/job_fixture.h"

#include "base/buf.h"
#include "base/digest.h"
#include "support/pg.h"

#include <libpq-fe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK_BYTES (256u * 1024)

static void run(PGconn *conn, const char *sql, int n, const char *const *values, const int *lengths,
                const int *formats)
{
    PGresult *res = PQexecParams(conn, sql, n, NULL, values, lengths, formats, 0);

    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK) {
        print_error("%s\n%s\n", sql, PQresultErrorMessage(res));
        PQclear(res);
        PQfinish(conn);
        fail_msg("SQL failed");
    }
    PQclear(res);
}

static void put_row(PGconn *conn, const struct test_upload *u, const char *shard, const char *day)
{
    char app[24], size[24], received[24], file_id[33];
    unsigned char install[SHA256_BYTES];
    const char *text = u->install ? u->install : "";
    const char *values[] = {shard,
                            (const char *)u->id,
                            app,
                            day,
                            u->kind ? u->kind : "session",
                            file_id,
                            u->install ? (const char *)install : NULL,
                            size,
                            received};
    const int lengths[] = {0, 16, 0, 0, 0, 0, SHA256_BYTES, 0, 0};
    const int formats[] = {0, 1, 0, 0, 0, 0, 1, 0, 0};

    sha256(text, strlen(text), install);
    to_hex(u->id, 16, file_id);
    snprintf(app, sizeof app, "%lld", (long long)u->app);
    snprintf(size, sizeof size, "%zu", u->n);
    snprintf(received, sizeof received, "%lld", (long long)u->received_us);
    run(conn,
        "INSERT INTO upload (shard, upload_id, app_id, day, kind, file_id, install_hash, metadata, "
        "length, at, state, expires_at, completed_at) VALUES ($1::integer, $2::uuid, $3::integer, "
        "$4::date, $5, $6, $7::bytea, '', $8::bigint, $8::bigint, 'complete', now(), "
        "$4::date + time '12:00' + $9::bigint * interval '1 us') ON CONFLICT DO NOTHING",
        9, values, lengths, formats);
    run(conn,
        "INSERT INTO job (kind, shard, ref, app_id, day) VALUES ('part', $1::integer, $2::uuid, "
        "$3::integer, $4::date) ON CONFLICT DO NOTHING",
        4, values, lengths, formats);
}

static void put_chunks(PGconn *conn, const struct test_upload *u, const char *shard,
                       const char *day)
{
    size_t step = u->chunk ? u->chunk : CHUNK_BYTES;

    for (size_t from = 0; from < u->n; from += step) {
        size_t n = u->n - from < step ? u->n - from : step;
        char at[24], crc[24];
        const char *values[] = {day, shard, (const char *)u->id,
                                at,  crc,   (const char *)u->bytes + from};
        const int lengths[] = {0, 0, 16, 0, 0, (int)n}, formats[] = {0, 0, 1, 0, 0, 1};

        snprintf(at, sizeof at, "%zu", from);
        snprintf(crc, sizeof crc, "%lu", (unsigned long)crc32c(0, u->bytes + from, n));
        run(conn,
            "INSERT INTO upload_chunk (day, shard, upload_id, at, crc32c, bytes) VALUES ($1::date, "
            "$2::integer, $3::uuid, $4::bigint, $5::bigint, $6::bytea) ON CONFLICT DO NOTHING",
            6, values, lengths, formats);
    }
}

void put_upload(const char *conninfo, const struct test_upload *u)
{
    PGconn *conn = PQconnectdb(conninfo);
    char shard[24], ago[16], day[16];
    const char *values[] = {ago};
    PGresult *res;

    snprintf(shard, sizeof shard, "%lld", (long long)(u->app * 64 + (u->id[15] & 63)));
    snprintf(ago, sizeof ago, "%d", u->days_ago);
    res = PQexecParams(conn, "SELECT (now() AT TIME ZONE 'UTC')::date - $1::integer", 1, NULL,
                       values, NULL, NULL, 0);
    assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
    snprintf(day, sizeof day, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    run(conn, "BEGIN", 0, NULL, NULL, NULL);
    put_row(conn, u, shard, day);
    put_chunks(conn, u, shard, day);
    run(conn, "COMMIT", 0, NULL, NULL, NULL);
    PQfinish(conn);
}

struct worker_config test_worker(const char *conninfo)
{
    struct worker_config config = worker_config_default(conninfo);

    config.backoff_ms = 0;
    config.backoff_max_ms = 0;
    config.max_attempts = 1000;
    config.idle_ms = 3600000;
    config.schedule_ms = 0; /* a test queues itself what it wants to run */
    config.poll_min_ms = 2;
    config.poll_max_ms = 10;
    return config;
}

void drain_all(const struct worker_config *config)
{
    struct worker_config later = *config;
    struct err err;

    if (!worker_drain(config, NULL, &err))
        fail_msg("%s", err.text);
    /* past every lease, back-off and idle time */
    later.clock_offset_ms += 10 * (config->idle_ms + config->lease_ms + 86400000);
    if (!worker_drain(&later, NULL, &err))
        fail_msg("%s", err.text);
    if (pg_i64(config->conninfo, "SELECT count(*) FROM job") == 0)
        return;

    char *left = pg_rows(config->conninfo, "SELECT kind, state, attempts, last_error FROM job");

    print_error("left in the queue:\n%s", left);
    free(left);
    fail_msg("the queue is not empty");
}

/* Each of these yields one text column. Rows of zeros in the rollups mean nothing: a session whose
 * build was learned late leaves one behind. */
static const char *const dump_sql[] = {
    "SELECT 'session ' || (to_jsonb(s) - '{build_id,model_id}'::text[])::text || ' ' || "
    "(to_jsonb(b) - '{build_id,created_at}'::text[])::text || ' ' || m.model || ' ' || m.soc AS r "
    "FROM session s JOIN build b USING (build_id) JOIN device_model m USING (model_id)",
    "SELECT 'part ' || to_jsonb(p)::text AS r FROM session_part p",
    "SELECT 'jank ' || (to_jsonb(j) - 'build_id')::text || ' ' || b.version_name || ' ' || "
    "b.version_code AS r FROM jank_event j JOIN build b USING (build_id)",
    "SELECT 'stack ' || (to_jsonb(s) - '{first_seen,build_id}'::text[])::text AS r FROM stack s",
    /* a posted one is kept with the day that was known when it came */
    "SELECT 'crash ' || (to_jsonb(c) - CASE c.source WHEN 'posted' THEN '{received_at,day}' "
    "ELSE '{received_at}' END::text[])::text AS r FROM crash c",
    "SELECT 'feedback ' || (to_jsonb(f) - 'received_at')::text AS r FROM feedback f",
    "SELECT 'frames ' || (to_jsonb(f) - 'build_id')::text || ' ' || b.version_name || ' ' || "
    "b.version_code AS r FROM frame_rollup f JOIN build b USING (build_id) "
    "WHERE (sessions, excluded_sessions, frames, foreground_us, janks_minor) <> (0, 0, 0, 0, 0)",
    "SELECT 'model ' || (to_jsonb(r) - '{build_id,model_id}'::text[])::text || ' ' || "
    "b.version_name || ' ' || b.version_code || ' ' || m.model || ' ' || m.soc AS r "
    "FROM model_rollup r JOIN build b USING (build_id) JOIN device_model m USING (model_id) "
    "WHERE sessions <> 0",
    "SELECT 'stack_count ' || (to_jsonb(c) - '{build_id,model_id}'::text[])::text || ' ' || "
    "b.version_name || ' ' || b.version_code || ' ' || m.model || ' ' || m.soc AS r "
    "FROM stack_count c JOIN build b USING (build_id) JOIN device_model m USING (model_id)",
    "SELECT 'stack_total ' || (to_jsonb(t) - 'build_id')::text || ' ' || b.version_name || ' ' || "
    "b.version_code AS r FROM stack_total t JOIN build b USING (build_id)",
    "SELECT 'stack_family ' || (to_jsonb(f) - 'grouping')::text AS r FROM stack_family f",
    "SELECT 'family ' || to_jsonb(f)::text AS r FROM family f",
    "SELECT 'family_count ' || (to_jsonb(c) - '{build_id,value}'::text[])::text || ' ' || "
    "coalesce(b.version_name || ' ' || b.version_code, 'all') || ' ' || "
    "CASE c.dim WHEN 'model' THEN m.model || ' ' || m.soc ELSE c.value END AS r "
    "FROM family_count c LEFT JOIN build b USING (build_id) "
    "LEFT JOIN device_model m ON c.dim = 'model' AND m.model_id::text = c.value",
    "SELECT 'waiting ' || to_jsonb(d)::text AS r FROM stack_delta d",
    "SELECT 'quarantine ' || (to_jsonb(q) - 'at')::text AS r FROM quarantine q",
    "SELECT 'job ' || (to_jsonb(j) - '{job_id,created_at,run_after}'::text[])::text AS r "
    "FROM job j",
};

char *dump_results(const char *conninfo)
{
    struct buf all;
    size_t len;

    buf_init(&all, 1u << 28);
    for (size_t i = 0; i < sizeof dump_sql / sizeof *dump_sql; i++) {
        char *rows =
            pg_rows(conninfo, "SELECT r FROM (%s) AS x ORDER BY r COLLATE \"C\"", dump_sql[i]);

        buf_text(&all, rows);
        free(rows);
    }
    buf_byte(&all, '\0');
    assert_true(buf_ok(&all));
    return (char *)buf_steal(&all, &len);
}
