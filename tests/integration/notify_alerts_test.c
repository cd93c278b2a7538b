/* Alerts on their way to chats, webhooks and Alertmanager: services on loopback that check what
 * they are sent, and Debian's Alertmanager. */
#include "support/notify_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SLACK "{\"url\":\"%s/slack/services/T000/B000/slackslackslackslack\"}"
#define FEISHU "{\"url\":\"%s/feishu/open-apis/bot/v2/hook/feishufeishufeishu\"}"
#define HOOK "{\"url\":\"%s/hook/framewatch\",\"key\":\"whsec_d2ViaG9vay1rZXktd2ViaG9vay1rZXk=\"}"

static void every_chat_takes_an_alert_a_report_and_a_test(void **state)
{
    static const struct {
        const char *kind, *secrets;
    } chats[] = {
        {"slack", SLACK},
        {"feishu", "{\"url\":\"%s/feishu/open-apis/bot/v2/hook/feishufeishufeishu\",\"key\":"
                   "\"SECfeishu\"}"},
        {"dingtalk", "{\"url\":\"%s/dingtalk/robot/"
                     "send?access_token=dingdingdingding\",\"key\":\"SECdingtalk\"}"},
        {"wecom", "{\"url\":\"%s/wecom/cgi-bin/webhook/send?key=wecomwecomwecom\"}"},
        {"webhook", HOOK},
    };
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    struct notify_report r = {"report 215", 1, "Report of 2.15.0", "All is well.",
                              "https://frames.example.org/reports/215"};
    char detail[6000];
    struct err err;

    memset(detail, '<', sizeof detail - 1); /* long, and longer when escaped */
    detail[sizeof detail - 1] = '\0';
    a.detail = detail;
    for (size_t i = 0; i < sizeof chats / sizeof *chats; i++)
        notify_channel(f, chats[i].kind, "{}", chats[i].secrets);
    notify_hand_over(f, &a);
    assert_true(notify_report(f->db, f->app, &r, f->mem, &err));
    pg_sql(f->conninfo, "INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, "
                        "next_at) SELECT app_id, channel_id, 'test', 't', 1, "
                        "'{\"title\":\"Test\",\"text\":\"Test\"}', now() FROM channel");
    notify_settle(f);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM delivery WHERE state = 'sent'"), 15);
    for (size_t i = 0; i < sizeof chats / sizeof *chats; i++) {
        char path[24];

        snprintf(path, sizeof path, "/%s", i == 4 ? "hook/framewatch" : chats[i].kind);
        assert_int_equal(services_done(&f->services, "POST", path), 3);
    }
}

static void a_webhook_gets_the_alert_as_it_is(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 3, NOTIFY_UPDATED);
    json_t *asked, *data;

    notify_channel(f, "webhook", "{}", HOOK);
    notify_hand_over(f, &a);
    notify_settle(f);
    asked = services_last(&f->services, "POST", "/hook/framewatch");
    data = json_object_get(json_object_get(asked, "body"), "data");
    assert_string_equal(json_string_value(json_object_get(data, "summary")), a.summary);
    assert_string_equal(json_string_value(json_object_get(data, "state")), "updated");
    assert_int_equal(json_integer_value(json_object_get(data, "version")), 3);
    assert_float_equal(json_number_value(json_object_get(data, "change")), 0.153, 1e-9);
    json_decref(asked);
}

static void each_version_is_told_once_however_often_it_is_handed_over(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);

    notify_channel(f, "slack", "{}", SLACK);
    for (int i = 0; i < 3; i++)
        notify_hand_over(f, &a);
    notify_settle(f);
    notify_hand_over(f, &a);
    notify_settle(f);
    assert_int_equal(services_done(&f->services, "POST", "/slack"), 1);
    a = notify_sample(7, 2, NOTIFY_RESOLVED);
    notify_hand_over(f, &a);
    notify_settle(f);
    assert_int_equal(services_done(&f->services, "POST", "/slack"), 2);
}

static void of_versions_that_wait_only_the_newest_is_told(void **state)
{
    struct notify_fixture *f = *state;
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);
    json_t *asked;

    for (int v = 1; v <= 4; v++) {
        struct notify_alert a = notify_sample(7, v, v == 4 ? NOTIFY_RESOLVED : NOTIFY_UPDATED);

        notify_hand_over(f, &a);
    }
    notify_settle(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 1);
    asked = services_last(&f->services, "POST", "/hook");
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(json_object_get(asked, "body"), "data"), "version")),
                     4);
    json_decref(asked);
    assert_int_equal(pg_i64(f->conninfo,
                            "SELECT count(*) FROM delivery WHERE channel_id = %lld AND state = "
                            "'suppressed' AND next_at IS NULL",
                            (long long)c),
                     3);
}

