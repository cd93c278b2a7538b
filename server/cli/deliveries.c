/* framewatch deliveries list|show|retry: the log of the outbox, over HTTP. */
#include "ask.h"

#include <string.h>

#define DELIVERIES "/v1/deliveries"
#define LIST "deliveries list" /* prints ids */

static void print_delivery(const json_t *d)
{
    printf("%-10lld %-16s %-7s %-20s v%-4lld %-10s %3lld  %s  %s\n", ask_number(d, "id"),
           client_field(d, "channel"), client_field(d, "kind"), client_field(d, "subject"),
           ask_number(d, "version"), client_field(d, "state"), ask_number(d, "last_status"),
           client_field(d, "created_at"), client_field(d, "last_error"));
}

static int deliveries_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *state = "";
    bool all = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&client),
        OPT_TEXT("state", "STATE", &state, "pending, sending, sent, dead or suppressed"),
        OPT_FLAG("all", &all, "all there are; default: the newest 200"), OPT_END};
    const struct cli_usage usage = {
        "deliveries list", "", "Prints the app's deliveries, newest first. Needs an admin key.",
        options,           0,  0};
    struct cli_args args;
    char path[96];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (strlen(state) > 20 || strspn(state, "abcdefghijklmnopqrstuvwxyz") != strlen(state)) {
        fprintf(stderr, "framewatch: --state is pending, sending, sent, dead or suppressed\n");
        return CLI_USAGE;
    }
    snprintf(path, sizeof path, DELIVERIES "?limit=200%s%s", *state ? "&state=" : "", state);
    return ask_list(&client, path, all, &(struct ask_rows){.show = print_delivery});
}

static int deliveries_show(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "deliveries show", "ID", "Prints a delivery as JSON, with what is told.", options, 1, 1};
    struct cli_args args;
    struct err err = {0};
    char path[96];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_path(path, sizeof path, DELIVERIES, args.at[0], "", LIST, &err)
               ? ask_and_print(&client, "GET", path, NULL)
               : cli_fail(&err);
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
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_post_ids(&client, &args,
                        &(struct ask_ids){DELIVERIES, "/retry", LIST, print_delivery});
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
