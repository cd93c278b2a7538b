/* framewatch alerts list|show|ack|silence|rules|look, over HTTP. */
#include "client.h"
#include "fields.h"
#include "term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_alert(const struct term *t, const json_t *a)
{
    bool live =
        strcmp(string(a, "state"), "open") == 0 || strcmp(string(a, "state"), "updated") == 0;

    fprintf(t->out, "%-6lld ", (long long)number(a, "id"));
    term_style(t, live ? STYLE_RED : STYLE_PLAIN);
    term_cell(t, string(a, "state"), 13);
    term_style(t, STYLE_PLAIN);
    fprintf(t->out, "%-6lld ", (long long)number(a, "build_id"));
    term_cell(t, string(a, "tier_name"), 7);
    term_cell(t, *string(a, "scene") ? string(a, "scene") : "whole sessions", 24);
    term_cell(t, string(a, "metric"), 16);
    fprintf(t->out, " %+6.1f %%  (%+.1f … %+.1f %%)  n = %lld\n",
            100 * json_number_value(json_object_get(a, "change")),
            100 * json_number_value(json_object_get(a, "low")),
            100 * json_number_value(json_object_get(a, "high")), (long long)number(a, "sessions"));
}

static int alerts_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    bool all = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_FLAG("all", &all, "also those that are over"), OPT_END};
    const struct cli_usage usage = {"alerts list", "", "Prints the alerts of the app.",
                                    options,       0,  0};
    const struct term t = term_on(stdout, 0);
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL, *item;
    size_t i;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c && client_get(c, all ? "/v1/alerts?limit=200" : "/v1/alerts?limit=200&state=live",
                              &out, &err);

    client_close(c);
    if (!ok)
        return cli_fail(&err);
    if (!json_array_size(json_object_get(out, "items")))
        puts("No alerts.");
    json_array_foreach(json_object_get(out, "items"), i, item) put_alert(&t, item);
    json_decref(out);
    return CLI_OK;
}

static void put_lines(const struct term *t, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);

        if (line)
            term_text(t, line, TERM_MAX_WIDTH);
        free(line);
        fputc('\n', t->out);
        text += n + (text[n] == '\n');
    }
}

static int print_alert(json_t *alert)
{
    const struct term t = term_on(stdout, 0);
    const json_t *evidence = json_object_get(alert, "evidence");

    put_alert(&t, alert);
    put_lines(&t, string(evidence, "summary"));
    put_lines(&t, string(evidence, "detail"));
    json_decref(alert);
    return CLI_OK;
}

static int alerts_show(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "alerts show", "ID", "Prints an alert and what stands behind it.", options, 1, 1};
    struct cli_args args;
    struct err err = {0};
    char path[128];
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    snprintf(path, sizeof path, "/v1/alerts/%.40s", args.at[0]);

    struct client *c = client_open(&client, &err);
    bool ok = c && client_get(c, path, &out, &err);

    client_close(c);
    return ok ? print_alert(out) : cli_fail(&err);
}

static int post(const struct client_options *client, const char *path, json_t *body, json_t **out)
{
    struct err err = {0};
    struct client *c = client_open(client, &err);
    bool ok = c && client_send(c, "POST", path, body, out, &err);

    json_decref(body);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

static int alerts_ack(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *note = "";
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("note", "TEXT", &note, "what is being done"), OPT_END};
    const struct cli_usage usage = {
        "alerts ack", "ID", "Says that somebody looks after an alert. Needs an admin key.",
        options,      1,    1};
    struct cli_args args;
    char path[128];
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    snprintf(path, sizeof path, "/v1/alerts/%.40s/acknowledge", args.at[0]);
    code = post(&client, path, json_pack("{s:s}", "note", note), &out);
    return code == CLI_OK ? print_alert(out) : code;
}

static int alerts_silence(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *note = "";
    int64_t days = 7;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("note", "TEXT", &note, "why"),
        OPT_I64("days", "N", &days, 0, 90, "for how long; 0: tell again; default 7"), OPT_END};
    const struct cli_usage usage = {
        "alerts silence", "ID", "Has nothing told of an alert for a while. Needs an admin key.",
        options,          1,    1};
    struct cli_args args;
    char path[128];
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    snprintf(path, sizeof path, "/v1/alerts/%.40s/silence", args.at[0]);
    code =
        post(&client, path, json_pack("{s:s, s:I}", "note", note, "days", (json_int_t)days), &out);
    return code == CLI_OK ? print_alert(out) : code;
}

static int alerts_look(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "alerts look", "", "Has the server look now, not at its next round. Needs an admin key.",
        options,       0,  0};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return post(&client, "/v1/schedule/alerts", NULL, NULL);
}

int cmd_alerts(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print the alerts", alerts_list},
        {"show", "print one and what stands behind it", alerts_show},
        {"ack", "say that somebody looks after it", alerts_ack},
        {"silence", "have nothing told of it for a while", alerts_silence},
        {"look", "look at all builds that spread now", alerts_look},
    };

    return cli_dispatch("framewatch alerts", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
