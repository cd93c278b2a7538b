/* framewatch channels list|show|create|replace|delete|test: where alerts and tickets go, over HTTP.
 * Secrets are read from a file or standard input: arguments can be seen by other users. */
#include "client.h"

#include <string.h>
#include <time.h>

#define TEST_PATIENCE_S 60
#define TEST_PAUSE_MS 250

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static long long number_of(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static int print_json(json_t *tree)
{
    json_dumpf(tree, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(tree);
    return CLI_OK;
}

static bool read_id(const char *text, char path[64], const char *more, struct err *err)
{
    size_t n = strlen(text);

    if (!n || n > 19 || strspn(text, "0123456789") != n)
        return err_field(err, ERR_INVALID, "ID", "is a number, as `channels list` prints it");
    snprintf(path, 64, "/v1/channels/%s%s", text, more);
    return true;
}

/* The JSON of a file, "-": standard input. */
static json_t *read_file(const char *name, struct err *err)
{
    json_error_t why;
    json_t *tree = strcmp(name, "-") == 0 ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &why)
                                          : json_load_file(name, JSON_REJECT_DUPLICATES, &why);

    if (!tree)
        err_set(err, ERR_INVALID, "%.80s: line %d: %.120s", name, why.line, why.text);
    return tree;
}

static bool list_page(struct client *c, const char **cursor, json_t **page, struct err *err)
{
    char path[512];
    json_t *out, *item;
    size_t i;

    snprintf(path, sizeof path, "/v1/channels?limit=200%s%s", *cursor ? "&cursor=" : "",
             *cursor ? *cursor : "");
    if (!client_get(c, path, &out, err))
        return false;
    json_array_foreach(json_object_get(out, "items"), i, item) printf(
        "%-6lld %-20s %-14s %-8s %8lld %8lld  %s\n", number_of(item, "id"), text_of(item, "name"),
        text_of(item, "kind"), json_is_true(json_object_get(item, "enabled")) ? "enabled" : "off",
        number_of(item, "pending"), number_of(item, "dead"), text_of(item, "target"));
    return client_turn(page, out, cursor, err); /* the cursor lives in the page */
}

static int channels_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "channels list", "", "Prints the app's channels. Needs an admin key.", options, 0, 0};
    struct cli_args args;
    struct err err = {0};
    const char *cursor = NULL;
    json_t *page = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    if (ok)
        printf("%-6s %-20s %-14s %-8s %8s %8s  %s\n", "ID", "NAME", "KIND", "STATE", "WAITING",
               "DEAD", "TARGET");
    do
        ok = ok && list_page(c, &cursor, &page, &err);
    while (ok && cursor);
    json_decref(page);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

/* One request about channel ID (NULL: none), with the JSON of a file (NULL: none). */
struct request {
    const char *method, *id, *more, *file;
};

static int ask(const struct client_options *options, const struct request *r)
{
    struct err err = {0};
    char path[64] = "/v1/channels";
    json_t *body = NULL, *out = NULL;
    bool ok = (!r->id || read_id(r->id, path, r->more, &err)) &&
              (!r->file || (body = read_file(r->file, &err)));
    struct client *c = ok ? client_open(options, &err) : NULL;

    ok = c && client_send(c, r->method, path, body, &out, &err);
    json_decref(body);
    client_close(c);
    if (!ok)
        return cli_fail(&err);
    return out ? print_json(out) : CLI_OK;
}

static int channels_show(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "channels show", "ID", "Prints a channel as JSON, without its secrets.", options, 1, 1};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask(&client, &(struct request){"GET", args.at[0], "", NULL})
               : code;
}

static int channels_create(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "channels create",
        "FILE",
        "Makes a channel of the JSON in FILE (- is standard input); docs/notifications.md has an "
        "example of each kind. Needs an admin key.",
        options,
        1,
        1};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask(&client, &(struct request){"POST", NULL, "", args.at[0]})
               : code;
}

static int channels_replace(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"channels replace",
                                    "ID FILE",
                                    "Changes a channel to the JSON in FILE (- is standard input); "
                                    "secrets that are not in it stay as they are.",
                                    options,
                                    2,
                                    2};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask(&client, &(struct request){"PUT", args.at[0], "", args.at[1]})
               : code;
}

static int channels_delete(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "channels delete", "ID", "Removes a channel; its deliveries stay in the log.",
        options,           1,    1};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask(&client, &(struct request){"DELETE", args.at[0], "", NULL})
               : code;
}

/* Until the test message is sent or dead. */
static bool follow(struct client *c, long long delivery, json_t **last, struct err *err)
{
    const struct timespec pause = {.tv_nsec = TEST_PAUSE_MS * 1000000L};
    time_t end = time(NULL) + TEST_PATIENCE_S;
    char path[64];

    snprintf(path, sizeof path, "/v1/deliveries/%lld", delivery);
    for (;;) {
        json_decref(*last);
        *last = NULL;
        if (!client_get(c, path, last, err))
            return false;
        if (strcmp(text_of(*last, "state"), "sent") == 0)
            return true;
        if (strcmp(text_of(*last, "state"), "dead") == 0 || time(NULL) >= end)
            return err_set(err, ERR_INVALID, "the message is %s: %.160s", text_of(*last, "state"),
                           *text_of(*last, "last_error") ? text_of(*last, "last_error")
                                                         : "no sender has taken it");
        nanosleep(&pause, NULL);
    }
}

static int channels_test(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"channels test",
                                    "ID",
                                    "Sends a test message and waits for what becomes of it. A "
                                    "tracker is only asked whether its "
                                    "project is there.",
                                    options,
                                    1,
                                    1};
    struct cli_args args;
    struct err err = {0};
    json_t *delivery = NULL;
    char path[64];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = read_id(args.at[0], path, "/test", &err) ? client_open(&client, &err) : NULL;
    bool ok = c && client_send(c, "POST", path, NULL, &delivery, &err) &&
              follow(c, number_of(delivery, "id"), &delivery, &err);

    client_close(c);
    json_decref(delivery);
    if (!ok)
        return cli_fail(&err);
    puts("sent");
    return CLI_OK;
}

int cmd_channels(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print channels", channels_list},
        {"show", "print one as JSON", channels_show},
        {"create", "make one from JSON", channels_create},
        {"replace", "change one", channels_replace},
        {"delete", "remove one", channels_delete},
        {"test", "send a test message", channels_test},
    };

    return cli_dispatch("framewatch channels", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
