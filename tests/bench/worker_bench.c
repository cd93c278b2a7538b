/*
 * Sessions a second through the worker, database writes included: ten-minute sessions (36,000
 * frames), each as one file and as five, and short ones of 30 seconds, from a full queue, fsync on.
 * Beside it the same analysis without a database. With --statements also what each statement costs
 * in PostgreSQL (pg_stat_statements).
 *
 *     worker_bench [--statements] [SESSIONS]
 */
#include "profile/contribution.h"
#include "support/job_fixture.h"
#include "support/pg.h"
#include "support/session_builder.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)
#define STATEMENTS                                                                                 \
    "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track_planning = on"

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double own_cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct load {
    const char *name;
    unsigned parts, seconds; /* of each part */
};

static void put_load(const char *conninfo, const struct load *load, unsigned sessions)
{
    for (unsigned i = 0; i < sessions; i++) {
        struct session_builder *b = sb_new(1000 + i);
        uint64_t t = 0;

        for (unsigned part = 0; part < load->parts; part++) {
            struct test_upload u = {.app = 1, .install = "phone"};

            sb_part(b, part, t);
            t = sb_play(b, t, load->seconds, i * 10 + part);
            if (part + 1 == load->parts)
                sb_end(b, t, END_STOPPED);
            memcpy(u.id, &i, sizeof i);
            memcpy(u.id + sizeof i, &part, sizeof part);
            u.id[15] = (unsigned char)i;
            u.bytes = sb_bytes(b, &u.n);
            put_upload(conninfo, &u);
        }
        sb_free(b);
    }
}

/* CPU of one session's analysis alone, in ms: decode, merge, analyse, contribution. */
static double analysis_ms(const struct load *load)
{
    struct session_builder *b = sb_new(1);
    struct arena *mem = arena_new((size_t)256 << 20);
    const unsigned rounds = 30;
    size_t n;

    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, load->parts * load->seconds, 1), END_STOPPED);

    const unsigned char *bytes = sb_bytes(b, &n);
    double begin = own_cpu_s();

    for (unsigned i = 0; i < rounds; i++) {
        struct part part;
        struct session_part one = {.part = &part};
        struct session s;
        struct session_result r;
        struct contribution c;
        struct err err;

        arena_reset(mem);
        if (!part_decode(bytes, n, &part_limits_default, mem, &part, &err) ||
            !session_merge(&one, 1, mem, &s, &err) || !session_analyse(&s, mem, &r, &err) ||
            !contribution_of(&r, mem, &c, &err))
            exit(1);
    }

    double ms = (own_cpu_s() - begin) * 1e3 / rounds;

    arena_free(mem);
    sb_free(b);
    return ms;
}

/* Asks the worker, not the database: a connection costs more than a session. */
static void wait_until_done(const struct worker *w, unsigned jobs)
{
    struct worker_counts counts = {0};

    while (counts.done + counts.quarantined + counts.dead < jobs) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        worker_counts(w, &counts);
    }
    if (counts.done != jobs)
        fprintf(stderr, "worker_bench: not every session was analysed\n");
}

static void print_statements(const char *conninfo)
{
    char *rows =
        pg_rows(conninfo, "SELECT lpad(round(total_exec_time)::text, 7) || ' ms ' || "
                          "lpad(round(total_plan_time)::text, 6) || ' ms planning ' || "
                          "lpad(calls::text, 7) || ' calls  ' || "
                          "left(regexp_replace(query, '\\s+', ' ', 'g'), 90) FROM "
                          "pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE "
                          "datname = current_database()) AND toplevel AND query !~ 'pg_stat' "
                          "ORDER BY total_exec_time + total_plan_time DESC LIMIT 25");

    printf("%s", rows);
    free(rows);
}

static void run_load(const struct load *load, unsigned sessions, unsigned threads, bool statements)
{
    struct worker_config config;
    char conninfo[PG_CONNINFO_BYTES];
    struct worker *w;
    struct err err;

    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game')");
    put_load(conninfo, load, sessions);
    if (statements)
        pg_sql(conninfo, "CREATE EXTENSION pg_stat_statements");
    pg_sql(conninfo, "VACUUM ANALYZE");
    config = worker_config_default(conninfo);
    config.threads = threads;

    double begin = now_s(), cpu = own_cpu_s(), pg_cpu = pg_cpu_s();

    w = worker_start(&config, &err);
    if (!w) {
        fprintf(stderr, "worker_bench: %s\n", err.text);
        exit(1);
    }
    wait_until_done(w, sessions * load->parts);

    double wall = now_s() - begin;

    cpu = own_cpu_s() - cpu;
    pg_cpu = pg_cpu_s() - pg_cpu;
    worker_stop(w);
    printf("worker, %-20s %u thread%s %6.0f sessions/s; CPU a session: worker %.2f ms, "
           "PostgreSQL %.2f ms\n",
           load->name, threads, threads > 1 ? "s" : " ", sessions / wall, cpu * 1e3 / sessions,
           pg_cpu * 1e3 / sessions);
    if (statements)
        print_statements(conninfo);
    pg_drop_db(conninfo);
}

int main(int argc, char **argv)
{
    static const struct load loads[] = {{"10 min in one file", 1, 600},
                                        {"10 min in five files", 5, 120},
                                        {"30 s in one file", 1, 30}};
    bool statements = argc > 1 && strcmp(argv[1], "--statements") == 0;
    const char *count = argc > 1 + statements ? argv[1 + statements] : "300";
    unsigned sessions = (unsigned)strtoul(count, NULL, 10);
    struct err err;

    mallopt(M_TRIM_THRESHOLD, 256 << 20); /* as the server does: freed memory stays at hand */
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    if (!sessions || !pg_start((struct pg_options){.fsync = true,
                                                   .own = true,
                                                   .extra = statements ? STATEMENTS : NULL},
                               &err)) {
        fprintf(stderr, "worker_bench: %s\n", sessions ? err.text : "[--statements] [SESSIONS]");
        return 1;
    }
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        printf("analysis alone, %s: %.2f ms CPU a session\n", loads[i].name,
               analysis_ms(&loads[i]));
        for (unsigned threads = 1; threads <= 2; threads++)
            run_load(&loads[i], sessions, threads, statements && threads == 1);
    }
    pg_stop();
    return 0;
}
