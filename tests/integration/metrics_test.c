/*
 * What builds are compared by is a function of the set of uploads, the tiers of the device models
 * and the frozen expectations: whatever the order of parts, replays, late parts and late changes of
 * tiers, rows of metrics, frame times, installs and map squares are what a plain sum over the raw
 * uploads gives.
 */
#include "base/digest.h"
#include "profile/contribution.h"
#include "server/jobs/sessions/session_load.h"
#include "stats/expectation.h"
#include "stats/rate.h"
#include "support/job_fixture.h"
#include "support/pg.h"
#include "support/session_builder.h"

#include <libpq-fe.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)
#define BASE_SESSIONS 72
#define NEW_SESSIONS 20
#define INSTALLS 18
#define MAX_UPLOADS 400
#define MAX_TALLIES 4000

struct random {
    uint64_t state;
};

static uint64_t next(struct random *r) /* splitmix64 */
{
    uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static unsigned below(struct random *r, unsigned n)
{
    return (unsigned)(next(r) % n);
}

/* The uploads ---------------------------------------------------------------------------------- */

static struct {
    struct test_upload at[MAX_UPLOADS];
    unsigned char *bytes[MAX_UPLOADS];
    char install[MAX_UPLOADS][16];
    size_t n, n_base; /* the first so many are of the baseline */
} set;

static void clear_set(void)
{
    for (size_t i = 0; i < set.n; i++)
        free(set.bytes[i]);
    set.n = 0;
}

static void add_upload(struct random *r, struct session_builder *b, unsigned install, int days_ago)
{
    struct test_upload *u = &set.at[set.n];
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);

    assert_true(set.n < MAX_UPLOADS);
    set.bytes[set.n] = malloc(n);
    assert_non_null(set.bytes[set.n]);
    memcpy(set.bytes[set.n], bytes, n);
    snprintf(set.install[set.n], sizeof *set.install, "phone %u", install);
    *u = (struct test_upload){.app = 1,
                              .bytes = set.bytes[set.n],
                              .n = n,
                              .install = set.install[set.n],
                              .days_ago = days_ago,
                              .received_us = below(r, 3000) * (int64_t)SECOND};
    for (int i = 0; i < 16; i++)
        u->id[i] = (unsigned char)next(r);
    u->id[15] = (unsigned char)((u->id[15] & 0xc0) | (b->session_id[15] & 63));
    set.n++;
}

static uint64_t play(struct session_builder *b, struct random *r, uint64_t t)
{
    static const char *const maps[] = {"frost", "lava", "harbor"};
    uint32_t interval = 12000 + below(r, 30000);

    sb_scene(b, t, "battle", maps[below(r, 3)]);
    for (int i = 0; i < 4; i++) {
        sb_position(b, t, (float)below(r, 40), (float)below(r, 40));
        t = sb_steady(b, t, 30 + below(r, 60), interval);
        if (below(r, 2))
            t = sb_frames(b, t, SB_INTERVALS(110000 + below(r, 500000)));
    }
    sb_hardware(b, t,
                SB_VALUES({HW_pss_kb, 500000 + below(r, 300000)}, {HW_thermal_status, below(r, 5)},
                          {HW_battery_millicelsius, 30000 + below(r, 12000)}),
                SB_CORES(2400000));
    return t;
}

static void add_session(struct random *r, uint64_t id, unsigned version)
{
    static const char *const models[] = {"Alpha", "Beta", "Gamma"};
    struct session_builder *b = sb_new(id);
    unsigned install = below(r, INSTALLS), parts = 1 + below(r, 2);
    int days_ago = (int)below(r, 2); /* after and before the expectation is frozen */
    uint64_t t = 0;

    memcpy(b->session_id, &id, sizeof id);
    b->session_id[15] = (unsigned char)(install % 5); /* an install is of one group */
    b->version_code = version;
    b->build_id = NULL;
    b->version_name = version == 100 ? "1.0.0" : "1.0.1";
    b->model = models[install % 3];
    b->environment = below(r, 12) ? 0 : ENV_ROOTED;
    for (unsigned part = 0; part < parts; part++) {
        sb_part(b, part, t);
        t = play(b, r, t);
        if (part + 1 == parts && below(r, 2))
            sb_end(b, t, END_STOPPED);
        add_upload(r, b, install, days_ago);
    }
    sb_free(b);
}

