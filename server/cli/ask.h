/*
 * ask: the whole way of subcommands that put one question to the server: connect, send, read,
 * print. One that puts several to the same connection uses client.h. Single-threaded.
 */
#pragma once
#include "client.h"

/* A path and its query, encoded. What does not fit is left out, and `full` says so. */
struct ask_url {
    char text[4096];
    size_t n;
    bool query, full;
};
void ask_url_put(struct ask_url *u, const char *text);     /* as it is */
void ask_url_segment(struct ask_url *u, const char *text); /* a name within the path */
void ask_url_query(struct ask_url *u, const char *name, const char *value); /* NULL: none */
bool ask_url_fits(const struct ask_url *u, struct err *err) MUST_CHECK;

/* One request; `body` (may be NULL) is taken. *out belongs to the caller; NULL: nothing came. */
bool ask(const struct client_options *o, const char *method, const char *path, json_t *body,
         json_t **out, struct err *err) MUST_CHECK;

/* The same, and prints the answer as JSON. An exit code. */
int ask_and_print(const struct client_options *o, const char *method, const char *path,
                  json_t *body);

/* The answer's bytes, as they come, into `to`. */
bool ask_download(const struct client_options *o, const char *path, FILE *to,
                  struct err *err) MUST_CHECK;
/* The same into a file (out_file.h); "-": standard output. */
bool ask_save(const struct client_options *o, const char *path, const char *file,
              struct err *err) MUST_CHECK;

struct ask_rows {
    const char *head, *none; /* lines above them, or in their place; may be NULL */
    void (*show)(const json_t *item);
};
/* Every item of the list at `path` (which has a query), page after page; `all` false: of the first
 * page. An exit code. */
int ask_list(const struct client_options *o, const char *path, bool all,
             const struct ask_rows *rows);

/* "PREFIX/ID/MORE" for an id that is a number; `command` is said to print it. */
bool ask_path(char *path, size_t size, const char *prefix, const char *id, const char *more,
              const char *command, struct err *err) MUST_CHECK;

/* POSTs to "PREFIX/ID/MORE" for each of the ids, over one connection, and shows each answer; stops
 * at the first failure. An exit code. */
struct ask_ids {
    const char *prefix, *more, *command; /* as ask_path() takes them */
    void (*show)(const json_t *answer);
};
int ask_post_ids(const struct client_options *o, const struct cli_args *ids,
                 const struct ask_ids *with);

/* The JSON of a file, "-": standard input. NULL: *err says where it is none. */
json_t *ask_file(const char *name, struct err *err);

/* Prints with indentation and releases. CLI_OK. */
int ask_print(json_t *tree);

static inline long long ask_number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}
