/* Tickets of families that live on several platforms: what is told of each, when one counts as
 * gone, and what brings it back. */
#include "support/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A short session of a build, with a jank of the one family or without. */
static void play(struct api *api, const char *platform, unsigned code, bool jank)
{
    static uint64_t number = 1000;
    struct session_builder *b = sb_new(++number);
    char version[32], install[32];
    uint64_t t = 0;

    snprintf(version, sizeof version, "1.0.%u", code - 100);
    snprintf(install, sizeof install, "phone %llu", (unsigned long long)number);
    b->platform = platform;
    b->version_code = code;
    b->version_name = version;
    sb_part(b, 0, 0);
    sb_scene(b, 0, "battle", "frost");
    t = sb_steady(b, t, 60 * 5, 16667);
    if (jank) {
        uint32_t stack = sb_text_stack(b, "main", "com.studio.Level.load(Level.java:10)",
                                       "com.studio.World.enter(World.java:7)",
                                       "com.studio.Game.tick(Game.java:3)", NULL);

        sb_jank(b, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
        t = sb_frames(b, t, SB_INTERVALS(300000, 16667));
    }
    t = sb_steady(b, t, 60 * 5, 16667);
    sb_end(b, t, END_STOPPED);
    api_upload(api, 0, b, install);
    sb_free(b);
}

static void run_tickets(struct api *api)
{
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day)"
           " VALUES ('tickets', %lld, '00000000-0000-0000-0000-000000000000', %lld, CURRENT_DATE)",
           (long long)api->app[0] * 64, (long long)api->app[0]);
    api_work(api);
}

/* The family is met on Android and on iOS, each in build 101, and filed. */
static void file_on_two(struct api *api)
{
    pg_sql(api->conninfo,
           "INSERT INTO channel (app_id, name, kind, takes, rate_per_min)"
           " VALUES (%lld, 'tracker', 'ticket_webhook', 'ticket', 60)",
           (long long)api->app[0]);
    play(api, "android", 100, true);
    play(api, "android", 101, true);
    play(api, "ios", 100, true);
    play(api, "ios", 101, true);
    api_work(api);
    run_tickets(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM ticket"), 1);
}

/* A look at builds 100 and 101 of a platform. */
static void judge(struct api *api, const char *platform, int look, const char *label)
{
    pg_sql(api->conninfo,
           "INSERT INTO verdict (app_id, family, build_id, baseline_id, look, label, ratio, low,"
           " high, phi, expected, events_old, events_new, exposure_old_us, exposure_new_us)"
           " SELECT t.app_id, t.family, n.build_id, o.build_id, %d, '%s', 0.75, 0.5, 1.25, 1, 40,"
           " 40, 30, 1000000, 1000000"
           " FROM family_ticket t, build n, build o"
           " WHERE n.app_id = t.app_id AND n.platform = '%s' AND n.version_code = 101"
           " AND o.app_id = t.app_id AND o.platform = '%s' AND o.version_code = 100",
           look, label, platform, platform);
    run_tickets(api);
}

/* As the sender reads it from the tracker: closed by a person, or open again after reopening. */
static void tracker_says(struct api *api, const char *state)
{
    pg_sql(api->conninfo, "UPDATE ticket SET state = '%s', filed_episode = episode", state);
    run_tickets(api);
}

static void expect_episode(struct api *api, int64_t episode)
{
    run_tickets(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT episode FROM ticket"), episode);
}

static void expect_in(struct api *api, const char *query, const char *text, bool there)
{
    char *all = pg_rows(api->conninfo, "%s", query);

    if ((strstr(all, text) != NULL) != there)
        fail_msg("%s in: %s", there ? "missing" : "unexpected", all);
    free(all);
}

#define TEXT "SELECT wanted::json ->> 'body' FROM ticket"
#define COMMENTS "SELECT comment_id, body FROM ticket_comment ORDER BY created_at, comment_id"

static int64_t comments(struct api *api)
{
    return pg_i64(api->conninfo, "SELECT count(*) FROM ticket_comment");
}

/* Verdicts --------------------------------------------------------------------------------------
 */

static void a_platform_with_too_little_data_hides_no_other_ones_verdict(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    judge(api, "android", 1, "too_little_data");
    assert_int_equal(comments(api), 0);
    judge(api, "android", 2, "not_fixed");
    judge(api, "ios", 1, "too_little_data");
    expect_in(api, TEXT, "Verdict on android", true);
    expect_in(api, TEXT, "not fixed", true);
    expect_in(api, TEXT, "Verdict on ios", true);
    expect_in(api, TEXT, "too little data", true);
    expect_in(api, TEXT, "99.5 % interval", true);
    assert_int_equal(comments(api), 1);
    expect_in(api, COMMENTS, "Verdict on android", true);
}

static void each_platforms_verdict_is_said_once(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    judge(api, "android", 1, "improved");
    judge(api, "ios", 1, "improved"); /* the same word of builds of the same name */
    assert_int_equal(comments(api), 2);
    expect_in(api, COMMENTS, "Verdict on ios", true);
    judge(api, "ios", 2, "improved");
    run_tickets(api);
    assert_int_equal(comments(api), 2);
    judge(api, "android", 2, "fixed");
    assert_int_equal(comments(api), 3);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM ticket_comment"
                                           " WHERE comment_id LIKE 'verdict android %%: fixed'"),
                     1);
}

