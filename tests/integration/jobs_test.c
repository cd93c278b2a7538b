#include "server/jobs/job_run.h"
#include "server/jobs/sessions/session_load.h"
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

static char conninfo[PG_CONNINFO_BYTES];
static struct db *db;
static struct arena *mem;
static struct worker_config config;

static int setup(void **state)
{
    struct err err;

    (void)state;
    pg_test_db(conninfo);
    pg_sql(conninfo, "INSERT INTO app (name) VALUES ('game'), ('other')");
    db = db_open(conninfo, &err);
    mem = arena_new(64u << 20);
    config = test_worker(conninfo);
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

static struct worker_counts drain(const struct worker_config *how)
{
    struct worker_counts counts = {0};
    struct err err;

    if (!worker_drain(how, &counts, &err))
        fail_msg("%s", err.text);
    return counts;
}

static struct worker_config at_offset(int64_t ms)
{
    struct worker_config later = config;

    later.clock_offset_ms = ms;
    return later;
}

/* The upload id is made from a number. */
static void put(int64_t app, int number, const void *bytes, size_t n)
{
    struct test_upload u = {.app = app, .bytes = bytes, .n = n, .install = "phone"};

    snprintf((char *)u.id, sizeof u.id, "upload %d", number);
    put_upload(conninfo, &u);
}

static void put_built(int64_t app, int number, struct session_builder *b)
{
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);

    put(app, number, bytes, n);
}

static void assert_quarantine(const char *expected)
{
    char *rows = pg_rows(conninfo, "SELECT source, reason, count FROM quarantine "
                                   "ORDER BY source COLLATE \"C\", reason COLLATE \"C\"");

    assert_string_equal(rows, expected);
    free(rows);
}

/* The queue ----------------------------------------------------------------------------------- */

static void add_job(const char *kind, int number)
{
    pg_sql(conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day, run_after) VALUES ('%s', 64, "
           "lpad(to_hex(%d), 32, '0')::uuid, 1, '2026-01-01', now() - interval '1 hour' + %d * "
           "interval '1 s')",
           kind, number, number);
}

#define HOUR_MS INT64_C(3600000) /* no test takes that long, on whatever machine */

static const struct queue_policy policy = {.lease_ms = 10 * HOUR_MS,
                                           .max_attempts = 3,
                                           .backoff_ms = HOUR_MS,
                                           .backoff_max_ms = 5 * HOUR_MS};

static bool claim(struct db *with, const struct queue_policy *how, struct job *job)
{
    bool found;
    struct err err;

    if (!queue_claim(with, how, mem, job, &found, &err))
        fail_msg("%s", err.text);
    return found;
}

static void the_job_due_longest_is_claimed_first_and_each_once(void **state)
{
    struct err err;
    struct db *other = db_open(conninfo, &err);
    struct job first, second, none;

    (void)state;
    assert_non_null(other);
    add_job("part", 2);
    add_job("part", 1);
    assert_true(claim(db, &policy, &first));
    assert_true(claim(other, &policy, &second));
    assert_int_equal(first.ref.at[15], 1);
    assert_int_equal(second.ref.at[15], 2);
    assert_false(claim(db, &policy, &none));
    db_close(other);
}

static void add_app_job(int64_t app, int number)
{
    add_job("part", number);
    pg_sql(conninfo, "UPDATE job SET app_id = %lld WHERE ref = lpad(to_hex(%d), 32, '0')::uuid",
           (long long)app, number);
}

static void apps_take_turns_however_much_one_has_to_do(void **state)
{
    static const int64_t turns[] = {1, 3, 4, 1, 4, 1, 4, 1, 1};
    struct queue_policy turn = policy;
    struct job job;

    (void)state;
    for (int i = 1; i <= 5; i++)
        add_app_job(1, i);
    add_app_job(2, 10); /* is not due */
    pg_sql(conninfo, "UPDATE job SET run_after = now() + interval '1 day' WHERE app_id = 2");
    add_app_job(3, 20);
    for (int i = 30; i < 33; i++)
        add_app_job(4, i);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        assert_true(claim(db, &turn, &job));
        assert_int_equal(job.app_id, turns[i]);
        turn.last_app = job.app_id;
    }
    assert_false(claim(db, &turn, &job));
    turn.clock_offset_ms = 25 * HOUR_MS; /* the leases are over, and what was not due is */
    turn.last_app = 1;
    assert_true(claim(db, &turn, &job));
    assert_int_equal(job.app_id, 2);
}

