/*
 * driver: one function a kind of alert channel. It sends one message and says what became of it;
 * false is never needed: *out tells all.
 */
#pragma once
#include "server/notify/message.h"

struct telling {
    const char *kind; /* "alert", "report", "test" */
    const json_t *body;
    const json_t *told; /* body of the version that the channel took last, NULL: none */
    const char *id;     /* the same at each attempt, of no other delivery: "DELIVERY" */
};

typedef void (*driver_fn)(struct sending *s, const struct telling *t, struct outcome *out);

void alertmanager_tell(struct sending *s, const struct telling *t, struct outcome *out);
void slack_tell(struct sending *s, const struct telling *t, struct outcome *out);
void feishu_tell(struct sending *s, const struct telling *t, struct outcome *out);
void dingtalk_tell(struct sending *s, const struct telling *t, struct outcome *out);
void wecom_tell(struct sending *s, const struct telling *t, struct outcome *out);
void webhook_tell(struct sending *s, const struct telling *t, struct outcome *out);

/* A JSON object posted to the channel's webhook, signed if it has a key; webhook_tell and the
 * webhook of tickets share it. `event` is "alert", "ticket" … Takes the tree. True: 2xx. */
bool webhook_post(struct sending *s, const char *event, const char *id, json_t *tree,
                  struct http_answer *answer, struct outcome *out);