static void make_set(uint64_t seed)
{
    struct random r = {seed * 7919};

    clear_set();
    for (uint64_t i = 0; i < BASE_SESSIONS; i++)
        add_session(&r, seed * 1000 + i, 100);
    set.n_base = set.n;
    for (uint64_t i = 0; i < NEW_SESSIONS; i++)
        add_session(&r, seed * 1000 + 500 + i, 101);
}

/* What the server makes of them ---------------------------------------------------------------- */

static void run_kind(const struct worker_config *config, const char *kind, int64_t offset_ms)
{
    struct worker_config at = *config;
    struct err err;

    pg_sql(config->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, run_after) VALUES ('%s', 64, "
           "'00000000-0000-0000-0000-000000000000', 1, CURRENT_DATE, '2000-01-01') "
           "ON CONFLICT DO NOTHING",
           kind);
    at.clock_offset_ms = offset_ms;
    if (!worker_drain(&at, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pg_i64(config->conninfo, "SELECT count(*) FROM job WHERE kind = '%s'", kind),
                     0);
}

/* As if it were the beginning of the day: uploads of the day are received at noon. */
static int64_t since_midnight_ms(void)
{
    return -(int64_t)(time(NULL) % 86400) * 1000;
}

static void change_tiers(const char *conninfo, struct random *r)
{
    pg_sql(conninfo, "UPDATE device_model SET tier = %u WHERE model = '%s'", below(r, 4),
           below(r, 2) ? "Alpha" : "Gamma");
}

static void wild_run(const char *conninfo, uint64_t seed)
{
    struct worker_config config = test_worker(conninfo);
    struct random r = {seed};
    size_t order[MAX_UPLOADS];

    for (size_t i = 0; i < set.n; i++)
        order[i] = i;
    for (size_t i = set.n - 1; i > 0; i--) {
        /* most of the baseline first, but some late */
        size_t k = i < set.n_base ? below(&r, (unsigned)i + 1)
                   : below(&r, 3) ? i
                                  : below(&r, (unsigned)i + 1);
        size_t swap = order[i];

        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < set.n; i++) {
        put_upload(conninfo, &set.at[order[i]]);
        if (below(&r, 6) == 0) /* once more: a replay */
            put_upload(conninfo, &set.at[order[below(&r, (unsigned)i + 1)]]);
        if (i == set.n / 2)
            drain_all(&config);
        if (i == set.n * 3 / 4) { /* with what came meanwhile uncounted as yet */
            change_tiers(conninfo, &r);
            run_kind(&config, "expect", since_midnight_ms());
            drain_all(&config);
        }
        if (below(&r, 40) == 0) {
            change_tiers(conninfo, &r);
            run_kind(&config, "tiers", 0);
        }
    }
    drain_all(&config);
    run_kind(&config, "expect", 0);
    change_tiers(conninfo, &r);
    run_kind(&config, "tiers", 0);
}

/* Brute force ---------------------------------------------------------------------------------- */

struct tally {
    char key[200];
    int64_t installs, sum[METRICS_N][METRIC_SUMS];
};

struct tallies {
    struct tally *at;
    size_t n;
};

static struct tally *find(struct tallies *all, const char *fmt, ...)
{
    char key[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(key, sizeof key, fmt, args);
    va_end(args);
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].key, key) == 0)
            return &all->at[i];
    assert_true(all->n < MAX_TALLIES);
    snprintf(all->at[all->n].key, sizeof all->at->key, "%s", key);
    return &all->at[all->n++];
}

static void add_sums(int64_t to[METRICS_N][METRIC_SUMS], int64_t from[METRICS_N][METRIC_SUMS])
{
    for (unsigned m = 0; m < METRICS_N; m++)
        for (unsigned k = 0; k < METRIC_SUMS; k++)
            to[m][k] += from[m][k];
}