static void filters_decide_who_hears_and_the_end_follows_the_beginning(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);

    pg_sql(f->conninfo,
           "UPDATE channel SET min_severity = 2, tiers = '{low}', metrics = '{frame_p90}'");
    a.tier = "high";
    notify_hand_over(f, &a);
    a.tier = "low";
    a.metric = "jank_rate";
    notify_hand_over(f, &a);
    a.metric = "frame_p90";
    a.severity = NOTIFY_WARN;
    notify_hand_over(f, &a);
    a.severity = NOTIFY_ALERT;
    a.state = NOTIFY_ACKNOWLEDGED;
    notify_hand_over(f, &a);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM delivery"), 0);
    a.state = NOTIFY_OPEN;
    notify_hand_over(f, &a);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM delivery"), 1);
    a.version = 2;
    a.state = NOTIFY_RESOLVED;
    a.severity = NOTIFY_INFO; /* too weak to be told of, but the alert was */
    notify_hand_over(f, &a);
    assert_int_equal(
        pg_i64(f->conninfo, "SELECT count(*) FROM delivery WHERE channel_id = %lld", (long long)c),
        2);
}

static void quiet_hours_hold_back_all_but_the_loud(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);

    notify_channel(f, "webhook", "{}", HOOK);
    /* from an hour ago until in an hour, in a zone where that is another day's time */
    pg_sql(f->conninfo,
           "UPDATE channel SET loud_severity = 2, utc_offset_min = 345, "
           "quiet_from_min = (m + 1440 - 60) %% 1440, quiet_to_min = (m + 60) %% 1440 FROM "
           "(SELECT (extract(hour FROM t) * 60 + extract(minute FROM t))::integer AS m FROM "
           "(SELECT now() AT TIME ZONE 'UTC' + interval '345 minutes' AS t) x) y");
    a.severity = NOTIFY_WARN;
    notify_hand_over(f, &a);
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 0);
    a.alert_id = 8;
    a.severity = NOTIFY_ALERT;
    notify_hand_over(f, &a);
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 1);
    notify_pass(f, 2 * 3600);
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 2);
}

static void waits_as_long_as_retry_after_says(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "slack", "{}", SLACK);

    services_post(&f->services, "/_/fault",
                  "{\"match\":\"slack\",\"mode\":\"status\",\"status\":429,\"headers\":"
                  "{\"Retry-After\":\"80000\"}}");
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "pending|429|*");
    a.alert_id = 8; /* the whole channel is held */
    notify_hand_over(f, &a);
    notify_pass(f, 70000);
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/slack"), 0);
    notify_pass(f, 20000);
    notify_settle(f);
    assert_int_equal(services_done(&f->services, "POST", "/slack"), 2);
}

static void chats_that_answer_200_with_an_error_are_understood(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t wrong =
                notify_channel(f, "feishu", "{}",
                               "{\"url\":\"%s/feishu/open-apis/bot/v2/hook/feishufeishufeishu\","
                               "\"key\":\"SECanother\"}"),
            busy =
                notify_channel(f, "dingtalk", "{}",
                               "{\"url\":\"%s/dingtalk/robot/send?access_token=dingdingdingding\","
                               "\"key\":\"SECdingtalk\"}");

    services_post(&f->services, "/_/fault",
                  "{\"match\":\"dingtalk\",\"mode\":\"status\",\"status\":200,\"body\":"
                  "{\"errcode\":130101,\"errmsg\":\"send too fast\"}}");
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, wrong, "dead|200|*19021*");
    notify_expect(f, busy, "pending|200|*130101*");
    notify_settle(f);
    notify_expect(f, busy, "sent|200|");
}

static void a_message_is_not_followed_through_redirects(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);
    json_t *log;

    services_post(&f->services, "/_/fault", "{\"match\":\"hook\",\"mode\":\"redirect\"}");
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "dead|307|*redirects*");
    log = services_get(&f->services, "/_/log");
    assert_int_equal(json_array_size(log), 1);
    json_decref(log);
}

