/* framewatch job list|retry: the work that waits for a person, over HTTP. */
#include "ask.h"

#include <string.h>

static void print_job(const json_t *job)
{
    printf("%-10lld %-8s %-8s %3lld  %s  %s  %s\n", ask_number(job, "id"),
           client_field(job, "kind"), client_field(job, "state"), ask_number(job, "attempts"),
           client_field(job, "ref"), client_field(job, "created_at"),
           client_field(job, "last_error"));
}

static int job_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *state = "dead";
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("state", "STATE", &state, "dead (default), ready or running"),
        OPT_END};
    const struct cli_usage usage = {
        "job list", "", "Prints the app's jobs, newest first. Needs an admin key.", options, 0, 0};
    struct cli_args args;
    char path[64];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (strcmp(state, "dead") != 0 && strcmp(state, "ready") != 0 &&
        strcmp(state, "running") != 0) {
        fprintf(stderr, "framewatch: --state is dead, ready or running\n");
        return CLI_USAGE;
    }
    snprintf(path, sizeof path, "/v1/jobs?limit=200&state=%s", state);
    return ask_list(&client, path, true, &(struct ask_rows){.show = print_job});
}

static int job_retry(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "job retry", "ID…", "Makes dead jobs due again. Needs an admin key.", options, 1, -1};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_post_ids(&client, &args,
                        &(struct ask_ids){"/v1/jobs", "/retry", "job list", print_job});
}

int cmd_job(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print jobs", job_list},
        {"retry", "make dead jobs due again", job_retry},
    };

    return cli_dispatch("framewatch job", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