/* Rows of text and bytes into tallies; the last column is the sums in hexadecimal. */
static void read_sums(PGconn *conn, const char *sql, struct tallies *out)
{
    PGresult *res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s", PQresultErrorMessage(res));
    for (int i = 0; i < PQntuples(res); i++) {
        struct tally *t = find(out, "%s", PQgetvalue(res, i, 0));
        const char *hex = PQgetvalue(res, i, 2);
        unsigned char bytes[8192];
        struct err err;

        assert_true(strlen(hex) < 2 * sizeof bytes);
        assert_true(from_hex(hex, strlen(hex) / 2, bytes));
        t->installs += strtoll(PQgetvalue(res, i, 1), NULL, 10);
        if (!metric_sums_add(bytes, strlen(hex) / 2, t->sum, &err))
            fail_msg("%s", err.text);
    }
    PQclear(res);
}

/* What the frozen expectation knows: cells by "kind id scene", pasts by "group install scene". */
static void read_pasts(PGconn *conn, struct tallies *out, struct arena *mem)
{
    PGresult *res = PQexec(conn, "SELECT shard, encode(install_hash, 'hex'), encode(sums, 'hex') "
                                 "FROM expectation_past");

    for (int i = 0; i < PQntuples(res); i++) {
        const char *hex = PQgetvalue(res, i, 2);
        size_t n = strlen(hex) / 2;
        unsigned char *bytes = arena_alloc(mem, n + 1);
        struct contribution c;
        struct err err;

        assert_true(from_hex(hex, n, bytes));
        if (!contribution_read(bytes, n, mem, &c, &err))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < c.n_rows; k++)
            add_sums(find(out, "%s %.16s %s", PQgetvalue(res, i, 0), PQgetvalue(res, i, 1),
                          c.rows[k].scene)
                         ->sum,
                     c.rows[k].sum);
    }
    PQclear(res);
}

struct truth {
    struct tallies cells, pasts, rows, seen, /* seen: installs of a slice */
        whole; /* frame times and map squares, by build, tier and scene */
    int64_t frozen_us, base_from_us, build[2];
};

/* The definition of docs/reports.md, said once more. */
static void measure(const struct truth *t, unsigned m, const int64_t own[METRIC_SUMS],
                    const int64_t all[METRIC_SUMS], const int64_t tier[METRIC_SUMS],
                    const int64_t model[METRIC_SUMS], const int64_t past[METRIC_SUMS],
                    int64_t to[METRIC_SUMS])
{
    (void)t;
    if (!own[SUM_N])
        return;
    if (metric_info[m].kind == METRIC_LN) {
        const int64_t *prior = tier[SUM_N] ? tier : all;
        struct moments mm = {model[SUM_N], model[SUM_VALUE], 0},
                       mt = {prior[SUM_N], prior[SUM_VALUE], 0};
        int64_t mu, mean;

        if (!prior[SUM_N] || !expectation_model(&mm, &mt, &mt, &mu))
            return;
        to[SUM_X_N] = 1;
        to[SUM_X_VALUE] = expectation_residual(own[SUM_VALUE], mu);
        to[SUM_X_EXPECTED] = mu;
        if (!past[SUM_N])
            return;
        mean = expectation_own(mu, past[SUM_N], past[SUM_VALUE]).x_e6;
        assert_in_range(llabs(mean - past[SUM_VALUE] / past[SUM_N]), 0, 1);
        to[SUM_OWN_N] = 1;
        to[SUM_OWN_WEIGHT] = expectation_own(mu, past[SUM_N], past[SUM_VALUE]).weight;
        to[SUM_OWN_VALUE] = to[SUM_OWN_WEIGHT] * expectation_residual(own[SUM_VALUE], mean);
    } else {
        const int64_t *prior = tier[SUM_VALUE] ? tier : all;
        int64_t x = rate_expected(own[SUM_EXPOSURE], model[SUM_VALUE], model[SUM_EXPOSURE],
                                  prior[SUM_VALUE], prior[SUM_EXPOSURE]);

        if (x > 0) {
            to[SUM_X_N] = 1;
            to[SUM_X_VALUE] = own[SUM_VALUE];
            to[SUM_X_EXPECTED] = x;
        }
        x = past[SUM_N] ? rate_expected_own(own[SUM_EXPOSURE], past[SUM_VALUE], past[SUM_EXPOSURE])
                        : -1;
        if (x < 0)
            return;
        to[SUM_OWN_N] = 1;
        to[SUM_OWN_VALUE] = own[SUM_VALUE];
        to[SUM_OWN_WEIGHT] = x;
    }
}