static void an_address_out_of_reach_is_not_connected_to(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);
    json_t *log;

    f->config.reach = REACH_PRIVATE;
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "dead|0|127.0.0.1 may not be reached by http*");
    log = services_get(&f->services, "/_/log");
    assert_int_equal(json_array_size(log), 0);
    json_decref(log);
}

static void a_certificate_must_be_one_that_is_trusted(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    char base[64], ca_file[64], secrets[256];
    int64_t c;

    services_tls(&f->services, base, ca_file);
    snprintf(secrets, sizeof secrets,
             "{\"url\":\"%s/hook/framewatch\",\"key\":\"whsec_d2ViaG9vay1rZXktd2ViaG9vay1rZXk=\"}",
             base);
    c = notify_channel(f, "webhook", "{}", secrets);
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "pending|0|*certificate*");
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 0);
    f->config.ca_file = ca_file;
    notify_settle(f);
    notify_expect(f, c, "sent|200|");
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 1);
    unlink(ca_file);
}

static void what_stays_broken_is_dead_in_the_end_and_can_be_sent_again(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK), id;
    struct err err;

    f->config.max_attempts = 3;
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"hook\",\"mode\":\"status\",\"status\":503,\"times\":3}");
    notify_hand_over(f, &a);
    notify_settle(f);
    notify_expect(f, c, "dead|503|*");
    assert_int_equal(f->counts.failed, 2);
    assert_int_equal(f->counts.dead, 1);
    id = pg_i64(f->conninfo, "SELECT delivery_id FROM delivery");
    assert_true(db_exec(f->db, Q_DELIVERY_RETRY, DB_ARGS(db_i64(f->app), db_i64(id)), &err));
    notify_settle(f);
    notify_expect(f, c, "sent|200|");
}

static void messages_of_a_channel_keep_its_rate(void **state)
{
    struct notify_fixture *f = *state;

    notify_channel(f, "webhook", "{}", HOOK);
    pg_sql(f->conninfo, "UPDATE channel SET rate_per_min = 6");
    for (int i = 0; i < 12; i++) {
        struct notify_alert a = notify_sample(i, 1, NOTIFY_OPEN);

        notify_hand_over(f, &a);
    }
    for (int second = 0; second < 60; second++) {
        notify_send(f);
        notify_pass(f, 1);
    }
    /* one every ten seconds; the machine's own time passes too */
    assert_in_range(services_done(&f->services, "POST", "/hook"), 6, 12);
    assert_true(pg_i64(f->conninfo, "SELECT count(*) FROM delivery WHERE state = 'sent'") <=
                1 + pg_i64(f->conninfo,
                           "SELECT ((extract(epoch FROM max(sent_at) - min(sent_at))) / "
                           "10)::bigint FROM delivery"));
}

static void a_limit_without_an_end_is_waited_for_a_day(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);

    services_post(&f->services, "/_/fault",
                  "{\"match\":\"hook\",\"mode\":\"status\",\"status\":429,\"headers\":"
                  "{\"X-RateLimit-Remaining\":\"0\",\"X-RateLimit-Reset\":"
                  "\"9223372036854775807\"}}");
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "pending|429|*");
    notify_pass(f, 80000);
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 0);
    notify_pass(f, 8000);
    notify_settle(f);
    notify_expect(f, c, "sent|200|");
}

