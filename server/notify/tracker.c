#include "server/notify/tracker.h"

#include "server/notify/markup.h"
#include "server/notify/text.h"

#include <string.h>

#define TEXT_CAP ((size_t)2 << 20)
#define CUT_BYTES 32 /* what cutting adds */

const struct tracker *tracker_of(enum channel_kind kind)
{
    switch (kind) {
    case CHANNEL_GITLAB:
        return &gitlab_tracker;
    case CHANNEL_GITHUB:
        return &github_tracker;
    case CHANNEL_JIRA:
        return &jira_tracker;
    case CHANNEL_TAPD:
        return &tapd_tracker;
    case CHANNEL_TICKET_WEBHOOK:
        return &ticket_webhook_tracker;
    default:
        return NULL;
    }
}

bool tracker_send(struct sending *s, const struct tracker_call *call, json_t **json,
                  struct outcome *out)
{
    struct http_request r = {
        .method = call->method, .url = call->url, .user = call->user, .password = call->password};
    struct http_answer answer;

    if (call->tree) {
        r.body = send_body(s, call->tree);
        r.content_type = "application/json";
    } else if (call->form) {
        r.body = call->form;
        r.content_type = "application/x-www-form-urlencoded";
    }
    memcpy(r.headers, call->headers, sizeof r.headers);
    *out = (struct outcome){.result = SEND_OK};
    if (!r.url || arena_full(s->mem))
        return outcome_later(out, "no memory for the request");
    return json ? send_for_json(s, &r, &answer, json, out) : send_request(s, &r, &answer, out);
}

const char *tracker_text(struct sending *s, const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    const char *text = NULL;

    if (json_is_integer(v))
        text = send_printf(s, "%lld", (long long)json_integer_value(v));
    else if (json_is_string(v))
        text = text_cut(s->mem, json_string_value(v), TEXT_CAP);
    return text ? text : "";
}

bool tracker_odd(struct outcome *out, const char *what)
{
    out->maybe_done = true;
    return outcome_later(out, "the answer lacks %s", what);
}

const char *tracker_below(const char *text, const char *marker)
{
    const char *at = text ? strstr(text, marker) : NULL;

    return at ? at + strcspn(at, "\n") : "";
}

const char *tracker_escape(struct sending *s, const char *text)
{
    const char *out;
    struct buf b;

    buf_init(&b, 8192);
    put_url(&b, text);
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : "";
}

/* Whether a fenced block is open at the end of text. */
static bool in_fence(const char *text)
{
    bool open = strncmp(text, "```", 3) == 0;

    for (const char *at = text; (at = strstr(at, "\n```")) != NULL; at += 4)
        open = !open;
    return open;
}

/* The beginning and the last line, which holds the marker. */
static const char *shortened(struct sending *s, const char *markdown, size_t limit)
{
    const char *last = strrchr(markdown, '\n'), *head, *out;
    struct buf b;

    if (strlen(markdown) <= limit)
        return markdown;
    last = last && strlen(last) < limit / 2 ? last : "";
    head = text_cut(s->mem, markdown, limit - strlen(last) - CUT_BYTES);
    if (!head)
        return "";
    buf_init(&b, TEXT_CAP);
    buf_printf(&b, "%s%s\n\n(cut)\n%s", head, in_fence(head) ? "\n```" : "", last);
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : "";
}

const char *tracker_form(struct sending *s, const char *markdown, enum tracker_form form,
                         size_t limit)
{
    const char *text = shortened(s, markdown, limit), *out;
    struct buf b;

    if (form == FORM_MARKDOWN)
        return text;
    buf_init(&b, TEXT_CAP);
    if (form == FORM_GITLAB)
        put_without_commands(&b, text);
    else
        put_markup(&b, text, form == FORM_WIKI ? MARKUP_WIKI : MARKUP_HTML);
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : "";
}

const char *tracker_body(struct sending *s, const struct ticket_text *t, enum tracker_form form,
                         size_t limit)
{
    const char *body = tracker_form(s, t->body, form, limit), *out;
    struct buf b;

    if (!t->below || !*t->below)
        return body;
    buf_init(&b, TEXT_CAP);
    buf_text(&b, body);
    buf_text(&b, t->below);
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : body;
}