struct raw {
    struct session_part part[8];
    struct part decoded[8];
    size_t n;
    unsigned char id[16];
    const char *install;
    int64_t received_us, tier, model_id;
};

static void add_slice(struct truth *t, const struct raw *s, int64_t shard, unsigned which,
                      const struct metric_row *row)
{
    char hash[65];
    unsigned char install[SHA256_BYTES];
    int64_t arm = which == 1 ? 0 : s->received_us < t->frozen_us ? 1 : 2;
    int64_t sum[METRICS_N][METRIC_SUMS] = {{0}};

    sha256(s->install, strlen(s->install), install);
    to_hex(install, sizeof install, hash);
    for (unsigned m = 0; m < METRICS_N; m++)
        measure(t, m, row->sum[m], find(&t->cells, "0 0 %s", row->scene)->sum[m],
                find(&t->cells, "1 %lld %s", (long long)s->tier, row->scene)->sum[m],
                find(&t->cells, "2 %lld %s", (long long)s->model_id, row->scene)->sum[m],
                find(&t->pasts, "%lld %.16s %s", (long long)shard, hash, row->scene)->sum[m],
                sum[m]);
    if (which == 1 || s->received_us >= t->base_from_us)
        add_sums(find(&t->rows, "%lld %lld %lld %lld %s", (long long)shard, (long long)t->build[1],
                      (long long)arm, (long long)s->tier, row->scene)
                     ->sum,
                 sum);

    struct tally *own = find(&t->rows, "%lld %lld 0 %lld %s", (long long)shard,
                             (long long)t->build[which], (long long)s->tier, row->scene);
    int64_t plain[METRICS_N][METRIC_SUMS];

    memcpy(plain, row->sum, sizeof plain);
    add_sums(own->sum, plain);

    struct tally *seen =
        find(&t->seen, "%u %lld %s %.16s", which, (long long)s->tier, row->scene, hash);

    own->installs += !seen->installs;
    seen->installs = 1;
}

/* Columns of frame_rollup in their order, then two linear sums over the sketch. */
static void add_frames(struct tally *to, const int64_t *column, size_t n, const struct sketch *s)
{
    int64_t *sum = to->sum[0];

    assert_true(n + 2 <= sizeof to->sum / sizeof **to->sum);
    for (size_t i = 0; i < n; i++)
        sum[i] += column[i];
    for (unsigned k = 0; k < SKETCH_BUCKETS; k++) {
        sum[n] += s->count[k] * (k + 1);
        sum[n + 1] += s->count[k] * (k + 1) * (k + 1);
    }
}

static void add_square(struct tally *to, int64_t x, int64_t y, const int64_t sums[4])
{
    for (size_t i = 0; i < 4; i++)
        to->sum[0][i] += sums[i];
    to->sum[0][4] += sums[0] * (x * 1009 + y);
    to->sum[0][5] += sums[0] * x * x;
}

static void add_whole(struct truth *t, const struct raw *s, unsigned which,
                      const struct contribution *c)
{
    long long build = (long long)t->build[which], tier = (long long)s->tier;

    for (size_t i = 0; i < c->n_slices; i++) {
        const struct rollup_delta *d = &c->slices[i];
#define X(name) d->name,
        const int64_t column[] = {ROLLUP_COLUMNS(X)};
#undef X

        add_frames(find(&t->whole, "frames %lld %lld %s", build, tier, d->scene), column,
                   sizeof column / sizeof *column, &d->sketch);
    }
    for (size_t i = 0; i < c->n_cells; i++) {
        const struct map_cell *m = &c->cells[i];

        add_square(
            find(&t->whole, "map %lld %lld %lld %s", build, tier, (long long)m->level, m->scene),
            m->x, m->y, (int64_t[]){m->visits, m->janky_visits, m->jank_ms, m->dwell_ms});
    }
}

