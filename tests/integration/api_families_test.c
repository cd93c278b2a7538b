#include "support/api.h"

#include "server/db/db.h"
#include "server/jobs/worker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

/* Sessions --------------------------------------------------------------------------------------
 */

enum { LOAD, LOAD_OTHER_LINE, RENDER, SYSTEM, WAIT_IN_SHOP, WAIT_IN_MATCH, WITHOUT_MATCH };

static uint32_t put_stack(struct session_builder *b, int which)
{
    switch (which) {
    case LOAD:
        return sb_text_stack(b, "main", "com.studio.Level.load(Level.java:10)",
                             "com.studio.World.enter(World.java:7)",
                             "com.studio.Game.tick(Game.java:3)", "java.lang.Thread.run", NULL);
    case LOAD_OTHER_LINE:
        return sb_text_stack(b, "main", "java.util.HashMap.get(HashMap.java:99)",
                             "com.studio.Level.load(Level.java:11)",
                             "com.studio.World.enter(World.java:7)",
                             "com.studio.Game.tick(Game.java:4)", "java.lang.Thread.run", NULL);
    case RENDER:
        return sb_text_stack(b, "main", "com.studio.render.Mesh.draw(Mesh.java:1)",
                             "com.studio.render.Scene.draw(Scene.java:2)",
                             "com.studio.Game.tick(Game.java:3)", NULL);
    case WAIT_IN_SHOP:
        return sb_text_stack(b, "main", "com.studio.Lock.wait", "com.studio.Shop.buy",
                             "com.studio.Game.tick", NULL);
    case WAIT_IN_MATCH:
        return sb_text_stack(b, "main", "com.studio.Lock.wait", "com.studio.Match.start",
                             "com.studio.Game.tick", NULL);
    case WITHOUT_MATCH: /* a frame was lost */
        return sb_text_stack(b, "main", "com.studio.Lock.wait", "com.studio.Game.tick", NULL);
    default:
        return sb_text_stack(b, "main", "android.os.MessageQueue.nativePollOnce",
                             "android.os.Looper.loop", NULL);
    }
}

/* A session of a minute with a jank of 300 ms for each stack named. */
static void play_in(struct api *api, uint64_t number, const char *install, const int *stacks,
                    size_t n, const char *scene, uint64_t code)
{
    struct session_builder *b = sb_new(number);
    uint64_t t = 0;
    char version[32];

    snprintf(version, sizeof version, "1.0.%llu", (unsigned long long)(code - 100));
    b->version_code = code;
    b->version_name = version;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", scene);
    sb_step(b, 1, "open_shop");
    sb_step(b, 2, "start_match");
    for (size_t i = 0; i < n; i++) {
        t = sb_steady(b, t, 60 * 5, 16667);
        sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, put_stack(b, stacks[i])}));
        t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
    }
    t = sb_steady(b, t, 60 * 5, 16667);
    sb_end(b, t, END_STOPPED);
    api_upload(api, 0, b, install);
    sb_free(b);
}

#define PLAY(api, number, install, ...)                                                            \
    play_in(api, number, install, (const int[]){__VA_ARGS__},                                      \
            sizeof((const int[]){__VA_ARGS__}) / sizeof(int), "frost", 100)

static json_t *item(json_t *list, size_t i)
{
    return json_array_get(json_object_get(list, "items"), i);
}

static size_t items(const json_t *list)
{
    return json_array_size(json_object_get(list, "items"));
}

/* List ------------------------------------------------------------------------------------------
 */

static void lists_nothing_at_first(void **state)
{
    json_t *list = api_get(*state, 0, ROLE_READ, 200, "/v1/families");

    assert_int_equal(items(list), 0);
    assert_int_equal(api_i64(list, "sessions"), 0);
    assert_true(json_is_null(json_object_get(list, "next")));
}

static void stacks_that_differ_in_lines_and_system_frames_are_one_family(void **state)
{
    struct api *api = *state;
    json_t *list, *f;

    PLAY(api, 1, "a", LOAD, LOAD_OTHER_LINE);
    PLAY(api, 2, "b", LOAD);
    PLAY(api, 3, "b", RENDER, LOAD_OTHER_LINE, LOAD_OTHER_LINE);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 2);
    assert_int_equal(api_i64(list, "sessions"), 3);
    assert_int_equal(api_i64(list, "installs"), 2);
    assert_true(json_is_false(json_object_get(list, "pending")));
    f = item(list, 0);
    assert_int_equal(api_i64(f, "events"), 5);
    assert_int_equal(api_i64(f, "sessions"), 3);
    assert_int_equal(api_i64(f, "installs"), 2);
    assert_int_equal(api_i64(f, "stacks"), 2);
    assert_int_equal(api_i64(f, "jank_ms"), 1500);
    assert_string_equal(api_text(f, "kind"), "jank");
    assert_string_equal(api_text(f, "class"), "in_app");
    assert_non_null(strstr(api_text(f, "title"), "Level.load"));
    assert_true(json_real_value(json_object_get(f, "rate")) == 1.0);
    f = item(list, 1);
    assert_int_equal(api_i64(f, "events"), 1);
    assert_int_equal(api_i64(f, "sessions"), 1);
}

static json_t *of_tier(const json_t *list, int64_t tier)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (api_i64(item, "tier") == tier)
            return item;
    }
    fail_msg("no tier %lld", (long long)tier);
    return NULL;
}

