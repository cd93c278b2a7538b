/* framewatch tiers list|models|import|place|versions, over HTTP. */
#include "ask.h"
#include "csv.h"
#include "fields.h"
#include "term.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES_AT_ONCE 1000

/* The slowest tier ends nowhere. */
static void put_bounds(const json_t *tier)
{
    const json_t *from = json_object_get(tier, "from_ms"), *to = json_object_get(tier, "to_ms");

    if (json_is_number(to))
        printf("P90 up to %8.2f ms", json_number_value(to));
    else if (json_is_number(from))
        printf("P90 above %8.2f ms", json_number_value(from));
    else
        printf("%-21s", "any P90");
}

static int tiers_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"tiers list", "", "Prints the device tiers and their bounds.",
                                    options,      0,  0};
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL, *tier;
    size_t i;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!ask(&client, "GET", "/v1/tiers", NULL, &out, &err))
        return cli_fail(&err);
    if (!json_array_size(json_object_get(out, "tiers")))
        puts("No tiers yet: too few device models have sessions.");
    json_array_foreach(json_object_get(out, "tiers"), i, tier)
    {
        printf("%lld  %-7s ", (long long)number(tier, "tier"), string(tier, "name"));
        put_bounds(tier);
        printf("  %6lld models  %10lld sessions\n", (long long)number(tier, "models"),
               (long long)number(tier, "sessions"));
    }
    printf("untiered models: %lld\n", (long long)number(out, "untiered"));
    json_decref(out);
    return CLI_OK;
}

static void put_model(const struct term *t, const json_t *m)
{
    const json_t *part;
    const char *name;

    term_cell(t, string(m, "tier_name"), 10);
    term_cell(t, string(m, "manufacturer"), 12);
    term_cell(t, string(m, "model"), 20);
    term_cell(t, string(m, "soc"), 12);
    if (!json_is_number(json_object_get(m, "p90_ms"))) {
        fputs(" not fitted yet\n", t->out);
        return;
    }
    fprintf(t->out, " %6.2f ms (hardware says %6.2f, weight of its %lld sessions %.2f)\n",
            json_number_value(json_object_get(m, "p90_ms")),
            json_number_value(json_object_get(m, "prior_ms")), (long long)number(m, "sessions"),
            json_number_value(json_object_get(m, "weight")));
    fputs("          ", t->out);
    json_object_foreach((json_t *)(uintptr_t)json_object_get(m, "parts"), name, part)
    {
        fputc(' ', t->out);
        term_text(t, name, 20);
        fprintf(t->out, " %+.1f %%", 100 * expm1(json_number_value(part)));
    }
    fputc('\n', t->out);
}

static void show_model(const json_t *model)
{
    const struct term t = term_on(stdout, 0);

    put_model(&t, model);
}

static int tiers_models(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *tier = NULL;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("tier", "TIER", &tier, "high, mid, low or untiered"),
        OPT_END};
    const struct cli_usage usage = {
        "tiers models",
        "[TEXT]",
        "Prints device models, their tier, and what put each there. TEXT: part of a name.",
        options,
        0,
        1};
    struct cli_args args;
    struct err err = {0};
    struct ask_url url = {.n = 0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    ask_url_put(&url, "/v1/tiers/models");
    ask_url_query(&url, "limit", "200");
    ask_url_query(&url, "q", args.n && *args.at[0] ? args.at[0] : NULL);
    ask_url_query(&url, "tier", tier && *tier ? tier : NULL);
    if (!ask_url_fits(&url, &err))
        return cli_fail(&err);
    return ask_list(&client, url.text, true, &(struct ask_rows){.show = show_model});
}

/* Import --------------------------------------------------------------------------------------- */

static bool set_field(json_t *line, const char *name, const char *value, struct err *err)
{
    char *end;
    long long v;

    if (!*value)
        return true;
    if (strcmp(name, "manufacturer") == 0 || strcmp(name, "model") == 0 || strcmp(name, "soc") == 0)
        return json_object_set_new(line, name, json_string(value)) == 0 ||
               err_set(err, ERR_INVALID, "%s is no UTF-8", name);
    errno = 0;
    v = strtoll(value, &end, 10);
    if (*end || errno || v < 0)
        return err_set(err, ERR_INVALID, "%s: %.40s is no whole number", name, value);
    return json_object_set_new(line, name, json_integer(v)) == 0 ||
           err_set(err, ERR_INVALID, "a name in the header is no UTF-8");
}

static json_t *line_json(const struct csv_row *head, const struct csv_row *row, struct err *err)
{
    json_t *line = json_object();

    if (row->n != head->n) {
        err_set(err, ERR_INVALID, "%zu fields where the header has %zu", row->n, head->n);
        json_decref(line);
        return NULL;
    }
    for (size_t i = 0; i < row->n; i++)
        if (!set_field(line, head->field[i], row->field[i], err)) {
            json_decref(line);
            return NULL;
        }
    return line;
}

/* Takes the items. */
static bool send_lines(struct client *c, json_t *items, struct err *err)
{
    json_t *body = json_pack("{s:o}", "items", items);
    bool ok = body && client_send(c, "PUT", "/v1/tiers/catalogue", body, NULL, err);

    json_decref(body);
    return ok;
}

