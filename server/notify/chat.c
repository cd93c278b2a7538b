/* Slack, Feishu, DingTalk, WeCom: a message as each wants it, and what its answer means. */
#include "server/notify/driver.h"
#include "server/notify/sign.h"
#include "server/notify/text.h"

#include <string.h>

#define SLACK_HEADER_MAX 150
#define SLACK_TEXT_MAX 2800
#define FEISHU_TEXT_MAX 8000   /* a card has 30 KB at most */
#define MARKDOWN_TEXT_MAX 2900 /* WeCom takes 4,096 bytes in all */
#define LINK_MAX 500
#define TEXT_CAP 65536

typedef void (*put_fn)(struct buf *b, const char *text);

/* A text of the message through one escape, cut before it is escaped. */
static const char *escaped(struct sending *s, const char *text, size_t limit, put_fn put)
{
    const char *cut = text_cut(s->mem, text, limit), *out;
    struct buf b;

    buf_init(&b, TEXT_CAP);
    if (cut)
        put(&b, cut);
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : "";
}

static bool is_link(const char *url)
{
    return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
}

static bool read_or_refuse(struct sending *s, const struct telling *t, struct message *m,
                           struct outcome *out)
{
    *out = (struct outcome){.result = SEND_OK};
    return message_read(s, t->kind, t->body, m) || outcome_later(out, "no memory for the message");
}

static bool post(struct sending *s, const char *url, json_t *tree, struct http_answer *answer,
                 struct outcome *out)
{
    struct http_request r = {.method = "POST",
                             .url = url,
                             .body = send_body(s, tree),
                             .content_type = "application/json; charset=utf-8"};

    if (!r.body || !r.url)
        return outcome_later(out, "no memory for the message");
    return send_request(s, &r, answer, out);
}

/* Slack --------------------------------------------------------------------------------------- */

static json_t *slack_blocks(struct sending *s, const struct message *m)
{
    json_t *blocks = json_array(), *fields = json_array();

    json_array_append_new(blocks,
                          json_pack("{s:s, s:{s:s, s:s, s:b}}", "type", "header", "text", "type",
                                    "plain_text", "text",
                                    text_line(s->mem, m->title, SLACK_HEADER_MAX), "emoji", 0));
    for (size_t i = 0; i < m->n_facts; i++)
        json_array_append_new(
            fields, json_pack("{s:s, s:s}", "type", "mrkdwn", "text",
                              send_printf(s, "*%s*\n%s", m->facts[i].name,
                                          escaped(s, m->facts[i].value, 300, put_escaped))));
    json_array_append_new(blocks, json_pack("{s:s, s:o}", "type", "section", "fields", fields));
    if (*m->detail)
        json_array_append_new(
            blocks, json_pack("{s:s, s:{s:s, s:s}}", "type", "section", "text", "type", "mrkdwn",
                              "text", escaped(s, m->detail, SLACK_TEXT_MAX, put_escaped)));
    if (is_link(m->url))
        json_array_append_new(blocks,
                              json_pack("{s:s, s:[{s:s, s:{s:s, s:s}, s:s}]}", "type", "actions",
                                        "elements", "type", "button", "text", "type", "plain_text",
                                        "text", "Open", "url", m->url));
    return blocks;
}

void slack_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    struct message m;
    struct http_answer answer;

    if (read_or_refuse(s, t, &m, out))
        post(s, channel_secret(s->channel, "url"),
             json_pack("{s:s, s:o}", "text", escaped(s, m.title, SLACK_TEXT_MAX, put_escaped),
                       "blocks", slack_blocks(s, &m)),
             &answer, out);
}

/* Services that answer 200 to everything and say the rest in a number ----------------------------
 */

struct verdict_codes {
    const char *code, *message; /* members of the answer */
    json_int_t busy[4];         /* "too many messages" */
    int64_t busy_ms;            /* then nothing is heard for so long */
};

/* The answer's number: 0 is success. */
static void judge_code(struct sending *s, const struct http_answer *a,
                       const struct verdict_codes *codes, struct outcome *out)
{
    json_t *json = json_loadb(a->body, a->len, 0, NULL);
    const json_t *code = json_object_get(json, codes->code);
    const char *message = json_string_value(json_object_get(json, codes->message));
    json_int_t n = json_integer_value(code);

    if (!json_is_integer(code)) {
        outcome_later(out, "%d: the answer is not what the service gives", a->status);
    } else if (n != 0) {
        /* before it is cut: half a secret is not found */
        message = channel_redact(s->channel, message ? message : "", s->mem);
        outcome_say(s, a, send_printf(s, "%lld %.100s", (long long)n, message), out);
        out->result = SEND_REFUSED;
        for (size_t i = 0; i < 4; i++)
            if (codes->busy[i] && codes->busy[i] == n) {
                out->result = SEND_LATER;
                out->wait_ms = codes->busy_ms;
                out->channel_down = true;
            }
    }
    json_decref(json);
}

/* Feishu -------------------------------------------------------------------------------------- */