static int64_t at(PGresult *res, int row, int column)
{
    return strtoll(PQgetvalue(res, row, column), NULL, 10);
}

/* The same of what is stored. */
static void read_whole(PGconn *conn, struct tallies *out)
{
#define X(name) ", " #name
    PGresult *res = PQexec(conn, "SELECT build_id || ' ' || tier || ' ' || scene, "
                                 "encode(sketch, 'hex')" ROLLUP_COLUMNS(X) " FROM frame_rollup");
#undef X
    struct err err;

    assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(res); i++) {
        int64_t column[64];
        const char *hex = PQgetvalue(res, i, 1);
        size_t n = (size_t)PQnfields(res) - 2, len = strlen(hex) / 2;
        unsigned char bytes[8192];
        struct sketch sketch = {0};

        assert_true(n <= 64 && len <= sizeof bytes && from_hex(hex, len, bytes));
        assert_true(sketch_read(bytes, len, 1, &sketch, &err));
        for (size_t k = 0; k < n; k++)
            column[k] = at(res, i, (int)k + 2);
        add_frames(find(out, "frames %s", PQgetvalue(res, i, 0)), column, n, &sketch);
    }
    PQclear(res);
    res = PQexec(conn,
                 "SELECT build_id || ' ' || tier || ' ' || level || ' ' || scene, x, y, visits, "
                 "janky_visits, jank_ms, dwell_ms FROM scene_cell");
    assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
    assert_true(PQntuples(res) > 0);
    for (int i = 0; i < PQntuples(res); i++)
        add_square(find(out, "map %s", PQgetvalue(res, i, 0)), at(res, i, 1), at(res, i, 2),
                   (int64_t[]){at(res, i, 3), at(res, i, 4), at(res, i, 5), at(res, i, 6)});
    PQclear(res);
}

static void add_raw(struct truth *t, const struct raw *s, struct arena *mem)
{
    struct session session;
    struct session_result result;
    struct contribution c;
    struct err err;

    if (!session_merge(s->part, s->n, mem, &session, &err) ||
        !session_analyse(&session, mem, &result, &err) || !contribution_of(&result, mem, &c, &err))
        fail_msg("%s", err.text);
    add_whole(t, s, session.header.version_code == 101, &c);
    for (size_t i = 0; i < c.n_rows; i++)
        add_slice(t, s, shard_of(1, s->id), session.header.version_code == 101, &c.rows[i]);
}

static size_t gather(struct raw *all, PGconn *conn, struct arena *mem)
{
    size_t n = 0;

    for (size_t i = 0; i < set.n; i++) {
        struct part *part = arena_alloc(mem, sizeof *part);
        struct err err;
        size_t k = 0;
        char sql[200];

        if (!part_decode(set.bytes[i], set.at[i].n, &part_limits_default, mem, part, &err))
            fail_msg("%s", err.text);
        while (k < n && memcmp(all[k].id, part->header.session_id, 16) != 0)
            k++;

        struct raw *s = &all[k];
        PGresult *res;

        if (k == n) {
            n++;
            *s = (struct raw){.install = set.install[i], .received_us = INT64_MAX};
            memcpy(s->id, part->header.session_id, 16);
        }
        snprintf(sql, sizeof sql, "SELECT model_id, tier FROM device_model WHERE model = '%s'",
                 part->header.model);
        res = PQexec(conn, sql);
        assert_int_equal(PQntuples(res), 1);
        s->model_id = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
        s->tier = strtoll(PQgetvalue(res, 0, 1), NULL, 10);
        PQclear(res);
        s->decoded[s->n] = *part;
        s->part[s->n].part = &s->decoded[s->n];
        sha256(set.bytes[i], set.at[i].n, s->part[s->n].sha256);
        s->n++;
    }
    return n;
}

