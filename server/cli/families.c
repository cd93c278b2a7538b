/* framewatch families …: jank and crash stacks merged into families, over HTTP. */
#include "ask.h"
#include "family_text.h"

static struct ask_url of_family(const char *id, const char *below)
{
    struct ask_url p = {.n = 0};

    ask_url_put(&p, "/v1/families/");
    ask_url_segment(&p, id);
    ask_url_put(&p, below);
    return p;
}

struct view {
    struct client_options client;
    bool json;
    const char *build;
};
#define OPT_VIEW(v)                                                                                \
    OPT_CLIENT(&(v)->client), OPT_FLAG("json", &(v)->json, "print the answer as it came")

/* Prints the answer for a person, or as it came. */
static int view(const struct view *v, const struct ask_url *url, void (*print)(const json_t *))
{
    struct err err = {0};
    json_t *out = NULL;

    if (!ask_url_fits(url, &err))
        return cli_fail(&err);
    if (v->json)
        return ask_and_print(&v->client, "GET", url->text, NULL);
    if (!ask(&v->client, "GET", url->text, NULL, &out, &err))
        return cli_fail(&err);
    print(out);
    json_decref(out);
    return CLI_OK;
}

static int list(int argc, char **argv)
{
    static const char *const names[] = {"build", "tier",  "scene", "model", "os",   "cause",
                                        "kind",  "class", "owner", "sort",  "limit"};
    enum { N = sizeof names / sizeof *names };
    const char *value[N] = {NULL};
    struct view v = {.json = false};
    bool below_rate = false, ignored = false;
    const struct cli_option options[] = {
        OPT_VIEW(&v),
        OPT_TEXT("build", "ID", &value[0], "counts of that build"),
        OPT_TEXT("tier", "N", &value[1], "of that device tier"),
        OPT_TEXT("scene", "MODE/MAP", &value[2], "of that scene"),
        OPT_TEXT("model", "ID", &value[3], "of that device model"),
        OPT_TEXT("os", "TEXT", &value[4], "of that OS version"),
        OPT_TEXT("cause", "NAME", &value[5], "of that cause"),
        OPT_TEXT("kind", "jank|crash", &value[6], "of that kind"),
        OPT_TEXT("class", "NAME", &value[7], "in_app (default), system_only …, any"),
        OPT_TEXT("owner", "NAME", &value[8], "of that owner; - for nobody's"),
        OPT_TEXT("sort", "NAME", &value[9], "sessions (default), installs, jank_ms, events"),
        OPT_TEXT("limit", "N", &value[10], "most families to print, up to 200"),
        OPT_FLAG("below-rate", &below_rate, "those below the rate threshold too"),
        OPT_FLAG("ignored", &ignored, "ignored ones too"),
        OPT_END};
    const struct cli_usage usage = {"families list", "", "Prints families, ranked.", options, 0, 0};
    struct ask_url p = {.n = 0};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    ask_url_put(&p, "/v1/families");
    for (size_t i = 0; i < N; i++)
        ask_url_query(&p, names[i], value[i]);
    ask_url_query(&p, "below_rate", below_rate ? "true" : NULL);
    ask_url_query(&p, "ignored", ignored ? "true" : NULL);
    return view(&v, &p, families_print);
}

/* A resource of one family. */
static int one(int argc, char **argv, const char *command, const char *help, const char *below,
               void (*print)(const json_t *))
{
    struct view v = {.json = false};
    const struct cli_option options[] = {
        OPT_VIEW(&v), OPT_TEXT("build", "ID", &v.build, "of that build alone"), OPT_END};
    const struct cli_usage usage = {command, "ID", help, options, 1, 1};
    struct cli_args args;
    struct ask_url p;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    p = of_family(args.at[0], below);
    ask_url_query(&p, "build", v.build);
    return view(&v, &p, print);
}

static int show(int argc, char **argv)
{
    return one(argc, argv, "families show", "Prints one family: why, its stack, its breakdown.", "",
               family_print);
}

static int sessions(int argc, char **argv)
{
    return one(argc, argv, "families sessions", "Prints sessions that show a family.", "/sessions",
               family_sessions_print);
}

static int paths(int argc, char **argv)
{
    return one(argc, argv, "families paths",
               "Prints the ways through the game that lead to a family's janks.", "/paths",
               family_paths_print);
}

