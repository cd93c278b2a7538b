/*
 * The central property: what the tables hold is a function of the set of uploads. Whatever their
 * order, however often a job runs, whoever dies while running it: the rows are those of one clean
 * run in order, and the rollups are what a plain sum over the raw uploads gives.
 */
#include "base/digest.h"
#include "profile/contribution.h"
#include "server/jobs/sessions/session_load.h"
#include "support/job_fixture.h"
#include "support/pg.h"
#include "support/session_builder.h"

#include <libpq-fe.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)
#define MAX_UPLOADS 200
#define MAX_FILES 40 /* of one session */

/* The set of uploads of one seed --------------------------------------------------------------- */

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

static bool chance(struct random *r, unsigned percent)
{
    return below(r, 100) < percent;
}

static struct {
    struct test_upload at[MAX_UPLOADS];
    unsigned char *bytes[MAX_UPLOADS];
    size_t n;
} set;

static void clear_set(void)
{
    for (size_t i = 0; i < set.n; i++)
        free(set.bytes[i]);
    set.n = 0;
}

static void add_upload(struct random *r, int64_t app, const char *install,
                       const unsigned char *bytes, size_t n)
{
    struct test_upload *u = &set.at[set.n];

    assert_true(set.n < MAX_UPLOADS);
    set.bytes[set.n] = malloc(n + 1);
    assert_non_null(set.bytes[set.n]);
    memcpy(set.bytes[set.n], bytes, n);
    *u = (struct test_upload){.app = app,
                              .bytes = set.bytes[set.n],
                              .n = n,
                              .chunk = chance(r, 30) ? 1 + below(r, 3000) : 0,
                              .install = install,
                              .days_ago = chance(r, 20),
                              .received_us = below(r, 3600) * (int64_t)SECOND};
    for (int i = 0; i < 16; i++)
        u->id[i] = (unsigned char)next(r);
    set.n++;
}

static void set_device(struct session_builder *b, struct random *r)
{
    static const char *const models[] = {"Alpha", "Beta", "Gamma"};
    unsigned which = below(r, 3);

    b->model = models[which];
    b->ram_mb = 2048 * (which + 1);
    b->version_code = 100 + below(r, 2);
    b->version_name = b->version_code == 100 ? "1.0.0" : "1.0.1";
    b->environment = chance(r, 15) ? ENV_ROOTED : chance(r, 15) ? ENV_DEVELOPER_MODE : 0;
}

/* What happened in one part, in one of a few plots; returns where it ends. */
static uint64_t play_part(struct session_builder *b, struct random *r, uint64_t start)
{
    uint64_t t = sb_play(b, start, 3 + below(r, 25), (unsigned)next(r));

    if (chance(r, 25)) {
        uint32_t stack = sb_text_stack(b, "main", "Physics.step", "Game.tick", NULL);

        sb_crash(b, t, 6, "SIGABRT", stack);
    }
    if (chance(r, 25))
        sb_feedback(b, t, "lag", "stutters");
    if (chance(r, 20)) { /* values out of bounds, frames that overlap */
        sb_hardware(b, t, SB_VALUES({HW_battery_millicelsius, 0}), SB_CORES(99000000));
        sb_steady(b, t - SECOND, 30, 16670);
    }
    if (chance(r, 20))
        sb_self_report(b, t, 1000);
    return t;
}

static void add_session(struct random *r, int64_t app, uint64_t id)
{
    struct session_builder *b = sb_new(id);
    unsigned parts = 1 + below(r, 5), end = chance(r, 60) ? parts - 1 : 99;
    uint64_t t = 0;

    /* two shards for all: sessions meet in the same rollup rows */
    b->session_id[0] = (unsigned char)id;
    b->session_id[15] = (unsigned char)((b->session_id[15] & 0xc0) | (id & 1));
    set_device(b, r);
    for (unsigned part = 0; part < parts; part++) {
        const char *install = chance(r, 95) ? "phone" : "another";
        size_t n;

        if (chance(r, 10)) /* a part of another build: foreign_header */
            b->version_code ^= 1;
        if (chance(r, 10)) /* or device */
            set_device(b, r);
        sb_part(b, part, t);
        t = play_part(b, r, t);
        if (part == end)
            sb_end(b, t, END_STOPPED);

        const unsigned char *bytes = sb_bytes(b, &n);

        add_upload(r, app, install, bytes, n);
        if (chance(r, 20)) /* the same file once more */
            add_upload(r, app, install, bytes, n);
        if (chance(r, 20)) /* the same part, cut by a crash */
            add_upload(r, app, install, bytes, n / 2 + below(r, (unsigned)(n / 2)));
        if (chance(r, 10)) { /* the same part number, another file */
            sb_part(b, part, t);
            play_part(b, r, t);
            bytes = sb_bytes(b, &n);
            add_upload(r, app, install, bytes, n);
        }
    }
    sb_free(b);
}