static int64_t number(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int64_t v;

    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        fail_msg("%s: %s", sql, PQresultErrorMessage(res));
    v = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
    PQclear(res);
    return v;
}

/* When the server received a session's first upload. */
static void set_received(struct raw *all, size_t n, PGconn *conn)
{
    for (size_t i = 0; i < n; i++) {
        char sql[300], hex[33];

        to_hex(all[i].id, 16, hex);
        snprintf(sql, sizeof sql,
                 "SELECT (extract(epoch FROM min(u.completed_at)) * 1000000)::bigint FROM upload u "
                 "JOIN session_part p ON p.upload_shard = u.shard AND p.upload_id = u.upload_id "
                 "WHERE p.session_id = '%s'",
                 hex);
        all[i].received_us = number(conn, sql);
    }
}

static void assert_covered(const struct tallies *a, struct tallies *b, const char *which)
{
    static const int64_t zero[METRICS_N][METRIC_SUMS];

    for (size_t i = 0; i < a->n; i++) {
        struct tally *other;

        if (!a->at[i].installs && memcmp(a->at[i].sum, zero, sizeof zero) == 0)
            continue;
        other = find(b, "%s", a->at[i].key);
        if (other->installs != a->at[i].installs)
            fail_msg("%s '%s': installs %lld and %lld", which, a->at[i].key,
                     (long long)a->at[i].installs, (long long)other->installs);
        for (unsigned m = 0; m < METRICS_N; m++)
            for (unsigned k = 0; k < METRIC_SUMS; k++)
                if (a->at[i].sum[m][k] != other->sum[m][k])
                    fail_msg("%s '%s': %s, sum %u: %lld and %lld", which, a->at[i].key,
                             metric_info[m].name, k, (long long)a->at[i].sum[m][k],
                             (long long)other->sum[m][k]);
    }
}

static struct tallies new_tallies(void)
{
    struct tallies t = {calloc(MAX_TALLIES, sizeof *t.at), 0};

    assert_non_null(t.at);
    return t;
}

static void assert_rows_are_plain_sums(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    struct arena *mem = arena_new(256u << 20);
    struct raw *all = calloc(MAX_UPLOADS, sizeof *all);
    struct truth t = {
        new_tallies(), new_tallies(), new_tallies(), new_tallies(), new_tallies(), 0, 0, {0}};
    struct tallies actual = new_tallies(), whole = new_tallies();
    size_t n;

    assert_true(mem && all);
    t.build[0] = number(conn, "SELECT build_id FROM build WHERE version_code = 100");
    t.build[1] = number(conn, "SELECT build_id FROM build WHERE version_code = 101");
    t.frozen_us =
        number(conn, "SELECT (extract(epoch FROM frozen_at) * 1000000)::bigint FROM expectation");
    t.base_from_us = INT64_MIN;
    assert_int_equal(number(conn, "SELECT count(*) FROM expectation WHERE base_from = '-infinity'"),
                     1);
    read_sums(conn,
              "SELECT kind || ' ' || id || ' ' || scene, 0, encode(sums, 'hex') "
              "FROM expectation_cell",
              &t.cells);
    read_pasts(conn, &t.pasts, mem);
    n = gather(all, conn, mem);
    set_received(all, n, conn);
    for (size_t i = 0; i < n; i++)
        add_raw(&t, &all[i], mem);
    read_sums(conn,
              "SELECT shard || ' ' || build_id || ' ' || arm || ' ' || tier || ' ' || scene, "
              "installs, encode(sums, 'hex') FROM metric_rollup",
              &actual);
    assert_true(t.rows.n > 30);
    assert_covered(&t.rows, &actual, "expected");
    assert_covered(&actual, &t.rows, "stored");
    read_whole(conn, &whole);
    assert_covered(&t.whole, &whole, "expected");
    assert_covered(&whole, &t.whole, "stored");
    for (struct tallies *x = (struct tallies *)&t; x < (struct tallies *)&t + 5; x++)
        free(x->at);
    free(actual.at);
    free(whole.at);
    free(all);
    arena_free(mem);
    PQfinish(conn);
}