static const char *facts_text(struct sending *s, const struct message *m, const char *bold,
                              const char *end, put_fn put, size_t limit)
{
    const char *out;
    struct buf b;

    buf_init(&b, TEXT_CAP);
    for (size_t i = 0; i < m->n_facts; i++) {
        buf_printf(&b, "%s%s:%s ", bold, m->facts[i].name, bold);
        put(&b, m->facts[i].value);
        buf_text(&b, end);
    }
    if (*m->detail) {
        buf_text(&b, "\n");
        put(&b, text_cut(s->mem, m->detail, limit / 2));
    }
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return text_cut(s->mem, out, limit);
}

static json_t *feishu_card(struct sending *s, const struct message *m)
{
    static const char *const colour[] = {"red", "orange", "green", "grey"};
    json_t *elements = json_array();
    const char *text = facts_text(s, m, "", "\n", buf_text, FEISHU_TEXT_MAX);

    json_array_append_new(elements, json_pack("{s:s, s:{s:s, s:s}}", "tag", "div", "text", "tag",
                                              "plain_text", "content", text ? text : ""));
    if (is_link(m->url))
        json_array_append_new(elements,
                              json_pack("{s:s, s:[{s:s, s:{s:s, s:s}, s:s, s:s}]}", "tag", "action",
                                        "actions", "tag", "button", "text", "tag", "plain_text",
                                        "content", "Open", "url", m->url, "type", "default"));
    return json_pack("{s:{s:b}, s:{s:{s:s, s:s}, s:s}, s:o}", "config", "wide_screen_mode", 1,
                     "header", "title", "tag", "plain_text", "content",
                     text_line(s->mem, m->title, 300), "template", colour[m->mood], "elements",
                     elements);
}

void feishu_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    /* 11232: too many requests, 9499: the same of older bots */
    static const struct verdict_codes codes = {"code", "msg", {11232, 9499}, 60000};
    const char *key = channel_secret(s->channel, "key");
    int64_t seconds = s->now_us / 1000000;
    struct message m;
    struct http_answer answer;
    json_t *tree;

    if (!read_or_refuse(s, t, &m, out))
        return;
    tree = json_pack("{s:s, s:o}", "msg_type", "interactive", "card", feishu_card(s, &m));
    if (key) {
        json_object_set_new(tree, "timestamp",
                            json_string(send_printf(s, "%lld", (long long)seconds)));
        json_object_set_new(tree, "sign", json_string(feishu_sign(s->mem, key, seconds)));
    }
    if (post(s, channel_secret(s->channel, "url"), tree, &answer, out))
        judge_code(s, &answer, &codes, out);
}

/* DingTalk and WeCom: one text in a markdown of theirs. */
static const char *markdown(struct sending *s, const struct message *m, const char *before,
                            const char *after, const char *bold, const char *end, put_fn put)
{
    const char *text = facts_text(s, m, bold, end, put, MARKDOWN_TEXT_MAX), *out;
    struct buf b;

    buf_init(&b, TEXT_CAP);
    buf_printf(&b, "%s%s%s\n\n%s", before, escaped(s, m->title, 200, put), after, text ? text : "");
    if (is_link(m->url)) {
        buf_text(&b, "\n\n[Open](");
        for (const char *c = m->url; *c && c < m->url + LINK_MAX; c++)
            if (strchr("()<> ", *c))
                buf_printf(&b, "%%%02X", (unsigned char)*c);
            else
                buf_byte(&b, (uint8_t)*c);
        buf_text(&b, ")");
    }
    out = buf_keep(&b, s->mem);
    buf_fini(&b);
    return out ? out : "";
}

/* DingTalk ------------------------------------------------------------------------------------ */

void dingtalk_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    /* 130101: over 20 messages in a minute, and the robot is silent for ten */
    static const struct verdict_codes codes = {"errcode", "errmsg", {130101, -1}, 600000};
    const char *url = channel_secret(s->channel, "url"), *key = channel_secret(s->channel, "key");
    int64_t ms = s->now_us / 1000;
    struct message m;
    struct http_answer answer;
    const char *text;

    if (!read_or_refuse(s, t, &m, out))
        return;
    if (key)
        url = send_printf(s, "%s%ctimestamp=%lld&sign=%s", url, strchr(url, '?') ? '&' : '?',
                          (long long)ms, dingtalk_sign(s->mem, key, ms));
    text = markdown(s, &m, "### ", "", "**", "  \n", put_markdown);
    if (post(s, url,
             json_pack("{s:s, s:{s:s, s:s}}", "msgtype", "markdown", "markdown", "title",
                       text_line(s->mem, m.title, 100), "text", text),
             &answer, out))
        judge_code(s, &answer, &codes, out);
}

/* WeCom --------------------------------------------------------------------------------------- */

void wecom_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    /* 45009, 45033: too many calls */
    static const struct verdict_codes codes = {"errcode", "errmsg", {45009, 45033, -1}, 60000};
    static const char *const colour[] = {"warning", "warning", "info", "comment"};
    struct message m;
    struct http_answer answer;
    const char *text;

    if (!read_or_refuse(s, t, &m, out))
        return;
    text = markdown(s, &m, send_printf(s, "<font color=\"%s\">", colour[m.mood]), "</font>", "",
                    "\n", put_escaped);
    if (post(s, channel_secret(s->channel, "url"),
             json_pack("{s:s, s:{s:s}}", "msgtype", "markdown", "markdown", "content", text),
             &answer, out))
        judge_code(s, &answer, &codes, out);
}
