/* framewatchd killed between the tracker's answer and its own commit. The moment is made, not hit
 * by chance: the tracker holds its answer back until the test has locked the ticket's row, so that
 * the sender, when the answer comes, waits for the lock; there it is killed. */
#include "support/server.h"
#include "support/services.h"

#include "server/notify/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage {
    struct server *server;
    struct services services;
    struct db *db;
    struct arena *mem;
    const char *method, *path; /* what is waited for */
};

static void open_stage(struct stage *s, void **state)
{
    struct err err;

    *s = (struct stage){.server = server_new(SERVER_BINARY)};
    *state = s->server;
    s->server->args[0] = "--notify-reach=loopback";
    s->server->args[1] = "--notify-timeout-ms=60000";
    services_start(&s->services);
    s->db = db_open(s->server->conninfo, &err);
    s->mem = arena_new((size_t)16 << 20);
    assert_non_null(s->db);
    server_start(s->server);
}

static void close_stage(struct stage *s, void **state)
{
    db_close(s->db);
    arena_free(s->mem);
    services_stop(&s->services);
    assert_int_equal(server_stop(s->server), 0);
    server_free(s->server);
    *state = NULL;
}

static void add_channel(struct stage *s, const char *fmt)
{
    char body[1024], headers[256];
    struct answer *a;

    snprintf(body, sizeof body, fmt, s->services.base);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n", s->server->admin);
    a = server_call(s->server, "POST", "/v1/channels", headers, body, strlen(body));
    if (a->status != 201)
        fail_msg("%d %.*s", a->status, (int)a->len, (const char *)a->body);
}

static void want(struct stage *s, const char *comment)
{
    struct ticket_want w = {.key = "9f2c6a",
                            .title = "Jank",
                            .body = "body",
                            .comment_id = comment,
                            .comment = comment};
    struct err err;

    if (!ticket_want(s->db, s->server->app, &w, s->mem, &err))
        fail_msg("%s", err.text);
}

static bool was_done(void *data)
{
    struct stage *s = data;

    return services_done(&s->services, s->method, s->path) > 0;
}

static void await_done(struct stage *s, const char *method, const char *path)
{
    s->method = method;
    s->path = path;
    server_await(was_done, s, path);
}

static bool is_blocked(void *data)
{
    struct stage *s = data;

    return pg_i64(s->server->conninfo, "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                                       "current_database() AND wait_event_type = 'Lock'") > 0;
}

static bool is_sent(void *data)
{
    struct stage *s = data;

    return pg_i64(s->server->conninfo, "SELECT count(*) FROM delivery WHERE state <> 'sent'") == 0;
}

/* Lets the answer come while the row is locked, kills the server there and starts another. */
static void kill_before_commit(struct stage *s, const char *lock)
{
    struct err err;

    assert_true(db_begin(s->db, &err));
    assert_true(db_script(s->db, lock, &err));
    services_post(&s->services, "/_/release", "{}");
    server_await(is_blocked, s, "the sender at the lock");
    server_kill9(s->server);
    /* PostgreSQL would carry the statement out: it has not noticed that nobody waits for it */
    pg_sql(s->server->conninfo,
           "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE "
           "datname = current_database() AND wait_event_type = 'Lock'");
    db_rollback(s->db);
    /* what the dead sender held is free at once, instead of after minutes */
    pg_sql(s->server->conninfo, "UPDATE channel SET lease_until = NULL, open_at = now()");
    pg_sql(s->server->conninfo, "UPDATE delivery SET next_at = now() WHERE state = 'sending'");
    server_start(s->server);
    server_await(is_sent, s, "everything sent");
}

#define GITLAB                                                                                     \
    "{\"name\":\"tracker\",\"kind\":\"gitlab\",\"settings\":{\"url\":\"%s/gitlab\",\"project\":"   \
    "\"game/client\"},\"secrets\":{\"token\":\"glpat-0123456789abcdef\"}}"

static void a_death_after_the_ticket_was_filed_files_no_second_one(void **state)
{
    struct stage s;

    open_stage(&s, state);
    add_channel(&s, GITLAB);
    services_post(&s.services, "/_/fault", "{\"match\":\"POST .*issues$\",\"mode\":\"act_hold\"}");
    want(&s, "");
    await_done(&s, "POST", "/issues");
    kill_before_commit(&s, "SELECT FROM ticket FOR UPDATE");
    assert_int_equal(services_tickets(&s.services, "gitlab"), 1);
    assert_int_equal(pg_i64(s.server->conninfo,
                            "SELECT count(*) FROM ticket WHERE external_id = '1' "
                            "AND state = 'open'"),
                     1);
    close_stage(&s, state);
}

static void a_death_after_the_comment_was_posted_posts_no_second_one(void **state)
{
    struct stage s;

    open_stage(&s, state);
    add_channel(&s, GITLAB);
    services_post(&s.services, "/_/fault", "{\"match\":\"POST .*notes$\",\"mode\":\"act_hold\"}");
    want(&s, "Fixed.");
    await_done(&s, "POST", "/notes");
    kill_before_commit(&s, "SELECT FROM ticket_comment FOR UPDATE");
    assert_int_equal(services_done(&s.services, "POST", "/notes"), 1);
    assert_int_equal(services_tickets(&s.services, "gitlab"), 1);
    close_stage(&s, state);
}

/* A chat cannot be asked what it has: there it is said again, with the same id. */
static void a_death_after_a_message_was_taken_sends_it_again_with_its_id(void **state)
{
    struct notify_alert alert = {.alert_id = 7,
                                 .version = 1,
                                 .severity = NOTIFY_ALERT,
                                 .summary = "worse",
                                 .starts_at_us = 1};
    struct stage s;
    struct err err;
    json_t *log;

    open_stage(&s, state);
    add_channel(&s, "{\"name\":\"hook\",\"kind\":\"webhook\",\"secrets\":{\"url\":\"%s/hook/x\","
                    "\"key\":\"whsec_d2ViaG9vay1rZXktd2ViaG9vay1rZXk=\"}}");
    services_post(&s.services, "/_/fault", "{\"match\":\"hook\",\"mode\":\"act_hold\"}");
    assert_true(notify_alert(s.db, s.server->app, &alert, s.mem, &err));
    await_done(&s, "POST", "/hook");
    kill_before_commit(&s, "SELECT FROM delivery FOR UPDATE");
    log = services_get(&s.services, "/_/log");
    assert_int_equal(json_array_size(log), 2);
    assert_true(json_equal(
        json_object_get(json_object_get(json_array_get(log, 0), "headers"), "webhook-id"),
        json_object_get(json_object_get(json_array_get(log, 1), "headers"), "webhook-id")));
    json_decref(log);
    assert_false(server_logged(s.server, "d2ViaG9vay1rZXk"));
    close_stage(&s, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_after_the_ticket_was_filed_files_no_second_one),
        cmocka_unit_test(a_death_after_the_comment_was_posted_posts_no_second_one),
        cmocka_unit_test(a_death_after_a_message_was_taken_sends_it_again_with_its_id),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
