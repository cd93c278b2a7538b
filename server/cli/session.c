#include "chart.h"
#include "client.h"
#include "fields.h"
#include "local.h"
#include "trajectory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PATH 1024
#define WORST_JANKS 5

struct options {
    struct client_options client;
    const char *trace, *out, *raw;
    bool json, files;
    int64_t width, worst;
    char id[33];
};

static bool read_id(const char *text, char id[33], struct err *err)
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (n == 32 || !strchr("0123456789abcdefABCDEF", *text))
            break;
        id[n++] = (char)(*text | 0x20);
    }
    id[n] = 0;
    return (n == 32 && !*text) ||
           err_field(err, ERR_INVALID, "ID", "a session id has 32 hexadecimal digits");
}

static void path_of(const struct options *o, const char *rest, char path[MAX_PATH])
{
    snprintf(path, MAX_PATH, "/v1/sessions/%s%s", o->id, rest);
}

static bool fetch(struct client *c, const struct options *o, const char *rest, json_t **out,
                  struct err *err)
{
    char path[MAX_PATH];

    path_of(o, rest, path);
    return client_get(c, path, out, err);
}

static bool show(struct client *c, const struct options *o, struct err *err)
{
    struct term term = term_on(stdout, (unsigned)o->width);
    json_t *summary = NULL, *timeline = NULL, *janks = NULL;
    char query[64];
    bool ok;

    snprintf(query, sizeof query, "/timeline?buckets=%u", chart_columns(&term));
    ok = fetch(c, o, "", &summary, err) && fetch(c, o, query, &timeline, err) &&
         fetch(c, o, "/janks", &janks, err);
    if (ok)
        trajectory_print(&term, &(struct trajectory){summary, timeline, janks, (unsigned)o->worst});
    json_decref(summary);
    json_decref(timeline);
    json_decref(janks);
    return ok;
}

/* The same from the session's files, without a server. */
static bool show_files(const struct options *o, const struct cli_args *files, struct err *err)
{
    struct term term = term_on(stdout, (unsigned)o->width);
    struct local_session x;

    if (!local_session_read(files->at, files->n, chart_columns(&term), &x, err))
        return false;
    if (o->json)
        json_dumpf(x.summary, stdout, JSON_INDENT(2));
    else
        trajectory_print(&term,
                         &(struct trajectory){x.summary, x.timeline, x.janks, (unsigned)o->worst});
    json_decref(x.summary);
    json_decref(x.timeline);
    json_decref(x.janks);
    return true;
}

static bool show_json(struct client *c, const struct options *o, struct err *err)
{
    char path[MAX_PATH];

    path_of(o, "", path);
    if (!client_download(c, path, stdout, err))
        return false;
    fputc('\n', stdout);
    return true;
}

static bool save_trace(struct client *c, const struct options *o, struct err *err)
{
    char path[MAX_PATH], rest[64];

    snprintf(rest, sizeof rest, "/trace?format=%s", o->trace);
    path_of(o, rest, path);
    return client_save(c, path, o->out, err);
}

/* Where a part comes from is the server's to say, as long as it is a path of this session. */
static bool save_part(struct client *c, const struct options *o, const json_t *item,
                      struct err *err)
{
    char file[MAX_PATH], ours[MAX_PATH];
    const char *href = string(item, "href");
    int n = snprintf(file, sizeof file, "%s/%s-%lld-%.8s.zst", o->raw, o->id,
                     (long long)number(item, "part"), string(item, "sha256"));

    path_of(o, "/raw/", ours);
    if (n < 0 || (size_t)n >= sizeof file)
        return err_field(err, ERR_TOO_BIG, "--raw", "the path is too long");
    if (strncmp(href, ours, strlen(ours)) != 0 || strchr(string(item, "sha256"), '/'))
        return err_set(err, ERR_INVALID, "the server's list of parts is not understood");
    if (!client_save(c, href, file, err))
        return false;
    printf("%s\n", file);
    return true;
}

static bool save_raw(struct client *c, const struct options *o, struct err *err)
{
    json_t *list = NULL;

    if (mkdir(o->raw, 0777) && errno != EEXIST)
        return err_set(err, ERR_INVALID, "cannot make %.150s: %s", o->raw, strerror(errno));
    if (!fetch(c, o, "/raw", &list, err))
        return false;

    const json_t *items = json_object_get(list, "items");
    bool ok = true;

    for (size_t i = 0; ok && i < json_array_size(items); i++)
        ok = save_part(c, o, json_array_get(items, i), err);
    json_decref(list);
    return ok;
}

static bool run(const struct options *o, struct err *err)
{
    struct client *c = client_open(&o->client, err);
    bool ok;

    if (!c)
        return false;
    if (o->trace)
        ok = save_trace(c, o, err);
    else if (o->raw)
        ok = save_raw(c, o, err);
    else if (o->json)
        ok = show_json(c, o, err);
    else
        ok = show(c, o, err);
    client_close(c);
    return ok;
}

static bool options_fit(const struct options *o, const struct cli_args *args, struct err *err)
{
    if (o->trace && strcmp(o->trace, "chrome") != 0 && strcmp(o->trace, "perfetto") != 0)
        return err_field(err, ERR_INVALID, "--trace", "is neither chrome nor perfetto");
    if (o->trace && !o->out)
        return err_field(err, ERR_INVALID, "-o", "says where the trace goes");
    if (!o->files && args->n > 1)
        return err_field(err, ERR_INVALID, "ID", "one session at a time");
    if (o->files && (o->trace || o->raw))
        return err_field(err, ERR_INVALID, "--files", "goes with neither --trace nor --raw");
    return true;
}

int cmd_session(int argc, char **argv)
{
    struct options o = {.worst = WORST_JANKS};
    const struct cli_option options[] = {
        OPT_CLIENT(&o.client),
        OPT_FLAG("json", &o.json, "the server's summary as JSON"),
        OPT_TEXT("trace", "FORMAT", &o.trace, "download a trace instead: chrome or perfetto"),
        OPT_TEXT("o", "FILE", &o.out, "where the trace goes; - is standard output"),
        OPT_TEXT("raw", "DIR", &o.raw, "download the session's files into a folder instead"),
        OPT_FLAG("files", &o.files, "read the session from these files instead of a server"),
        OPT_I64("worst", "N", &o.worst, 0, 1000, "janks to tell one by one; default 5"),
        OPT_I64("width", "COLUMNS", &o.width, TERM_MIN_WIDTH, TERM_MAX_WIDTH,
                "default: the terminal's"),
        OPT_END};
    const struct cli_usage usage = {
        .command = "session",
        .args = "ID | --files FILE…",
        .help = "Shows what a session went through: facts, frame times, scenes, a drawn timeline,\n"
                "its worst janks with causes and stacks, and the last steps.",
        .options = options,
        .min_args = 1,
        .max_args = -1};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!options_fit(&o, &args, &err) || (!o.files && !read_id(args.at[0], o.id, &err))) {
        cli_fail(&err);
        return CLI_USAGE;
    }
    if (o.files ? !show_files(&o, &args, &err) : !run(&o, &err))
        return cli_fail(&err);
    return CLI_OK;
}