static void tiers_are_told_by_number_and_name(void **state)
{
    struct api *api = *state;
    char family[40];
    json_t *tree, *device;

    PLAY(api, 1, "a", LOAD);
    pg_sql(api->conninfo,
           "INSERT INTO tier_model (app_id, version, tiers, fit) VALUES (%lld, 1, 3, '{}');"
           "UPDATE device_model SET tier = 3",
           (long long)api->app[0]);
    PLAY(api, 2, "b", LOAD);
    tree = api_get(api, 0, ROLE_READ, 200, "/v1/families?tier=3");
    assert_string_equal(api_text(json_object_get(tree, "slice"), "tier_name"), "low");
    tree = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_true(json_is_null(json_object_get(json_object_get(tree, "slice"), "tier_name")));
    snprintf(family, sizeof family, "%s", api_text(item(tree, 0), "id"));
    tree = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s", family);
    device = json_object_get(json_array_get(json_object_get(tree, "devices"), 0), "device");
    assert_string_equal(api_text(device, "tier_name"), "low");
    tree = json_object_get(tree, "tiers");
    assert_string_equal(api_text(of_tier(tree, 3), "tier_name"), "low");
    assert_string_equal(api_text(of_tier(tree, 0), "tier_name"), "untiered");
    tree = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/sessions", family);
    tree = json_object_get(tree, "items");
    assert_string_equal(api_text(of_tier(tree, 3), "tier_name"), "low");
    assert_string_equal(api_text(of_tier(tree, 0), "tier_name"), "untiered");
}

static void stacks_without_the_app_are_kept_apart(void **state)
{
    struct api *api = *state;
    json_t *list;

    PLAY(api, 1, "a", SYSTEM, LOAD);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 1);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?class=system_only");
    assert_int_equal(items(list), 1);
    assert_string_equal(api_text(item(list, 0), "class"), "system_only");
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?class=any")), 2);
}

static void pages_and_ranks_by_each_measure(void **state)
{
    struct api *api = *state;
    static const char *const sorts[] = {"sessions", "installs", "jank_ms", "events"};
    json_t *list;
    char first[40], cursor[128];

    PLAY(api, 1, "a", LOAD);
    PLAY(api, 2, "b", LOAD);
    PLAY(api, 3, "b", RENDER);
    for (size_t i = 0; i < 4; i++) {
        list = api_get(api, 0, ROLE_READ, 200, "/v1/families?limit=1&sort=%s", sorts[i]);
        assert_int_equal(items(list), 1);
        snprintf(first, sizeof first, "%s", api_text(item(list, 0), "id"));
        assert_non_null(strstr(api_text(item(list, 0), "title"), "Level.load"));
        snprintf(cursor, sizeof cursor, "%s", api_text(list, "next"));
        list = api_get(api, 0, ROLE_READ, 200, "/v1/families?limit=1&sort=%s&cursor=%s", sorts[i],
                       cursor);
        assert_int_equal(items(list), 1);
        assert_string_not_equal(api_text(item(list, 0), "id"), first);
        assert_true(json_is_null(json_object_get(list, "next")));
    }
}

static void counts_within_each_slice(void **state)
{
    struct api *api = *state;
    int64_t build, model;
    json_t *list;

    play_in(api, 1, "a", (const int[]){LOAD}, 1, "frost", 100);
    play_in(api, 2, "b", (const int[]){LOAD, RENDER}, 2, "dust", 101);
    build = pg_i64(api->conninfo, "SELECT build_id FROM build WHERE version_code = 101");
    model = pg_i64(api->conninfo, "SELECT min(model_id) FROM device_model");
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?build=%lld", (long long)build);
    assert_int_equal(api_i64(list, "sessions"), 1);
    assert_int_equal(items(list), 2);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?scene=battle/frost");
    assert_int_equal(items(list), 1);
    assert_int_equal(api_i64(item(list, 0), "sessions"), 1);
    assert_int_equal(api_i64(list, "sessions"), 1);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?scene=battle/dust&tier=0");
    assert_int_equal(items(list), 2);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?tier=0&build=%lld", (long long)build);
    assert_int_equal(items(list), 2);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?model=%lld", (long long)model);
    assert_int_equal(items(list), 2);
    assert_int_equal(api_i64(list, "sessions"), 2);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?tier=3")), 0);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?kind=crash")), 0);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?cause=unknown")), 2);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/families?model=1&tier=0"), "invalid", "model");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/families?cause=unknown&os=x"), "invalid",
                "cause");
}

static void crashes_are_families_of_their_own(void **state)
{
    struct api *api = *state;
    struct session_builder *b = sb_new(7);
    json_t *list;
    uint64_t t;

    sb_part(b, 0, 0);
    t = sb_steady(b, 0, 600, 16667);
    sb_crash(b, t, 11, "SIGSEGV", put_stack(b, LOAD));
    sb_end(b, t, END_RECOVERED);
    api_upload(api, 0, b, "a");
    sb_free(b);
    PLAY(api, 1, "a", LOAD);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 2);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families?kind=crash");
    assert_int_equal(items(list), 1);
    assert_int_equal(api_i64(item(list, 0), "events"), 1);
    assert_int_equal(api_i64(item(list, 0), "jank_ms"), 0);
}

/* One --------------------------------------------------------------------------------------------
 */