static void a_claim_in_the_making_is_passed_over_not_waited_for(void **state)
{
    PGconn *holder = PQconnectdb(conninfo);
    struct job job;

    (void)state;
    add_job("part", 1);
    add_job("part", 2);
    PQclear(PQexec(holder, "BEGIN; SELECT * FROM job ORDER BY run_after LIMIT 1 FOR UPDATE"));
    assert_true(claim(db, &policy, &job));
    assert_int_equal(job.ref.at[15], 2);
    PQfinish(holder);
}

static void a_job_is_not_due_before_its_time(void **state)
{
    struct queue_policy later = policy;
    struct job job;

    (void)state;
    add_job("part", 1);
    pg_sql(conninfo, "UPDATE job SET run_after = now() + interval '1 hour'");
    assert_false(claim(db, &policy, &job));
    later.clock_offset_ms = HOUR_MS + 1000;
    assert_true(claim(db, &later, &job));
}

static void a_lease_that_ran_out_is_claimed_again_and_the_first_holder_told(void **state)
{
    struct queue_policy later = policy;
    struct job first, second;
    bool dead;
    struct err err;

    (void)state;
    add_job("part", 1);
    assert_true(claim(db, &policy, &first));
    later.clock_offset_ms = policy.lease_ms - HOUR_MS;
    assert_false(claim(db, &later, &second));
    later.clock_offset_ms = policy.lease_ms + 1000;
    assert_true(claim(db, &later, &second));
    assert_int_equal(second.attempts, 2);
    assert_false(queue_done(db, &first, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_false(queue_fail(db, &first, &policy, "x", &dead, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_false(queue_later(db, &first, 0, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_true(queue_done(db, &second, &err));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 0);
}

static void a_failed_job_backs_off_and_is_dead_after_its_last_attempt(void **state)
{
    struct queue_policy later = policy;
    struct job job;
    bool dead = false;
    struct err err;

    (void)state;
    add_job("part", 1);
    for (int i = 1; i <= 3; i++) {
        assert_true(claim(db, &later, &job));
        assert_int_equal(job.attempts, i);
        assert_true(queue_fail(db, &job, &later, "disk on fire", &dead, &err));
        assert_int_equal(dead, i == 3);
        assert_false(claim(db, &later, &job));
        later.clock_offset_ms += 10 * HOUR_MS;
    }
    assert_false(claim(db, &later, &job));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE state = 'dead' AND attempts "
                                      "= 3 AND last_error = 'disk on fire'"),
                     1);
}

static void back_off_doubles_up_to_its_limit_and_spreads(void **state)
{
    bool differ = false;

    (void)state;
    for (int64_t attempt = 1; attempt < 70; attempt++) {
        int64_t full = attempt > 3 ? 5 * HOUR_MS : HOUR_MS << (attempt - 1);

        for (int64_t id = 1; id < 20; id++) {
            int64_t ms = queue_backoff_ms(&policy, id, attempt);

            assert_in_range(ms, full / 2, full);
            differ |= ms != queue_backoff_ms(&policy, id + 1, attempt);
        }
    }
    assert_true(differ);
}

static void a_job_that_kills_its_worker_each_time_ends_dead_with_a_reason(void **state)
{
    struct queue_policy later = policy;
    struct job job;

    (void)state;
    add_job("part", 1);
    for (int i = 0; i < policy.max_attempts; i++) {
        pid_t child = fork();

        if (child == 0) { /* claims, and is gone before it can say anything */
            struct err err;
            struct db *own = db_open(conninfo, &err);
            bool found;

            if (own && queue_claim(own, &later, mem, &job, &found, &err) && found)
                kill(getpid(), SIGKILL);
            _exit(1);
        }

        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        later.clock_offset_ms += policy.lease_ms + 1000;
    }
    assert_true(claim(db, &later, &job));
    assert_true(job.dead);
    assert_false(claim(db, &later, &job));
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE state = 'dead' AND attempts "
                                      "= 3 AND last_error LIKE '%%worker ended%%'"),
                     1);
}

static void a_job_of_an_unknown_kind_ends_dead_and_the_others_run(void **state)
{
    struct session_builder *b = sb_new(1);
    struct worker_counts counts;

    (void)state;
    config.max_attempts = 2;
    add_job("from_the_future", 1);
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 5, 1), END_STOPPED);
    put_built(1, 1, b);
    counts = drain(&config);
    assert_int_equal(counts.done, 3); /* the file, its stacks, its families */
    assert_int_equal(counts.failed, 2);
    assert_int_equal(counts.dead, 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE state = 'dead' AND "
                                      "last_error LIKE '%%from_the_future%%'"),
                     1);
    sb_free(b);
}

