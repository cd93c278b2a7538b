/*
 * message: the body of a delivery as chats tell it. Texts are as they came: each driver escapes for
 * its service. The body's tree must outlive it.
 */
#pragma once
#include "server/notify/send.h"

#define MESSAGE_FACTS 8

enum message_mood { MOOD_BAD, MOOD_WARN, MOOD_GOOD, MOOD_PLAIN };

struct message {
    const char *title, *detail, *url;
    enum message_mood mood;
    struct {
        const char *name, *value;
    } facts[MESSAGE_FACTS];
    size_t n_facts;
};

/* kind: "alert", "report" or "test". False when s->mem is full. */
bool message_read(struct sending *s, const char *kind, const json_t *body,
                  struct message *out) MUST_CHECK;

/* Members of a body; "" and not finite when absent. */
const char *body_member(const json_t *body, const char *name);
double body_ratio(const json_t *body, const char *name);