static void shows_a_family_with_breakdown_and_reason(void **state)
{
    struct api *api = *state;
    json_t *f, *why, *frame;
    char id[40];

    play_in(api, 1, "a", (const int[]){LOAD, LOAD_OTHER_LINE}, 2, "frost", 100);
    play_in(api, 2, "b", (const int[]){LOAD}, 1, "dust", 101);
    f = item(api_get(api, 0, ROLE_READ, 200, "/v1/families"), 0);
    snprintf(id, sizeof id, "%s", api_text(f, "id"));
    f = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s", id);
    assert_int_equal(api_i64(f, "events"), 3);
    assert_int_equal(json_array_size(json_object_get(f, "builds")), 2);
    assert_int_equal(json_array_size(json_object_get(f, "scenes")), 2);
    assert_int_equal(json_array_size(json_object_get(f, "days")), 1);
    assert_int_equal(json_array_size(json_object_get(f, "devices")), 1);
    assert_int_equal(api_i64(json_object_get(f, "first_build"), "version_code"), 100);
    assert_int_equal(api_i64(json_object_get(f, "last_build"), "version_code"), 101);
    why = json_object_get(f, "why");
    assert_string_equal(api_text(why, "family"), id);
    assert_int_equal(api_i64(why, "depth"), 3);
    assert_int_equal(json_array_size(json_object_get(why, "names")), 3);
    f = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/stacks", id);
    assert_int_equal(items(f), 3); /* managed stacks belong to their build */
    for (size_t k = 0; k < 3; k++) {
        bool system = false;

        why = json_object_get(item(f, k), "why");
        for (size_t n = 0; n < json_array_size(json_object_get(why, "frames")); n++) {
            frame = json_array_get(json_object_get(why, "frames"), n);
            system = strstr(api_text(frame, "function"), "java.util") != NULL;
            assert_true(!system || strcmp(api_text(frame, "use"), "system") == 0);
            if (strstr(api_text(frame, "function"), "Level.load")) {
                assert_string_equal(api_text(frame, "use"), "counted");
                assert_int_equal(api_i64(frame, "position"), 1);
            }
        }
    }
    f = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/sessions", id);
    assert_int_equal(items(f), 3);
    assert_string_equal(api_text(item(f, 0), "model"), "Phone 1");
    api_problem(api_get(api, 0, ROLE_READ, 404, "/v1/families/%032d", 5), "not_found", "");
    api_get(api, 1, ROLE_READ, 404, "/v1/families/%s", id);
}

/* Rules ------------------------------------------------------------------------------------------
 */

/* Runs what waits. */
static void settle(struct api *api)
{
    struct worker_config config = worker_config_default(api->conninfo);
    struct worker_counts counts = {0};
    struct err err = {0};

    if (!worker_drain(&config, &counts, &err))
        fail_msg("worker: %s", err.text);
    assert_int_equal(counts.failed + counts.dead, 0);
}

static json_t *put_rules(struct api *api, int status, const char *body)
{
    const struct api_answer *a = api_send(api, (struct api_call){.method = "PUT",
                                                                 .path = "/v1/family-rules",
                                                                 .key = api->key[0][ROLE_ADMIN],
                                                                 .body = body});

    if (a->status != status)
        fail_msg("status %d: %s", a->status, (const char *)a->body);
    return a->json;
}

/* All that is counted, whatever the families. */
static char *stack_counts(struct api *api)
{
    return pg_rows(api->conninfo, "SELECT * FROM stack_count ORDER BY shard, hash, kind, build_id,"
                                  " day, tier, model_id, os, scene, cause");
}

static char *family_counts(struct api *api)
{
    return pg_rows(api->conninfo,
                   "SELECT * FROM family_count ORDER BY family, build_id, dim, value");
}

static void rules_have_defaults_versions_and_a_tag(void **state)
{
    struct api *api = *state;
    json_t *rules = api_get(api, 0, ROLE_READ, 200, "/v1/family-rules");
    char tag[160];

    assert_int_equal(api_i64(rules, "version"), 0);
    assert_int_equal(api_i64(rules, "depth"), 3);
    assert_int_equal(api_i64(rules, "min_rate_ppm"), 1000);
    assert_int_equal(api_i64(json_object_get(rules, "tickets"), "top"), 50);
    snprintf(tag, sizeof tag, "If-Match: %s", api->answer.etag);
    rules = put_rules(api, 200, "{\"depth\": 2, \"note\": \"wider\"}");
    assert_int_equal(api_i64(rules, "version"), 1);
    put_rules(api, 200, "{\"depth\": 2}"); /* the same: no new version */
    assert_int_equal(api->answer.status, 200);
    assert_int_equal(api_send(api, (struct api_call){.method = "PUT",
                                                     .path = "/v1/family-rules",
                                                     .key = api->key[0][ROLE_ADMIN],
                                                     .body = "{\"depth\": 4}",
                                                     .headers = {tag}})
                         ->status,
                     412);
    api_problem(put_rules(api, 409, "{\"depth\": 4, \"version\": 0}"), "conflict", "version");
    api_problem(put_rules(api, 400, "{\"depth\": 6}"), "invalid", "depth");
    api_problem(put_rules(api, 400, "{\"include\": [{\"field\": \"x\", \"pattern\": \"y\"}]}"),
                "invalid", "include[0].field");
    api_problem(put_rules(api, 400,
                          "{\"owners\": [{\"field\": \"module\", \"pattern\": \"\","
                          " \"owner\": \"a\"}]}"),
                "invalid", "owners[0].pattern");
    rules = api_post(api, 0, ROLE_ADMIN, 200, "/v1/family-rules/versions/0/restore", NULL);
    assert_int_equal(api_i64(rules, "version"), 2);
    assert_int_equal(api_i64(rules, "depth"), 3);
    rules = api_get(api, 0, ROLE_READ, 200, "/v1/family-rules/versions");
    assert_int_equal(items(rules), 2);
    assert_string_equal(api_text(item(rules, 1), "note"), "wider");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM audit"
                                           " WHERE action = 'family_rules.change'"),
                     2);
}

static void rules_name_owners_and_ignore_without_moving_a_count(void **state)
{
    struct api *api = *state;
    char *before, *after;
    json_t *list, *preview;
    static const char rules[] =
        "{\"owners\": [{\"field\": \"keyword\", \"pattern\": \"render\", \"owner\": \"gfx\"}],"
        " \"ignore\": [{\"field\": \"function\", \"pattern\": \"*Level.load\"}]}";

    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD);
    before = stack_counts(api);
    preview = api_post(api, 0, ROLE_READ, 200, "/v1/family-rules/preview", rules);
    assert_int_equal(api_i64(json_object_get(preview, "before"), "listed"), 2);
    assert_int_equal(api_i64(json_object_get(preview, "after"), "listed"), 1);
    assert_int_equal(api_i64(json_object_get(preview, "vanish"), "count"), 1);
    assert_int_equal(api_i64(json_object_get(preview, "owners"), "count"), 1);
    assert_int_equal(api_i64(preview, "events_moved"), 0);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families")), 2);
    put_rules(api, 200, rules);
    assert_true(
        json_is_true(json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/families"), "pending")));
    settle(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_true(json_is_false(json_object_get(list, "pending")));
    assert_int_equal(items(list), 1);
    assert_string_equal(api_text(item(list, 0), "owner"), "gfx");
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?ignored=true")), 2);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?owner=gfx")), 1);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/families?owner=-")), 0);
    after = stack_counts(api);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* Six frames of one letter, and patterns that stand in it nearly whole from each of its places. */