/* Sessions ------------------------------------------------------------------------------------ */

static void a_session_of_one_file_is_analysed_counted_and_leaves_no_job(void **state)
{
    struct session_builder *b = sb_new(7);

    (void)state;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");
    uint64_t t = sb_steady(b, 0, 600, 16660);
    uint32_t stack = sb_text_stack(b, "main", "Lua.update", "Game.tick", NULL);
    sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    t = sb_frames(b, t, SB_INTERVALS(300000, 16660));
    sb_crash(b, t, 11, "SIGSEGV", stack);
    sb_feedback(b, t, "lag", "slow \"boss\" fight");
    sb_end(b, t, END_STOPPED);
    put_built(1, 1, b);
    assert_int_equal(drain(&config).done, 3); /* the file, its stacks, its families */
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 0);

    char *row =
        pg_rows(conninfo, "SELECT state, n_parts, ended, frames, janks_normal, jank_us, has_crash, "
                          "has_feedback, scenes, b.version_name, b.registered, "
                          "length(install_hash), files FROM session JOIN build b USING (build_id)");

    assert_string_equal(row, "final|1|t|602|1|300000|t|t|{battle/frost}|1.0.0|f|32|1\n");
    free(row);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM jank_event WHERE level = 2 AND "
                                      "stacks[1] = (SELECT hash FROM stack) AND scene = "
                                      "'battle/frost'"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM stack WHERE "
                                      "frames -> 0 ->> 'text' = 'Lua.update'"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM crash WHERE source = 'session' AND "
                                      "stack -> 1 ->> 'text' = 'Game.tick'"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM feedback WHERE body = "
                                      "'slow \"boss\" fight'"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT sum(sessions) FROM frame_rollup WHERE scene = ''"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT sum(sessions) FROM model_rollup"), 1);
    assert_quarantine("");
    sb_free(b);
}

static void an_open_session_counts_nothing_until_it_was_idle_long_enough(void **state)
{
    struct session_builder *b = sb_new(8);
    struct worker_config soon = at_offset(config.idle_ms - 1000 * 60),
                         later = at_offset(config.idle_ms + 86400000);

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 20, 1);
    put_built(1, 1, b);
    pg_sql(conninfo, "UPDATE upload SET completed_at = now()");
    drain(&config);
    drain(&soon);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE state = 'open'"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM frame_rollup"), 0);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'finish'"), 1);
    drain(&later);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE state = 'final'"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT sum(sessions) FROM frame_rollup WHERE scene = ''"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 0);
    sb_free(b);
}

static void a_session_id_used_by_two_apps_is_two_sessions(void **state)
{
    struct session_builder *b = sb_new(9);

    (void)state;
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 10, 1), END_STOPPED);
    put_built(1, 1, b);
    sb_part(b, 1, 10 * SECOND);
    sb_end(b, sb_play(b, 10 * SECOND, 10, 2), END_STOPPED);
    put_built(2, 2, b);
    drain(&config);

    char *rows = pg_rows(conninfo, "SELECT app_id, shard / 64, n_parts FROM session ORDER BY 1");

    assert_string_equal(rows, "1|1|1\n2|2|1\n");
    free(rows);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM build"), 2);
    sb_free(b);
}

static void bad_files_are_quarantined_with_a_reason_and_kept(void **state)
{
    struct session_builder *b = sb_new(10);
    unsigned char junk[5000];
    size_t n;

    (void)state;
    memset(junk, 0xa5, sizeof junk);
    put(1, 1, junk, sizeof junk);
    put(1, 2, junk, 0);
    memset(b->session_id, 0, sizeof b->session_id);
    sb_part(b, 0, 0);
    sb_play(b, 0, 2, 1);
    put_built(1, 3, b);
    sb_free(b);
    b = sb_new(11);
    sb_part(b, 4000000, 0);
    sb_play(b, 0, 2, 1);
    put_built(1, 4, b);
    sb_free(b);
    b = sb_new(12);
    sb_part(b, 0, 0);
    sb_play(b, 0, 40, 1);

    const unsigned char *bytes = sb_bytes(b, &n);
    struct test_upload symbols = {
        .app = 1, .id = "upload 5", .bytes = bytes, .n = n, .kind = "symbols"};

    put_upload(conninfo, &symbols);
    put(1, 6, bytes, n - 10); /* cut within its last frame: reads up to there */

    struct worker_counts counts = drain(&config);

    assert_int_equal(counts.quarantined, 5);
    assert_int_equal(counts.failed, 0);
    assert_quarantine("part|truncated|1\n"
                      "upload|no_session_id|1\nupload|part_number|1\nupload|undecodable|1\n"
                      "upload|undecodable|1\nupload|wrong_kind|1\n");
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session"), 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM upload WHERE state = 'complete'"), 6);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 0);
    sb_free(b);
}

