/*
 * The central property of families: what is counted is a function of the set of uploads and posted
 * crashes, and which family it counts under one of rules and edits in force besides. Whatever the
 * order of arrival, however often a file or a crash comes again, whatever rules and merges came and
 * went meanwhile, whenever symbols came: the rows are those of a clean run. And at every moment the
 * counts of families are the sums over their stacks.
 */
#include "server/db/db.h"
#include "server/jobs/sessions/session_load.h"
#include "stacks/distinct.h"
#include "support/job_fixture.h"
#include "support/pg.h"
#include "support/session_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UPLOADS 24
#define POSTS 12
#define SECOND UINT64_C(1000000)

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

/* Uploads ---------------------------------------------------------------------------------------
 */

static struct test_upload upload[UPLOADS];
static unsigned char *bytes[UPLOADS];
static size_t n_uploads;

static uint32_t a_stack(struct session_builder *b, struct random *r)
{
    static const char *const leaf[] = {"com.studio.Level.load", "com.studio.Mesh.draw",
                                       "com.studio.Net.poll", "android.os.Looper.loop"};
    static const char *const middle[] = {"com.studio.World.enter", "com.studio.Shop.open"};
    char line[64];

    snprintf(line, sizeof line, "%s(F.java:%u)", leaf[below(r, 4)], below(r, 3));
    if (below(r, 4) == 0)
        return sb_text_stack(b, "main", "java.util.HashMap.get", line, "com.studio.Game.tick",
                             NULL);
    return sb_text_stack(b, "main", line, middle[below(r, 2)], "com.studio.Game.tick", NULL);
}

static uint64_t a_part(struct session_builder *b, struct random *r, uint64_t t)
{
    static const char *const maps[] = {"frost", "dust"};
    unsigned janks = below(r, 4);

    sb_scene(b, t, "battle", maps[below(r, 2)]);
    sb_step(b, t + 1, "open_shop");
    for (unsigned i = 0; i < janks; i++) {
        t = sb_steady(b, t, 60 + below(r, 60), 16667);
        sb_step(b, t, below(r, 2) ? "buy" : "start_match");
        sb_jank(b, t, 300000, 2,
                SB_SAMPLES({t + 110000, a_stack(b, r)}, {t + 210000, a_stack(b, r)}));
        t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
    }
    return sb_steady(b, t, 60, 16667);
}

static void add(struct random *r, struct session_builder *b, const char *install)
{
    size_t n;
    const unsigned char *from = sb_bytes(b, &n);
    struct test_upload *u = &upload[n_uploads];

    assert_true(n_uploads < UPLOADS);
    bytes[n_uploads] = malloc(n);
    memcpy(bytes[n_uploads], from, n);
    *u = (struct test_upload){.app = 1,
                              .bytes = bytes[n_uploads],
                              .n = n,
                              .install = install,
                              .received_us = below(r, 3600) * (int64_t)SECOND};
    for (int i = 0; i < 16; i++)
        u->id[i] = (unsigned char)next(r);
    n_uploads++;
}

static void make_uploads(uint64_t seed)
{
    static const char *const install[] = {"phone 1", "phone 2", "phone 3"};
    struct random r = {seed * 7919};

    n_uploads = 0;
    for (unsigned s = 0; s < 10; s++) {
        struct session_builder *b = sb_new(seed * 100 + s);
        unsigned parts = 1 + below(&r, 2);
        uint64_t t = 0;

        b->version_code = 100 + below(&r, 2);
        b->version_name = b->version_code == 100 ? "1.0.0" : "1.0.1";
        b->environment = below(&r, 8) == 0 ? ENV_ROOTED : 0;
        for (unsigned part = 0; part < parts; part++) {
            sb_part(b, part, t);
            t = a_part(b, &r, t);
            if (below(&r, 5) == 0)
                sb_crash(b, t, 6, "SIGABRT", a_stack(b, &r));
            if (part + 1 == parts && below(&r, 2))
                sb_end(b, t, END_STOPPED);
            add(&r, b, install[s % 3]);
        }
        sb_free(b);
    }
}