static char *endless_rules(struct api *api)
{
    static const char *const lists[] = {"include", "exclude", "ignore", "owners"};
    struct buf text;

    pg_sql(api->conninfo,
           "UPDATE stack SET symbols = (SELECT jsonb_agg(jsonb_build_object('function',"
           " repeat('a', 1000), 'module', 'libgame.so', 'status', 'symbolicated', 'frame', i))"
           " FROM generate_series(0, 5) i)");
    buf_init(&text, (size_t)4 << 20);
    for (size_t list = 0; list < 4; list++) {
        buf_printf(&text, "%s\"%s\": [", list ? ", " : "{", lists[list]);
        for (int i = 0; i < 1000; i++)
            buf_printf(&text, "%s{\"field\": \"function\", \"pattern\": \"*%060d*%050db\"%s}",
                       i ? "," : "", 0, 0, list == 3 ? ", \"owner\": \"o\"" : "");
        buf_text(&text, "]");
    }
    buf_text(&text, "}");
    buf_byte(&text, '\0');
    assert_true(buf_ok(&text));
    for (uint8_t *c = text.at; *c; c++)
        if (*c == '0')
            *c = 'a';
    return (char *)text.at;
}

static void rules_that_take_too_much_work_are_refused(void **state)
{
    static const char counted[] = "framewatch_http_refused_total{reason=\"too_much_work\"} 1\n";
    struct api *api = *state;
    char *rules;

    PLAY(api, 1, "a", LOAD);
    rules = endless_rules(api);
    api_problem(api_post(api, 0, ROLE_READ, 413, "/v1/family-rules/preview", rules),
                "too_much_work", "");
    api_send(api, (struct api_call){.method = "GET", .path = "/metrics"});
    assert_non_null(memmem(api->answer.body, api->answer.len, counted, strlen(counted)));
    free(rules);
}

static void another_depth_merges_and_its_undo_splits_again(void **state)
{
    struct api *api = *state;
    char *before, *after, *stacks;
    json_t *preview, *affected;

    PLAY(api, 1, "a", LOAD, RENDER, SYSTEM);
    PLAY(api, 2, "b", LOAD_OTHER_LINE, LOAD);
    before = family_counts(api);
    stacks = stack_counts(api);
    preview = api_post(api, 0, ROLE_READ, 200, "/v1/family-rules/preview", "{\"depth\": 1}");
    assert_true(api_i64(preview, "events_moved") > 0);
    affected = json_object_get(preview, "affected");
    assert_int_equal(api_i64(affected, "sessions"), 2);
    assert_int_equal(api_i64(affected, "installs"), 2);
    assert_true(api_i64(affected, "events") >= 3);
    put_rules(api, 200, "{\"depth\": 1}");
    settle(api);
    after = family_counts(api);
    assert_string_not_equal(before, after);
    free(after);
    api_post(api, 0, ROLE_ADMIN, 200, "/v1/family-rules/versions/0/restore", NULL);
    settle(api);
    after = family_counts(api);
    assert_string_equal(before, after);
    free(after);
    after = stack_counts(api);
    assert_string_equal(stacks, after);
    free(after);
    free(stacks);
    free(before);
}

static void families_are_merged_and_split_by_hand_and_back(void **state)
{
    struct api *api = *state;
    char *before, *after, a[40], b[40], path[96], body[128];
    json_t *list, *edit;
    int64_t id;

    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD);
    before = family_counts(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    snprintf(a, sizeof a, "%s", api_text(item(list, 0), "id"));
    snprintf(b, sizeof b, "%s", api_text(item(list, 1), "id"));
    snprintf(path, sizeof path, "/v1/families/%s/merge", b);
    snprintf(body, sizeof body, "{\"into\": \"%s\", \"note\": \"same\"}", a);
    edit = api_post(api, 0, ROLE_ADMIN, 201, path, body);
    id = api_i64(edit, "id");
    api_post(api, 0, ROLE_ADMIN, 409, path, body);
    settle(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 1);
    assert_int_equal(api_i64(item(list, 0), "events"), 3);
    assert_int_equal(api_i64(item(list, 0), "sessions"), 2); /* not 3: one shows both */
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/stacks", a);
    edit = json_object_get(json_object_get(item(list, 1), "why"), "edits");
    assert_int_equal(json_array_size(edit), 1);
    snprintf(path, sizeof path, "/v1/families/%s/split", a);
    api_problem(api_post(api, 0, ROLE_ADMIN, 409, path, "{\"depth\": 4}"), "conflict", "");
    snprintf(path, sizeof path, "/v1/family-edits/%lld/undo", (long long)id);
    edit = api_post(api, 0, ROLE_ADMIN, 200, path, NULL);
    assert_true(json_is_string(json_object_get(edit, "undone_at")));
    api_post(api, 0, ROLE_ADMIN, 404, path, NULL);
    settle(api);
    after = family_counts(api);
    assert_string_equal(before, after);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits")), 1);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action LIKE 'family.%%'"), 2);
    free(before);
    free(after);
}

struct merging {
    struct api *api;
    char path[96], body[64];
};

static void *merge_alone(void *arg)
{
    struct merging *m = arg;

    api_send(m->api, (struct api_call){.method = "POST",
                                       .path = m->path,
                                       .key = m->api->key[0][ROLE_ADMIN],
                                       .body = m->body});
    return NULL;
}