/* zstd of 128 MB of zeros: a header, then a run-length block after the other. */
static size_t bomb(unsigned char *out, size_t size)
{
    static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58};
    size_t n = sizeof head;

    memcpy(out, head, n);
    for (int i = 0; i < 1024 && n + 4 <= size; i++) {
        unsigned header = (128u * 1024) << 3 | 1u << 1 | (i == 1023);

        out[n++] = (unsigned char)header;
        out[n++] = (unsigned char)(header >> 8);
        out[n++] = (unsigned char)(header >> 16);
        out[n++] = 0;
    }
    return n;
}

static void a_bomb_is_quarantined_as_past_a_limit(void **state)
{
    unsigned char bytes[8192];

    (void)state;
    put(1, 1, bytes, bomb(bytes, sizeof bytes));
    assert_int_equal(drain(&config).quarantined, 1);
    assert_quarantine("upload|past_limit|1\n");
}

static void stored_bytes_that_changed_are_our_fault_and_end_dead(void **state)
{
    struct session_builder *b = sb_new(13);

    (void)state;
    config.max_attempts = 2;
    sb_part(b, 0, 0);
    sb_play(b, 0, 5, 1);
    put_built(1, 1, b);
    pg_sql(conninfo, "UPDATE upload_chunk SET bytes = set_byte(bytes, 20, "
                     "get_byte(bytes, 20) # 1)");

    struct worker_counts counts = drain(&config);

    assert_int_equal(counts.failed, 2);
    assert_int_equal(counts.dead, 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE state = 'dead' AND "
                                      "last_error LIKE '%%CRC%%'"),
                     1);
    assert_quarantine("");
    sb_free(b);
}

static void a_chunk_that_is_missing_is_our_fault_not_the_phones(void **state)
{
    struct session_builder *b = sb_new(14);
    struct test_upload u = {.app = 1, .id = "upload 1", .chunk = 100};

    (void)state;
    config.max_attempts = 1;
    sb_part(b, 0, 0);
    sb_play(b, 0, 5, 1);
    u.bytes = sb_bytes(b, &u.n);
    put_upload(conninfo, &u);
    pg_sql(conninfo, "DELETE FROM upload_chunk WHERE at = 100");
    assert_int_equal(drain(&config).dead, 1);
    assert_quarantine("");
    sb_free(b);
}

static void a_file_in_many_chunks_reads_as_one(void **state)
{
    struct session_builder *b = sb_new(15);
    struct test_upload u = {.app = 1, .id = "upload 1", .chunk = 97};

    (void)state;
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 20, 1), END_STOPPED);
    u.bytes = sb_bytes(b, &u.n);
    put_upload(conninfo, &u);
    assert_int_equal(drain(&config).done, 3); /* the file, its stacks, its families */
    assert_true(pg_i64(conninfo, "SELECT frames FROM session") > 1000);
    sb_free(b);
}

static void a_deleted_upload_leaves_no_session(void **state)
{
    struct session_builder *b = sb_new(16);

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 5, 1);
    put_built(1, 1, b);
    pg_sql(conninfo, "UPDATE upload SET state = 'deleted', at = 0, length = NULL; "
                     "DELETE FROM upload_chunk");
    assert_int_equal(drain(&config).done, 1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session"), 0);
    assert_quarantine("");
    sb_free(b);
}

/* Six parts of one session, forwards and backwards, under the limits of `how`. */
static void assert_left_out_alike(uint64_t id, unsigned seconds, const struct worker_config *how)
{
    char *dumps[2];

    for (int order = 0; order < 2; order++) {
        struct session_builder *b = sb_new(id);
        struct worker_config limited = *how;

        if (order) {
            teardown(NULL);
            setup(NULL);
        }
        limited.conninfo = conninfo;
        for (int i = 0; i < 6; i++) {
            int part = order ? 5 - i : i;
            uint64_t start = (uint64_t)part * seconds * SECOND;

            sb_part(b, (uint32_t)part, start);
            sb_play(b, start, seconds, (unsigned)part);
            put_built(1, part, b);
        }
        drain_all(&limited);
        dumps[order] = dump_results(conninfo);
        sb_free(b);
    }
    assert_string_equal(dumps[0], dumps[1]);
    assert_non_null(strstr(dumps[0], "session_too_big"));
    assert_in_range(pg_i64(conninfo, "SELECT n_parts FROM session"), 1, 5);
    free(dumps[0]);
    free(dumps[1]);
}

