/* Crashes that another tool posted count as those of the SDK do: a stack in families, once,
 * whenever they came. */
#include "server/db/partition.h"
#include "support/api.h"

#include "base/digest.h"
#include "server/db/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

#define FRAMES                                                                                     \
    "[{\"text\":\"com.studio.Level.load(Level.java:12)\"},"                                        \
    "{\"text\":\"com.studio.World.enter(World.java:7)\"},"                                         \
    "{\"text\":\"com.studio.Game.tick(Game.java:3)\"},{\"text\":\"java.lang.Thread.run\"}]"
#define TIMED "{\"t_us\":4000000,\"signal\":11,\"reason\":\"SIGSEGV\",\"stack\":" FRAMES "}"
#define UNTIMED "{\"reason\":\"no time\",\"stack\":" FRAMES "}"

struct game {
    struct session_builder *b;
    char id[33], path[64];
};

/* A session of ten seconds that goes on to battle/frost after one. */
static struct game game_of(uint64_t number)
{
    struct game g = {.b = sb_new(number)};

    sb_part(g.b, 0, 0);
    sb_scene(g.b, SECOND, "battle", "frost");
    sb_step(g.b, 2 * SECOND, "open_shop");
    to_hex(g.b->session_id, sizeof g.b->session_id, g.id);
    snprintf(g.path, sizeof g.path, "/v1/sessions/%s/crashes", g.id);
    return g;
}

static void end(struct api *api, struct game *g)
{
    sb_end(g->b, sb_steady(g->b, 0, 600, 16667), END_STOPPED);
    api_upload(api, 0, g->b, "phone");
}

static void done(struct game *g)
{
    sb_free(g->b);
}

static void post(struct api *api, const struct game *g, const char *body, int status)
{
    api_post(api, 0, ROLE_INGEST, status, g->path, body);
    api_work(api);
}

static json_t *crash_families(struct api *api)
{
    return json_object_get(
        api_get(api, 0, ROLE_READ, 200, "/v1/families?kind=crash&class=any&below_rate=true"),
        "items");
}

/* One family of crashes, with so many. */
static void assert_one(struct api *api, int64_t events, int64_t sessions, int64_t stacks)
{
    json_t *list = crash_families(api);
    json_t *f = json_array_get(list, 0);

    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(api_i64(f, "events"), events);
    assert_int_equal(api_i64(f, "sessions"), sessions);
    assert_int_equal(api_i64(f, "stacks"), stacks);
    assert_int_equal(api_i64(f, "jank_ms"), 0);
}

static void a_posted_crash_is_of_the_family_of_the_sdk_s(void **state)
{
    struct api *api = *state;
    struct game g = game_of(1), other = game_of(2);
    json_t *f;
    char id[64];

    sb_crash(g.b, 5 * SECOND, 11, "SIGSEGV",
             sb_text_stack(g.b, "main", "com.studio.Level.load(Level.java:10)",
                           "com.studio.World.enter(World.java:7)",
                           "com.studio.Game.tick(Game.java:3)", "java.lang.Thread.run", NULL));
    end(api, &g);
    end(api, &other);
    assert_one(api, 1, 1, 1);
    post(api, &other, TIMED, 201);
    assert_one(api, 2, 2, 2);
    f = json_array_get(crash_families(api), 0);
    assert_string_equal(api_text(f, "class"), "in_app");
    assert_non_null(strstr(api_text(f, "title"), "Level.load"));
    snprintf(id, sizeof id, "%s", api_text(f, "id"));
    f = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/sessions", id);
    assert_int_equal(json_array_size(json_object_get(f, "items")), 2);
    f = api_get(api, 0, ROLE_READ, 200, "/v1/flame?kind=crash");
    assert_int_equal(api_i64(f, "events"), 2);
    done(&g);
    done(&other);
}