static void make_set(uint64_t seed)
{
    struct random r = {seed * 1000003};
    unsigned sessions = 4 + below(&r, 5);

    clear_set();
    for (unsigned i = 0; i < sessions; i++) {
        add_session(&r, 1, seed * 100 + i);
        if (chance(&r, 20)) /* the same id in another app */
            add_session(&r, 2, seed * 100 + i);
    }
    add_upload(&r, 1, NULL, (const unsigned char *)"not a session file", 18);
}

/* The clean run -------------------------------------------------------------------------------- */

static void new_database(char conninfo[PG_CONNINFO_BYTES])
{
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game'), ('other')");
}

static char *clean_run(char conninfo[PG_CONNINFO_BYTES])
{
    struct worker_config config;

    new_database(conninfo);
    config = test_worker(conninfo);
    for (size_t i = 0; i < set.n; i++)
        put_upload(conninfo, &set.at[i]);
    drain_all(&config);
    return dump_results(conninfo);
}

static void assert_same_dump(const char *expected, const char *actual, uint64_t seed)
{
    size_t line = 0, at = 0;

    if (strcmp(expected, actual) == 0)
        return;
    for (; expected[at] == actual[at]; at++)
        if (expected[at] == '\n')
            line = at + 1;
    print_error("seed %lu differs:\n  expected %.*s\n  actual   %.*s\n", (unsigned long)seed,
                (int)strcspn(expected + line, "\n"), expected + line,
                (int)strcspn(actual + line, "\n"), actual + line);
    fail_msg("the tables differ from those of the clean run");
}

/* Brute force: rollups from the raw bytes -------------------------------------------------------
 */

struct tally { /* one row as the database has it, or as it should be */
    char key[256];
    int64_t sum[32];
    struct sketch sketch;
};

static struct tally *find_tally(struct tally *all, size_t *n, const char *key)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(all[i].key, key) == 0)
            return &all[i];
    snprintf(all[*n].key, sizeof all[*n].key, "%s", key);
    return &all[(*n)++];
}

static void add_slice(struct tally *t, const struct rollup_delta *d)
{
    size_t k = 0;

#define X(name) t->sum[k++] += d->name;
    ROLLUP_COLUMNS(X)
#undef X
    sketch_merge(&t->sketch, &d->sketch, 1);
}

/* Sessions are told apart by app and id; a file equal to an earlier one is the same part. */
struct raw_session {
    struct session_part part[MAX_FILES];
    struct part decoded[MAX_FILES];
    size_t n;
    int days_ago;
    int64_t app;
    unsigned char id[16];
};

static bool same_file(const struct raw_session *s, const struct session_part *p)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->part[i].part->header.part == p->part->header.part &&
            memcmp(s->part[i].sha256, p->sha256, 32) == 0)
            return true;
    return false;
}

static size_t gather(struct raw_session *all, struct arena *mem)
{
    size_t n = 0;

    for (size_t i = 0; i < set.n; i++) {
        struct part part;
        struct session_part one = {.part = &part};
        size_t k = 0;
        struct err err;

        if (!part_decode(set.bytes[i], set.at[i].n, &part_limits_default, mem, &part, &err))
            continue;
        sha256(set.bytes[i], set.at[i].n, one.sha256);
        while (k < n &&
               (all[k].app != set.at[i].app || memcmp(all[k].id, part.header.session_id, 16) != 0))
            k++;

        struct raw_session *s = &all[k];

        if (k == n) {
            n++;
            s->n = 0;
            s->days_ago = 0;
            s->app = set.at[i].app;
            memcpy(s->id, part.header.session_id, 16);
        }
        if (set.at[i].days_ago > s->days_ago)
            s->days_ago = set.at[i].days_ago;
        if (same_file(s, &one))
            continue;
        assert_true(s->n < MAX_FILES);
        s->decoded[s->n] = part;
        one.part = &s->decoded[s->n];
        s->part[s->n++] = one;
    }
    return n;
}