static void parts_past_what_a_session_may_hold_are_left_out_in_any_order(void **state)
{
    struct session_builder *b = sb_new(17);
    size_t n;

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 10, 0);
    sb_bytes(b, &n);
    sb_free(b);
    config.max_session_bytes = 3 * n;
    assert_left_out_alike(17, 10, &config);
}

static void parts_past_a_jobs_memory_are_left_out_in_any_order(void **state)
{
    (void)state;
    config.arena_bytes = 1500000;
    assert_left_out_alike(18, 60, &config);
}

/* Small files of one session, those of `from` to `to`, in that order or backwards. */
static void put_small(uint64_t id, int from, int to, const char *version)
{
    struct session_builder *b = sb_new(id);
    int step = from < to ? 1 : -1;

    b->version_name = version;
    for (int part = from; part != to; part += step) {
        struct test_upload u = {
            .app = 1, .install = "phone", .received_us = (int64_t)(id * 1000) + part};

        sb_part(b, (uint32_t)part, (uint64_t)part * SECOND);
        sb_steady(b, (uint64_t)part * SECOND, 20, 16660);
        u.bytes = sb_bytes(b, &u.n);
        snprintf((char *)u.id, sizeof u.id, "u%llu %d", (unsigned long long)id, part);
        put_upload(conninfo, &u);
    }
    sb_free(b);
}

static void count_parts(void *user, const char *line)
{
    *(unsigned *)user += strstr(line, "kind=part ") != NULL;
}

/* The rows of 40 small files among those of another session, drained after every `at_once`. */
static char *many_small_files(int at_once, unsigned *analyses)
{
    char *dump;

    teardown(NULL);
    setup(NULL);
    config.log = count_parts;
    config.log_user = analyses;
    for (int i = 0; i < 40; i += at_once) {
        put_small(40, i, i + at_once, "1.0.0");
        put_small(41, i / 4, (i + at_once) / 4, "1.0.0");
        drain(&config);
    }
    drain_all(&config);
    dump = dump_results(conninfo);
    return dump;
}

static void small_files_of_a_session_are_analysed_together(void **state)
{
    unsigned together = 0, apart = 0;
    char *a, *b;

    (void)state;
    a = many_small_files(40, &together);
    assert_int_equal(pg_i64(conninfo, "SELECT sum(n_parts) FROM session"), 50);
    b = many_small_files(4, &apart);
    assert_string_equal(a, b);
    assert_in_range(together, 2, 25);
    free(a);
    free(b);
}

static void a_file_that_comes_along_and_is_bad_harms_no_other(void **state)
{
    unsigned analyses = 0;

    (void)state;
    config.log = count_parts;
    config.log_user = &analyses;
    config.max_attempts = 2;
    put_small(42, 0, 30, "1.0.0");
    pg_sql(conninfo, "UPDATE upload_chunk SET bytes = set_byte(bytes, 20, get_byte(bytes, 20) # 1) "
                     "WHERE upload_id = encode('u42 20'::bytea || '\\x00000000000000000000', "
                     "'hex')::uuid");
    drain(&config);
    assert_int_equal(pg_i64(conninfo, "SELECT n_parts FROM session"), 29);
    assert_int_equal(pg_i64(conninfo,
                            "SELECT count(*) FROM job WHERE state = 'dead' AND last_error "
                            "LIKE '%%CRC%%'"),
                     1);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job WHERE kind = 'part'"), 1);
}