static void no_secret_is_ever_written_down(void **state)
{
    static const char *const secrets[] = {"slackslackslackslack",   "d2ViaG9vay1rZXktd2ViaG9v",
                                          "glpat-0123456789abcdef", "webhook-key-webhook-key",
                                          "feishufeishu",           "wk-42-key"};
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    char *rows;

    notify_channel(f, "slack", "{}", SLACK);
    notify_channel(f, "feishu", "{}", FEISHU);
    notify_channel(f, "wecom", "{}", "{\"url\":\"%s/wecom/cgi-bin/webhook/send?key=wk-42-key\"}");
    notify_channel(f, "webhook", "{}", HOOK);
    notify_tracker(f, "gitlab");
    notify_want(f, &(struct ticket_want){.key = "k", .title = "t", .body = "b"});
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"slack\",\"mode\":\"status\",\"status\":404,\"body\":"
                  "\"no slackslackslackslack here\"}");
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"gitlab\",\"mode\":\"status\",\"status\":401,\"body\":{\"message\":"
                  "\"bad token glpat-0123456789abcdef\"}}");
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"wecom\",\"mode\":\"status\",\"status\":404,\"body\":"
                  "\"no robot has wk-42-key, see http://me:wk-42-key2@docs\"}");
    /* the cut of a long message goes through the middle of it */
    services_post(&f->services, "/_/fault",
                  "{\"match\":\"/feishu\",\"mode\":\"status\",\"status\":200,\"body\":{\"code\":"
                  "19001,\"msg\":\"param invalid: incoming webhook access token invalid, the "
                  "token that was given reads: feishufeishufeishu\"}}");
    services_post(&f->services, "/_/fault", "{\"match\":\"hook\",\"mode\":\"redirect\"}");
    notify_hand_over(f, &a);
    notify_settle(f);
    rows = pg_rows(f->conninfo, "SELECT d.*, c.settings, c.target, c.name, "
                                "encode(c.secrets, 'escape') FROM delivery d JOIN channel c "
                                "USING (channel_id)");
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        assert_null(strstr(rows, secrets[i]));
        assert_null(strstr(f->log, secrets[i]));
    }
    assert_non_null(strstr(rows, "no *** here"));
    assert_non_null(strstr(rows, "bad token ***"));
    assert_non_null(strstr(rows, "no robot has ***, see http://***@docs"));
    free(rows);
}

static void another_server_secret_is_told_from_a_fault_of_the_service(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "slack", "{}", SLACK);

    f->key.bytes[0] ^= 1;
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "dead|0|*sealed with another server secret*");
}

static void a_sender_that_died_is_followed_by_another(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);

    notify_hand_over(f, &a);
    /* as it looks after a claim whose process died */
    pg_sql(f->conninfo,
           "UPDATE channel SET lease = lease + 1, lease_until = now() + interval '1 hour'");
    pg_sql(f->conninfo, "UPDATE delivery SET state = 'sending', attempts = 1, "
                        "next_at = now() + interval '1 hour'");
    notify_send(f);
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 0);
    notify_pass(f, 3601);
    notify_send(f);
    notify_expect(f, c, "sent|200|");
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 1);
}

static void a_delivery_that_ends_its_senders_is_dead_in_the_end(void **state)
{
    struct notify_fixture *f = *state;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);

    notify_hand_over(f, &a);
    pg_sql(f->conninfo, "UPDATE delivery SET state = 'sending', attempts = 20");
    notify_send(f);
    notify_expect(f, c, "dead|0|its sender ended or hung, each time");
    assert_int_equal(services_done(&f->services, "POST", "/hook"), 0);
}

static void lost_answers_of_chats_are_sent_again(void **state)
{
    static const char *const modes[] = {"cut", "act_cut", "act_huge"};
    struct notify_fixture *f = *state;
    int64_t c = notify_channel(f, "webhook", "{}", HOOK);

    for (int i = 0; i < 3; i++) {
        struct notify_alert a = notify_sample(i, 1, NOTIFY_OPEN);

        services_post(&f->services, "/_/fault", "{\"match\":\"hook\",\"mode\":\"%s\"}", modes[i]);
        notify_hand_over(f, &a);
        notify_send(f);
        notify_expect(f, c, "pending|0|?*");
        notify_settle(f);
        notify_expect(f, c, "sent|200|");
    }
}

/* Alertmanager -------------------------------------------------------------------------------- */

static const char *member(const json_t *alert, const char *group, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(alert, group), name));

    return text ? text : "";
}

