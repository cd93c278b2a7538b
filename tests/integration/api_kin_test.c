/* Families that are one but for a frame which one architecture's compiler lost: the job 'kin'
 * merges them, tells why, takes it back when it holds no longer, and leaves alone what people
 * undid. */
#include "support/api.h"

#include "server/jobs/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARM64 "0123456789abcdef0123456789abcdef01234567"
#define ARMV7 "89abcdef0123456789abcdef0123456789abcdef"

static void settle(struct api *api)
{
    struct worker_config config = worker_config_default(api->conninfo);
    struct worker_counts counts = {0};
    struct err err = {0};

    if (!worker_drain(&config, &counts, &err))
        fail_msg("worker: %s", err.text);
    assert_int_equal(counts.failed + counts.dead, 0);
}

/* Names in place of symbols: function app::f and its offset. */
static void symbols_come(struct api *api)
{
    pg_sql(api->conninfo,
           "UPDATE stack s SET symbols = x.symbols FROM ("
           " SELECT app_id, hash, jsonb_agg(f || jsonb_build_object('status', 'symbolicated',"
           " 'frame', n - 1, 'function', 'app::f' || (f ->> 'offset') || '()') ORDER BY n)"
           " AS symbols FROM stack, jsonb_array_elements(frames) WITH ORDINALITY AS e (f, n)"
           " WHERE coalesce(symbols::text, '') NOT LIKE '%%app::f%%' GROUP BY 1, 2) x"
           " WHERE x.app_id = s.app_id AND x.hash = s.hash");
    settle(api);
}

static uint32_t put_stack(struct session_builder *b, const char *image, const char *chain)
{
    uint32_t module = sb_module(b, "libgame.so", image, 0x10000000, 0x100000);
    struct sb_stack_frame frames[8] = {{0}};
    size_t n = 0;

    for (; chain[n]; n++)
        frames[n] = (struct sb_stack_frame){.module = module, .offset = (uint64_t)chain[n] * 16};
    return sb_stack(b, "main", frames, n);
}

/* A session with so many janks of one stack, in app 0 or 1. */
static void play(struct api *api, unsigned app, uint64_t number, const char *image,
                 const char *chain, unsigned janks)
{
    struct session_builder *b = sb_new(number);
    uint64_t t = 0;
    uint32_t stack;
    char install[16];

    snprintf(install, sizeof install, "phone %llu", (unsigned long long)number);
    sb_part(b, 0, 0);
    stack = put_stack(b, image, chain);
    sb_scene(b, 0, "battle", "frost");
    for (unsigned i = 0; i < janks; i++) {
        t = sb_steady(b, t, 60 * 5, 16667);
        sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
        t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
    }
    sb_end(b, sb_steady(b, t, 60, 16667), END_STOPPED);
    api_upload(api, app, b, install);
    sb_free(b);
    symbols_come(api);
}

static void run_kin(struct api *api, unsigned app)
{
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day)"
           " VALUES ('kin', %lld, '00000000-0000-0000-0000-000000000000', %lld, CURRENT_DATE)",
           (long long)api->app[app] * 64, (long long)api->app[app]);
    settle(api);
}

static json_t *item(json_t *list, size_t i)
{
    return json_array_get(json_object_get(list, "items"), i);
}

static size_t items(const json_t *list)
{
    return json_array_size(json_object_get(list, "items"));
}

static size_t families(struct api *api)
{
    return items(api_get(api, 0, ROLE_READ, 200, "/v1/families"));
}

static char *stack_counts(struct api *api)
{
    return pg_rows(api->conninfo, "SELECT * FROM stack_count ORDER BY shard, hash, kind, build_id,"
                                  " day, tier, model_id, os, scene, cause");
}

static void put_rules(struct api *api, const char *body)
{
    const struct api_answer *a = api_send(api, (struct api_call){.method = "PUT",
                                                                 .path = "/v1/family-rules",
                                                                 .key = api->key[0][ROLE_ADMIN],
                                                                 .body = body});

    assert_int_equal(a->status, 200);
    settle(api);
}

static void two_parted_families(struct api *api)
{
    play(api, 0, 1, ARM64, "abcde", 20);
    play(api, 0, 2, ARMV7, "acde", 10);
    assert_int_equal(families(api), 2);
}