static bool send_file(struct client *c, FILE *in, size_t *sent, struct err *err)
{
    struct csv csv = csv_over(in);
    struct csv_row head = {0}, row = {0};
    json_t *items = json_array();
    bool ok = csv_next(&csv, &head, err) ||
              (err->code == ERR_NONE && err_set(err, ERR_INVALID, "the file is empty"));

    while (ok && csv_next(&csv, &row, err)) {
        json_t *line = line_json(&head, &row, err);

        ok = line != NULL;
        if (ok)
            json_array_append_new(items, line);
        if (ok && json_array_size(items) == LINES_AT_ONCE) {
            *sent += LINES_AT_ONCE;
            ok = send_lines(c, items, err);
            items = json_array();
        }
    }
    ok = ok && err->code == ERR_NONE;
    if (ok && json_array_size(items)) {
        *sent += json_array_size(items);
        ok = send_lines(c, items, err);
    } else {
        json_decref(items);
    }
    if (!ok && !strstr(err->text, "line "))
        fprintf(stderr, "framewatch: near line %zu of the file\n", csv.line);
    csv_row_fini(&head);
    csv_row_fini(&row);
    return ok;
}

static int tiers_import(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "tiers import",
        "FILE",
        "Sends a device catalogue: CSV with a header naming manufacturer and model, and any of "
        "soc, "
        "ram_mb, cores, fast_cores, clusters, max_khz, width_px, height_px. Needs an admin key.",
        options,
        1,
        1};
    struct cli_args args;
    struct err err = {0};
    size_t sent = 0;
    int code;
    FILE *in;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    in = fopen(args.at[0], "re");
    if (!in) {
        fprintf(stderr, "framewatch: %s: %s\n", args.at[0], strerror(errno));
        return CLI_FAILED;
    }

    struct client *c = client_open(&client, &err);
    bool ok = c && send_file(c, in, &sent, &err);

    client_close(c);
    fclose(in);
    if (!ok)
        return cli_fail(&err);
    printf("%zu lines\n", sent);
    return CLI_OK;
}

/* Cuts ----------------------------------------------------------------------------------------- */

static void put_version(const struct term *t, const json_t *v)
{
    const json_t *ms;
    size_t i;

    fprintf(t->out, "%-4lld %s  %lld tiers:", (long long)number(v, "version"),
            string(v, "placed_at"), (long long)number(v, "tiers"));
    json_array_foreach(json_object_get(v, "cuts"), i, ms)
        fprintf(t->out, " %.2f", json_number_value(ms));
    fputs(" ms  ", t->out);
    term_text(t, *string(v, "placed_by") ? string(v, "placed_by") : "by itself", 20);
    fputs("  ", t->out);
    term_text(t, string(v, "note"), 200);
    fputc('\n', t->out);
}

static void show_version(const json_t *version)
{
    const struct term t = term_on(stdout, 0);

    put_version(&t, version);
}

static int tiers_versions(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "tiers versions",
        "",
        "Prints the cuts between tiers as they were placed, the latest, which is in force, first.",
        options,
        0,
        0};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_list(&client, "/v1/tiers/versions?limit=200", true,
                    &(struct ask_rows){.show = show_version});
}

/* What is asked for; NULL and an error where an argument is none. */
static json_t *placing_json(int64_t tiers, const char *note, const struct cli_args *cuts,
                            struct err *err)
{
    json_t *body = json_pack("{s:s}", "note", note), *list = json_array();

    if (!body)
        err_field(err, ERR_INVALID, "--note", "is no UTF-8");
    else if (tiers && cuts->n)
        err_field(err, ERR_INVALID, "--tiers", "and cuts exclude each other");
    for (int i = 0; i < cuts->n && err->code == ERR_NONE; i++) {
        char *end;
        double ms = strtod(cuts->at[i], &end);

        if (end == cuts->at[i] || *end || !isfinite(ms))
            err_field(err, ERR_INVALID, "MS", "%.40s is no number", cuts->at[i]);
        else
            json_array_append_new(list, json_real(ms));
    }
    if (err->code != ERR_NONE) {
        json_decref(body);
        json_decref(list);
        return NULL;
    }
    if (tiers)
        json_object_set_new(body, "tiers", json_integer(tiers));
    if (cuts->n)
        json_object_set(body, "cuts", list);
    json_decref(list);
    return body;
}

static int tiers_place(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *note = "";
    int64_t tiers = 0;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_I64("tiers", "N", &tiers, 2, 8, "so many of them; default 3"),
        OPT_TEXT("note", "TEXT", &note, "why"), OPT_END};
    const struct cli_usage usage = {
        "tiers place",
        "[MS...]",
        "Places the cuts between tiers anew, by how the game runs on the models now, or at MS: P90 "
        "frame times, ascending. A new version; models and sessions move, alerts of the tiers "
        "before are over. Needs an admin key.",
        options,
        0,
        7};
    struct cli_args args;
    struct err err = {0};
    json_t *body, *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    body = placing_json(tiers, note, &args, &err);
    if (!body || !ask(&client, "POST", "/v1/tiers/versions", body, &out, &err))
        return cli_fail(&err);
    show_version(out);
    json_decref(out);
    return CLI_OK;
}

int cmd_tiers(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "print the tiers and their bounds", tiers_list},
        {"models", "print device models and why they are in their tier", tiers_models},
        {"import", "send a device catalogue (CSV)", tiers_import},
        {"place", "place the cuts between tiers anew", tiers_place},
        {"versions", "print the cuts as they were placed", tiers_versions},
    };

    return cli_dispatch("framewatch tiers", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