static void alertmanager_hears_of_an_alert_until_it_is_over(void **state)
{
    struct notify_fixture *f = *state;
    struct alertmanager am;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    char settings[256], first[64];
    json_t *list;
    int64_t c;

    alertmanager_start(&am);
    snprintf(settings, sizeof settings,
             "{\"url\":\"%s/\",\"labels\":{\"team\":\"client\"},\"resend_s\":3600}", am.base);
    c = notify_channel(f, "alertmanager", settings, "{}");
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "sent|200|");

    list = alertmanager_alerts(&am, "active=true");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(member(json_array_get(list, 0), "labels", "alertname"),
                        "FramewatchRegression");
    assert_string_equal(member(json_array_get(list, 0), "labels", "scene"), a.scene);
    assert_string_equal(member(json_array_get(list, 0), "labels", "team"), "client");
    assert_string_equal(member(json_array_get(list, 0), "labels", "severity"), "alert");
    assert_string_equal(member(json_array_get(list, 0), "annotations", "change"),
                        "+15.3 % (+11.0 % to +19.0 %)");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "generatorURL")),
                        a.url);
    snprintf(first, sizeof first, "%s",
             json_string_value(json_object_get(json_array_get(list, 0), "endsAt")));
    json_decref(list);

    notify_pass(f, 3601); /* said again, so it ends later */
    notify_send(f);
    list = alertmanager_alerts(&am, "active=true");
    assert_int_equal(json_array_size(list), 1);
    assert_true(
        strcmp(json_string_value(json_object_get(json_array_get(list, 0), "endsAt")), first) > 0);
    json_decref(list);
    assert_int_equal(pg_i64(f->conninfo, "SELECT sends FROM delivery"), 2);

    a = notify_sample(7, 2, NOTIFY_UPDATED); /* for Alertmanager another alert in its place */
    a.severity = NOTIFY_WARN;
    notify_hand_over(f, &a);
    f->config.clock_offset_ms = 0; /* what is over must be over by Alertmanager's clock */
    pg_sql(f->conninfo, "UPDATE channel SET open_at = now()");
    notify_send(f);
    list = alertmanager_alerts(&am, "active=true");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(member(json_array_get(list, 0), "labels", "severity"), "warn");
    json_decref(list);

    a = notify_sample(7, 3, NOTIFY_RESOLVED);
    a.severity = NOTIFY_WARN;
    a.ends_at_us = a.starts_at_us;
    notify_hand_over(f, &a);
    pg_sql(f->conninfo, "UPDATE channel SET open_at = now()");
    notify_send(f);
    list = alertmanager_alerts(&am, "");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);

    notify_pass(f, 20000); /* and it is not said again */
    notify_send(f);
    list = alertmanager_alerts(&am, "");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    assert_int_equal(pg_i64(f->conninfo, "SELECT count(*) FROM delivery WHERE next_at IS NOT NULL"),
                     0);
    alertmanager_stop(&am);
}

static void alertmanager_is_told_again_after_it_was_away(void **state)
{
    struct notify_fixture *f = *state;
    struct alertmanager am;
    struct notify_alert a = notify_sample(7, 1, NOTIFY_OPEN);
    char settings[128];
    json_t *list;
    int64_t c;

    alertmanager_start(&am);
    snprintf(settings, sizeof settings, "{\"url\":\"%s\"}", am.base);
    c = notify_channel(f, "alertmanager", settings, "{}");
    alertmanager_stop(&am);
    notify_hand_over(f, &a);
    notify_send(f);
    notify_expect(f, c, "pending|0|*");
    alertmanager_start(&am); /* on another port, as a new pod would be */
    snprintf(settings, sizeof settings, "{\"url\":\"%s\"}", am.base);
    pg_sql(f->conninfo, "UPDATE channel SET settings = '%s', secrets = ''", settings);
    notify_settle(f);
    notify_expect(f, c, "sent|200|");
    list = alertmanager_alerts(&am, "active=true");
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    alertmanager_stop(&am);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, notify_setup, notify_teardown)
        T(every_chat_takes_an_alert_a_report_and_a_test),
        T(a_webhook_gets_the_alert_as_it_is),
        T(each_version_is_told_once_however_often_it_is_handed_over),
        T(of_versions_that_wait_only_the_newest_is_told),
        T(filters_decide_who_hears_and_the_end_follows_the_beginning),
        T(quiet_hours_hold_back_all_but_the_loud),
        T(waits_as_long_as_retry_after_says),
        T(chats_that_answer_200_with_an_error_are_understood),
        T(a_message_is_not_followed_through_redirects),
        T(an_address_out_of_reach_is_not_connected_to),
        T(a_certificate_must_be_one_that_is_trusted),
        T(what_stays_broken_is_dead_in_the_end_and_can_be_sent_again),
        T(messages_of_a_channel_keep_its_rate),
        T(a_limit_without_an_end_is_waited_for_a_day),
        T(no_secret_is_ever_written_down),
        T(another_server_secret_is_told_from_a_fault_of_the_service),
        T(a_sender_that_died_is_followed_by_another),
        T(a_delivery_that_ends_its_senders_is_dead_in_the_end),
        T(lost_answers_of_chats_are_sent_again),
        T(alertmanager_hears_of_an_alert_until_it_is_over),
        T(alertmanager_is_told_again_after_it_was_away),
#undef T
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
