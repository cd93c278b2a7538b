/* A tracker without a driver here: signed messages to a webhook that files tickets itself. It tells
 * tickets apart by their key, so saying a thing twice is harmless; docs/notifications.md. */
#include "server/notify/driver.h"
#include "server/notify/tracker.h"

#include <string.h>

/* action: "put" (create or bring up to date), "reopen", "comment", "ping". What the answer says of
 * the ticket is believed: {"id", "url", "state": "open" or "closed"}, each optional. */
static bool say(struct sending *s, const char *action, const char *id, json_t *ticket,
                struct ticket_seen *seen, struct outcome *out)
{
    struct http_answer answer;
    json_t *json;
    bool ok = webhook_post(s, "ticket", id,
                           json_pack("{s:s, s:s, s:s, s:{s:s, s:o}}", "type", "ticket", "app",
                                     s->channel->app, "timestamp", send_time(s, s->now_us), "data",
                                     "action", action, "ticket", ticket),
                           &answer, out);

    if (!ok || !seen)
        return ok;
    json = json_loadb(answer.body, answer.len, 0, NULL);
    seen->id = tracker_text(s, json, "id");
    seen->url = tracker_text(s, json, "url");
    seen->word = tracker_text(s, json, "state");
    seen->closed = strcmp(seen->word, "closed") == 0;
    json_decref(json);
    return true;
}

static json_t *ticket_json(const struct ticket_text *t)
{
    json_t *out =
        json_pack("{s:s, s:s, s:s, s:s, s:O, s:s, s:I, s:I}", "key", t->key, "marker", t->marker,
                  "title", t->title, "body", t->body, "labels", t->labels, "url", t->url, "version",
                  (json_int_t)t->version, "episode", (json_int_t)t->episode);

    if (t->assignee)
        json_object_set_new(out, "assignee", json_string(t->assignee));
    return out;
}

static bool probe(struct sending *s, struct outcome *out)
{
    return say(s, "ping", send_printf(s, "ping-%lld", (long long)s->now_us), json_object(), NULL,
               out);
}

static bool find_ticket(struct sending *s, const char *marker, int64_t since_us,
                        struct ticket_seen *seen, bool *found, struct outcome *out)
{
    (void)s;
    (void)marker;
    (void)since_us;
    (void)seen;
    *out = (struct outcome){.result = SEND_OK};
    *found = false;
    return true;
}

static const char *message_id(struct sending *s, const struct ticket_text *t, const char *action)
{
    return send_printf(s, "%s.%s.%lld", t->marker, action,
                       (long long)(strcmp(action, "reopen") == 0 ? t->episode : t->version));
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    if (!say(s, "put", message_id(s, t, "put"), ticket_json(t), seen, out))
        return false;
    if (!*seen->id)
        seen->id = t->marker;
    if (!*seen->word)
        seen->word = "open";
    return true;
}

static bool update(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    (void)id;
    return say(s, "put", message_id(s, t, "put"), ticket_json(t), NULL, out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    (void)id;
    return say(s, "reopen", message_id(s, t, "reopen"), ticket_json(t), NULL, out);
}

static bool comment(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out)
{
    json_t *ticket = ticket_json(t);

    (void)id;
    json_object_set_new(ticket, "comment",
                        json_pack("{s:s, s:s}", "id", comment_marker, "body", markdown));
    return say(s, "comment", comment_marker, ticket, NULL, out);
}

const struct tracker ticket_webhook_tracker = {.probe = probe,
                                               .find = find_ticket,
                                               .create = create,
                                               .update = update,
                                               .reopen = reopen,
                                               .comment = comment};