static void prepare(char conninfo[PG_CONNINFO_BYTES], uint64_t seed)
{
    make_set(seed);
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game')");
    pg_sql(conninfo, "INSERT INTO build (app_id, platform, version_name, version_code, "
                     "build_uid, registered) VALUES (1, 'android', '1.0.0', 100, '', true), "
                     "(1, 'android', '1.0.1', 101, '', true)");
}

static void any_order_late_parts_and_late_tiers_end_in_the_plain_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        char conninfo[PG_CONNINFO_BYTES];

        prepare(conninfo, seed);
        wild_run(conninfo, seed);
        assert_rows_are_plain_sums(conninfo);
        pg_drop_db(conninfo);
    }
    clear_set();
}

static int64_t misplaced(const char *conninfo)
{
    return pg_i64(conninfo, "SELECT count(*) FROM session s JOIN device_model m USING (model_id) "
                            "WHERE s.tier <> m.tier AND s.contribution <> ''");
}

/* Sessions move in transactions of several, group after group: one that cannot be written leaves
 * those of its group where they were, and the groups before it where they belong. */
static void sessions_whose_move_was_cut_short_are_counted_once(void **state)
{
    char conninfo[PG_CONNINFO_BYTES];
    struct worker_counts counts = {0};
    struct worker_config config, once;
    int64_t all, left;
    struct err err;

    (void)state;
    prepare(conninfo, 3);
    wild_run(conninfo, 3);
    config = test_worker(conninfo);
    pg_sql(conninfo, "UPDATE device_model SET tier = (tier + 1) %% 4");
    all = misplaced(conninfo);
    pg_sql(conninfo, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                     "$$ BEGIN RAISE 'the disk is full'; END $$");
    pg_sql(conninfo, "CREATE TRIGGER refuse BEFORE UPDATE ON session FOR EACH ROW "
                     "WHEN (old.shard %% 64 = 2) EXECUTE FUNCTION refuse()");
    pg_sql(conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, run_after) VALUES ('tiers', 64, "
           "'00000000-0000-0000-0000-000000000000', 1, CURRENT_DATE, '2000-01-01')");
    once = config;
    once.max_attempts = 1;
    if (!worker_drain(&once, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.dead, 1);
    left = misplaced(conninfo);
    assert_true(left > 0 && left < all);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session s JOIN device_model m USING "
                                      "(model_id) WHERE s.tier = m.tier AND s.shard %% 64 = 2"),
                     0);

    pg_sql(conninfo, "DROP TRIGGER refuse ON session");
    pg_sql(conninfo, "UPDATE job SET state = 'ready', attempts = 0, run_after = '2000-01-01'");
    run_kind(&config, "tiers", 0);
    assert_int_equal(misplaced(conninfo), 0);
    assert_rows_are_plain_sums(conninfo);
    pg_drop_db(conninfo);
    clear_set();
}

static void sessions_too_many_for_the_memory_move_by_halves(void **state)
{
    char conninfo[PG_CONNINFO_BYTES];
    struct worker_config config;

    (void)state;
    prepare(conninfo, 4);
    wild_run(conninfo, 4);
    config = test_worker(conninfo);
    config.arena_bytes = 1 << 20;
    pg_sql(conninfo, "UPDATE device_model SET tier = (tier + 1) %% 4");
    run_kind(&config, "tiers", 0);
    assert_int_equal(misplaced(conninfo), 0);
    assert_rows_are_plain_sums(conninfo);
    pg_drop_db(conninfo);
    clear_set();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_late_parts_and_late_tiers_end_in_the_plain_sums),
        cmocka_unit_test(sessions_whose_move_was_cut_short_are_counted_once),
        cmocka_unit_test(sessions_too_many_for_the_memory_move_by_halves),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