static void two_merges_at_once_make_no_ring(void **state)
{
    struct api *api = *state;
    struct merging m = {.api = api};
    char a[40], b[40];
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    pthread_t other;
    json_t *list;

    assert_non_null(db);
    PLAY(api, 1, "a", LOAD, RENDER);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    snprintf(a, sizeof a, "%s", api_text(item(list, 0), "id"));
    snprintf(b, sizeof b, "%s", api_text(item(list, 1), "id"));

    /* one that is under way: a into b */
    char sql[512];
    snprintf(sql, sizeof sql,
             "BEGIN; INSERT INTO family_grouping AS g (app_id, version) SELECT app_id, 1 FROM "
             "family WHERE family = '\\x%s' ON CONFLICT (app_id) DO UPDATE SET version = g.version "
             "+ 1; INSERT INTO family_edit (app_id, kind, family, target, actor) SELECT app_id, "
             "'merge', family, '\\x%s', 'somebody' FROM family WHERE family = '\\x%s'",
             a, b, a);
    assert_true(db_script(db, sql, &err));
    snprintf(m.path, sizeof m.path, "/v1/families/%s/merge", b);
    snprintf(m.body, sizeof m.body, "{\"into\": \"%s\"}", a);
    assert_int_equal(pthread_create(&other, NULL, merge_alone, &m), 0);
    usleep(300000);
    assert_true(db_script(db, "COMMIT", &err));
    pthread_join(other, NULL);
    assert_int_equal(api->answer.status, 409);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM family_edit"), 1);
    db_close(db);
}

static void *undo_alone(void *arg)
{
    struct merging *m = arg;

    api_send(m->api, (struct api_call){
                         .method = "POST", .path = m->path, .key = m->api->key[0][ROLE_ADMIN]});
    return NULL;
}

/* Whoever has the app's edits, a merge or the job 'kin', may want the very one that is undone. */
static void an_undo_holds_no_edit_while_it_waits_for_others(void **state)
{
    struct api *api = *state;
    struct merging m = {.api = api};
    char a[40];
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    pthread_t other;
    json_t *list;

    assert_non_null(db);
    PLAY(api, 1, "a", LOAD, RENDER);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    snprintf(a, sizeof a, "%s", api_text(item(list, 0), "id"));
    snprintf(m.body, sizeof m.body, "{\"into\": \"%s\"}", api_text(item(list, 1), "id"));
    snprintf(m.path, sizeof m.path, "/v1/families/%s/merge", a);
    snprintf(m.path, sizeof m.path, "/v1/family-edits/%lld/undo",
             (long long)api_i64(api_post(api, 0, ROLE_ADMIN, 201, m.path, m.body), "id"));
    assert_true(db_script(db, "BEGIN; UPDATE family_grouping SET version = version", &err));
    assert_int_equal(pthread_create(&other, NULL, undo_alone, &m), 0);
    while (!pg_i64(api->conninfo, "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                                  " current_database() AND wait_event_type = 'Lock'"))
        usleep(1000);
    assert_true(db_script(db, "UPDATE family_edit SET note = 'as it is'; COMMIT", &err));
    pthread_join(other, NULL);
    assert_int_equal(api->answer.status, 200);
    db_close(db);
}

static void a_family_is_split_at_a_greater_depth_and_joined_again(void **state)
{
    struct api *api = *state;
    char id[40], path[96], *before, *after;
    json_t *list;
    int64_t edit;

    put_rules(api, 200, "{\"depth\": 1}");
    PLAY(api, 1, "a", WAIT_IN_SHOP, WAIT_IN_MATCH);
    settle(api);
    before = family_counts(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 1);
    snprintf(id, sizeof id, "%s", api_text(item(list, 0), "id"));
    snprintf(path, sizeof path, "/v1/families/%s/split", id);
    api_problem(api_post(api, 0, ROLE_ADMIN, 400, path, "{\"depth\": 9}"), "invalid", "depth");
    edit = api_i64(api_post(api, 0, ROLE_ADMIN, 201, path, "{\"depth\": 2}"), "id");
    settle(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 2);
    assert_int_equal(api_i64(item(list, 0), "events"), 1);
    snprintf(path, sizeof path, "/v1/family-edits/%lld/undo", (long long)edit);
    api_post(api, 0, ROLE_ADMIN, 200, path, NULL);
    settle(api);
    after = family_counts(api);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void suggests_families_that_a_lost_frame_parted(void **state)
{
    struct api *api = *state;
    json_t *kin;

    PLAY(api, 1, "a", WAIT_IN_SHOP);
    kin = api_get(api, 0, ROLE_READ, 200, "/v1/family-kin");
    assert_int_equal(items(kin), 0); /* one family has no kin */
    for (uint64_t i = 2; i < 6; i++)
        PLAY(api, i, "b", WITHOUT_MATCH, WAIT_IN_MATCH, WAIT_IN_MATCH, WAIT_IN_MATCH);
    kin = api_get(api, 0, ROLE_READ, 200, "/v1/family-kin?kind=jank");
    for (size_t i = 0; i < items(kin); i++)
        assert_string_equal(api_text(item(kin, i), "reason"), "lost");
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/family-kin?kind=x"), "invalid", "kind");
}

/* Flame graphs and paths --------------------------------------------------------------------------
 */

static int64_t builds(struct api *api, int code)
{
    return pg_i64(api->conninfo, "SELECT build_id FROM build WHERE version_code = %d", code);
}

static void exports_flame_graphs_in_every_form(void **state)
{
    struct api *api = *state;
    json_t *flame, *root;
    char id[40];

    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD_OTHER_LINE);
    flame = api_get(api, 0, ROLE_READ, 200, "/v1/flame");
    root = json_object_get(json_object_get(flame, "tree"), "root");
    assert_int_equal(api_i64(root, "count"), 3);
    assert_int_equal(api_i64(root, "weight"), 900);
    assert_true(json_is_true(json_object_get(flame, "complete")));
    flame = api_get(api, 0, ROLE_READ, 200, "/v1/flame?build=%lld&value=ms",
                    (long long)builds(api, 100));
    assert_int_equal(api_i64(flame, "of_events"), 3);
    snprintf(id, sizeof id, "%s",
             api_text(item(api_get(api, 0, ROLE_READ, 200, "/v1/families"), 0), "id"));
    flame = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/flame", id);
    assert_int_equal(api_i64(flame, "of_events"), 2);
    api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/flame?format=folded", id);
    assert_non_null(strstr((const char *)api->answer.body, "World.enter;"));
    api_get(api, 0, ROLE_READ, 200, "/v1/flame?format=pprof");
    assert_memory_equal(api->answer.body, "\x1f\x8b", 2); /* gzip */
    flame = api_get(api, 0, ROLE_READ, 200, "/v1/flame?format=speedscope");
    assert_string_equal(api_text(flame, "$schema"),
                        "https://www.speedscope.app/file-format-schema.json");
    flame = api_get(api, 0, ROLE_READ, 200, "/v1/flame?kind=crash");
    assert_int_equal(api_i64(flame, "events"), 0);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/flame?side=callers"), "invalid", "side");
}

static void compares_two_builds_in_shares(void **state)
{
    struct api *api = *state;
    json_t *root;

    play_in(api, 1, "a", (const int[]){LOAD, RENDER}, 2, "frost", 100);
    play_in(api, 2, "a", (const int[]){LOAD}, 1, "frost", 101);
    root = api_get(api, 0, ROLE_READ, 200, "/v1/flame/diff?a=%lld&b=%lld",
                   (long long)builds(api, 100), (long long)builds(api, 101));
    root = json_object_get(json_object_get(root, "tree"), "root");
    assert_true(json_number_value(json_object_get(root, "a")) == 1.0);
    assert_true(json_number_value(json_object_get(root, "b")) == 1.0);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/flame/diff?a=1"), "invalid", "b");
}

static void ranks_the_steps_that_lead_to_a_family(void **state)
{
    struct api *api = *state;
    char id[40];
    json_t *paths, *recent;

    for (uint64_t i = 0; i < 8; i++) {
        play_in(api, 1 + i, "a", (const int[]){LOAD}, 1, "frost", 100); /* shop, match, jank */
        play_in(api, 101 + i, "b", NULL, 0, "frost", 100);              /* the same without */
    }
    snprintf(id, sizeof id, "%s",
             api_text(item(api_get(api, 0, ROLE_READ, 200, "/v1/families"), 0), "id"));
    paths = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/paths", id);
    assert_int_equal(api_i64(paths, "windows"), 8);
    assert_true(api_i64(paths, "clean_windows") > 0);
    assert_true(json_array_size(json_object_get(paths, "paths")) > 0);
    recent = json_array_get(json_object_get(paths, "recent"), 0);
    assert_int_equal(json_array_size(json_object_get(recent, "steps")), 2);
    paths = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/paths?scene=battle/frost", id);
    assert_string_equal(api_text(paths, "scene"), "battle/frost");
}

/* Verdicts and tickets ---------------------------------------------------------------------------
 */

static void run_job(struct api *api, const char *kind)
{
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day)"
           " VALUES ('%s', %lld, '00000000-0000-0000-0000-000000000000', %lld, CURRENT_DATE)",
           kind, (long long)api->app[0] * 64, (long long)api->app[0]);
    settle(api);
}

