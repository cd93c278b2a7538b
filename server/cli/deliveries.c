/* framewatch deliveries list|show|retry: the log of the outbox, over HTTP. */
#include "client.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void print_delivery(const json_t *d)
{
    printf("%-10lld %-16s %-7s %-20s v%-4lld %-10s %3lld  %s  %s\n",
           (long long)json_integer_value(json_object_get(d, "id")), text_of(d, "channel"),
           text_of(d, "kind"), text_of(d, "subject"),
           (long long)json_integer_value(json_object_get(d, "version")), text_of(d, "state"),
           (long long)json_integer_value(json_object_get(d, "last_status")),
           text_of(d, "created_at"), text_of(d, "last_error"));
}

static bool print_page(struct client *c, const char *filter, const char **cursor, json_t **page,
                       struct err *err)
{
    char path[640];
    json_t *out = NULL, *item;
    size_t i;

    snprintf(path, sizeof path, "/v1/deliveries?limit=200%s%s%s", filter, *cursor ? "&cursor=" : "",
             *cursor ? *cursor : "");
    if (!client_get(c, path, &out, err))
        return false;
    json_array_foreach(json_object_get(out, "items"), i, item) print_delivery(item);
    return client_turn(page, out, cursor, err); /* the cursor lives in the page */
}

static int deliveries_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *state = "", *cursor = NULL;
    bool all = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&client),
        OPT_TEXT("state", "STATE", &state, "pending, sending, sent, dead or suppressed"),
        OPT_FLAG("all", &all, "all there are; default: the newest 200"), OPT_END};
    const struct cli_usage usage = {
        "deliveries list", "", "Prints the app's deliveries, newest first. Needs an admin key.",
        options,           0,  0};
    struct cli_args args;
    struct err err = {0};
    json_t *page = NULL;
    char filter[64] = "";
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (strlen(state) > 20 || strspn(state, "abcdefghijklmnopqrstuvwxyz") != strlen(state)) {
        fprintf(stderr, "framewatch: --state is pending, sending, sent, dead or suppressed\n");
        return CLI_USAGE;
    }
    if (*state)
        snprintf(filter, sizeof filter, "&state=%s", state);

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    do
        ok = ok && print_page(c, filter, &cursor, &page, &err);
    while (ok && all && cursor);
    json_decref(page);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

static bool one(struct client *c, const char *method, const char *id, const char *more,
                json_t **out, struct err *err)
{
    char path[96];

    if (strspn(id, "0123456789") != strlen(id) || strlen(id) > 19)
        return err_field(err, ERR_INVALID, "ID", "is a number, as `deliveries list` prints it");
    snprintf(path, sizeof path, "/v1/deliveries/%.19s%s", id, more);
    return client_send(c, method, path, NULL, out, err);
}

static int deliveries_show(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "deliveries show", "ID", "Prints a delivery as JSON, with what is told.", options, 1, 1};
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c && one(c, "GET", args.at[0], "", &out, &err);

    client_close(c);
    if (!ok)
        return cli_fail(&err);
    json_dumpf(out, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(out);
    return CLI_OK;
}

static int deliveries_retry(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"deliveries retry",
                                    "ID…",
                                    "Sends dead deliveries again. Needs an admin key.",
                                    options,
                                    1,
                                    -1};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    for (int i = 0; ok && i < args.n; i++) {
        json_t *out = NULL;

        ok = one(c, "POST", args.at[i], "/retry", &out, &err);
        if (ok)
            print_delivery(out);
        json_decref(out);
    }
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

int cmd_deliveries(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print deliveries", deliveries_list},
        {"show", "print one as JSON", deliveries_show},
        {"retry", "send dead ones again", deliveries_retry},
    };

    return cli_dispatch("framewatch deliveries", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
