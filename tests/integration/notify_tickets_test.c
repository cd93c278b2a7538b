/* Tickets kept as they are wanted in bug trackers: the same story for each of them, and what breaks
 * on the way. The trackers are support/services.py. */
#include "support/notify_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PATIENCE_S 120

static const struct tracker_case {
    const char *kind, *create, *id_member, *text_member, *closed, *first_id;
} trackers[] = {
    {"gitlab", "POST /gitlab/api/v4/projects/.*/issues$", "iid", "description",
     "{\"state\":\"closed\"}", "1"},
    {"github", "POST /github/repos/game/client/issues$", "number", "body", "{\"state\":\"closed\"}",
     "1"},
    {"jira", "POST /jira/rest/api/2/issue$", "key", "description", "{\"status\":\"Done\"}",
     "GAME-1"},
    {"tapd", "POST /tapd/bugs$", "id", "description", "{\"status\":\"closed\"}",
     "1160498179001000001"},
};
#define N_TRACKERS (sizeof trackers / sizeof *trackers)

static const char *const labels[] = {"jank", "needs look"};

static struct ticket_want want(const char *body)
{
    return (struct ticket_want){.key = "9f2c6a",
                                .title = "Jank in Physics.Simulate",
                                .body = body,
                                .owner = "render",
                                .labels = labels,
                                .n_labels = 2,
                                .url = "https://frames.example.org/families/9f2c6a"};
}

/* The n-th ticket (from 0) of a tracker; the caller owns it. */
static json_t *ticket(struct notify_fixture *f, const char *tracker, size_t n)
{
    char path[64];
    json_t *all, *one;

    snprintf(path, sizeof path, "/_/items/%s", tracker);
    all = services_get(&f->services, path);
    one = json_incref(json_array_get(json_object_get(all, "items"), n));
    json_decref(all);
    if (!one)
        fail_msg("%s has no ticket %zu", tracker, n);
    return one;
}

static bool holds(struct notify_fixture *f, const char *tracker, size_t n, const char *text)
{
    json_t *t = ticket(f, tracker, n);
    char *all = json_dumps(t, JSON_COMPACT);
    bool found = strstr(all, text) != NULL;

    free(all);
    json_decref(t);
    return found;
}

static int comments(struct notify_fixture *f, const char *tracker)
{
    char path[64];
    json_t *all, *list;
    const char *key;
    int n = 0;

    snprintf(path, sizeof path, "/_/items/%s", tracker);
    all = services_get(&f->services, path);
    json_object_foreach(json_object_get(all, "comments"), key, list) n +=
        (int)json_array_size(list);
    json_decref(all);
    return n;
}

static void edit(struct notify_fixture *f, const struct tracker_case *t, const char *set)
{
    services_post(&f->services, "/_/edit", "{\"tracker\":\"%s\",\"id\":\"%s\",\"set\":%s}", t->kind,
                  t->first_id, set);
}

static void expect_state(struct notify_fixture *f, const char *state)
{
    char *row = pg_rows(f->conninfo, "SELECT state FROM ticket ORDER BY ticket_id DESC LIMIT 1");

    row[strcspn(row, "\n")] = '\0';
    assert_string_equal(row, state);
    free(row);
}

/* One ticket's life, the same in every tracker --------------------------------------------------
 */

static void life(struct notify_fixture *f, const struct tracker_case *t)
{
    struct ticket_want w = want("Seen **twelve** times.");
    int64_t c = notify_tracker(f, t->kind);

    notify_want(f, &w);
    notify_want(f, &w);
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, t->kind), 1);
    expect_state(f, "open");
    assert_true(holds(f, t->kind, 0, "Physics.Simulate"));
    assert_true(holds(f, t->kind, 0, "twelve"));
    assert_true(holds(f, t->kind, 0, "families/9f2c6a"));
    assert_true(holds(f, t->kind, 0, "performance"));
    assert_true(holds(f, t->kind, 0, "jank"));
    assert_true(holds(f, t->kind, 0, strcmp(t->kind, "gitlab") == 0 ? "[7]" : "alice"));

    w = want("Seen **thirty-four** times."); /* counts change in place */
    notify_want(f, &w);
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, t->kind), 1);
    assert_true(holds(f, t->kind, 0, "thirty-four"));
    assert_false(holds(f, t->kind, 0, "twelve"));

    w.comment_id = "verdict of 215 against 214"; /* said once, however often it is wanted */
    w.comment = "Fixed: 0.1 % to 0.01 %.";
    notify_want(f, &w);
    notify_want(f, &w);
    notify_settle(f);
    assert_int_equal(comments(f, t->kind), 1);

    edit(f, t, t->closed); /* a person closes it: it stays closed, and as it is */
    w.body = "Seen **fifty-six** times.";
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "closed");
    assert_false(holds(f, t->kind, 0, "fifty-six"));

    w.episode = 1; /* it comes back */
    w.comment_id = "episode 1";
    w.comment = "Back in 2.16.0.";
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "open");
    assert_true(holds(f, t->kind, 0, "fifty-six"));
    assert_int_equal(comments(f, t->kind), 2);
    assert_int_equal(services_tickets(&f->services, t->kind), 1);

    edit(f, t, t->closed); /* closed again: the same episode does not reopen it twice */
    w.body = "Seen **seventy-eight** times.";
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "closed");
    notify_expect(f, c, "sent|*|");
}

