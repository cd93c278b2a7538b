/* Prometheus' Alertmanager, API v2. An alert there is its labels; it is over when its endsAt is
 * past, so one that goes on is sent again before that. */
#include "server/notify/driver.h"
#include "server/notify/text.h"

#include <string.h>

#define RESEND_S 60
#define EXPIRY_RESENDS 5 /* it outlives so many repetitions that fail */

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text && *text) /* an empty label is none */
        json_object_set_new(object, name, json_string(text));
}

/* What makes an alert the same one there: nothing in it may change while it is open. */
static json_t *labels_of(struct sending *s, const struct telling *t, const json_t *body)
{
    static const char *const names[] = {"build", "baseline", "tier", "scene", "metric", "severity"};
    const json_t *more = channel_tree(s->channel, "labels");
    json_t *labels = json_object(), *v;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)more, name, v) json_object_set(labels, name, v);
    set_text(labels, "alertname",
             strcmp(t->kind, "test") == 0 ? "FramewatchTest" : "FramewatchRegression");
    set_text(labels, "app", s->channel->app);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        set_text(labels, names[i], body_member(body, names[i]));
    return labels;
}

static json_t *annotations_of(struct sending *s, const struct telling *t)
{
    struct message m;
    json_t *annotations = json_object();

    if (!message_read(s, t->kind, t->body, &m))
        return annotations;
    set_text(annotations, "summary",
             strcmp(t->kind, "alert") == 0 ? body_member(t->body, "summary") : m.title);
    set_text(annotations, "description", m.detail);
    for (size_t i = 0; i < m.n_facts; i++) {
        if (strcmp(m.facts[i].name, "Change") == 0)
            set_text(annotations, "change", m.facts[i].value);
        if (strcmp(m.facts[i].name, "Sessions") == 0)
            set_text(annotations, "sessions", m.facts[i].value);
    }
    set_text(annotations, "url", m.url);
    return annotations;
}

static json_t *alert(struct sending *s, const struct telling *t, json_t *labels, int64_t ends_us)
{
    const char *url = body_member(t->body, "url");
    int64_t starts_us = json_integer_value(json_object_get(t->body, "starts_at_us"));
    json_t *out;

    if (starts_us <= 0 || starts_us > s->now_us)
        starts_us = s->now_us;
    if (ends_us < starts_us) /* Alertmanager refuses it */
        ends_us = starts_us;
    out = json_pack("{s:o, s:o, s:s, s:s}", "labels", labels, "annotations", annotations_of(s, t),
                    "startsAt", send_time(s, starts_us), "endsAt", send_time(s, ends_us));
    if (strncmp(url, "http", 4) == 0 && !strpbrk(url, " \"<>\\^`{|}"))
        json_object_set_new(out, "generatorURL", json_string(url));
    return out;
}

static bool is_over(const struct telling *t)
{
    const char *state = body_member(t->body, "state");

    return strcmp(state, "resolved") == 0 || strcmp(state, "silenced") == 0;
}

/* When it ends: the moment it was over, or after some repetitions. */
static int64_t ends_at(const struct sending *s, const struct telling *t, int64_t resend_s)
{
    int64_t ends_us = json_integer_value(json_object_get(t->body, "ends_at_us"));

    if (strcmp(t->kind, "test") == 0)
        return s->now_us + 60 * (int64_t)1000000;
    if (!is_over(t))
        return s->now_us + resend_s * EXPIRY_RESENDS * 1000000;
    return ends_us > 0 && ends_us < s->now_us ? ends_us : s->now_us;
}

void alertmanager_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    const char *token = channel_secret(s->channel, "token"),
               *password = channel_secret(s->channel, "password");
    int64_t resend_s = channel_number(s->channel, "resend_s", RESEND_S);
    json_t *labels = labels_of(s, t, t->body), *before = t->told ? labels_of(s, t, t->told) : NULL,
           *alerts = json_array();
    struct http_request r = {.method = "POST", .content_type = "application/json"};
    struct http_answer answer;

    *out = (struct outcome){.result = SEND_OK};
    /* Its labels changed (severity, baseline): for Alertmanager that is another alert. */
    if (before && !json_equal(before, labels))
        json_array_append_new(alerts, alert(s, t, json_incref(before), s->now_us));
    json_decref(before);
    json_array_append_new(alerts, alert(s, t, labels, ends_at(s, t, resend_s)));
    r.url = send_printf(s, "%s/api/v2/alerts", send_base(s));
    r.body = send_body(s, alerts);
    if (token)
        r.headers[0] = send_printf(s, "Authorization: Bearer %s", token);
    r.password = password;
    r.user = password ? channel_setting(s->channel, "username", "") : NULL;
    if (!r.url || !r.body) {
        outcome_later(out, "no memory for the message");
        return;
    }
    if (send_request(s, &r, &answer, out) && strcmp(t->kind, "alert") == 0 && !is_over(t))
        out->repeat_ms = resend_s * 1000;
}
