/*
 * Reports from rollups: rows read and time of one slice and of the whole report, at several numbers
 * of sessions. The rollups are filled as so many sessions would leave them; run by report_rows.sh.
 *   report_bench SESSIONS…
 * Exit status 1 if more rows are read for more sessions.
 */
#include "server/jobs/reports/report_doc.h"
#include "support/pg.h"
#include "support/rollup_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median time of a report; *rows: that it read. */
static double run(struct db *db, const struct report_ask *ask, int64_t *rows)
{
    double ms[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct arena *mem = arena_new(64u << 20);
        double begin = now_ms();
        struct err err;
        json_t *doc = report_doc(db, ask, mem, NULL, &err);

        if (!doc) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        ms[i] = now_ms() - begin;
        *rows = json_integer_value(json_object_get(doc, "rows"));
        json_decref(doc);
        arena_free(mem);
    }
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    return ms[ROUNDS / 2];
}

static bool measure(int64_t sessions, int64_t last[2])
{
    char conninfo[PG_CONNINFO_BYTES];
    struct rollup_fill fill = {.app = 1, .sessions = sessions, .seed = 3};
    int64_t build, baseline, rows[2];
    bool flat;
    struct err err;
    struct db *db;
    double slice_ms, whole_ms;

    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('bench')");
    rollup_fill(conninfo, &fill, &build, &baseline);
    pg_sql(conninfo, "ANALYZE");
    db = db_open(conninfo, &err);
    if (!db) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }

    const struct report_ask whole = {.app = 1, .build = build};
    const struct report_ask slice = {.app = 1,
                                     .build = build,
                                     .one_tier = true,
                                     .one_scene = true,
                                     .tier = FILL_TIERS,
                                     .scene = "mode/map2"};

    slice_ms = run(db, &slice, &rows[0]);
    whole_ms = run(db, &whole, &rows[1]);
    printf("%12lld %12lld %12.1f %12lld %12.1f\n", (long long)sessions, (long long)rows[0],
           slice_ms, (long long)rows[1], whole_ms);
    flat = !last[0] || (last[0] == rows[0] && last[1] == rows[1]);
    last[0] = rows[0];
    last[1] = rows[1];
    db_close(db);
    pg_drop_db(conninfo);
    return flat;
}

int main(int argc, char **argv)
{
    int64_t last[2] = {0, 0};
    bool flat = true;
    struct err err;

    if (!pg_start((struct pg_options){0}, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%12s %12s %12s %12s %12s\n", "sessions", "slice: rows", "ms", "whole: rows", "ms");
    for (int i = 1; i < argc; i++)
        flat &= measure(strtoll(argv[i], NULL, 10), last);
    pg_stop();
    printf(flat ? "rows stay the same\n" : "MORE ROWS FOR MORE SESSIONS\n");
    return !flat;
}
