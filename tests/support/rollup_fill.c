#include "support/rollup_fill.h"

#include "base/digest.h"
#include "profile/contribution.h"
#include "stats/groups.h"
#include "support/pg.h"

#include <libpq-fe.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GROUPS INSTALL_GROUPS
#define SCENE_BYTES sizeof "mode/map-2147483648"
#define INSTALLS 4 /* of each group and tier, on both builds */

struct filling {
    const struct rollup_fill *fill;
    PGconn *conn;
    uint64_t random;
    int64_t build, baseline;
};

static double uniform(struct filling *f)
{
    uint64_t x = f->random += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* Sum of n values of that deviation, in 1e-6. */
static int64_t noise(struct filling *f, double n, double deviation)
{
    double z = (uniform(f) + uniform(f) + uniform(f) + uniform(f) - 2) * sqrt(3);

    return llround(1e6 * deviation * sqrt(n) * z);
}

static bool hit(const struct filling *f, int tier, int scene)
{
    return f->fill->tier == tier && (f->fill->scene == scene || scene == 0);
}

/* The whole session is hit as much as its scene is a part of it. */
static double effect_of(const struct filling *f, int tier, int scene)
{
    if (!hit(f, tier, scene))
        return 0;
    return log1p(f->fill->effect) * (scene == f->fill->scene ? 1 : 1.0 / FILL_SCENES);
}

static void fill_ln(struct filling *f, int64_t n, double level, double effect,
                    int64_t sum[METRIC_SUMS])
{
    int64_t shift = llround(1e6 * effect * (double)n) + noise(f, (double)n, 0.2);

    sum[SUM_N] = sum[SUM_X_N] = n;
    sum[SUM_X_EXPECTED] = llround(1e6 * log(level)) * n;
    sum[SUM_X_VALUE] = shift;
    sum[SUM_VALUE] = sum[SUM_X_EXPECTED] + shift;
    sum[SUM_OWN_N] = n;
    sum[SUM_OWN_WEIGHT] = 500 * n;
    sum[SUM_OWN_VALUE] = 500 * shift;
}

static void fill_count(struct filling *f, int64_t n, int64_t sum[METRIC_SUMS])
{
    int64_t count = 5 * n + noise(f, (double)n, 3) / 1000000;

    if (count < 0)
        count = 0;
    sum[SUM_N] = sum[SUM_X_N] = sum[SUM_OWN_N] = n;
    sum[SUM_VALUE] = sum[SUM_X_VALUE] = sum[SUM_OWN_VALUE] = count;
    sum[SUM_EXPOSURE] = n * 600000;
    sum[SUM_X_EXPECTED] = sum[SUM_OWN_WEIGHT] = 5000000 * n;
}

static void put_line(struct filling *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void put_line(struct filling *f, const char *fmt, ...)
{
    static char line[65536];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    assert_in_range(n, 1, sizeof line - 1);
    assert_int_equal(PQputCopyData(f->conn, line, n), 1);
}

static void scene_name(int scene, char out[SCENE_BYTES])
{
    if (scene)
        snprintf(out, SCENE_BYTES, "mode/map%d", scene - 1);
    else
        out[0] = '\0';
}

static void hex_of(struct buf *bytes, char *out, size_t size)
{
    assert_true(buf_ok(bytes) && bytes->len * 2 < size);
    to_hex(bytes->at, bytes->len, out);
    buf_fini(bytes);
}

static void put_cell(struct filling *f, int g, int64_t build, int arm, int tier, int scene)
{
    int64_t n = f->fill->sessions / (FILL_TIERS * GROUPS) / (scene ? 2 : 1) + 1;
    int64_t sum[METRICS_N][METRIC_SUMS] = {{0}};
    bool new = build == f->build &&arm == ARM_OWN;
    char name[SCENE_BYTES], hex[16384];
    struct buf bytes;

    for (unsigned m = 0; m < METRICS_N; m++) {
        if (metric_info[m].kind == METRIC_COUNT)
            fill_count(f, n, sum[m]);
        else if (m != METRIC_memory_footprint && m != METRIC_memory_rss)
            fill_ln(f, n, m <= METRIC_mean ? 20 : 700,
                    new &&m <= METRIC_mean ? effect_of(f, tier, scene) : 0, sum[m]);
    }
    for (unsigned m = 0; build == f->build && arm != ARM_OWN && m < METRICS_N; m++)
        sum[m][SUM_N] = sum[m][SUM_VALUE] = sum[m][SUM_EXPOSURE] = 0;
    buf_init(&bytes, 1 << 16);
    metric_sums_write(sum, &bytes);
    hex_of(&bytes, hex, sizeof hex);
    scene_name(scene, name);
    put_line(f, "%lld\t%lld\t%d\t%d\t%s\t%lld\t\\\\x%s\n", (long long)(f->fill->app * GROUPS + g),
             (long long)build, arm, tier, name, arm == ARM_OWN ? (long long)(n + 1) / 2 : 0, hex);
}

static void put_install(struct filling *f, int g, int i, int64_t build, int tier)
{
    struct metric_row rows[FILL_SCENES + 1] = {{0}};
    char name[FILL_SCENES + 1][SCENE_BYTES], hash[65], hex[16384];
    unsigned char install[SHA256_BYTES];
    struct buf bytes;

    for (int scene = 0; scene <= FILL_SCENES; scene++) {
        scene_name(scene, name[scene]);
        rows[scene].scene = name[scene];
        for (unsigned m = 0; m <= METRIC_mean; m++)
            if (metric_info[m].watched) {
                rows[scene].sum[m][SUM_N] = 4;
                rows[scene].sum[m][SUM_VALUE] =
                    4 * llround(1e6 * log(20)) + noise(f, 4, 0.2) +
                    llround(4e6 * (build == f->build ? effect_of(f, tier, scene) : 0));
            }
    }
    snprintf(hash, sizeof hash, "%d %d %d", g, i, tier);
    sha256(hash, strlen(hash), install);
    to_hex(install, sizeof install, hash);
    buf_init(&bytes, 1 << 16);
    contribution_write(&(struct contribution){.rows = rows, .n_rows = FILL_SCENES + 1}, &bytes);
    hex_of(&bytes, hex, sizeof hex);
    put_line(f, "%lld\t%lld\t%d\t\\\\x%s\t\\\\x%s\n", (long long)(f->fill->app * GROUPS + g),
             (long long)build, tier, hash, hex);
}

static void copy_begin(struct filling *f, const char *sql)
{
    PGresult *res = PQexec(f->conn, sql);

    if (PQresultStatus(res) != PGRES_COPY_IN)
        fail_msg("%s", PQresultErrorMessage(res));
    PQclear(res);
}

static void copy_end(struct filling *f)
{
    PGresult *res;

    assert_int_equal(PQputCopyEnd(f->conn, NULL), 1);
    res = PQgetResult(f->conn);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_msg("%s", PQresultErrorMessage(res));
    PQclear(res);
}

static void put_cells(struct filling *f)
{
    copy_begin(f,
               "COPY metric_rollup (shard, build_id, arm, tier, scene, installs, sums) FROM STDIN");
    for (int g = 0; g < GROUPS; g++)
        for (int tier = 1; tier <= FILL_TIERS; tier++)
            for (int scene = 0; scene <= FILL_SCENES; scene++) {
                put_cell(f, g, f->baseline, ARM_OWN, tier, scene);
                put_cell(f, g, f->build, ARM_OWN, tier, scene);
                put_cell(f, g, f->build, ARM_BESIDE, tier, scene);
            }
    copy_end(f);
}

static void put_installs(struct filling *f)
{
    copy_begin(f, "COPY install_build (shard, build_id, tier, install_hash, sums) FROM STDIN");
    for (int g = 0; g < GROUPS; g++)
        for (int tier = 1; tier <= FILL_TIERS; tier++)
            for (int i = 0; i < INSTALLS; i++) {
                put_install(f, g, i, f->baseline, tier);
                put_install(f, g, i, f->build, tier);
            }
    copy_end(f);
}

static int64_t make_build(const struct filling *f, const char *conninfo, const char *name, int code)
{
    return pg_i64(
        conninfo,
        "INSERT INTO build (app_id, platform, version_name, version_code, registered, "
        "released_at) VALUES (%lld, 'android', '%s', %d, true, now() - interval '4 days') "
        "RETURNING build_id",
        (long long)f->fill->app, name, code);
}

void rollup_fill(const char *conninfo, const struct rollup_fill *fill, int64_t *build,
                 int64_t *baseline)
{
    struct filling f = {.fill = fill, .conn = PQconnectdb(conninfo), .random = fill->seed};

    *baseline = f.baseline = make_build(&f, conninfo, "1.0.0", 100);
    *build = f.build = make_build(&f, conninfo, "1.0.1", 101);
    pg_sql(
        conninfo,
        "INSERT INTO expectation (build_id, baseline_id, app_id, frozen_at, base_from, sessions, "
        "phase) VALUES (%lld, %lld, %lld, now() - interval '3 days', '-infinity', 1000, 'done')",
        (long long)f.build, (long long)f.baseline, (long long)fill->app);
    pg_sql(conninfo,
           "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 1, %d, '{}');"
           "INSERT INTO tier_cut VALUES (%lld, 1, 1, 17), (%lld, 1, 2, 26)",
           (long long)fill->app, FILL_TIERS, (long long)fill->app, (long long)fill->app);
    put_cells(&f);
    put_installs(&f);
    PQfinish(f.conn);
}