static void what_a_compiler_parted_is_merged_and_told(void **state)
{
    struct api *api = *state;
    char *before, *after, id[40], from[40];
    json_t *list, *why;

    two_parted_families(api);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/family-kin");
    assert_int_equal(items(list), 1);
    assert_true(json_is_null(json_object_get(item(list, 0), "edit")));
    before = stack_counts(api);
    run_kin(api, 0);
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families");
    assert_int_equal(items(list), 1);
    assert_int_equal(api_i64(item(list, 0), "events"), 30);
    assert_int_equal(api_i64(item(list, 0), "sessions"), 2);
    snprintf(id, sizeof id, "%s", api_text(item(list, 0), "id"));
    after = stack_counts(api);
    assert_string_equal(before, after); /* no counter moved */
    list = api_get(api, 0, ROLE_READ, 200, "/v1/families/%s/stacks", id);
    why = json_object_get(item(list, 1), "why");
    assert_non_null(strstr(api_text(why, "sentence"), "frames that compilers lost: app::f"));
    assert_non_null(strstr(api_text(why, "sentence"), "(3 of at most 3) are "));
    assert_string_equal(api_text(json_array_get(json_object_get(why, "edits"), 0), "by_kin"),
                        "lost");
    list = api_get(api, 0, ROLE_READ, 200, "/v1/family-kin");
    assert_true(json_is_integer(json_object_get(item(list, 0), "edit")));
    run_kin(api, 0); /* nothing more to do */
    list = api_get(api, 0, ROLE_READ, 200, "/v1/family-edits");
    assert_int_equal(items(list), 1);
    assert_string_equal(api_text(item(list, 0), "actor"), "auto");
    snprintf(from, sizeof from, "%s", api_text(item(list, 0), "family"));
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits?family=%s", id)), 1);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits?family=%s", from)), 1);
    from[0] = from[0] == '0' ? '1' : '0'; /* of another family there are none */
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits?family=%s", from)), 0);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/family-edits?family=12"), "invalid", "family");
    free(before);
    free(after);
}

