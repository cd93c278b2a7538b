/* framewatch alerts list|show|ack|silence|look, over HTTP. */
#include "ask.h"
#include "fields.h"
#include "term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the change rests on: fewer sessions than have the metric. */
static long long compared(const json_t *a)
{
    const json_t *evidence = json_object_get(a, "evidence");

    return (long long)(json_object_get(evidence, "sessions") ? number(evidence, "sessions")
                                                             : number(a, "sessions"));
}

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
            100 * json_number_value(json_object_get(a, "high")), compared(a));
}

static void show_row(const json_t *alert)
{
    const struct term t = term_on(stdout, 0);

    put_alert(&t, alert);
}

static int alerts_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    bool all = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_FLAG("all", &all, "also those that are over"), OPT_END};
    const struct cli_usage usage = {"alerts list", "", "Prints the alerts of the app.",
                                    options,       0,  0};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_list(&client, all ? "/v1/alerts?limit=200" : "/v1/alerts?limit=200&state=live", true,
                    &(struct ask_rows){.none = "No alerts.", .show = show_row});
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

static void print_alert(const json_t *alert)
{
    const struct term t = term_on(stdout, 0);
    const json_t *evidence = json_object_get(alert, "evidence");

    put_alert(&t, alert);
    put_lines(&t, string(evidence, "summary"));
    put_lines(&t, string(evidence, "detail"));
}

/* The alert with its lines as they are: ask() makes one of them. Text in it is foreign. */
static bool fetch_alert(const struct client_options *o, const char *path, json_t **alert,
                        struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    bool ok = f ? ask_download(o, path, f, err) : err_memory(err);

    if (f)
        fclose(f);
    if (ok) {
        *alert = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        ok = *alert || err_set(err, ERR_INVALID, "the answer is not JSON");
    }
    free(text);
    return ok;
}

/* Does what is asked of an alert, `body` of POST …/`verb` (taken). */
static bool act(const struct client_options *o, const char *path, const char *verb, json_t *body,
                struct err *err)
{
    char action[96];

    if (!body)
        return err_field(err, ERR_INVALID, "--note", "is no UTF-8");
    snprintf(action, sizeof action, "%s/%s", path, verb);
    return ask(o, "POST", action, body, NULL, err);
}

/* The same, unless `verb` is NULL, and prints the alert as it is then. */
static int about_alert(const struct client_options *o, const char *id, const char *verb,
                       json_t *body)
{
    struct err err = {0};
    char path[64];
    json_t *alert = NULL;

    if (!ask_path(path, sizeof path, "/v1/alerts", id, "", "alerts list", &err)) {
        json_decref(body);
        return cli_fail(&err);
    }
    if ((verb && !act(o, path, verb, body, &err)) || !fetch_alert(o, path, &alert, &err))
        return cli_fail(&err);
    print_alert(alert);
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
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return about_alert(&client, args.at[0], NULL, NULL);
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
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return about_alert(&client, args.at[0], "acknowledge", json_pack("{s:s}", "note", note));
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
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return about_alert(&client, args.at[0], "silence",
                       json_pack("{s:s, s:I}", "note", note, "days", (json_int_t)days));
}

static int alerts_look(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "alerts look", "", "Has the server look now, not at its next round. Needs an admin key.",
        options,       0,  0};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask(&client, "POST", "/v1/schedule/alerts", NULL, NULL, &err) ? CLI_OK : cli_fail(&err);
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
