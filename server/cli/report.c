/* framewatch report: a build against its baseline, now or as it was kept; framewatch health: is a
 * release well observed? */
#include "ask.h"
#include "fields.h"
#include "term.h"

#include <math.h>
#include <string.h>

#define TENFOLD 10 /* the size of a larger change says nothing more */

struct report_options {
    struct client_options client;
    const char *build, *baseline, *tier, *scene, *format, *as_of;
    bool all, kept;
};

static void put_change(const struct term *t, const json_t *figure)
{
    const json_t *change = json_object_get(figure, "change");
    double low = json_number_value(json_object_get(figure, "low"));
    double high = json_number_value(json_object_get(figure, "high"));
    char text[64];

    if (!json_is_number(change)) {
        term_put(t, STYLE_DIM, "  too few sessions to compare");
        return;
    }
    snprintf(text, sizeof text, "  %+7.1f %%  (%+.1f … %s%+.1f %%)",
             100 * json_number_value(change), 100 * low, high > TENFOLD ? "over " : "",
             100 * (high > TENFOLD ? TENFOLD : high));
    term_put(t, low > 0 ? STYLE_RED : high < 0 ? STYLE_GREEN : STYLE_PLAIN, text);
}

/* A figure in its unit; "–" where there is none. */
static void put_figure(const struct term *t, const json_t *value)
{
    if (json_is_number(value))
        fprintf(t->out, "%10.4g", json_number_value(value));
    else
        fputs("         –", t->out);
}

static bool shown(const struct report_options *o, const json_t *metric)
{
    return o->all || json_is_true(json_object_get(metric, "watched"));
}

static void put_slice(const struct term *t, const struct report_options *o, const json_t *doc,
                      const json_t *slice)
{
    const json_t *metric;
    size_t i;

    term_style(t, STYLE_BOLD);
    term_text(t, string(slice, "tier_name"), 20);
    fputs("  ", t->out);
    term_text(t, *string(slice, "scene") ? string(slice, "scene") : "whole sessions", 60);
    term_style(t, STYLE_PLAIN);
    fprintf(t->out, "  %lld sessions, %lld installs\n", (long long)number(slice, "sessions"),
            (long long)number(slice, "installs"));
    json_array_foreach(json_object_get(doc, "metrics"), i, metric)
    {
        const json_t *f =
            json_object_get(json_object_get(slice, "figures"), string(metric, "name"));

        if (!f || !shown(o, metric))
            continue;
        fputs("  ", t->out);
        term_cell(t, string(metric, "name"), 18);
        put_figure(t, json_object_get(f, "value"));
        fputc(' ', t->out);
        term_cell(t, string(metric, "unit"), 12);
        if (json_object_get(f, "baseline")) {
            fputs(" was ", t->out);
            put_figure(t, json_object_get(f, "baseline"));
            put_change(t, f);
        }
        fputc('\n', t->out);
    }
}

static int print_report(const struct report_options *o, const json_t *doc)
{
    const struct term t = term_on(stdout, 0);
    const json_t *slice, *build = json_object_get(doc, "build"),
                         *base = json_object_get(doc, "baseline");
    size_t i;

    term_text(&t, string(build, "version_name"), 40);
    printf(" (%lld)", (long long)number(build, "version_code"));
    if (json_is_object(base)) {
        fputs(" against ", stdout);
        term_text(&t, string(base, "version_name"), 40);
        printf(" (%lld)", (long long)number(base, "version_code"));
    }
    fputs("\n\n", stdout);
    json_array_foreach(json_object_get(doc, "slices"), i, slice) put_slice(&t, o, doc, slice);
    return CLI_OK;
}

static void put_checks(const struct term *t, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *status = string(item, "status");

        term_style(t, strcmp(status, "serious") == 0   ? STYLE_RED
                      : strcmp(status, "warning") == 0 ? STYLE_YELLOW
                                                       : STYLE_PLAIN);
        term_cell(t, status, 9);
        term_style(t, STYLE_PLAIN);
        term_text(t, string(item, "text"), 200);
        fputc('\n', t->out);
    }
}

static int print_check(const json_t *doc)
{
    const struct term t = term_on(stdout, 0);

    term_text(&t, string(json_object_get(doc, "build"), "version_name"), 40);
    printf(", day %lld, %lld sessions in statistics", (long long)number(doc, "day"),
           (long long)number(doc, "sessions"));
    if (*string(doc, "made_at")) {
        fputs(", as it stood at ", stdout);
        term_text(&t, string(doc, "made_at"), 24);
    }
    fputc('\n', stdout);
    if (json_is_true(json_object_get(doc, "nothing_to_do")))
        term_put(&t, STYLE_GREEN, "Nothing to do.\n");
    put_checks(&t, json_object_get(doc, "findings"));
    put_checks(&t, json_object_get(doc, "checks"));
    return CLI_OK;
}