/* frame_rollup and model_rollup as they should be. */
static size_t brute_force(struct tally *out, struct arena *mem)
{
    struct raw_session *all = calloc(MAX_UPLOADS, sizeof *all);
    size_t n_out = 0, n = gather(all, mem);

    assert_non_null(all);
    for (size_t i = 0; i < n; i++) {
        struct session s;
        struct session_result r;
        struct contribution c;
        struct err err;
        char key[256];

        if (!session_merge(all[i].part, all[i].n, mem, &s, &err) ||
            !session_analyse(&s, mem, &r, &err) || !contribution_of(&r, mem, &c, &err))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < c.n_slices; k++) {
            snprintf(key, sizeof key, "%lld %s %lu %s %d",
                     (long long)shard_of(all[i].app, all[i].id), s.header.version_name,
                     (unsigned long)s.header.version_code, c.slices[k].scene, all[i].days_ago);
            add_slice(find_tally(out, &n_out, key), &c.slices[k]);
        }
        snprintf(key, sizeof key, "model %lld %s %lu %s",
                 (long long)shard_of(all[i].app, all[i].id), s.header.version_name,
                 (unsigned long)s.header.version_code, s.header.model);

        struct tally *t = find_tally(out, &n_out, key);
        size_t k = 0;

#define X(name) t->sum[k++] += c.model.name;
        MODEL_COLUMNS(X)
#undef X
    }
    free(all);
    return n_out;
}

static size_t read_rollups(const char *conninfo, struct tally *out)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *res = PQexec(
        conn, "SELECT f.shard || ' ' || version_name || ' ' || version_code || ' ' || scene || "
              "' ' || (now() AT TIME ZONE 'UTC')::date - day,"
              "f.* FROM frame_rollup f JOIN build USING (build_id)");
    size_t n = 0;

    assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(res); i++) {
        struct tally *t = find_tally(out, &n, PQgetvalue(res, i, 0));
        size_t len, k = 0;
        unsigned char *sketch =
            PQunescapeBytea((unsigned char *)PQgetvalue(res, i, PQfnumber(res, "sketch")), &len);
        struct err err;

#define X(name) t->sum[k++] = strtoll(PQgetvalue(res, i, PQfnumber(res, #name)), NULL, 10);
        ROLLUP_COLUMNS(X)
#undef X
        assert_true(!len || sketch_read(sketch, len, 1, &t->sketch, &err));
        PQfreemem(sketch);
    }
    PQclear(res);
    res = PQexec(conn, "SELECT 'model ' || shard || ' ' || version_name || ' ' || version_code || "
                       "' ' || model, r.* FROM model_rollup r JOIN build USING (build_id) JOIN "
                       "device_model USING (model_id)");
    assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(res); i++) {
        struct tally *t = find_tally(out, &n, PQgetvalue(res, i, 0));
        int first = PQfnumber(res, "sessions"), k = 0;

#define X(name)                                                                                    \
    assert_string_equal(PQfname(res, first + k), #name);                                           \
    t->sum[k] = strtoll(PQgetvalue(res, i, first + k), NULL, 10);                                  \
    k++;
        MODEL_COLUMNS(X)
#undef X
    }
    PQclear(res);
    PQfinish(conn);
    return n;
}

static bool all_zero(const struct tally *t)
{
    static const struct tally nothing;

    return memcmp(t->sum, nothing.sum, sizeof t->sum) == 0 &&
           memcmp(&t->sketch, &nothing.sketch, sizeof t->sketch) == 0;
}

/* Every non-zero row of `a` stands in `b` with the same numbers. */
static void assert_covered(const struct tally *a, size_t n_a, struct tally *b, size_t n_b)
{
    for (size_t i = 0; i < n_a; i++) {
        if (all_zero(&a[i]))
            continue;

        struct tally *other = find_tally(b, &n_b, a[i].key);

        if (memcmp(a[i].sum, other->sum, sizeof a[i].sum) != 0 ||
            memcmp(&a[i].sketch, &other->sketch, sizeof a[i].sketch) != 0)
            fail_msg("rollup '%s' is not the sum of its sessions", a[i].key);
    }
}

#define MAX_TALLIES 400