static void a_ticket_lives_the_same_life_in_gitlab(void **state)
{
    life(*state, &trackers[0]);
}
static void a_ticket_lives_the_same_life_in_github(void **state)
{
    life(*state, &trackers[1]);
}
static void a_ticket_lives_the_same_life_in_jira(void **state)
{
    life(*state, &trackers[2]);
}
static void a_ticket_lives_the_same_life_in_tapd(void **state)
{
    life(*state, &trackers[3]);
}

static void jira_server_speaks_another_dialect(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");
    int64_t c = notify_channel(f, "jira",
                               "{\"url\":\"%s/jira\",\"project\":\"GAME\",\"flavour\":\"server\","
                               "\"owners\":{\"render\":\"alice\"}}",
                               "{\"token\":\"jira-token-0123456789\"}");

    notify_want(f, &w);
    notify_settle(f);
    notify_expect(f, c, "sent|*|");
    assert_int_equal(services_tickets(&f->services, "jira"), 1);
    assert_true(holds(f, "jira", 0, "\"name\":\"alice\""));
}

static void wanting_the_same_again_is_no_new_version(void **state)
{
    static const char *const ids[] = {"verdict", "episode 1", ""};
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "gitlab");
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            w.comment_id = ids[i];
            w.comment = "text";
            notify_want(f, &w);
        }
    assert_int_equal(pg_i64(f->conninfo, "SELECT wanted_version FROM ticket"), 3);
    notify_settle(f);
    assert_int_equal(comments(f, "gitlab"), 2);
    for (int i = 0; i < 3; i++) {
        w.comment_id = ids[i];
        notify_want(f, &w);
    }
    assert_int_equal(pg_i64(f->conninfo, "SELECT wanted_version FROM ticket"), 3);
}

/* Answers that never came -----------------------------------------------------------------------
 */

static void lose(struct notify_fixture *f, const struct tracker_case *t, const char *mode,
                 bool lags)
{
    struct ticket_want w = want("body");
    char key[64];

    snprintf(key, sizeof key, "%s %s %d", t->kind, mode, lags);
    w.key = key;
    services_post(&f->services, "/_/set", "{\"search_lags\":%s}", lags ? "true" : "false");
    services_post(&f->services, "/_/fault", "{\"match\":\"%s\",\"mode\":\"%s\",\"status\":502}",
                  t->create, mode);
    notify_want(f, &w);
    notify_settle(f);
}

static void lose_each_way(struct notify_fixture *f, const struct tracker_case *t)
{
    static const char *const modes[] = {"act_cut",    "act_html", "act_huge",
                                        "act_status", "cut",      "status"};
    int n = 0;

    notify_tracker(f, t->kind);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        lose(f, t, modes[i], false);
        assert_int_equal(services_tickets(&f->services, t->kind), ++n);
        if (strcmp(t->kind, "jira") == 0) /* asks an index only; that is why it waits a minute */
            continue;
        lose(f, t, modes[i], true);
        assert_int_equal(services_tickets(&f->services, t->kind), ++n);
    }
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM ticket WHERE external_id <> '' AND "
                                         "state = 'open'"),
                     n);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(DISTINCT external_id) FROM ticket"), n);
}