/* Past the cap of 256: what came first, what is only counted, and what drives out others. */
static void files_past_the_number_a_session_may_have_are_left_out_in_any_order(void **state)
{
    char *dumps[3];

    (void)state;
    for (int how = 0; how < 3; how++) {
        teardown(NULL);
        setup(NULL);
        if (how == 0)
            put_small(43, 0, 270, "1.0.0");
        if (how == 1) { /* those past the cap one by one */
            put_small(43, 0, 258, "1.0.0");
            for (int i = 258; i < 270; i++) {
                drain(&config);
                put_small(43, i, i + 1, "1.0.0");
            }
        }
        if (how == 2) {
            put_small(43, 269, 200, "1.0.0");
            drain(&config);
            put_small(43, 200, -1, "1.0.0");
        }
        drain(&config);
        assert_int_equal(pg_i64(conninfo, "SELECT n_parts FROM session"), 256);
        assert_int_equal(pg_i64(conninfo, "SELECT count FROM quarantine WHERE reason = "
                                          "'session_too_big'"),
                         14);
        assert_int_equal(pg_i64(conninfo, "SELECT detail -> 'files' -> 'left_out' FROM session"),
                         14);
        drain_all(&config);
        dumps[how] = dump_results(conninfo);
    }
    assert_string_equal(dumps[0], dumps[1]);
    assert_string_equal(dumps[0], dumps[2]);
    for (int how = 0; how < 3; how++)
        free(dumps[how]);
}

/* Any allocation of a job may fail: the file is refused as a whole, or in the session as a whole.
 */
static void a_job_out_of_memory_at_any_point_leaves_no_partial_row(void **state)
{
    struct session_builder *b = sb_new(26);
    struct arena *job_mem = arena_new(64u << 20), *work = arena_new(64u << 20);
    size_t refused = 0;
    bool done = false;

    (void)state;
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 30, 1), END_STOPPED);
    sb_crash(b, 29 * SECOND, 11, "SIGSEGV", 0);
    put_built(1, 1, b);
    for (size_t nth = 1; !done; nth += 1 + nth / 40) {
        struct queue_policy again = {.lease_ms = 60000, .max_attempts = 1000000};
        struct job_run run = {.db = db, .config = &config, .mem = job_mem, .work = work};
        enum job_outcome outcome;
        struct err err;

        pg_sql(conninfo, "DELETE FROM job; INSERT INTO job (kind, shard, ref, app_id, day) SELECT "
                         "'part', shard, upload_id, app_id, day FROM upload");
        arena_reset(mem);
        assert_true(claim(db, &again, &run.job));
        arena_reset(job_mem);
        arena_reset(work);
        arena_fail_at(nth % 2 ? job_mem : work, nth / 2 + 1);
        if (!part_job(&run, &outcome, &err))
            fail_msg("%zu: %s", nth, err.text);
        done = outcome == JOB_DONE && nth > 400;
        refused += outcome == JOB_REFUSED;
        assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session"), outcome == JOB_DONE);
        assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM quarantine WHERE reason = "
                                          "'past_limit'"),
                         outcome == JOB_REFUSED);
        assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM frame_rollup WHERE scene = ''"),
                         outcome == JOB_DONE);
        if (outcome == JOB_DONE && !done)
            pg_sql(conninfo, "TRUNCATE session, session_part, jank_event, crash, feedback, stack, "
                             "frame_rollup, model_rollup CASCADE");
    }
    assert_true(refused > 20);
    arena_free(job_mem);
    arena_free(work);
    sb_free(b);
}

static void a_part_for_a_session_whose_uploads_are_past_retention_is_too_late(void **state)
{
    const struct retention keep = {.raw_days = 5, .session_days = 50};
    struct session_builder *b = sb_new(19);
    struct test_upload old = {.app = 1, .id = "upload 1", .days_ago = 8};
    char *before, *after;
    struct err err;

    (void)state;
    pg_sql(conninfo, "SELECT partition_make((now() AT TIME ZONE 'UTC')::date - 8, "
                     "(now() AT TIME ZONE 'UTC')::date - 8)");
    sb_part(b, 0, 0);
    sb_play(b, 0, 10, 1);
    old.bytes = sb_bytes(b, &old.n);
    put_upload(conninfo, &old);
    drain_all(&config);
    before = dump_results(conninfo);
    assert_true(retention_run(db, &keep, NULL, &err));
    pg_sql(conninfo, "INSERT INTO job (kind, shard, ref, app_id, day) SELECT 'part', shard, "
                     "upload_id, app_id, day FROM upload");
    sb_part(b, 1, 10 * SECOND);
    sb_play(b, 10 * SECOND, 10, 2);
    put_built(1, 2, b);

    struct worker_counts counts = drain(&config);

    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.quarantined, 2);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM job"), 0);
    pg_sql(conninfo, "DELETE FROM quarantine WHERE reason = 'too_late'");
    after = dump_results(conninfo);
    assert_string_equal(before, after);

    struct session session;
    struct session_result result;

    assert_false(session_load(db, 1, b->session_id, mem, &session, &result, &err));
    assert_int_equal(err.code, ERR_GONE);
    free(before);
    free(after);
    sb_free(b);
}