static void make_known(struct api *api, int code)
{
    char body[160];

    snprintf(body, sizeof body,
             "{\"platform\": \"android\", \"version_name\": \"1.0.%d\", \"version_code\": %d,"
             " \"build_uid\": \"build-100\"}",
             code - 100, code);
    api_send(api, (struct api_call){.method = "POST",
                                    .path = "/v1/builds",
                                    .key = api->key[0][ROLE_ADMIN],
                                    .body = body});
}

/* n sessions of a build, each of its own install, with so many janks. */
static void play_build(struct api *api, int code, int n, size_t janks)
{
    for (int i = 0; i < n; i++) {
        char install[32];

        snprintf(install, sizeof install, "phone %d", i);
        play_in(api, (uint64_t)(code * 1000 + i), install, (const int[]){LOAD, LOAD}, janks,
                "frost", (uint64_t)code);
    }
    make_known(api, code);
}

static void judges_a_fix_at_its_looks_only(void **state)
{
    struct api *api = *state;
    char id[40], path[96];
    json_t *v, *pair;

    play_build(api, 100, 40, 2);
    play_build(api, 101, 20, 0);
    snprintf(id, sizeof id, "%s",
             api_text(item(api_get(api, 0, ROLE_READ, 200, "/v1/families"), 0), "id"));
    snprintf(path, sizeof path, "/v1/families/%s/verdicts", id);
    run_job(api, "verdicts");
    /* fewer than 20 expected: sessions without the jank are shorter */
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "%s", path)), 0);
    play_build(api, 101, 60, 0);
    run_job(api, "verdicts");
    v = api_get(api, 0, ROLE_READ, 200, "%s", path);
    assert_int_equal(items(v), 1);
    pair = item(v, 0);
    assert_string_equal(api_text(pair, "verdict"), "fixed");
    assert_int_equal(api_i64(json_object_get(pair, "build"), "version_code"), 101);
    assert_int_equal(json_array_size(json_object_get(pair, "looks")), 1);
    /* between looks it stands, whatever comes */
    play_in(api, 777, "x", (const int[]){LOAD, LOAD, LOAD}, 3, "frost", 101);
    run_job(api, "verdicts");
    v = api_get(api, 0, ROLE_READ, 200, "%s?build=%lld", path, (long long)builds(api, 101));
    assert_int_equal(json_array_size(json_object_get(item(v, 0), "looks")), 1);
    snprintf(path, sizeof path, "{\"build\": %lld, \"baseline\": %lld}",
             (long long)builds(api, 100), (long long)builds(api, 101));
    api_post(api, 0, ROLE_ADMIN, 200, "/v1/verdict-pairs", path);
    api_problem(
        api_post(api, 0, ROLE_ADMIN, 400, "/v1/verdict-pairs", "{\"build\": 1, \"baseline\": 1}"),
        "invalid", "baseline");
}