static void a_lost_answer_files_no_second_ticket_in_gitlab(void **state)
{
    lose_each_way(*state, &trackers[0]);
}
static void a_lost_answer_files_no_second_ticket_in_github(void **state)
{
    lose_each_way(*state, &trackers[1]);
}
static void a_lost_answer_files_no_second_ticket_in_jira(void **state)
{
    lose_each_way(*state, &trackers[2]);
}
static void a_lost_answer_files_no_second_ticket_in_tapd(void **state)
{
    lose_each_way(*state, &trackers[3]);
}

/* Jira has nothing to ask but its index, which may be minutes behind. */
static void jira_s_index_may_be_minutes_behind(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "jira");
    services_post(&f->services, "/_/set", "{\"search_lags\":true}");
    services_post(&f->services, "/_/fault", "{\"match\":\"%s\",\"mode\":\"act_cut\",\"times\":1}",
                  trackers[2].create);
    notify_want(f, &w);
    for (int i = 0; i < 9; i++) { /* it was filed, its search finds nothing */
        notify_send(f);
        assert_int_equal(services_tickets(&f->services, "jira"), 1);
        notify_pass(f, 60);
    }
    assert_int_equal(pg_i64(f->conninfo,
                            "SELECT count(*) FROM delivery WHERE state = 'pending' AND "
                            "last_error LIKE '%%may have worked%%'"),
                     1);
    services_post(&f->services, "/_/set", "{\"search_lags\":false}");
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, "jira"), 1);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM ticket WHERE state = 'open' AND "
                                         "external_id = 'GAME-1'"),
                     1);
}

/* An attempt that was lost on the way, or refused, is repeated all the same. */
static void jira_s_index_that_stays_silent_is_believed_in_the_end(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "jira");
    services_post(&f->services, "/_/set", "{\"search_lags\":true}");
    services_post(&f->services, "/_/fault", "{\"match\":\"%s\",\"mode\":\"cut\",\"times\":1}",
                  trackers[2].create);
    notify_want(f, &w);
    notify_send(f);
    notify_pass(f, 120);
    notify_send(f);
    assert_int_equal(services_tickets(&f->services, "jira"), 0);
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, "jira"), 1);

    /* a refusal is no doubt: nothing to wait for */
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"%s\",\"mode\":\"status\",\"status\":429,\"times\":1}",
                  trackers[2].create);
    w.key = "another";
    notify_want(f, &w);
    notify_send(f);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM ticket WHERE key = 'another' AND "
                                         "create_tried_at IS NULL"),
                     1);
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, "jira"), 2);
}

/* The tracker takes the ticket and then says nothing, for ever. */
static void a_tracker_that_hangs_after_it_filed_gets_no_second_ticket(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "gitlab");
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"POST .*/issues$\",\"mode\":\"act_hang\",\"times\":1}");
    notify_want(f, &w);
    f->config.max_attempts = 1000;
    /* longer and longer: on a slow machine the requests before it run into it as well */
    for (int i = 1; i < 120 && services_tickets(&f->services, "gitlab") == 0; i++) {
        f->config.timeout_ms = i * 500;
        notify_send(f);
        notify_pass(f, 4000);
    }
    assert_int_equal(services_tickets(&f->services, "gitlab"), 1);
    f->config.timeout_ms = 60000;
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, "gitlab"), 1);
    expect_state(f, "open");
}

static void a_comment_whose_answer_was_lost_is_said_once(void **state)
{
    struct notify_fixture *f = *state;

    for (size_t i = 0; i < N_TRACKERS; i++) {
        struct ticket_want w = want("body");

        notify_tracker(f, trackers[i].kind);
        services_post(&f->services, "/_/fault",
                      "{\"match\":\"POST /%s/.*(notes|comments?)$\",\"mode\":\"act_cut\"}",
                      trackers[i].kind);
        w.comment_id = "verdict";
        w.comment = "Not fixed.";
        notify_want(f, &w);
        notify_settle(f);
        assert_int_equal(comments(f, trackers[i].kind), 1);
        assert_int_equal(services_tickets(&f->services, trackers[i].kind), 1);
    }
}

static void a_reopening_whose_answer_was_lost_is_not_repeated_after_a_person_closed(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "github");
    notify_want(f, &w);
    notify_settle(f);
    edit(f, &trackers[1], trackers[1].closed);
    services_post(&f->services, "/_/fault", "{\"match\":\"PATCH\",\"mode\":\"act_cut\"}");
    w.episode = 1;
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "open");
    edit(f, &trackers[1], trackers[1].closed);
    w.body = "another";
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "closed");
}