static void every_kind_of_frame_names_a_family(void **state)
{
    static const struct {
        const char *stack, *class, *title;
    } kinds[] = {
        {"[{\"text\":\"Studio.Level.Load () (at Assets/Level.cs:12)\"},"
         "{\"text\":\"Studio.Game.Tick ()\"}]",
         "in_app", "Level.Load"},
        {"[{\"text\":\"main.lua:12: in function 'refresh'\"}]", "in_app", "refresh"},
        {"[{\"module\":\"libgame.so\",\"debug_id\":\"a1b2c3d4e5f60718\",\"offset\":\"0x1f40\"}]",
         "mostly_unknown", ""},
        {"[{\"offset\":\"0x1f40\"}]", "mostly_unknown", ""},
    };
    struct api *api = *state;
    char body[512];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct game g = game_of(1 + i);
        json_t *list, *f = NULL;
        size_t at;

        end(api, &g);
        snprintf(body, sizeof body, "{\"reason\":\"number %zu\",\"stack\":%s}", i, kinds[i].stack);
        post(api, &g, body, 201);
        list = crash_families(api);
        assert_int_equal(json_array_size(list), i + 1);
        json_array_foreach(list, at, f)
        {
            if (strcmp(api_text(f, "class"), kinds[i].class) == 0 &&
                strstr(api_text(f, "title"), kinds[i].title))
                break;
        }
        if (at == json_array_size(list))
            fail_msg("no family of class %s with %s in its title: %s", kinds[i].class,
                     kinds[i].title, json_dumps(list, 0));
        done(&g);
    }
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack_need"), 1);
}

/* Before the first part, between two, after the end, and after it was counted: one stack, of the
 * session's build, counted alike. */
static void it_counts_alike_whenever_it_comes(void **state)
{
    struct api *api = *state;

    for (uint64_t when = 0; when < 4; when++) {
        struct game g = game_of(1 + when);

        if (when == 0)
            post(api, &g, TIMED, 201);
        if (when == 1) {
            uint64_t t = sb_steady(g.b, 0, 300, 16667);

            api_upload(api, 0, g.b, "phone");
            post(api, &g, TIMED, 201);
            sb_part(g.b, 1, t);
            sb_end(g.b, sb_steady(g.b, t, 300, 16667), END_STOPPED);
            api_upload(api, 0, g.b, "phone");
        } else {
            end(api, &g);
        }
        if (when == 2)
            post(api, &g, TIMED, 201);
        if (when == 3) { /* with others, before any work is done */
            api_post(api, 0, ROLE_INGEST, 201, g.path, TIMED);
            api_post(api, 0, ROLE_INGEST, 200, g.path, TIMED);
        }
        api_work(api);
        assert_one(api, 1 + (int64_t)when, 1 + (int64_t)when, 1);
        done(&g);
    }
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM (SELECT DISTINCT scene, cause, "
                                           "build_id, os, hash FROM stack_count) AS x"),
                     1);
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM stack_count c JOIN stack s ON s.hash = c.hash "
                            "WHERE s.build_id = c.build_id AND c.scene = 'battle/frost'"),
                     pg_i64(api->conninfo, "SELECT count(*) FROM stack_count"));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM crash c JOIN stack_count n ON "
                                           "n.hash = c.stack_hash AND n.shard = c.shard"),
                     4);
}

static void neither_the_same_post_nor_the_same_file_counts_twice(void **state)
{
    struct api *api = *state;
    struct game g = game_of(1);

    end(api, &g);
    post(api, &g, TIMED, 201);
    post(api, &g, TIMED, 200);
    assert_one(api, 1, 1, 1);
    api_upload(api, 0, g.b, "phone");
    assert_one(api, 1, 1, 1);
    /* analysed anew, as after a change of the analysis */
    pg_sql(api->conninfo, "UPDATE session SET analysis_version = 0");
    api_upload(api, 0, g.b, "phone");
    assert_one(api, 1, 1, 1);
    post(api, &g, UNTIMED, 201);
    assert_one(api, 2, 1, 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT sum(events) FROM stack_count WHERE scene = ''"),
                     1);
    done(&g);
}