static void a_session_loads_as_it_was_analysed(void **state)
{
    struct session_builder *b = sb_new(20);
    struct session session;
    struct session_result result;
    struct err err;

    (void)state;
    for (uint32_t part = 0; part < 3; part++) {
        sb_part(b, part, part * 20 * SECOND);
        sb_play(b, part * 20 * SECOND, 20, part);
        put_built(1, (int)part, b);
    }
    drain(&config);
    if (!session_load(db, 1, b->session_id, mem, &session, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(session.n_parts, 3);
    assert_int_equal(result.slices[0].frames, pg_i64(conninfo, "SELECT frames FROM session"));
    assert_int_equal(result.n_events, pg_i64(conninfo, "SELECT count(*) FROM jank_event"));
    assert_false(session_load(db, 2, b->session_id, mem, &session, &result, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    sb_free(b);
}

static void posted_crashes_stay_with_a_session_that_is_analysed_again(void **state)
{
    struct session_builder *b = sb_new(21);
    char id[33];

    (void)state;
    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", b->session_id[i]);
    /* before its first part */
    pg_sql(conninfo,
           "INSERT INTO crash (day, shard, session_id, crash_id, app_id, source, reason, stack) "
           "VALUES ((now() AT TIME ZONE 'UTC')::date, 64 + %d, '%s', gen_random_uuid(), 1, "
           "'posted', '', '[]')",
           b->session_id[15] & 63, id);
    for (uint32_t part = 0; part < 2; part++) {
        sb_part(b, part, part * 20 * SECOND);
        sb_play(b, part * 20 * SECOND, 20, part);
        put_built(1, (int)part, b);
        drain(&config);
        assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE has_crash AND NOT "
                                          "has_feedback"),
                         1);
    }
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM crash"), 1);
    sb_free(b);
}

static void a_session_has_the_tier_that_its_model_has_by_now(void **state)
{
    struct session_builder *b = sb_new(22);

    (void)state;
    sb_part(b, 0, 0);
    sb_play(b, 0, 10, 1);
    put_built(1, 1, b);
    drain(&config);
    pg_sql(conninfo, "UPDATE device_model SET tier = 3");
    sb_part(b, 1, 10 * SECOND);
    sb_end(b, sb_play(b, 10 * SECOND, 10, 2), END_STOPPED);
    put_built(1, 2, b);
    drain(&config);
    assert_int_equal(pg_i64(conninfo, "SELECT tier FROM session"), 3);
    sb_free(b);
    b = sb_new(23);
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 10, 1), END_STOPPED);
    put_built(1, 3, b);
    drain(&config);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE tier = 3"), 2);
    assert_int_equal(
        pg_i64(conninfo, "SELECT sum(sessions) FROM frame_rollup WHERE tier = 3 AND scene = ''"),
        2);
    sb_free(b);
}

static void a_build_registered_later_is_the_same_build(void **state)
{
    struct session_builder *b = sb_new(24);

    (void)state;
    pg_sql(conninfo, "INSERT INTO build (app_id, platform, version_name, version_code, registered) "
                     "VALUES (1, 'android', '1.0.0', 100, true)");
    b->build_id = "";
    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, 5, 1), END_STOPPED);
    put_built(1, 1, b);
    drain(&config);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM build"), 1);
    sb_free(b);
}

/* Threads ------------------------------------------------------------------------------------- */