static int fetch_report(const struct report_options *o, const char *path)
{
    struct err err = {0};
    json_t *doc = NULL;
    int code;

    if (strcmp(o->format, "text") != 0)
        return ask_download(&o->client, path, stdout, &err) ? CLI_OK : cli_fail(&err);
    if (!ask(&o->client, "GET", path, NULL, &doc, &err))
        return cli_fail(&err);
    code = json_object_get(doc, "findings") ? print_check(doc) : print_report(o, doc);
    json_decref(doc);
    return code;
}

/* Reports of a build that were made by themselves, the latest first. */
static int print_kept(const struct report_options *o, const char *path)
{
    const struct term t = term_on(stdout, 0);
    struct err err = {0};
    json_t *doc = NULL;
    const json_t *item, *items;
    size_t i;

    if (!ask(&o->client, "GET", path, NULL, &doc, &err))
        return cli_fail(&err);
    items = json_object_get(doc, "items");
    if (!json_array_size(items))
        term_put(&t, STYLE_DIM, "none was made by itself yet\n");
    json_array_foreach(items, i, item)
    {
        char what[32];

        if (strcmp(string(item, "kind"), "health") == 0)
            snprintf(what, sizeof what, "health, day %lld", (long long)number(item, "step"));
        else
            snprintf(what, sizeof what, "comparison");
        printf("%8lld  ", (long long)number(item, "id"));
        term_text(&t, string(item, "made_at"), 24);
        fputs("  ", stdout);
        term_cell(&t, what, 15);
        printf("  %lld sessions\n", (long long)number(item, "sessions"));
    }
    json_decref(doc);
    return CLI_OK;
}

static void put_path(const struct report_options *o, const char *build, struct ask_url *url)
{
    if (o->as_of) {
        ask_url_put(url, "/v1/reports/");
        ask_url_segment(url, o->as_of);
    } else if (o->kept) {
        ask_url_put(url, "/v1/reports");
        ask_url_query(url, "build", build);
        ask_url_query(url, "limit", "100");
        return;
    } else {
        ask_url_put(url, "/v1/report");
        ask_url_query(url, "build", build);
        ask_url_query(url, "baseline", o->baseline);
        ask_url_query(url, "tier", o->tier);
        ask_url_query(url, "scene", o->scene);
    }
    ask_url_query(url, "format", strcmp(o->format, "text") == 0 ? NULL : o->format);
}

int cmd_report(int argc, char **argv)
{
    struct report_options o = {.format = "text"};
    const struct cli_option options[] = {
        OPT_CLIENT(&o.client),
        OPT_TEXT("baseline", "ID", &o.baseline, "another build to stand beside it"),
        OPT_TEXT("tier", "TIER", &o.tier, "high, mid, low, untiered or all"),
        OPT_TEXT("scene", "SCENE", &o.scene, "mode/map; \"\" for whole sessions"),
        OPT_TEXT("format", "FORMAT", &o.format, "text, json, csv or html; default text"),
        OPT_FLAG("all", &o.all, "all metrics, not only those that alerts watch"),
        OPT_FLAG("kept", &o.kept, "lists those of the build that were made by themselves"),
        OPT_TEXT("as-of", "ID", &o.as_of, "one of those, as it stood then"),
        OPT_END};
    const struct cli_usage usage = {
        "report", "BUILD", "Compares a build (its id) with its baseline, by tier and scene.",
        options,  1,       1};
    struct cli_args args;
    struct err err = {0};
    struct ask_url url = {.n = 0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    put_path(&o, args.at[0], &url);
    if (!ask_url_fits(&url, &err)) {
        cli_fail(&err);
        return CLI_USAGE;
    }
    return o.kept && !o.as_of ? print_kept(&o, url.text) : fetch_report(&o, url.text);
}

int cmd_health(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *build = NULL, *day = NULL;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("build", "ID", &build, "default: the latest with sessions"),
        OPT_TEXT("day", "N", &day, "volume of the first so many days; default: so far"), OPT_END};
    const struct cli_usage usage = {
        "health", "", "Says whether a release is well observed, and what to look after if not.",
        options,  0,  0};
    struct cli_args args;
    struct err err = {0};
    struct ask_url url = {.n = 0};
    json_t *doc = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    ask_url_put(&url, "/v1/health-check");
    ask_url_query(&url, "build", build);
    ask_url_query(&url, "day", day);
    if (!ask_url_fits(&url, &err) || !ask(&client, "GET", url.text, NULL, &doc, &err))
        return cli_fail(&err);
    code = print_check(doc);
    json_decref(doc);
    return code;
}