static int64_t ticket_i64(struct api *api, const char *what)
{
    return pg_i64(api->conninfo, "SELECT %s FROM ticket", what);
}

static void files_the_top_families_once_and_reopens_them(void **state)
{
    struct api *api = *state;
    char *wanted;

    run_job(api, "tickets"); /* no tracker: nothing */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM family_ticket"), 0);
    pg_sql(api->conninfo,
           "INSERT INTO channel (app_id, name, kind, takes, rate_per_min)"
           " VALUES (%lld, 'tracker', 'ticket_webhook', 'ticket', 60)",
           (long long)api->app[0]);
    put_rules(api, 200,
              "{\"tickets\": {\"top\": 1}, \"owners\": [{\"field\": \"keyword\","
              " \"pattern\": \"Level\", \"owner\": \"world\"}]}");
    play_build(api, 100, 2, 1);
    PLAY(api, 9, "b", RENDER);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "count(*)"), 1); /* the top one alone */
    wanted = pg_rows(api->conninfo, "SELECT wanted FROM ticket");
    assert_non_null(strstr(wanted, "Jank: Level.load"));
    assert_non_null(strstr(wanted, "world"));
    assert_non_null(strstr(wanted, "battle/frost"));
    free(wanted);
    run_job(api, "tickets"); /* the same again: nothing new */
    assert_int_equal(ticket_i64(api, "wanted_version"), 1);
    play_in(api, 55, "c", (const int[]){LOAD}, 1, "frost", 100);
    run_job(api, "tickets"); /* counts in place */
    assert_int_equal(ticket_i64(api, "wanted_version"), 2);
    assert_int_equal(ticket_i64(api, "count(*)"), 1);
    /* closed by a person; the same build does not bring it back, a later one does */
    pg_sql(api->conninfo, "UPDATE ticket SET state = 'closed'");
    run_job(api, "tickets");
    play_in(api, 56, "d", (const int[]){LOAD}, 1, "frost", 100);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "episode"), 0);
    play_build(api, 101, 2, 1);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "episode"), 1);
    wanted = pg_rows(api->conninfo, "SELECT body FROM ticket_comment");
    assert_non_null(strstr(wanted, "It came back in build"));
    assert_non_null(strstr(wanted, "1.0.1 (101)"));
    free(wanted);
    run_job(api, "tickets"); /* not twice */
    assert_int_equal(ticket_i64(api, "episode"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM ticket_comment"), 1);
}

static char *ticket_of(struct api *api, const char *family)
{
    return pg_rows(api->conninfo, "SELECT wanted FROM ticket WHERE key = '%s'", family);
}

static int64_t merge(struct api *api, const char *from, const char *into)
{
    char path[96], body[64];
    int64_t id;

    snprintf(path, sizeof path, "/v1/families/%s/merge", from);
    snprintf(body, sizeof body, "{\"into\": \"%s\"}", into);
    id = api_i64(api_post(api, 0, ROLE_ADMIN, 201, path, body), "id");
    settle(api);
    return id;
}

static void undo(struct api *api, int64_t edit)
{
    char path[96];

    snprintf(path, sizeof path, "/v1/family-edits/%lld/undo", (long long)edit);
    api_post(api, 0, ROLE_ADMIN, 200, path, NULL);
    settle(api);
}

static void add_tracker(struct api *api)
{
    pg_sql(api->conninfo,
           "INSERT INTO channel (app_id, name, kind, takes, rate_per_min)"
           " VALUES (%lld, 'tracker', 'ticket_webhook', 'ticket', 60)",
           (long long)api->app[0]);
}

static void read_two_families(struct api *api, char a[40], char b[40])
{
    json_t *list = api_get(api, 0, ROLE_READ, 200, "/v1/families");

    assert_int_equal(items(list), 2);
    snprintf(a, 40, "%s", api_text(item(list, 0), "id"));
    snprintf(b, 40, "%s", api_text(item(list, 1), "id"));
}

static void the_ticket_of_a_merged_family_says_where_it_went(void **state)
{
    struct api *api = *state;
    char a[40], b[40], *wanted;
    int64_t edit;

    add_tracker(api);
    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD);
    read_two_families(api, a, b);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "count(*)"), 2);
    edit = merge(api, b, a);
    run_job(api, "tickets");
    wanted = ticket_of(api, a);
    assert_non_null(strstr(wanted, "| 3 | 2 |")); /* events, sessions */
    free(wanted);
    wanted = ticket_of(api, b);
    assert_non_null(strstr(wanted, "Merged: Level.load"));
    assert_non_null(strstr(wanted, a));
    free(wanted);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM ticket_comment"), 1);
    run_job(api, "tickets"); /* said once */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM ticket_comment"), 1);
    assert_int_equal(ticket_i64(api, "count(*)"), 2);
    undo(api, edit);
    run_job(api, "tickets");
    wanted = ticket_of(api, b);
    assert_non_null(strstr(wanted, "Jank: Mesh.draw"));
    assert_non_null(strstr(wanted, "| 1 | 1 |"));
    free(wanted);
    assert_int_equal(ticket_i64(api, "count(*)"), 2);
}

