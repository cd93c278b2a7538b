/* framewatch alerts list|show|ack|silence|look, over HTTP. */
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

static bool list_page(struct client *c, bool all, const char **cursor, json_t **page,
                      struct err *err)
{
    const struct term t = term_on(stdout, 0);
    char path[512];
    json_t *out, *item;
    size_t i;

    snprintf(path, sizeof path, "/v1/alerts?limit=200%s%s%.400s", all ? "" : "&state=live",
             *cursor ? "&cursor=" : "", *cursor ? *cursor : "");
    if (!client_get(c, path, &out, err))
        return false;
    if (!*cursor && !json_array_size(json_object_get(out, "items")))
        puts("No alerts.");
    json_array_foreach(json_object_get(out, "items"), i, item) put_alert(&t, item);
    return client_turn(page, out, cursor, err); /* the cursor lives in the page */
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
    struct err err = {0};
    const char *cursor = NULL;
    json_t *page = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c != NULL;

    do
        ok = ok && list_page(c, all, &cursor, &page, &err);
    while (ok && cursor);
    json_decref(page);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
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

/* The alert with its lines as they are: client_get makes one of them. Text in it is foreign. */
static bool fetch_alert(struct client *c, const char *path, json_t **alert, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    bool ok = f ? client_download(c, path, f, err) : err_memory(err);

    if (f)
        fclose(f);
    if (ok) {
        *alert = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        ok = *alert || err_set(err, ERR_INVALID, "the answer is not JSON");
    }
    free(text);
    return ok;
}

/* Does what is asked of an alert, `body` of POST …/`verb` (taken; verb NULL: nothing), and prints
 * it as it is then. */
static int about_alert(const struct client_options *client, const char *id, const char *verb,
                       json_t *body)
{
    size_t n = strlen(id);
    struct err err = {0};
    struct client *c = NULL;
    char path[64], action[96];
    json_t *alert = NULL;
    bool ok;

    if (!n || n > 19 || strspn(id, "0123456789") != n)
        ok = err_field(&err, ERR_INVALID, "ID", "is a number, as `alerts list` prints it");
    else if (verb && !body)
        ok = err_field(&err, ERR_INVALID, "--note", "is no UTF-8");
    else
        ok = (c = client_open(client, &err)) != NULL;
    snprintf(path, sizeof path, "/v1/alerts/%.19s", id);
    snprintf(action, sizeof action, "%s/%s", path, verb ? verb : "");
    ok = ok && (!verb || client_send(c, "POST", action, body, NULL, &err)) &&
         fetch_alert(c, path, &alert, &err);
    json_decref(body);
    client_close(c);
    if (!ok)
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

    struct client *c = client_open(&client, &err);
    bool ok = c && client_send(c, "POST", "/v1/schedule/alerts", NULL, NULL, &err);

    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
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