static void what_a_person_undid_is_not_merged_again(void **state)
{
    struct api *api = *state;
    char path[96];

    two_parted_families(api);
    run_kin(api, 0);
    assert_int_equal(families(api), 1);
    snprintf(
        path, sizeof path, "/v1/family-edits/%lld/undo",
        (long long)api_i64(item(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits"), 0), "id"));
    api_post(api, 0, ROLE_ADMIN, 200, path, NULL);
    settle(api);
    assert_int_equal(families(api), 2);
    run_kin(api, 0);
    assert_int_equal(families(api), 2);
    play(api, 0, 3, ARMV7, "acde", 60); /* nor the other way round */
    run_kin(api, 0);
    assert_int_equal(families(api), 2);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-kin")), 0);
    assert_int_equal(items(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits")), 1);
}

static void what_holds_no_longer_is_taken_back(void **state)
{
    struct api *api = *state;
    json_t *edit;

    two_parted_families(api);
    run_kin(api, 0);
    assert_int_equal(families(api), 1);
    play(api, 0, 3, ARMV7, "abcde", 6); /* the image takes both ways */
    run_kin(api, 0);
    assert_int_equal(families(api), 2);
    edit = item(api_get(api, 0, ROLE_READ, 200, "/v1/family-edits"), 0);
    assert_string_equal(api_text(edit, "undone_by"), "auto");
    for (uint64_t i = 4; i < 8; i++)
        play(api, 0, i, ARMV7, "acde", 25); /* hardly ever, as it turns out */
    play(api, 0, 9, ARM64, "abcde", 120);
    run_kin(api, 0);
    assert_int_equal(families(api), 1);
}

static void a_rule_switches_it_off_and_the_preview_tells(void **state)
{
    struct api *api = *state;
    json_t *preview;

    two_parted_families(api);
    run_kin(api, 0);
    preview = api_post(api, 0, ROLE_READ, 200, "/v1/family-rules/preview",
                       "{\"kin\": {\"enabled\": false}}");
    assert_int_equal(api_i64(preview, "events_moved"), 10);
    assert_int_equal(api_i64(json_object_get(preview, "split"), "count"), 1);
    assert_int_equal(api_i64(json_object_get(preview, "affected"), "sessions"), 1);
    put_rules(api, "{\"kin\": {\"enabled\": false}}");
    run_kin(api, 0);
    assert_int_equal(families(api), 2);
    preview = api_post(api, 0, ROLE_READ, 200, "/v1/family-rules/preview", "{}");
    assert_int_equal(api_i64(json_object_get(preview, "merged"), "count"), 1);
    put_rules(api, "{}");
    run_kin(api, 0); /* the server took it back, not a person */
    assert_int_equal(families(api), 1);
    api_problem(
        api_post(api, 0, ROLE_READ, 400, "/v1/family-rules/preview", "{\"kin\": {\"enabled\": 1}}"),
        "invalid", "kin.enabled");
}

/* Merges in force and what is counted by family, without the app. */
static char *outcome(struct api *api, unsigned app)
{
    return pg_rows(api->conninfo,
                   "SELECT family, target, by_kin, lost, NULL, NULL, NULL FROM family_edit"
                   " WHERE app_id = %lld AND undone_at IS NULL UNION ALL"
                   " SELECT family, NULL, dim, value, events, n_sessions, n_installs"
                   " FROM family_count WHERE app_id = %lld AND build_id = 0"
                   " AND dim IN ('all', 'scene', 'day') ORDER BY 1, 2, 3, 4",
                   (long long)api->app[app], (long long)api->app[app]);
}

static void the_order_of_arrival_and_of_looks_does_not_matter(void **state)
{
    static const struct {
        const char *image, *chain;
        unsigned janks;
    } sessions[] = {{ARM64, "abcde", 30}, {ARMV7, "acde", 12}, {ARM64, "fghi", 14},
                    {ARMV7, "ghi", 3},    {ARMV7, "acde", 3},  {ARM64, "uvwxy", 16},
                    {ARMV7, "uxy", 2},    {ARMV7, "uvwxy", 6}};
    enum { SESSIONS = sizeof sessions / sizeof *sessions };
    struct api *api = *state;
    char *one, *other;

    for (size_t i = 0; i < SESSIONS; i++) {
        play(api, 0, 10 + i, sessions[i].image, sessions[i].chain, sessions[i].janks);
        run_kin(api, 0);
    }
    for (size_t i = SESSIONS; i-- > 0;)
        play(api, 1, 10 + i, sessions[i].image, sessions[i].chain, sessions[i].janks);
    run_kin(api, 1);
    one = outcome(api, 0);
    other = outcome(api, 1);
    assert_string_equal(one, other);
    assert_non_null(strstr(one, "lost"));
    free(one);
    free(other);
}

/* 600 stacks of 250 long frames each, as whoever has an ingest key can post them. */
static void put_huge_stacks(struct api *api)
{
    pg_sql(api->conninfo,
           "WITH n AS (SELECT n, 'com.' || repeat('Abcdefgh' || n || '.', 18) || 'run' AS text "
           "FROM generate_series(1, 250) n), "
           "f AS (SELECT jsonb_agg(jsonb_build_object('text', text)) AS frames, "
           "jsonb_agg(jsonb_build_object('frame', n - 1, 'status', 'managed', 'function', text)) "
           "AS symbols FROM n), "
           "i AS (SELECT jsonb_build_object('hash', '\\x' || md5(n::text)) AS hash "
           "FROM generate_series(1, 600) n), "
           "a AS (INSERT INTO stack SELECT (jsonb_populate_record(s, i.hash || to_jsonb(f))).* "
           "FROM (SELECT s AS s FROM stack s LIMIT 1) x, i, f), "
           "b AS (INSERT INTO stack_total SELECT (jsonb_populate_record(t, i.hash)).* "
           "FROM (SELECT t AS t FROM stack_total t LIMIT 1) x, i) "
           "INSERT INTO stack_family SELECT (jsonb_populate_record(t, i.hash)).* "
           "FROM (SELECT t AS t FROM stack_family t LIMIT 1) x, i");
}

static void huge_stacks_stop_neither_kin_nor_previews(void **state)
{
    struct api *api = *state;
    json_t *preview;

    play(api, 0, 1, ARM64, "abc", 3);
    settle(api);
    put_huge_stacks(api);
    preview = api_post(api, 0, ROLE_READ, 200, "/v1/family-rules/preview", "{\"depth\": 2}");
    assert_int_equal(api_i64(preview, "stacks"), 601);
    assert_true(json_is_true(json_object_get(preview, "complete")));
    api_post(api, 0, ROLE_ADMIN, 202, "/v1/schedule/kin", "");
    settle(api);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        T(what_a_compiler_parted_is_merged_and_told),
        T(what_a_person_undid_is_not_merged_again),
        T(what_holds_no_longer_is_taken_back),
        T(a_rule_switches_it_off_and_the_preview_tells),
        T(the_order_of_arrival_and_of_looks_does_not_matter),
        T(huge_stacks_stop_neither_kin_nor_previews),
    };
#undef T

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