static void a_merged_familys_ticket_goes_on_as_that_of_the_whole(void **state)
{
    struct api *api = *state;
    char a[40], b[40], *wanted;
    int64_t edit;

    add_tracker(api);
    put_rules(api, 200, "{\"tickets\": {\"top\": 1}}");
    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD);
    read_two_families(api, a, b);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "count(*)"), 1); /* of a */
    edit = merge(api, a, b);
    run_job(api, "tickets");
    assert_int_equal(ticket_i64(api, "count(*)"),
                     1); /* b, the top one now, is not filed beside it */
    wanted = ticket_of(api, a);
    assert_non_null(strstr(wanted, "| 3 | 2 |"));
    assert_null(strstr(wanted, "Merged:"));
    free(wanted);
    undo(api, edit);
    run_job(api, "tickets");
    wanted = ticket_of(api, a);
    assert_non_null(strstr(wanted, "| 2 | 2 |"));
    free(wanted);
    assert_int_equal(ticket_i64(api, "count(*)"), 1);
}

/* The tool ---------------------------------------------------------------------------------------
 */

/* What `framewatch` prints, with the exit code as its last line; free(). */
static char *tool(struct api *api, const char *input, const char *args)
{
    char command[1024];
    struct buf out;
    size_t n;
    FILE *pipe;

    snprintf(command, sizeof command,
             "printf '%%s' '%s' | FW_URL='%s' FW_KEY='%s' NO_COLOR=1 " FW_BINARY_DIR
             "/server/framewatch %s 2>&1; echo \"exit $?\"",
             input, api->base, api->key[0][ROLE_ADMIN], args);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    buf_init(&out, 1 << 22);
    for (char chunk[4096]; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
        buf_put(&out, chunk, n);
    pclose(pipe);
    buf_byte(&out, '\0');
    return (char *)buf_steal(&out, &n);
}

static void prints_of(struct api *api, const char *input, const char *args, const char *wanted,
                      int code)
{
    char *text = tool(api, input, args), last[16];

    snprintf(last, sizeof last, "exit %d\n", code);
    if (!strstr(text, wanted) || !strstr(text, last))
        fail_msg("framewatch %s:\n%s", args, text);
    free(text);
}

static void prints(struct api *api, const char *args, const char *wanted, int code)
{
    prints_of(api, "", args, wanted, code);
}

static void the_tool_shows_explains_exports_and_changes(void **state)
{
    struct api *api = *state;
    char a[40], b[40], args[256];
    json_t *list;

    PLAY(api, 1, "a", LOAD, RENDER);
    PLAY(api, 2, "b", LOAD);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    snprintf(a, sizeof a, "%s", api_text(item(list, 0), "id"));
    snprintf(b, sizeof b, "%s", api_text(item(list, 1), "id"));
    prints(api, "families list", "Level.load < World.enter", 0);
    prints(api, "families list --sort jank_ms --scene battle/frost --below-rate", a, 0);
    prints(api, "families list --model 1 --tier 0", "cannot be combined", 1);
    snprintf(args, sizeof args, "families show %s", a);
    prints(api, args, "Why: Jank stack: its innermost frames of the app", 0);
    prints(api, args, "\nuntiered  ", 0);
    snprintf(args, sizeof args, "families sessions %s", a);
    prints(api, args, "Phone 1", 0);
    snprintf(args, sizeof args, "families paths %s", a);
    prints(api, args, "open_shop > start_match", 0);
    snprintf(args, sizeof args, "families verdicts %s --json", a);
    prints(api, args, "\"items\": []", 0);
    prints(api, "families flame", "World.enter;", 0);
    snprintf(args, sizeof args, "families merge %s %s --note same", b, a);
    prints(api, args, "\"kind\": \"merge\"", 0);
    prints(api, "families undo 1", "\"undone_at\": \"", 0);
    snprintf(args, sizeof args, "families split %s", a);
    prints(api, args, "--depth is required", 2);
    snprintf(args, sizeof args, "families merge %s %s --note $(printf '\\377')", b, a);
    prints(api, args, "no UTF-8", 1);
    prints(api, "families undo ..", "is a number", 1);
    prints(api, "families list --os $(printf %05000d 0)", "too long", 1);
    prints(api, "families show $(printf %05000d 0)", "too long", 1);
    prints(api, "rules show", "\"min_rate_ppm\": 1000", 0);
    prints_of(api, "{\"depth\": 1}", "rules preview -", "Families that merge", 0);
    prints_of(api, "{\"depth\": 2}", "rules set - --note wider", "\"version\": 1", 0);
    prints(api, "rules restore 0", "\"version\": 2", 0);
    prints_of(api, "{\"depth\": 7}", "rules set -", "depth", 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        T(lists_nothing_at_first),
        T(stacks_that_differ_in_lines_and_system_frames_are_one_family),
        T(tiers_are_told_by_number_and_name),
        T(stacks_without_the_app_are_kept_apart),
        T(pages_and_ranks_by_each_measure),
        T(counts_within_each_slice),
        T(crashes_are_families_of_their_own),
        T(shows_a_family_with_breakdown_and_reason),
        T(rules_have_defaults_versions_and_a_tag),
        T(rules_name_owners_and_ignore_without_moving_a_count),
        T(rules_that_take_too_much_work_are_refused),
        T(another_depth_merges_and_its_undo_splits_again),
        T(families_are_merged_and_split_by_hand_and_back),
        T(two_merges_at_once_make_no_ring),
        T(an_undo_holds_no_edit_while_it_waits_for_others),
        T(a_family_is_split_at_a_greater_depth_and_joined_again),
        T(suggests_families_that_a_lost_frame_parted),
        T(exports_flame_graphs_in_every_form),
        T(compares_two_builds_in_shares),
        T(ranks_the_steps_that_lead_to_a_family),
        T(judges_a_fix_at_its_looks_only),
        T(files_the_top_families_once_and_reopens_them),
        T(the_ticket_of_a_merged_family_says_where_it_went),
        T(a_merged_familys_ticket_goes_on_as_that_of_the_whole),
        T(the_tool_shows_explains_exports_and_changes),
    };
#undef T

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
