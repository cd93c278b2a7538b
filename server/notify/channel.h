/*
 * channel: where messages go. The kinds of channels in one table; their settings and secrets as
 * they come from the API and as they lie in the database.
 */
#pragma once
#include "server/notify/seal.h"

#include <jansson.h>

/* CHANNEL_KINDS(X): X(symbol, name, 'alert' or 'ticket', messages a minute at first) */
#define CHANNEL_KINDS(X)                                                                           \
    X(ALERTMANAGER, "alertmanager", "alert", 600)                                                  \
    X(SLACK, "slack", "alert", 60)                                                                 \
    X(FEISHU, "feishu", "alert", 90)                                                               \
    X(DINGTALK, "dingtalk", "alert", 18)                                                           \
    X(WECOM, "wecom", "alert", 18)                                                                 \
    X(WEBHOOK, "webhook", "alert", 600)                                                            \
    X(GITLAB, "gitlab", "ticket", 60)                                                              \
    X(GITHUB, "github", "ticket", 30)                                                              \
    X(JIRA, "jira", "ticket", 60)                                                                  \
    X(TAPD, "tapd", "ticket", 20)                                                                  \
    X(TICKET_WEBHOOK, "ticket_webhook", "ticket", 60)

#define X(symbol, name, takes, rate) CHANNEL_##symbol,
enum channel_kind { CHANNEL_KINDS(X) CHANNEL_N_KINDS };
#undef X

/* CHANNEL_N_KINDS if there is none of that name. */
enum channel_kind channel_kind_find(const char *name);
const char *channel_kind_takes(enum channel_kind kind);
int64_t channel_kind_rate(enum channel_kind kind);

/* What a message is sent with: one row, opened. Lives in the arena of its reading, but for the two
 * trees, which channel_close() frees. */
struct channel {
    int64_t channel_id, app_id;
    enum channel_kind kind;
    const char *app, *name; /* for people */
    json_t *settings, *secrets;
};

/* Settings and secrets are texts; the other getters are for labels and owners. `otherwise` if it is
 * not there. */
const char *channel_setting(const struct channel *c, const char *name, const char *otherwise);
bool channel_flag(const struct channel *c, const char *name);
int64_t channel_number(const struct channel *c, const char *name, int64_t otherwise);
const json_t *channel_tree(const struct channel *c, const char *name); /* NULL: none */
const char *channel_secret(const struct channel *c, const char *name); /* NULL: none */
/* The assignee that settings.owners gives an owner, NULL if it gives none. */
const char *channel_assignee(const struct channel *c, const char *owner);

/* A copy of text in which every secret of the channel reads "***", and every part of a secret URL
 * that alone tells it: services put them into their errors. In mem; "" when it is full. */
const char *channel_redact(const struct channel *c, const char *text, struct arena *mem);

/* What the API was given, checked: names the field at fault. `settings` and `secrets` are objects
 * or NULL. On success *settings_text is the JSON to store and *target the origin it sends to. */
bool channel_check(enum channel_kind kind, const json_t *settings, const json_t *secrets,
                   struct arena *mem, const char **settings_text, const char **target,
                   struct err *err) MUST_CHECK;

/* Secrets into the form of the row and back. `secrets` must be what channel_check() took. */
bool channel_seal(const struct seal_key *key, int64_t app, enum channel_kind kind,
                  const char *target, const json_t *secrets, struct arena *mem, struct bytes *out,
                  struct err *err) MUST_CHECK;
/* The caller owns *out. */
bool channel_unseal(const struct seal_key *key, int64_t app, enum channel_kind kind,
                    const char *target, struct bytes sealed, struct arena *mem, json_t **out,
                    struct err *err) MUST_CHECK;

void channel_close(struct channel *c);
