/* Webhooks of any receiver, signed as https://www.standardwebhooks.com has it. */
#include "server/notify/driver.h"
#include "server/notify/sign.h"

#include <string.h>

bool webhook_post(struct sending *s, const char *event, const char *id, json_t *tree,
                  struct http_answer *answer, struct outcome *out)
{
    int64_t seconds = s->now_us / 1000000;
    const char *key = channel_secret(s->channel, "key"), *body = send_body(s, tree), *signature;
    struct http_request r = {.method = "POST",
                             .url = channel_secret(s->channel, "url"),
                             .body = body,
                             .content_type = "application/json"};

    *out = (struct outcome){.result = SEND_OK};
    signature = body ? webhook_sign(s->mem, key, id, seconds, body) : NULL;
    if (!signature)
        return body
                   ? outcome_refused(out, "the channel's key is \"whsec_\" without base64 after it")
                   : outcome_later(out, "no memory for the message");
    r.headers[0] = send_printf(s, "webhook-id: %s", id);
    r.headers[1] = send_printf(s, "webhook-timestamp: %lld", (long long)seconds);
    r.headers[2] = send_printf(s, "webhook-signature: %s", signature);
    r.headers[3] = send_printf(s, "framewatch-event: %s", event);
    return send_request(s, &r, answer, out);
}

void webhook_tell(struct sending *s, const struct telling *t, struct outcome *out)
{
    struct http_answer answer;

    webhook_post(s, t->kind, t->id,
                 json_pack("{s:s, s:s, s:s, s:O}", "type", t->kind, "app", s->channel->app,
                           "timestamp", send_time(s, s->now_us), "data", t->body),
                 &answer, out);
}