static void a_crash_without_a_stack_counts_under_none(void **state)
{
    struct api *api = *state;
    struct game g = game_of(1);

    end(api, &g);
    api_post(api, 0, ROLE_INGEST, 201, g.path, "{\"reason\":\"killed\"}");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = 'posted'"), 0);
    api_work(api);
    assert_int_equal(json_array_size(crash_families(api)), 0);
    done(&g);
}

static void one_of_a_session_that_never_comes_or_is_excluded_counts_nowhere(void **state)
{
    struct api *api = *state;
    struct game unknown = game_of(1), rooted = game_of(2);

    post(api, &unknown, TIMED, 201);
    rooted.b->environment = ENV_ROOTED;
    sb_part(rooted.b, 0, 0);
    end(api, &rooted);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM session WHERE excluded"), 1);
    post(api, &rooted, TIMED, 201);
    assert_int_equal(json_array_size(crash_families(api)), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack_count"), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = 'posted'"), 0);
    done(&unknown);
    done(&rooted);
}

static void symbols_that_come_late_give_it_its_family(void **state)
{
    struct api *api = *state;
    struct game g = game_of(1);

    post(api, &g, "{\"reason\":\"x\",\"stack\":[{\"text\":\"a.b.c(SourceFile:1)\"}]}", 201);
    end(api, &g);
    assert_one(api, 1, 1, 1);
    pg_sql(api->conninfo, "UPDATE stack SET symbols = replace(symbols::text, 'a.b.c', "
                          "'com.studio.Shop.open')::jsonb");
    api_work(api);
    assert_one(api, 1, 1, 1);
    assert_non_null(strstr(api_text(json_array_get(crash_families(api), 0), "title"), "Shop.open"));
    done(&g);
}

static void what_was_counted_stands_when_the_files_are_gone(void **state)
{
    struct api *api = *state;
    struct game g = game_of(1);

    end(api, &g);
    post(api, &g, TIMED, 201);
    pg_sql(api->conninfo, "UPDATE upload SET state = 'deleted', at = 0, length = NULL, "
                          "completed_at = NULL");
    post(api, &g, UNTIMED, 201);
    assert_one(api, 1, 1, 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job"), 0);
    done(&g);
}

static void it_is_deleted_with_its_install_s_sessions(void **state)
{
    static const struct retention keep = {.raw_days = 10, .session_days = 20, .batch = 2};
    struct api *api = *state;
    struct game g = game_of(1);
    struct retention_report report = {0};
    struct err err = {0};
    struct db *db;

    end(api, &g);
    post(api, &g, TIMED, 201);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack_example"), 1);
    api_post(api, 0, ROLE_INGEST, 202, "/v1/erasures", "{\"install\":\"phone\"}");
    db = db_open(api->conninfo, &err);
    if (!db || !retention_run(db, &keep, &report, &err))
        fail_msg("retention: %s", err.text);
    db_close(db);
    api_work(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT (SELECT count(*) FROM crash) + (SELECT count(*) "
                                           "FROM session_posted) + (SELECT count(*) FROM session) "
                                           "+ (SELECT count(*) FROM stack_example)"),
                     0);
    done(&g);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_posted_crash_is_of_the_family_of_the_sdk_s),
        TEST(every_kind_of_frame_names_a_family),
        TEST(it_counts_alike_whenever_it_comes),
        TEST(neither_the_same_post_nor_the_same_file_counts_twice),
        TEST(a_crash_without_a_stack_counts_under_none),
        TEST(one_of_a_session_that_never_comes_or_is_excluded_counts_nowhere),
        TEST(symbols_that_come_late_give_it_its_family),
        TEST(what_was_counted_stands_when_the_files_are_gone),
        TEST(it_is_deleted_with_its_install_s_sessions),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