/* Its comment is not said yet; but who asks whether a person closed it again must not hear yes. */
static void a_reopened_ticket_is_open_though_its_comment_failed(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");

    notify_tracker(f, "github");
    notify_want(f, &w);
    notify_settle(f);
    edit(f, &trackers[1], trackers[1].closed);
    w.body = "other numbers";
    notify_want(f, &w);
    notify_settle(f);
    expect_state(f, "closed");
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"POST .*/comments$\",\"mode\":\"status\",\"status\":502}");
    w.episode = 1;
    w.comment_id = "episode 1";
    w.comment = "Back.";
    notify_want(f, &w);
    notify_send(f);
    assert_int_equal(comments(f, "github"), 0);
    assert_int_equal(pg_i64(f->conninfo, "SELECT filed_episode FROM ticket"), 1);
    expect_state(f, "open");
}

/* People ----------------------------------------------------------------------------------------
 */

static void a_deleted_ticket_is_filed_anew_only_when_the_family_comes_back(void **state)
{
    struct notify_fixture *f = *state;

    for (size_t i = 0; i < N_TRACKERS; i++) {
        const struct tracker_case *t = &trackers[i];
        struct ticket_want w = want("body");

        notify_tracker(f, t->kind);
        notify_want(f, &w);
        notify_settle(f);
        services_post(&f->services, "/_/edit", "{\"tracker\":\"%s\",\"id\":\"%s\",\"delete\":true}",
                      t->kind, t->first_id);
        w.body = "other numbers";
        notify_want(f, &w);
        notify_settle(f);
        expect_state(f, "gone");
        assert_int_equal(services_tickets(&f->services, t->kind), 0);
        w.body = "yet others";
        notify_want(f, &w);
        notify_settle(f);
        assert_int_equal(services_tickets(&f->services, t->kind), 0);
        w.episode = 1;
        notify_want(f, &w);
        notify_settle(f);
        expect_state(f, "open");
        assert_int_equal(services_tickets(&f->services, t->kind), 1);
        pg_sql(f->conninfo, "UPDATE channel SET enabled = false");
    }
}

static void what_people_wrote_below_the_line_stays(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("Seen 12 times.");
    json_t *t;
    char text[4096];

    notify_tracker(f, "github");
    notify_want(f, &w);
    notify_settle(f);
    t = ticket(f, "github", 0);
    snprintf(text, sizeof text, "%s\n\nBut not on my phone.",
             json_string_value(json_object_get(t, "body")));
    json_object_set_new(t, "body", json_string(text));
    json_decref(t);
    {
        json_t *set =
            json_pack("{s:s, s:s, s:{s:s}}", "tracker", "github", "id", "1", "set", "body", text);
        char *body = json_dumps(set, JSON_COMPACT);

        services_post(&f->services, "/_/edit", "%s", body);
        free(body);
        json_decref(set);
    }
    w.body = "Seen 34 times.";
    notify_want(f, &w);
    notify_settle(f);
    assert_true(holds(f, "github", 0, "Seen 34"));
    assert_false(holds(f, "github", 0, "Seen 12"));
    assert_true(holds(f, "github", 0, "But not on my phone."));
}

static void the_state_is_read_back_without_anything_being_wanted(void **state)
{
    struct notify_fixture *f = *state;

    for (size_t i = 0; i < N_TRACKERS; i++) {
        struct ticket_want w = want("body");

        notify_tracker(f, trackers[i].kind);
        notify_want(f, &w);
        notify_settle(f);
        edit(f, &trackers[i], trackers[i].closed);
        notify_pass(f, 3700);
        notify_send(f);
        notify_pass(f, 10);
        notify_send(f);
        expect_state(f, "closed");
        pg_sql(f->conninfo, "UPDATE channel SET enabled = false");
    }
    assert_true(f->counts.looks >= (int64_t)N_TRACKERS);
}

static void an_owner_nobody_knows_there_does_not_keep_it_from_being_filed(void **state)
{
    struct notify_fixture *f = *state;
    static const char *const kinds[] = {"gitlab", "github"};

    for (size_t i = 0; i < 2; i++) {
        struct ticket_want w = want("body");

        w.owner = "ghost";
        notify_tracker(f, kinds[i]);
        notify_want(f, &w);
        notify_settle(f);
        assert_int_equal(services_tickets(&f->services, kinds[i]), 1);
    }
}