static void free_uploads(void)
{
    for (size_t i = 0; i < n_uploads; i++)
        free(bytes[i]);
}

/* Crashes that another tool posts
 * ------------------------------------------------------------------
 */

static struct {
    unsigned char session[16], id[16];
    char stack[128];
    int64_t t_us;
    bool timed;
} crash[POSTS];

/* Native frames: the hash of a managed stack has the number of its build in it, which runs differ
 * in.
 */
static void make_crashes(uint64_t seed)
{
    struct random r = {seed * 104729};

    for (unsigned i = 0; i < POSTS; i++) {
        struct session_builder *b = sb_new(seed * 100 + below(&r, 10));

        memcpy(crash[i].session, b->session_id, 16);
        sb_free(b);
        for (int k = 0; k < 16; k++)
            crash[i].id[k] = (unsigned char)next(&r);
        crash[i].timed = below(&r, 4) > 0;
        crash[i].t_us = below(&r, 4) * (int64_t)SECOND;
        snprintf(crash[i].stack, sizeof crash[i].stack,
                 "[{\"module\":\"libgame.so\",\"debug_id\":\"a1b2\",\"offset\":\"0x%x\"}]",
                 1 + below(&r, 3));
    }
}

/* As the API does. */
static void post_crash(const char *conninfo, unsigned i)
{
    struct err err = {0};
    struct db *db = db_open(conninfo, &err);
    const struct db_arg shard = db_i64(shard_of(1, crash[i].session));
    const struct db_arg session = db_uuid(crash[i].session);

    if (!db || !db_begin(db, &err) ||
        !db_exec(db, Q_SESSION_POST_LOCK, DB_ARGS(shard, session), &err) ||
        !db_exec(db, Q_CRASH_POST,
                 DB_ARGS(shard, session, db_uuid(crash[i].id), db_i64(1),
                         crash[i].timed ? db_i64(crash[i].t_us) : db_null(), db_i64(6),
                         db_text("SIGABRT"), db_text(crash[i].stack)),
                 &err) ||
        !db_exec(db, Q_CRASH_MARK_SESSION, DB_ARGS(shard, session), &err) || !db_commit(db, &err))
        fail_msg("%s", err.text);
    db_close(db);
}

/* Rules and edits, as the API writes them ---------------------------------------------------------
 */

static void changed(const char *db)
{
    pg_sql(db, "INSERT INTO family_grouping AS g (app_id, version) VALUES (1, 1)"
               " ON CONFLICT (app_id) DO UPDATE SET version = g.version + 1");
    pg_sql(db, "SELECT families_queue(1)");
}

static void put_rules(const char *db, const char *body)
{
    pg_sql(db,
           "INSERT INTO family_rule (app_id, version, body, actor)"
           " SELECT 1, coalesce(max(version), 0) + 1, '%s', 'test' FROM family_rule",
           body);
    changed(db);
}

static void some_rules(const char *db, struct random *r)
{
    static const char *const bodies[] = {
        "{\"depth\": 1}", "{\"depth\": 5}",
        "{\"exclude\": [{\"field\": \"function\", \"pattern\": \"*Level.load\"}]}",
        "{\"depth\": 2, \"exclude\": [{\"field\": \"package\", \"pattern\": \"com.studio.Shop\"}]}",
        "{\"ignore\": [{\"field\": \"keyword\", \"pattern\": \"Mesh\"}]}"};

    put_rules(db, bodies[below(r, 5)]);
}