static void assert_rollups_are_plain_sums(const char *conninfo)
{
    struct arena *mem = arena_new(256u << 20);
    struct tally *expected = calloc(2 * MAX_TALLIES, sizeof *expected),
                 *actual = calloc(2 * MAX_TALLIES, sizeof *actual);
    size_t n_expected, n_actual;

    assert_true(mem && expected && actual);
    n_expected = brute_force(expected, mem);
    n_actual = read_rollups(conninfo, actual);
    assert_in_range(n_expected, 1, MAX_TALLIES);
    assert_in_range(n_actual, 1, MAX_TALLIES);
    assert_covered(expected, n_expected, actual, n_actual);
    assert_covered(actual, n_actual, expected, n_expected);
    free(expected);
    free(actual);
    arena_free(mem);
}

/* The wild run --------------------------------------------------------------------------------- */

static void put_some(const char *conninfo, struct random *r, size_t *order, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        put_upload(conninfo, &set.at[order[i]]);
    if (from && chance(r, 50)) /* and one of those before: its job runs again */
        put_upload(conninfo, &set.at[order[below(r, (unsigned)from)]]);
}

/* Closes all that is open, long before its last part. */
static void finish_early(const struct worker_config *config)
{
    struct worker_config later = *config;
    struct err err;

    later.clock_offset_ms += 40 * config->idle_ms;
    if (!worker_drain(&later, NULL, &err))
        fail_msg("%s", err.text);
}

/* Something dies some milliseconds after a worker process started, in the middle of whatever. */
static void drain_until(const struct worker_config *config, struct random *r, bool database_dies)
{
    long us = 1000 + below(r, 40000);
    pid_t child = fork();

    if (child == 0) {
        struct err err;

        _exit(worker_drain(config, NULL, &err) ? 0 : 1);
    }
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
    if (database_dies)
        pg_kill9();
    else
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (database_dies)
        pg_restart();
}

struct cutter {
    const char *conninfo;
    atomic_bool stop;
};

static void *cut_connections(void *arg)
{
    struct cutter *c = arg;

    while (!atomic_load(&c->stop))
        pg_end_backends(c->conninfo);
    return NULL;
}

/* A worker whose connections are ended over and over. */
static void drain_with_cuts(const struct worker_config *config)
{
    struct cutter cutter = {.conninfo = config->conninfo};
    pthread_t thread;
    struct err err;

    assert_int_equal(pthread_create(&thread, NULL, cut_connections, &cutter), 0);
    for (int i = 0; i < 20; i++)
        if (worker_drain(config, NULL, &err))
            break;
    atomic_store(&cutter.stop, true);
    pthread_join(thread, NULL);
}

static void drain_calmly(const struct worker_config *config)
{
    struct err err;

    if (!worker_drain(config, NULL, &err))
        fail_msg("%s", err.text);
}