/* Limits and faults -------------------------------------------------------------------------------
 */

static void a_ticket_that_is_too_long_is_cut_and_keeps_its_marker(void **state)
{
    struct notify_fixture *f = *state;
    char *body = malloc(250001);

    for (size_t i = 0; i < 250000; i++)
        body[i] = "```\nframe 帧\n"[i % 15];
    body[250000] = '\0';
    for (size_t i = 0; i < N_TRACKERS; i++) {
        struct ticket_want w = want(body);

        notify_tracker(f, trackers[i].kind);
        notify_want(f, &w);
        notify_settle(f);
        expect_state(f, "open");
        assert_true(holds(f, trackers[i].kind, 0, "framewatch-"));
    }
    free(body);
}

static void a_rate_limit_of_github_is_waited_for(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");
    int64_t c = notify_tracker(f, "github"),
            reset = pg_i64(f->conninfo, "SELECT extract(epoch FROM now())::bigint + 36000");

    services_post(&f->services, "/_/fault",
                  "{\"match\":\"search\",\"mode\":\"status\",\"status\":403,\"headers\":"
                  "{\"X-RateLimit-Remaining\":\"0\",\"X-RateLimit-Reset\":\"%lld\"},\"body\":"
                  "{\"message\":\"API rate limit exceeded\"}}",
                  (long long)reset);
    notify_want(f, &w);
    notify_send(f);
    notify_expect(f, c, "pending|403|403: API rate limit exceeded");
    notify_pass(f, 30000);
    notify_send(f);
    assert_int_equal(services_tickets(&f->services, "github"), 0);
    notify_pass(f, 10000);
    notify_settle(f);
    assert_int_equal(services_tickets(&f->services, "github"), 1);
}

static void a_wrong_token_is_dead_and_says_so(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");
    int64_t c = notify_channel(f, "gitlab", "{\"url\":\"%s/gitlab\",\"project\":\"game/client\"}",
                               "{\"token\":\"glpat-wrong-wrong\"}");

    notify_want(f, &w);
    notify_send(f);
    notify_expect(f, c, "dead|401|401: 401 Unauthorized");
}

static void a_project_out_of_reach_is_not_taken_for_deleted_tickets(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");
    int64_t c = notify_tracker(f, "gitlab");

    notify_want(f, &w);
    notify_settle(f);
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"GET\",\"mode\":\"status\",\"status\":404,\"times\":2,\"body\":"
                  "{\"message\":\"404 Project Not Found\"}}");
    w.body = "other";
    notify_want(f, &w);
    notify_send(f);
    notify_expect(f, c, "dead|404|*");
    expect_state(f, "open");
}

static void a_test_of_a_tracker_files_nothing(void **state)
{
    struct notify_fixture *f = *state;

    for (size_t i = 0; i < N_TRACKERS; i++) {
        int64_t c = notify_tracker(f, trackers[i].kind);

        pg_sql(f->conninfo,
               "INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, next_at) "
               "VALUES (%lld, %lld, 'test', 't', 1, '{}', now())",
               (long long)f->app, (long long)c);
        notify_settle(f);
        notify_expect(f, c, "sent|200|");
        assert_int_equal(services_tickets(&f->services, trackers[i].kind), 0);
    }
}

static void a_webhook_for_tickets_hears_what_to_do(void **state)
{
    struct notify_fixture *f = *state;
    struct ticket_want w = want("body");
    int64_t c = notify_channel(f, "ticket_webhook", "{}",
                               "{\"url\":\"%s/hook/tickets\",\"key\":"
                               "\"whsec_d2ViaG9vay1rZXktd2ViaG9vay1rZXk=\"}");
    json_t *asked;

    notify_want(f, &w);
    notify_settle(f);
    notify_expect(f, c, "sent|200|");
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM ticket WHERE external_id = 'EXT-1'"),
                     1);
    w.episode = 1;
    w.comment_id = "back";
    w.comment = "It is back.";
    notify_want(f, &w);
    notify_settle(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook/tickets"), 3);
    asked = services_last(&f->services, "POST", "/hook/tickets");
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_object_get(asked, "body"), "data"), "action")),
                        "comment");
    json_decref(asked);
}