static int verdicts(int argc, char **argv)
{
    return one(argc, argv, "families verdicts", "Prints whether fixes of a family worked.",
               "/verdicts", family_verdicts_print);
}

static int flame(int argc, char **argv)
{
    const char *build = NULL, *kind = NULL, *format = "folded", *value = NULL, *out = "-";
    struct client_options o = {NULL, NULL};
    const struct cli_option options[] = {
        OPT_CLIENT(&o),
        OPT_TEXT("build", "ID", &build, "of that build alone"),
        OPT_TEXT("kind", "jank|crash", &kind, "without a family: stacks of that kind"),
        OPT_TEXT("format", "NAME", &format, "folded (default), speedscope, pprof, json"),
        OPT_TEXT("value", "events|ms", &value, "what to weigh by"),
        OPT_TEXT("o", "FILE", &out, "write there; - (default) is standard output"),
        OPT_END};
    const struct cli_usage usage = {
        "families flame", "[ID]", "Writes the stacks of a family, or of all, as a flame graph.",
        options,          0,      1};
    struct ask_url p = {.n = 0};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (args.n)
        p = of_family(args.at[0], "/flame");
    else
        ask_url_put(&p, "/v1/flame");
    ask_url_query(&p, "format", format);
    ask_url_query(&p, "build", build);
    ask_url_query(&p, "kind", kind);
    ask_url_query(&p, "value", value);
    ask_url_query(&p, "prune_ppm", "0");
    return ask_url_fits(&p, &err) && ask_save(&o, p.text, out, &err) ? CLI_OK : cli_fail(&err);
}

/* POSTs `body` (taken), which is NULL if an argument is no UTF-8. */
static int edit(const struct client_options *o, const struct ask_url *url, json_t *body)
{
    struct err err = {0};

    if (!body)
        err_set(&err, ERR_INVALID, "the arguments are no UTF-8");
    if (!body || !ask_url_fits(url, &err)) {
        json_decref(body);
        return cli_fail(&err);
    }
    return ask_and_print(o, "POST", url->text, body);
}

static int merge(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    const char *note = "";
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_TEXT("note", "TEXT", &note, "why, for the record"), OPT_END};
    const struct cli_usage usage = {
        "families merge", "ID INTO", "Merges a family into another. Needs an admin key.",
        options,          2,         2};
    struct cli_args args;
    struct ask_url p;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    p = of_family(args.at[0], "/merge");
    return edit(&o, &p, json_pack("{s:s, s:s}", "into", args.at[1], "note", note));
}

static int split(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    const char *note = "";
    int64_t depth = 0;
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_I64("depth", "N", &depth, 2, 5, "frames that must be alike"),
        OPT_TEXT("note", "TEXT", &note, "why, for the record"), OPT_END};
    const struct cli_usage usage = {
        "families split",
        "ID",
        "Tells the stacks of a family apart at a greater depth. Needs an "
        "admin key.",
        options,
        1,
        1};
    struct cli_args args;
    struct err err = {0};
    struct ask_url p;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!depth) {
        err_set(&err, ERR_INVALID, "--depth is required");
        cli_fail(&err);
        return CLI_USAGE;
    }
    p = of_family(args.at[0], "/split");
    return edit(&o, &p, json_pack("{s:I, s:s}", "depth", depth, "note", note));
}

static int undo(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&o), OPT_END};
    const struct cli_usage usage = {
        "families undo", "EDIT", "Undoes a merge or split by its number. Needs an admin key.",
        options,         1,      1};
    struct cli_args args;
    struct err err = {0};
    char path[64];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!ask_path(path, sizeof path, "/v1/family-edits", args.at[0], "/undo", "families merge",
                  &err))
        return cli_fail(&err);
    return ask_and_print(&o, "POST", path, NULL);
}

int cmd_families(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"list", "families ranked", list},
        {"show", "one family: why, stack, breakdown", show},
        {"sessions", "sessions that show it", sessions},
        {"paths", "steps that lead to it", paths},
        {"verdicts", "whether fixes worked", verdicts},
        {"flame", "its stacks as folded text, for speedscope or pprof", flame},
        {"merge", "put a family into another", merge},
        {"split", "tell its stacks apart at a greater depth", split},
        {"undo", "undo a merge or split", undo},
    };

    return cli_dispatch("framewatch families", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
