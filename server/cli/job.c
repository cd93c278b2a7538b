/* framewatch job list|retry: the work that waits for a person, over HTTP. */
#include "client.h"

#include <string.h>

static void print_job(const json_t *job)
{
    printf(
        "%-10lld %-8s %-8s %3lld  %s  %s  %s\n",
        (long long)json_integer_value(json_object_get(job, "id")), client_field(job, "kind"),
        client_field(job, "state"), (long long)json_integer_value(json_object_get(job, "attempts")),
        client_field(job, "ref"), client_field(job, "created_at"), client_field(job, "last_error"));
}

static bool print_page(struct client *c, const char *state, const char **cursor, json_t **page,
                       struct err *err)
{
    char path[512];
    json_t *out = NULL, *job;
    size_t i;

    snprintf(path, sizeof path, "/v1/jobs?state=%s&limit=200%s%s", state, *cursor ? "&cursor=" : "",
             *cursor ? *cursor : "");
    if (!client_get(c, path, &out, err))
        return false;
    json_array_foreach(json_object_get(out, "items"), i, job) print_job(job);
    return client_turn(page, out, cursor, err); /* the cursor lives in the page */
}

static int job_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *state = "dead", *cursor = NULL;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("state", "STATE", &state, "dead (default), ready or running"),
        OPT_END};
    const struct cli_usage usage = {
        "job list", "", "Prints the app's jobs, newest first. Needs an admin key.", options, 0, 0};
    struct cli_args args;
    struct err err = {0};
    json_t *page = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (strcmp(state, "dead") != 0 && strcmp(state, "ready") != 0 &&
        strcmp(state, "running") != 0) {
        fprintf(stderr, "framewatch: --state is dead, ready or running\n");
        return CLI_USAGE;
    }

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    do
        ok = ok && print_page(c, state, &cursor, &page, &err);
    while (ok && cursor);
    json_decref(page);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

static int job_retry(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "job retry", "ID…", "Makes dead jobs due again. Needs an admin key.", options, 1, -1};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    for (int i = 0; ok && i < args.n; i++) {
        char path[128];
        json_t *job = NULL;

        if (strspn(args.at[i], "0123456789") != strlen(args.at[i]) || strlen(args.at[i]) > 19)
            ok = err_field(&err, ERR_INVALID, "ID", "is a number, as `job list` prints it");
        snprintf(path, sizeof path, "/v1/jobs/%.19s/retry", args.at[i]);
        ok = ok && client_send(c, "POST", path, NULL, &job, &err);
        if (ok)
            print_job(job);
        json_decref(job);
    }
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

int cmd_job(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print jobs", job_list},
        {"retry", "make dead jobs due again", job_retry},
    };

    return cli_dispatch("framewatch job", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
