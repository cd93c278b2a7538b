/* What services answer: each driver and tracker of server/notify is run against answers made of the
 * input. This file stands in for http_out.c, so no network is used.
 *
 * Input: a byte that picks the kind of channel, a byte that picks what is asked; then answers, each
 * ended by a zero byte: two characters for the status (200 + their sum for the most), the rest its
 * body. After the last answer nothing answers any more. */
#include "server/notify/driver.h"
#include "server/notify/tracker.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY ((size_t)32 << 20)

/* These words tell runs without memory from real faults. */
static void unsound(void)
{
    fputs("answers: does not hold\n", stderr);
    abort();
}

static struct {
    const char *at, *end;
} input;

struct http_out {
    int unused;
};

enum http_out_reach http_out_reach(const char *name)
{
    (void)name;
    return REACH_PUBLIC;
}

bool http_out_allowed(enum http_out_reach reach, const struct sockaddr *address, bool tls)
{
    (void)reach;
    (void)address;
    return tls;
}

struct http_out *http_out_new(const struct http_out_config *config, struct err *err)
{
    (void)config;
    err_set(err, ERR_INTERNAL, "none here");
    return NULL;
}

void http_out_free(struct http_out *h)
{
    (void)h;
}

bool http_out_origin(const char *url, struct arena *mem, const char **origin, struct err *err)
{
    (void)url;
    (void)mem;
    (void)err;
    *origin = "https://a:443";
    return true;
}

static const int statuses[] = {200, 201, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 503};

bool http_out_send(struct http_out *h, const struct http_request *request, struct arena *mem,
                   struct http_answer *out, struct err *err)
{
    size_t n = input.at < input.end ? strnlen(input.at, (size_t)(input.end - input.at)) : 0;

    (void)h;
    (void)err;
    if (!request->url || !request->method)
        unsound();
    *out = (struct http_answer){.body = ""};
    if (n < 2) {
        out->maybe_done = true;
        snprintf(out->error, sizeof out->error, "nothing");
    } else {
        out->status = statuses[(unsigned char)input.at[0] % (sizeof statuses / sizeof *statuses)];
        out->retry_after_ms = input.at[1] == 'r' ? 60000 : 0;
        out->len = n - 2;
        out->body = arena_dup(mem, input.at + 2, n - 2);
        if (!out->body)
            out->body = "", out->len = 0;
    }
    input.at += n + 1;
    return true;
}

static void check(bool ok, const struct outcome *out)
{
    if (ok != (out->result == SEND_OK) || strlen(out->why) >= sizeof out->why)
        unsound();
}

static void run_tracker(struct sending *s, const struct tracker *t, unsigned what)
{
    struct ticket_text text = {.marker = "framewatch-0123456789abcdef01234567",
                               .key = "k",
                               .title = "t",
                               .body = "b\nframewatch-0123456789abcdef01234567",
                               .assignee = "alice",
                               .labels = json_pack("[s]", "jank"),
                               .url = ""};
    struct ticket_seen seen = {0};
    struct outcome out = {.result = SEND_OK};
    bool found = false, gone = false, has = false;

    switch (what % 7) {
    case 0:
        check(t->probe(s, &out), &out);
        break;
    case 1:
        check(t->find(s, text.marker, what & 64 ? 1700000000000000 : 0, &seen, &found, &out), &out);
        if (found && !*seen.id)
            unsound();
        break;
    case 2:
        if (t->create(s, &text, &seen, &out) && !*seen.id)
            unsound();
        break;
    case 3:
        if (t->look && t->look(s, "1", &seen, &gone, &out) && !gone && !*seen.id)
            unsound();
        break;
    case 4:
        check(t->update(s, "1", &text, &out), &out);
        break;
    case 5:
        check(t->reopen(s, "1", &text, &out), &out);
        break;
    default:
        if (t->has_comment)
            check(t->has_comment(s, "1", text.marker, 1700000000000000, &has, &out), &out);
        check(t->comment(s, "1", &text, "c", text.marker, &out), &out);
    }
    json_decref(text.labels);
}

static void run_chat(struct sending *s, enum channel_kind kind)
{
    static const driver_fn drivers[] = {alertmanager_tell, slack_tell, feishu_tell,
                                        dingtalk_tell,     wecom_tell, webhook_tell};
    json_t *body =
        json_pack("{s:s, s:s, s:s}", "state", "open", "severity", "alert", "summary", "s");
    struct telling t = {.kind = "alert", .body = body, .id = "delivery-1"};
    struct outcome out = {.result = SEND_OK};

    drivers[kind](s, &t, &out);
    if (strlen(out.why) >= sizeof out.why)
        unsound();
    json_decref(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct channel channel = {.channel_id = 1, .app_id = 1, .app = "game", .name = "c"};
    struct sending s = {
        .channel = &channel, .now_us = 1700000000000000, .deadline_us = INT64_MAX, .timeout_ms = 1};
    char *copy;

    if (size < 2)
        return 0;
    channel.kind = (enum channel_kind)(data[0] % CHANNEL_N_KINDS);
    channel.settings = json_pack("{s:s, s:s, s:s, s:s, s:s}", "project", "P", "repository", "a/b",
                                 "workspace", "1", "username", "u", "url", "https://a");
    channel.secrets = json_pack("{s:s, s:s, s:s, s:s}", "url", "https://a/secretsecret", "key",
                                "keykeykey", "token", "tokentoken", "password", "password");
    copy = malloc(size);
    s.mem = arena_new(MEMORY);
    if (!copy || !s.mem)
        unsound();
    memcpy(copy, data, size);
    input.at = copy + 2;
    input.end = copy + size;
    if (tracker_of(channel.kind))
        run_tracker(&s, tracker_of(channel.kind), data[1]);
    else
        run_chat(&s, channel.kind);
    arena_free(s.mem);
    free(copy);
    channel_close(&channel);
    return 0;
}
