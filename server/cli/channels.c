/* framewatch channels list|show|create|replace|delete|test: where alerts and tickets go, over HTTP.
 * Secrets are read from a file or standard input: arguments can be seen by other users. */
#include "ask.h"

#include <string.h>
#include <time.h>

#define TEST_PATIENCE_S 60
#define TEST_PAUSE_MS 250
#define LIST_HEAD "ID     NAME                 KIND           STATE     WAITING     DEAD  TARGET"

static bool channel_path(char path[64], const char *id, const char *more, struct err *err)
{
    return ask_path(path, 64, "/v1/channels", id, more, "channels list", err);
}

static void print_channel(const json_t *c)
{
    printf("%-6lld %-20s %-14s %-8s %8lld %8lld  %s\n", ask_number(c, "id"),
           client_field(c, "name"), client_field(c, "kind"),
           json_is_true(json_object_get(c, "enabled")) ? "enabled" : "off",
           ask_number(c, "pending"), ask_number(c, "dead"), client_field(c, "target"));
}

static int channels_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "channels list", "", "Prints the app's channels. Needs an admin key.", options, 0, 0};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask_list(&client, "/v1/channels?limit=200", true,
                          &(struct ask_rows){.head = LIST_HEAD, .show = print_channel})
               : code;
}

/* One request about channel ID (NULL: none), with the JSON of a file (NULL: none). */
struct request {
    const char *method, *id, *more, *file;
};

static int do_request(const struct client_options *options, const struct request *r)
{
    struct err err = {0};
    char path[64] = "/v1/channels";
    json_t *body = NULL;

    if ((r->id && !channel_path(path, r->id, r->more, &err)) ||
        (r->file && !(body = ask_file(r->file, &err))))
        return cli_fail(&err);
    return ask_and_print(options, r->method, path, body);
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
               ? do_request(&client, &(struct request){"GET", args.at[0], "", NULL})
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
               ? do_request(&client, &(struct request){"POST", NULL, "", args.at[0]})
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
               ? do_request(&client, &(struct request){"PUT", args.at[0], "", args.at[1]})
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
               ? do_request(&client, &(struct request){"DELETE", args.at[0], "", NULL})
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
        if (strcmp(client_field(*last, "state"), "sent") == 0)
            return true;
        if (strcmp(client_field(*last, "state"), "dead") == 0 || time(NULL) >= end)
            return err_set(err, ERR_INVALID, "the message is %s: %.160s",
                           client_field(*last, "state"),
                           *client_field(*last, "last_error") ? client_field(*last, "last_error")
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

    struct client *c =
        channel_path(path, args.at[0], "/test", &err) ? client_open(&client, &err) : NULL;
    bool ok = c && client_send(c, "POST", path, NULL, &delivery, &err) &&
              follow(c, ask_number(delivery, "id"), &delivery, &err);

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
