#include "server/notify/send.h"

#include "base/url_hide.h"
#include "base/utf8.h"
#include "server/common/clock.h"
#include "server/notify/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PRINTF_MAX 4096
#define MESSAGE_MAX 120
#define RESET_MAX_S 86400

bool outcome_refused(struct outcome *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
    url_hide(out->why);
    out->result = SEND_REFUSED;
    return false;
}

bool outcome_later(struct outcome *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
    url_hide(out->why);
    out->result = SEND_LATER;
    return false;
}

/* Where services say what is wrong, in the order of preference. */
static const char *message_in(const json_t *answer)
{
    static const char *const names[] = {"message", "error",         "errmsg", "msg",
                                        "info",    "errorMessages", "errors"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *v = json_object_get(answer, names[i]);

        if (json_is_array(v))
            v = json_array_get(v, 0);
        if (json_is_object(v)) /* Jira: field and what is wrong with it */
            v = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)v));
        if (json_is_string(v))
            return json_string_value(v);
    }
    return "";
}

void outcome_say(struct sending *s, const struct http_answer *answer, const char *message,
                 struct outcome *out)
{
    const char *line = text_line(s->mem, channel_redact(s->channel, message, s->mem), MESSAGE_MAX);

    if (line && *line)
        snprintf(out->why, sizeof out->why, "%d: %s", answer->status, line);
    else
        snprintf(out->why, sizeof out->why, "status %d", answer->status);
    url_hide(out->why);
}

static void say_answer(struct sending *s, const struct http_answer *answer, struct outcome *out)
{
    json_t *json = json_loadb(answer->body, answer->len, JSON_DISABLE_EOF_CHECK, NULL);

    if (json)
        outcome_say(s, answer, message_in(json), out);
    else /* HTML of a proxy says nothing; short plain texts do ("no_service", "invalid_token") */
        outcome_say(s, answer,
                    answer->len <= MESSAGE_MAX && !strchr(answer->body, '<') ? answer->body : "",
                    out);
    json_decref(json);
}

static void judge_silence(const struct http_answer *a, struct outcome *out)
{
    out->maybe_done = a->maybe_done;
    if (a->refused)
        outcome_refused(out, "%s", a->error);
    else
        outcome_later(out, "%s", a->error);
    out->channel_down = true;
}

/* Until the service's limit is lifted. What it says of the time may be anything. */
static int64_t reset_in_ms(const struct http_answer *a, int64_t now_us)
{
    int64_t limit_s = now_us / 1000000 + RESET_MAX_S;

    return (a->reset_s < limit_s ? a->reset_s : limit_s) * 1000 - now_us / 1000;
}

static void judge_answer(struct sending *s, const struct http_answer *a, struct outcome *out)
{
    bool limited = a->status == 429 || (a->status == 403 && (a->exhausted || a->retry_after_ms));
    int64_t reset_ms = reset_in_ms(a, s->now_us);

    say_answer(s, a, out);
    if (limited || a->status == 503)
        out->wait_ms = a->retry_after_ms              ? a->retry_after_ms
                       : a->exhausted && reset_ms > 0 ? reset_ms
                                                      : 0;
    if (limited || a->status == 408 || a->status == 425 || a->status >= 500) {
        out->result = SEND_LATER;
        out->channel_down = true;
        out->maybe_done = a->status >= 500 || a->status == 408;
        return;
    }
    out->result = SEND_REFUSED;
    if (a->status >= 300 && a->status < 400)
        outcome_refused(out, "status %d: redirects are not followed", a->status);
}

bool send_request(struct sending *s, const struct http_request *request, struct http_answer *answer,
                  struct outcome *out)
{
    struct err err;

    *out = (struct outcome){.result = SEND_OK};
    if (now_us() + s->timeout_ms * 1000 > s->deadline_us)
        return outcome_later(out, "took too long: the rest is left for the next attempt");
    if (!http_out_send(s->http, request, s->mem, answer, &err))
        return outcome_later(out, "%s", err.text);
    out->status = answer->status;
    if (!answer->status)
        judge_silence(answer, out);
    else if (answer->status < 200 || answer->status > 299)
        judge_answer(s, answer, out);
    return out->result == SEND_OK;
}

bool send_for_json(struct sending *s, const struct http_request *request,
                   struct http_answer *answer, json_t **json, struct outcome *out)
{
    if (!send_request(s, request, answer, out))
        return false;
    *json = json_loadb(answer->body, answer->len, 0, NULL);
    if (*json)
        return true;
    out->maybe_done = true;
    return outcome_later(out, "%d: the answer is not JSON", answer->status);
}

const char *send_body(struct sending *s, json_t *tree)
{
    char *text = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
    const char *out = text ? arena_dup(s->mem, text, strlen(text)) : NULL;

    free(text);
    json_decref(tree);
    return out;
}

const char *send_printf(struct sending *s, const char *fmt, ...)
{
    char text[PRINTF_MAX];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return n >= 0 && (size_t)n < sizeof text ? arena_dup(s->mem, text, (size_t)n) : NULL;
}

const char *send_base(struct sending *s)
{
    const char *url = channel_setting(s->channel, "url", "");
    size_t n = strcspn(url, "?#");

    while (n && url[n - 1] == '/')
        n--;
    return arena_dup(s->mem, url, n);
}

const char *send_time(struct sending *s, int64_t us)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    char text[40];

    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    return send_printf(s, "%s.%03dZ", text, (int)(us / 1000 % 1000));
}