/* What a webhook says is a ticket's page becomes no link. */
static void is_no_link(struct notify_fixture *f, const char *url)
{
    struct ticket_want w = want("body");
    char fault[512];

    notify_channel(f, "ticket_webhook", "{}",
                   "{\"url\":\"%s/hook/tickets\",\"key\":"
                   "\"whsec_d2ViaG9vay1rZXktd2ViaG9vay1rZXk=\"}");
    snprintf(fault, sizeof fault,
             "{\"match\":\"hook\",\"mode\":\"status\",\"status\":200,\"body\":"
             "{\"id\":\"EXT-1\",\"url\":\"%s\",\"state\":\"open\"}}",
             url);
    services_post(&f->services, "/_/fault", "%s", fault);
    notify_want(f, &w);
    notify_settle(f);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM ticket WHERE external_id = 'EXT-1' "
                                         "AND url = ''"),
                     1);
}

static void only_a_page_of_the_web_becomes_a_tickets_link(void **state)
{
    is_no_link(*state, "javascript:alert(1)");
}

static void a_page_with_a_password_becomes_no_link(void **state)
{
    is_no_link(*state, "https://me:pw-secret@tickets.example.org/1");
}

static void two_senders_file_one_ticket(void **state)
{
    struct notify_fixture *f = *state;
    struct notifier *a, *b;
    struct err err;

    notify_tracker(f, "gitlab");
    pg_sql(f->conninfo, "UPDATE channel SET rate_per_min = 6000");
    for (int i = 0; i < 20; i++) {
        struct ticket_want w = want("body");
        char key[16];

        snprintf(key, sizeof key, "key %d", i);
        w.key = key;
        notify_want(f, &w);
    }
    f->config.poll_ms = 5;
    f->config.log = NULL; /* the fixture's is of one thread */
    a = notifier_start(&f->config, &err);
    b = notifier_start(&f->config, &err);
    assert_non_null(a);
    assert_non_null(b);
    for (time_t end = time(NULL) + PATIENCE_S; time(NULL) < end; notifier_wake(a))
        if (pg_i64(f->conninfo, "SELECT count(*) FROM delivery WHERE state = 'sent'") == 20)
            break;
    notifier_stop(a);
    notifier_stop(b);
    assert_int_equal(services_tickets(&f->services, "gitlab"), 20);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(DISTINCT external_id) FROM ticket"), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, notify_setup, notify_teardown)
        T(a_ticket_lives_the_same_life_in_gitlab),
        T(a_ticket_lives_the_same_life_in_github),
        T(a_ticket_lives_the_same_life_in_jira),
        T(a_ticket_lives_the_same_life_in_tapd),
        T(jira_server_speaks_another_dialect),
        T(wanting_the_same_again_is_no_new_version),
        T(a_lost_answer_files_no_second_ticket_in_gitlab),
        T(a_lost_answer_files_no_second_ticket_in_github),
        T(a_lost_answer_files_no_second_ticket_in_jira),
        T(a_lost_answer_files_no_second_ticket_in_tapd),
        T(jira_s_index_may_be_minutes_behind),
        T(jira_s_index_that_stays_silent_is_believed_in_the_end),
        T(a_tracker_that_hangs_after_it_filed_gets_no_second_ticket),
        T(a_comment_whose_answer_was_lost_is_said_once),
        T(a_reopening_whose_answer_was_lost_is_not_repeated_after_a_person_closed),
        T(a_reopened_ticket_is_open_though_its_comment_failed),
        T(a_deleted_ticket_is_filed_anew_only_when_the_family_comes_back),
        T(what_people_wrote_below_the_line_stays),
        T(the_state_is_read_back_without_anything_being_wanted),
        T(an_owner_nobody_knows_there_does_not_keep_it_from_being_filed),
        T(a_ticket_that_is_too_long_is_cut_and_keeps_its_marker),
        T(a_rate_limit_of_github_is_waited_for),
        T(a_wrong_token_is_dead_and_says_so),
        T(a_project_out_of_reach_is_not_taken_for_deleted_tickets),
        T(a_test_of_a_tracker_files_nothing),
        T(a_webhook_for_tickets_hears_what_to_do),
        T(only_a_page_of_the_web_becomes_a_tickets_link),
        T(a_page_with_a_password_becomes_no_link),
        T(two_senders_file_one_ticket),
#undef T
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
