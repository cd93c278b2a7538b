/*
 * client: asks a Framewatch server over HTTP, for the subcommands.
 *
 * Where the server is and which key to show comes, in this order, from the options, from FW_URL and
 * FW_KEY (or FW_KEY_FILE), and from a file of "name = value" lines (url, key, key_file; '#' begins
 * a comment): FW_CONFIG, else framewatch/client.conf under XDG_CONFIG_HOME or ~/.config.
 * The key travels in the Authorization header only and is never printed, nor are a user and
 * password in the server's address, nor sent to another host: redirects are not followed. One
 * thread at a time. Answers are at most CLIENT_MAX_ANSWER.
 */
#pragma once
#include "base/err.h"
#include "cli.h"

#include <jansson.h>

#define CLIENT_MAX_ANSWER ((size_t)512 << 20)

struct client_options {
    const char *server, *key_file; /* NULL: not given */
};
/* For a cli_option table. */
#define OPT_CLIENT(o)                                                                              \
    OPT_TEXT("server", "URL", &(o)->server, "the server; default: FW_URL"),                        \
        OPT_TEXT("key-file", "FILE", &(o)->key_file,                                               \
                 "file with the API key; default: FW_KEY_FILE")

struct client;

/* ERR_INVALID when no server or key is given, or a file cannot be read. */
struct client *client_open(const struct client_options *o, struct err *err) MUST_CHECK;
void client_close(struct client *c); /* NULL is fine */

/* `path` begins with "/v1/…" and is already encoded (client_escape). The answer's tree belongs to
 * the caller (json_decref). A status other than 2xx is a failure: its problem document becomes the
 * error's text (title, detail, field, request id) and its code the nearest err_code; an unreachable
 * server is ERR_BUSY. `out` may be NULL; an answer without a body gives *out = NULL. */
bool client_get(struct client *c, const char *path, json_t **out, struct err *err) MUST_CHECK;
/* method POST, PUT, PATCH or DELETE; body NULL: none. */
bool client_send(struct client *c, const char *method, const char *path, const json_t *body,
                 json_t **out, struct err *err) MUST_CHECK;
/* The answer's bytes, as they come, into `to`. */
bool client_download(struct client *c, const char *path, FILE *to, struct err *err) MUST_CHECK;
/* The same into a file, whole or not at all (out_file.h). */
bool client_save(struct client *c, const char *path, const char *file, struct err *err) MUST_CHECK;

/* Text of an answer's field; "" where it is missing or no text. */
const char *client_field(const json_t *object, const char *name);
/* Lists in pages: `next` comes in the place of *page, which is released; *cursor leads on from it
 * and is NULL after the last one. ERR_INTERNAL if that is where it was: the list would never end.
 */
bool client_turn(json_t **page, json_t *next, const char **cursor, struct err *err) MUST_CHECK;

/* Of the server, without a final slash: for requests. It may name a user and password. */
const char *client_url(const struct client *c);
const char *client_shown(const struct client *c); /* the same for people, without them */
/* For a subcommand that speaks to the server by other means; "" when anonymous. */
const char *client_key(const struct client *c);
/* Percent-encodes text for a path segment or a query value; free(). NULL when out of memory. */
char *client_escape(const char *text);