static char *wild_run(uint64_t seed, char conninfo[PG_CONNINFO_BYTES])
{
    struct random r = {seed * 77 + 1};
    struct worker_config config;
    size_t order[MAX_UPLOADS], put = 0;

    new_database(conninfo);
    config = test_worker(conninfo);
    for (size_t i = 0; i < set.n; i++) {
        size_t k = below(&r, (unsigned)i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    while (put < set.n) {
        size_t to = put + 1 + below(&r, 8);

        to = to < set.n ? to : set.n;
        put_some(conninfo, &r, order, put, to);
        put = to;
        switch (below(&r, 6)) {
        case 0:
            drain_calmly(&config);
            break;
        case 1:
            finish_early(&config);
            break;
        case 2:
            drain_until(&config, &r, false);
            break;
        case 3:
            drain_with_cuts(&config);
            break;
        case 4:
            drain_until(&config, &r, true);
            break;
        default: /* they pile up */
            break;
        }
    }
    drain_all(&config);
    for (size_t i = 0; i < set.n; i++)
        if (chance(&r, 30))
            put_upload(conninfo, &set.at[i]);
    drain_all(&config);
    return dump_results(conninfo);
}

static unsigned seeds(void)
{
    const char *text = getenv("FW_REPLAY_SEEDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 6;
}

static void any_order_with_duplicates_and_crashes_ends_in_the_same_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        char clean[PG_CONNINFO_BYTES], wild[PG_CONNINFO_BYTES];
        char *expected, *actual;

        make_set(seed);
        expected = clean_run(clean);
        assert_rollups_are_plain_sums(clean);
        actual = wild_run(seed, wild);
        assert_same_dump(expected, actual, seed);
        assert_rollups_are_plain_sums(wild);
        free(expected);
        free(actual);
        pg_drop_db(clean);
        pg_drop_db(wild);
    }
    clear_set();
}

static bool queue_is_empty(const char *conninfo)
{
    for (int i = 0; i < 60000; i++) {
        if (pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'part'") == 0)
            return true;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return false;
}

/* Two worker processes' worth of threads over a full queue; every job succeeds at once. */
static void run_busy_workers(const char *conninfo)
{
    struct worker_config config = test_worker(conninfo);
    struct worker *workers[2];
    struct worker_counts counts;
    int64_t failed = 0;
    struct err err;

    for (size_t i = set.n; i > 0; i--)
        put_upload(conninfo, &set.at[i - 1]);
    config.threads = 3;
    for (int i = 0; i < 2; i++)
        assert_non_null(workers[i] = worker_start(&config, &err));
    assert_true(queue_is_empty(conninfo));
    for (int i = 0; i < 2; i++) {
        worker_counts(workers[i], &counts);
        failed += counts.failed;
        worker_stop(workers[i]);
    }
    assert_int_equal(failed, 0);
    drain_all(&config);
    /* waits in a circle would be cured by a retry and stay unseen above */
    assert_int_equal(pg_i64(conninfo, "SELECT deadlocks FROM pg_stat_database WHERE datname = "
                                      "current_database()"),
                     0);
}

static void several_workers_on_one_queue_end_in_the_same_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 500 + (seeds() + 1) / 2; seed++) {
        char clean[PG_CONNINFO_BYTES], busy[PG_CONNINFO_BYTES];
        char *expected, *actual;

        make_set(seed);
        expected = clean_run(clean);
        new_database(busy);
        run_busy_workers(busy);
        actual = dump_results(busy);
        assert_same_dump(expected, actual, seed);
        free(expected);
        free(actual);
        pg_drop_db(clean);
        pg_drop_db(busy);
    }
    clear_set();
}

/* One shard, two builds, the same scenes in either order: every transaction wants the same rows. */
static void make_crowd(void)
{
    struct random r = {99};

    clear_set();
    for (uint64_t i = 0; i < MAX_UPLOADS; i++) {
        struct session_builder *b = sb_new(i);
        size_t n;

        b->session_id[0] = (unsigned char)i;
        b->session_id[15] = 7;
        b->version_code = 100 + i % 2;
        sb_part(b, 0, 0);
        for (uint64_t scene = 0; scene < 6; scene++) {
            char map[8];

            snprintf(map, sizeof map, "m%lu", (unsigned long)(i % 3 ? scene : 5 - scene));
            sb_scene(b, scene * SECOND, "battle", map);
            sb_steady(b, scene * SECOND, 50, 16670);
        }
        sb_end(b, 6 * SECOND, END_STOPPED);

        const unsigned char *bytes = sb_bytes(b, &n);

        add_upload(&r, 1, "phone", bytes, n);
        set.at[set.n - 1].days_ago = 0;
        sb_free(b);
    }
}

static void sessions_that_meet_in_the_same_rows_lose_no_count(void **state)
{
    char busy[PG_CONNINFO_BYTES];

    (void)state;
    make_crowd();
    new_database(busy);
    run_busy_workers(busy);
    assert_int_equal(pg_i64(busy, "SELECT sum(sessions) FROM frame_rollup WHERE scene = ''"),
                     MAX_UPLOADS);
    assert_int_equal(pg_i64(busy, "SELECT sum(sessions) FROM model_rollup"), MAX_UPLOADS);
    assert_rollups_are_plain_sums(busy);
    pg_drop_db(busy);
    clear_set();
}

/* A server of our own, since it is killed. Its commits reach the kernel before they are
 * acknowledged, as uploads' do; the worker's own commits do not wait for that. */
static int start_own_server(void **state)
{
    struct pg_options options = {.own = true, .extra = "synchronous_commit = on"};
    struct err err;

    (void)state;
    if (pg_start(options, &err))
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_with_duplicates_and_crashes_ends_in_the_same_rows),
        cmocka_unit_test(several_workers_on_one_queue_end_in_the_same_rows),
        cmocka_unit_test(sessions_that_meet_in_the_same_rows_lose_no_count),
    };

    return cmocka_run_group_tests(tests, start_own_server, pg_group_teardown);
}