static void some_edit(const char *db, struct random *r)
{
    if (below(r, 2))
        pg_sql(db, "INSERT INTO family_edit (app_id, kind, family, target, actor)"
                   " SELECT 1, 'merge', a.family, b.family, 'test' FROM family a, family b"
                   " WHERE a.kind = b.kind AND a.family < b.family"
                   " ORDER BY a.family, b.family DESC LIMIT 1 ON CONFLICT DO NOTHING");
    else
        pg_sql(db, "INSERT INTO family_edit (app_id, kind, family, depth, actor)"
                   " SELECT 1, 'split', family, 5, 'test' FROM family"
                   " ORDER BY stacks DESC, family LIMIT 1 ON CONFLICT DO NOTHING");
    changed(db);
}

static void undo_all(const char *db)
{
    pg_sql(db, "UPDATE family_edit SET undone_at = now(), undone_by = 'test'"
               " WHERE undone_at IS NULL");
    put_rules(db, "{}");
}

/* Stacks read differently: what the job 'restack' does when symbols come, and go. */
static void read_differently(const char *db, const char *from, const char *to)
{
    pg_sql(db, "UPDATE stack SET symbols = replace(symbols::text, '%s', '%s')::jsonb", from, to);
}

/* What must hold ---------------------------------------------------------------------------------
 */

/* Events and time of each family and dimension are the sums over its stacks, and no stack is left
 * out: an answer from the counts of stacks alone, by another way than the job's. */
static void families_are_sums_of_their_stacks(const char *db)
{
    static const char wrong[] =
        "WITH facts AS (SELECT f.family, c.*, c.tier || ' ' || c.scene AS tier_scene"
        " FROM stack_count c JOIN stack_family f ON f.app_id = c.shard / 64 AND f.hash = c.hash"
        " AND f.kind = c.kind),"
        " dims AS (SELECT family, b AS build_id, d.dim, d.value, sum(events) AS events,"
        " sum(jank_us) AS jank_us FROM facts,"
        " LATERAL (VALUES (0), (build_id)) AS builds (b),"
        " LATERAL (VALUES ('all', ''), ('tier', tier::text), ('scene', scene),"
        " ('tier_scene', tier_scene), ('model', model_id::text), ('os', os), ('cause', cause),"
        " ('day', day::text), ('g', (shard %% 64)::text)) AS d (dim, value)"
        " WHERE b <> 0 OR d.dim <> 'g' GROUP BY 1, 2, 3, 4),"
        " have AS (SELECT family, build_id, dim, value, events, jank_us FROM family_count"
        " WHERE family <> '\\x00000000000000000000000000000000')"
        " SELECT count(*) FROM ((TABLE dims EXCEPT TABLE have)"
        " UNION ALL (TABLE have EXCEPT TABLE dims)) AS x";

    assert_int_equal(pg_i64(db, wrong), 0);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM stack_count c WHERE NOT EXISTS (SELECT FROM"
                                " stack_family f WHERE f.hash = c.hash AND f.kind = c.kind)"),
                     0);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM family f WHERE stacks <> (SELECT count(*)"
                                " FROM stack_family s WHERE s.family = f.family)"),
                     0);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM family_count WHERE n_sessions > events"
                                " OR n_sessions < 1 AND dim <> 'g'"),
                     0);
}

/* Sessions counted once each, by the sessions themselves. */
static void sessions_are_counted_once(const char *db)
{
    assert_int_equal(pg_i64(db, "SELECT events FROM family_count WHERE dim = 'all' AND build_id = 0"
                                " AND family = '\\x00000000000000000000000000000000'"),
                     pg_i64(db,
                            "SELECT count(*) FROM session WHERE state = 'final' AND NOT excluded"
                            " AND NOT from_summary"));
}

static char *clean_run(void)
{
    char db[PG_CONNINFO_BYTES], *dump;
    struct worker_config config;

    pg_test_db(db);
    pg_sql(db, "INSERT INTO app (name) VALUES ('game')");
    config = test_worker(db);
    for (size_t i = 0; i < n_uploads; i++)
        put_upload(db, &upload[i]);
    for (unsigned i = 0; i < POSTS; i++)
        post_crash(db, i);
    drain_all(&config);
    families_are_sums_of_their_stacks(db);
    sessions_are_counted_once(db);
    assert_true(pg_i64(db, "SELECT count(*) FROM family") > 3);
    dump = dump_results(db);
    pg_drop_db(db);
    return dump;
}