/* Gone and back ---------------------------------------------------------------------------------
 */

static void closed_it_comes_back_on_either_platform(void **state)
{
    static const char *const platforms[] = {"android", "ios"};
    struct api *api = *state;

    file_on_two(api);
    for (unsigned i = 0; i < 2; i++) {
        char build[64];

        tracker_says(api, "closed");
        play(api, "android", 101 + i, true); /* builds that had it when it was closed */
        play(api, "ios", 101, true);
        expect_episode(api, i);
        play(api, platforms[i], 102, true);
        expect_episode(api, i + 1);
        snprintf(build, sizeof build, "It came back in build ` 1.0.2 (102) %s `", platforms[i]);
        expect_in(api, COMMENTS, build, true);
        expect_episode(api, i + 1);
        assert_int_equal(comments(api), i + 1);
        tracker_says(api, "open");
    }
}

static void back_on_both_platforms_at_once_is_one_episode(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    tracker_says(api, "closed");
    play(api, "android", 102, true);
    play(api, "ios", 103, true);
    expect_episode(api, 1);
    assert_int_equal(comments(api), 1);
    expect_in(api, COMMENTS, "1.0.2 (102) android, 1.0.3 (103) ios", true);
}

/* The reopened ticket is open for all of them; closing it again counts from what is seen by then.
 */
static void a_reopened_ticket_is_closed_on_no_platform(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    tracker_says(api, "closed");
    play(api, "android", 102, true);
    expect_episode(api, 1);
    tracker_says(api, "open");
    play(api, "ios", 102, true);
    expect_episode(api, 1);
    tracker_says(api, "closed");
    play(api, "ios", 102, true);
    play(api, "android", 102, true);
    expect_episode(api, 1);
    play(api, "ios", 103, true);
    expect_episode(api, 2);
}

/* Closed says nothing of builds that come later, whatever their platform had before. */
static void closed_it_comes_back_on_a_platform_that_never_had_it(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    play(api, "linux", 107, false);
    tracker_says(api, "closed");
    play(api, "linux", 107, true); /* was out when it was closed */
    expect_episode(api, 0);
    play(api, "linux", 108, true);
    expect_episode(api, 1);
}

static void closed_it_comes_back_on_a_platform_that_is_new(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    tracker_says(api, "closed");
    play(api, "linux", 107, true);
    expect_episode(api, 1);
    expect_in(api, COMMENTS, "(107) linux", true);
}

static void fixed_on_one_platform_it_is_gone_on_that_one_alone(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    judge(api, "ios", 1, "not_fixed");
    judge(api, "android", 1, "fixed"); /* all sessions of 101 have it, which no later one doubles */
    play(api, "ios", 102, true);       /* was never gone there: the ticket is open for it */
    play(api, "ios", 103, true);
    expect_episode(api, 0);
    play(api, "android", 102, true);
    expect_episode(api, 0);
    for (int i = 0; i < 3; i++) /* now a quarter */
        play(api, "android", 101, false);
    expect_episode(api, 1);
    expect_in(api, COMMENTS, "It came back in build ` 1.0.2 (102) android `", true);
    expect_episode(api, 1); /* the old verdict does not say it again of what came back */
}

static void fixed_and_then_closed_it_comes_back_on_the_other_platform(void **state)
{
    struct api *api = *state;

    file_on_two(api);
    judge(api, "android", 1, "fixed");
    tracker_says(api, "closed"); /* by a person, with iOS still open */
    play(api, "ios", 101, true);
    play(api, "android", 102, true); /* not twice the share of what was judged */
    expect_episode(api, 0);
    play(api, "ios", 102, true);
    expect_episode(api, 1);
    expect_in(api, COMMENTS, "It came back in build ` 1.0.2 (102) ios `", true);
    tracker_says(api, "open");
    for (int i = 0; i < 3; i++)
        play(api, "android", 101, false);
    expect_episode(api, 2); /* what a verdict had said outlives the reopening */
    expect_in(api, COMMENTS, "It came back in build ` 1.0.2 (102) android `", true);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        T(a_platform_with_too_little_data_hides_no_other_ones_verdict),
        T(each_platforms_verdict_is_said_once),
        T(closed_it_comes_back_on_either_platform),
        T(back_on_both_platforms_at_once_is_one_episode),
        T(a_reopened_ticket_is_closed_on_no_platform),
        T(closed_it_comes_back_on_a_platform_that_never_had_it),
        T(closed_it_comes_back_on_a_platform_that_is_new),
        T(fixed_on_one_platform_it_is_gone_on_that_one_alone),
        T(fixed_and_then_closed_it_comes_back_on_the_other_platform),
    };
#undef T

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
