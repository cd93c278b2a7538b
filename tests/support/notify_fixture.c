#include "support/notify_fixture.h"

#include "server/notify/channel.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define ROUNDS_MAX 60
#define ROUND_S 120

static void keep_log(void *user, const char *line)
{
    struct notify_fixture *f = user;
    size_t n = strlen(f->log);

    snprintf(f->log + n, sizeof f->log - n, "%s\n", line);
}

/* One process for all tests of a program; it dies with it. */
static void borrow_services(struct services *out)
{
    static struct services shared;

    if (!shared.pid)
        services_start(&shared);
    else
        services_post(&shared, "/_/reset", "{}");
    *out = shared;
}

int notify_setup(void **state)
{
    struct notify_fixture *f = calloc(1, sizeof *f);
    struct err err;

    pg_test_db(f->conninfo);
    pg_sql(f->conninfo, "INSERT INTO app (name) VALUES ('game')");
    f->app = pg_i64(f->conninfo, "SELECT app_id FROM app WHERE name = 'game'");
    f->db = db_open(f->conninfo, &err);
    f->mem = arena_new((size_t)64 << 20);
    if (!f->db || !f->mem)
        fail_msg("%s", err.text);
    memset(f->key.bytes, 7, sizeof f->key.bytes);
    borrow_services(&f->services);
    f->config = notifier_config_default(f->conninfo, &f->key);
    f->config.reach = REACH_LOOPBACK;
    f->config.timeout_ms = 60000; /* only what hangs on purpose runs into it */
    f->config.log = keep_log;
    f->config.log_user = f;
    *state = f;
    return 0;
}

int notify_teardown(void **state)
{
    struct notify_fixture *f = *state;

    db_close(f->db);
    arena_free(f->mem);
    pg_drop_db(f->conninfo);
    free(f);
    return 0;
}

/* The text with its %s replaced, as a tree. */
static json_t *filled(struct notify_fixture *f, const char *text)
{
    const char *at = strstr(text, "%s");
    char whole[2048];
    json_t *tree;

    snprintf(whole, sizeof whole, "%.*s%s%s", at ? (int)(at - text) : (int)strlen(text), text,
             at ? f->services.base : "", at ? at + 2 : "");
    tree = json_loads(whole, 0, NULL);
    if (!tree)
        fail_msg("not JSON: %s", whole);
    return tree;
}

struct id_row {
    int64_t id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

int64_t notify_channel(struct notify_fixture *f, const char *kind, const char *settings,
                       const char *secrets)
{
    static const char *const states[] = {"open", "updated", "resolved"};
    enum channel_kind k = channel_kind_find(kind);
    json_t *s = filled(f, settings), *secret = filled(f, secrets);
    const char *text, *target;
    struct bytes sealed;
    struct id_row row;
    struct err err;
    char name[40];

    snprintf(name, sizeof name, "%s-%lld", kind,
             (long long)pg_i64(f->conninfo, "SELECT count(*) FROM channel"));
    if (!channel_check(k, s, secret, f->mem, &text, &target, &err) ||
        !channel_seal(&f->key, f->app, k, target, secret, f->mem, &sealed, &err) ||
        !db_one(f->db, Q_CHANNEL_CREATE,
                DB_ARGS(db_i64(f->app), db_text(name), db_text(kind),
                        db_text(channel_kind_takes(k)), db_bool(true), db_text(text),
                        db_text(target), db_bytes(sealed.at, sealed.len), db_texts(NULL, 0),
                        db_i64(0), db_texts(NULL, 0), db_texts(NULL, 0), db_texts(states, 3),
                        db_bool(true), db_i64(0), db_i64(0), db_i64(0), db_i64(3),
                        db_i64(channel_kind_rate(k))),
                &id_map, f->mem, &row, &err))
        fail_msg("%s: %s", err.field, err.text);
    json_decref(s);
    json_decref(secret);
    return row.id;
}

int64_t notify_tracker(struct notify_fixture *f, const char *kind)
{
    static const struct {
        const char *kind, *settings, *secrets;
    } all[] = {
        {"gitlab",
         "{\"url\":\"%s/gitlab\",\"project\":\"game/client\",\"labels\":[\"performance\"],"
         "\"owners\":{\"render\":\"alice\",\"ghost\":\"nobody-there\"}}",
         "{\"token\":\"glpat-0123456789abcdef\"}"},
        {"github",
         "{\"url\":\"%s/github\",\"repository\":\"game/client\",\"labels\":[\"performance\"],"
         "\"owners\":{\"render\":\"alice\",\"ghost\":\"nobody-there\"}}",
         "{\"token\":\"ghp_0123456789abcdef\"}"},
        {"jira",
         "{\"url\":\"%s/jira\",\"project\":\"GAME\",\"username\":\"bot@example.org\","
         "\"labels\":[\"performance\"],\"owners\":{\"render\":\"alice\"}}",
         "{\"token\":\"jira-token-0123456789\"}"},
        {"tapd",
         "{\"url\":\"%s/tapd\",\"workspace\":\"60498179\",\"username\":\"api-user\","
         "\"labels\":[\"performance\"],\"owners\":{\"render\":\"alice\"}}",
         "{\"password\":\"tapd-password-0123456789\"}"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].kind, kind) == 0)
            return notify_channel(f, kind, all[i].settings, all[i].secrets);
    fail_msg("no tracker %s", kind);
    return 0;
}