/* Waits for a condition of the database, not for a time; gives up after minutes. */
static bool becomes_true(const char *sql)
{
    for (int i = 0; i < 30000; i++) {
        if (pg_i64(conninfo, "SELECT (%s)::integer", sql))
            return true;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return false;
}

static void worker_threads_take_what_is_queued_and_stop_when_told(void **state)
{
    struct session_builder *b = sb_new(25);
    struct worker_counts counts;
    struct worker *w;
    struct err err;

    (void)state;
    config.threads = 3;
    w = worker_start(&config, &err);
    assert_non_null(w);
    for (uint32_t part = 0; part < 6; part++) {
        sb_part(b, part, part * 5 * SECOND);
        sb_play(b, part * 5 * SECOND, 5, part);
        put_built(1, (int)part, b);
        worker_wake(w);
    }
    assert_true(becomes_true("SELECT count(*) = 0 FROM job WHERE kind = 'part'"));
    assert_true(becomes_true("SELECT count(*) = 1 FROM session WHERE n_parts = 6"));
    worker_counts(w, &counts);
    worker_stop(w);
    assert_int_equal(counts.failed, 0);
    worker_stop(NULL);
    sb_free(b);
}

static void worker_threads_survive_the_loss_of_their_connections(void **state)
{
    struct worker *w;
    struct err err;

    (void)state;
    config.threads = 2;
    w = worker_start(&config, &err);
    assert_non_null(w);
    for (int i = 0; i < 10; i++) {
        struct session_builder *b = sb_new(100 + (uint64_t)i);

        sb_part(b, 0, 0);
        sb_end(b, sb_play(b, 0, 5, 1), END_STOPPED);
        put_built(1, i, b);
        worker_wake(w);
        pg_end_backends(conninfo);
        sb_free(b);
    }
    /* a job whose worker lost its connection waits for its lease: another worker, in the future */
    worker_stop(w);
    drain_all(&config);
    assert_int_equal(pg_i64(conninfo, "SELECT count(*) FROM session WHERE state = 'final'"), 10);
    assert_int_equal(pg_i64(conninfo, "SELECT sum(sessions) FROM frame_rollup WHERE scene = ''"),
                     10);
}

static void upkeep_makes_partitions_without_a_job_thread(void **state)
{
    struct worker *w;
    struct err err;

    (void)state;
    config.threads = 0;
    config.days_ahead = 12;
    w = worker_start(&config, &err);
    assert_non_null(w);
    assert_true(becomes_true("SELECT count(*) = 14 FROM pg_inherits WHERE inhparent = "
                             "'crash'::regclass"));
    worker_stop(w);
}

static void absurd_configurations_are_refused(void **state)
{
    struct worker_config bad[4] = {config, config, config, config};
    struct err err;

    (void)state;
    bad[0].threads = 1000;
    bad[1].lease_ms = 0;
    bad[2].max_attempts = 0;
    bad[3].poll_max_ms = 0;
    for (size_t i = 0; i < 4; i++) {
        assert_null(worker_start(&bad[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(strlen(err.field) > 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_job_due_longest_is_claimed_first_and_each_once),
        TEST(apps_take_turns_however_much_one_has_to_do),
        TEST(a_claim_in_the_making_is_passed_over_not_waited_for),
        TEST(a_job_is_not_due_before_its_time),
        TEST(a_lease_that_ran_out_is_claimed_again_and_the_first_holder_told),
        TEST(a_failed_job_backs_off_and_is_dead_after_its_last_attempt),
        cmocka_unit_test(back_off_doubles_up_to_its_limit_and_spreads),
        TEST(a_job_that_kills_its_worker_each_time_ends_dead_with_a_reason),
        TEST(a_job_of_an_unknown_kind_ends_dead_and_the_others_run),
        TEST(a_session_of_one_file_is_analysed_counted_and_leaves_no_job),
        TEST(an_open_session_counts_nothing_until_it_was_idle_long_enough),
        TEST(a_session_id_used_by_two_apps_is_two_sessions),
        TEST(bad_files_are_quarantined_with_a_reason_and_kept),
        TEST(a_bomb_is_quarantined_as_past_a_limit),
        TEST(stored_bytes_that_changed_are_our_fault_and_end_dead),
        TEST(a_chunk_that_is_missing_is_our_fault_not_the_phones),
        TEST(a_file_in_many_chunks_reads_as_one),
        TEST(a_deleted_upload_leaves_no_session),
        TEST(parts_past_what_a_session_may_hold_are_left_out_in_any_order),
        TEST(parts_past_a_jobs_memory_are_left_out_in_any_order),
        TEST(small_files_of_a_session_are_analysed_together),
        TEST(a_file_that_comes_along_and_is_bad_harms_no_other),
        TEST(files_past_the_number_a_session_may_have_are_left_out_in_any_order),
        TEST(a_job_out_of_memory_at_any_point_leaves_no_partial_row),
        TEST(a_part_for_a_session_whose_uploads_are_past_retention_is_too_late),
        TEST(a_session_loads_as_it_was_analysed),
        TEST(posted_crashes_stay_with_a_session_that_is_analysed_again),
        TEST(a_session_has_the_tier_that_its_model_has_by_now),
        TEST(a_build_registered_later_is_the_same_build),
        TEST(worker_threads_take_what_is_queued_and_stop_when_told),
        TEST(worker_threads_survive_the_loss_of_their_connections),
        TEST(upkeep_makes_partitions_without_a_job_thread),
        TEST(absurd_configurations_are_refused),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