static void drain(const struct worker_config *config)
{
    struct worker_counts counts = {0};
    struct err err = {0};

    if (!worker_drain(config, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.failed + counts.dead, 0);
}

/* In some order, with repetitions, between changes of rules, merges, splits and symbols. */
static char *wild_run(struct random *r)
{
    char db[PG_CONNINFO_BYTES], *dump;
    struct worker_config config;
    size_t order[UPLOADS];

    pg_test_db(db);
    pg_sql(db, "INSERT INTO app (name) VALUES ('game')");
    config = test_worker(db);
    for (size_t i = 0; i < n_uploads; i++)
        order[i] = i;
    for (size_t i = n_uploads; i > 1; i--) {
        size_t k = below(r, (unsigned)i), other = order[k];

        order[k] = order[i - 1];
        order[i - 1] = other;
    }
    for (size_t i = 0; i < n_uploads; i++) {
        put_upload(db, &upload[order[i]]);
        if (below(r, 4) == 0)
            put_upload(db, &upload[order[below(r, (unsigned)i + 1)]]);
        if (below(r, 2))
            post_crash(db, below(r, POSTS));
        if (below(r, 3))
            continue;
        drain(&config);
        families_are_sums_of_their_stacks(db);
        if (below(r, 2))
            some_rules(db, r);
        if (below(r, 2))
            some_edit(db, r);
        if (below(r, 3) == 0)
            read_differently(db, "World.enter", "World.leave");
    }
    drain(&config);
    for (unsigned i = 0; i < POSTS; i++)
        post_crash(db, i);
    drain(&config);
    families_are_sums_of_their_stacks(db);
    read_differently(db, "World.leave", "World.enter");
    undo_all(db);
    drain_all(&config);
    families_are_sums_of_their_stacks(db);
    sessions_are_counted_once(db);
    dump = dump_results(db);
    pg_drop_db(db);
    return dump;
}

static void assert_same(const char *expected, const char *actual, uint64_t seed)
{
    size_t at = 0;

    while (expected[at] && expected[at] == actual[at])
        at++;
    if (!expected[at] && !actual[at])
        return;
    while (at && expected[at - 1] != '\n')
        at--;
    fail_msg("seed %llu:\n- %.400s\n+ %.400s", (unsigned long long)seed, expected + at,
             actual + at);
}

static void any_order_replay_rule_edit_and_undo_give_the_same_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct random r = {seed};
        char *expected, *actual;

        make_uploads(seed);
        make_crashes(seed);
        expected = clean_run();
        actual = wild_run(&r);
        assert_same(expected, actual, seed);
        free(expected);
        free(actual);
        free_uploads();
    }
}

static void counts_gather_for_a_while_before_they_are_added(void **state)
{
    char db[PG_CONNINFO_BYTES];
    struct worker_config config;

    (void)state;
    make_uploads(9);
    pg_test_db(db);
    pg_sql(db, "INSERT INTO app (name) VALUES ('game')");
    config = test_worker(db);
    config.families_ms = 3600000;
    for (size_t i = 0; i < n_uploads; i++)
        put_upload(db, &upload[i]);
    drain(&config);
    assert_true(pg_i64(db, "SELECT count(*) FROM stack_delta") > 0);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM job WHERE kind = 'families'"), 1);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM family_count"), 0);
    config.clock_offset_ms += 2 * config.families_ms;
    drain(&config);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM stack_delta"), 0);
    assert_int_equal(pg_i64(db, "SELECT count(*) FROM job WHERE kind = 'families'"), 0);
    families_are_sums_of_their_stacks(db);
    pg_drop_db(db);
    free_uploads();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_replay_rule_edit_and_undo_give_the_same_counts),
        cmocka_unit_test(counts_gather_for_a_while_before_they_are_added),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