struct notify_alert notify_sample(int64_t id, int64_t version, enum notify_state state)
{
    return (struct notify_alert){
        .alert_id = id,
        .version = version,
        .state = state,
        .severity = NOTIFY_ALERT,
        .build = "2.15.0 (215)",
        .baseline = "2.14.0 (214)",
        .tier = "low",
        .scene = "battle/<map & \"7\">",
        .metric = "frame_p90",
        .change = 0.153,
        .change_low = 0.11,
        .change_high = 0.19,
        .n = 1234,
        .summary = "frame_p90 is 15 % worse on low-tier phones in battle/<map & \"7\">",
        .detail = "P90 41.2 ms against 35.7 ms.\n3 families explain it.",
        .url = "https://frames.example.org/alerts/7",
        .starts_at_us = (int64_t)time(NULL) * 1000000,
    };
}

void notify_hand_over(struct notify_fixture *f, const struct notify_alert *a)
{
    struct err err;

    if (!notify_alert(f->db, f->app, a, f->mem, &err))
        fail_msg("%s", err.text);
}

void notify_want(struct notify_fixture *f, const struct ticket_want *w)
{
    struct err err;

    if (!db_begin(f->db, &err) || !ticket_want(f->db, f->app, w, f->mem, &err) ||
        !db_commit(f->db, &err))
        fail_msg("%s", err.text);
}

void notify_send(struct notify_fixture *f)
{
    struct err err;

    if (!notifier_drain(&f->config, &f->counts, &err))
        fail_msg("%s", err.text);
}

void notify_pass(struct notify_fixture *f, int64_t seconds)
{
    f->config.clock_offset_ms += seconds * 1000;
}

void notify_settle(struct notify_fixture *f)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        notify_send(f);
        notify_pass(f, ROUND_S);
        if (!pg_i64(f->conninfo,
                    "SELECT count(*) FROM delivery WHERE state IN ('pending', 'sending')"))
            return;
    }
    fail_msg("something still waits: %s",
             pg_rows(f->conninfo, "SELECT kind, state, last_error FROM delivery"));
}

void notify_expect(struct notify_fixture *f, int64_t channel, const char *like)
{
    char *row =
        pg_rows(f->conninfo,
                "SELECT state, last_status, last_error FROM delivery WHERE channel_id = %lld "
                "ORDER BY delivery_id DESC LIMIT 1",
                (long long)channel);

    row[strcspn(row, "\n")] = '\0';
    if (fnmatch(like, row, 0) != 0)
        fail_msg("\"%s\" is not like \"%s\"", row, like);
    free(row);
}
