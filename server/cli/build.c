/* framewatch build register|list: what CI says of a build, over HTTP. */
#include "client.h"

#include <string.h>

#define MAX_DEBUG_IDS 64

struct build_options {
    struct client_options client;
    const char *platform, *version, *uid, *package, *commit, *released_at;
    int64_t version_code;
};

static void set_text(json_t *body, const char *name, const char *value)
{
    if (value)
        json_object_set_new(body, name, json_string(value));
}

static json_t *body_of(const struct build_options *o, const struct cli_args *debug_ids)
{
    json_t *body = json_object();

    set_text(body, "platform", o->platform);
    set_text(body, "version_name", o->version);
    json_object_set_new(body, "version_code", json_integer(o->version_code));
    set_text(body, "build_uid", o->uid);
    set_text(body, "package", o->package);
    set_text(body, "git_commit", o->commit);
    set_text(body, "released_at", o->released_at);
    if (debug_ids->n) {
        json_t *list = json_array();

        for (int i = 0; i < debug_ids->n; i++)
            json_array_append_new(list, json_string(debug_ids->at[i]));
        json_object_set_new(body, "debug_ids", list);
    }
    return body;
}

static int print_json(json_t *tree)
{
    json_dumpf(tree, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(tree);
    return CLI_OK;
}

static int build_register(int argc, char **argv)
{
    struct build_options o = {.version_code = -1};
    const struct cli_option options[] = {
        OPT_CLIENT(&o.client),
        OPT_TEXT("platform", "NAME", &o.platform, "android, ios or linux"),
        OPT_TEXT("version", "NAME", &o.version, "\"2.14.0\""),
        OPT_I64("version-code", "N", &o.version_code, 0, INT64_MAX, "grows with each release"),
        OPT_TEXT("build-uid", "TEXT", &o.uid, "the build id that the game gives the SDK"),
        OPT_TEXT("package", "NAME", &o.package, "\"org.example.game\""),
        OPT_TEXT("commit", "HASH", &o.commit, "git commit"),
        OPT_TEXT("released-at", "TIME", &o.released_at, "like 2024-05-06T07:08:09Z"),
        OPT_END};
    const struct cli_usage usage = {
        "build register",
        "[DEBUG-ID…]",
        "Makes a build known to the server, with the debug ids of its modules; saying it again is "
        "fine. Needs an admin key.",
        options,
        0,
        MAX_DEBUG_IDS};
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!o.platform || !o.version || o.version_code < 0) {
        err_set(&err, ERR_INVALID, "--platform, --version and --version-code are required");
        cli_fail(&err);
        return CLI_USAGE;
    }

    struct client *c = client_open(&o.client, &err);
    json_t *body = body_of(&o, &args);
    bool ok = c && client_send(c, "POST", "/v1/builds", body, &out, &err);

    json_decref(body);
    client_close(c);
    return ok ? print_json(out) : cli_fail(&err);
}

static int build_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"build list", "", "Prints the newest builds of the app.",
                                    options,      0,  0};
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL, *item;
    size_t i;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&client, &err);
    bool ok = c && client_get(c, "/v1/builds?limit=200", &out, &err);

    client_close(c);
    if (!ok)
        return cli_fail(&err);
    printf("%-8s %-8s %-20s %12s  %-10s %s\n", "ID", "PLATFORM", "VERSION", "CODE", "REGISTERED",
           "BUILD");
    json_array_foreach(json_object_get(out, "items"), i, item)
        printf("%-8lld %-8s %-20s %12lld  %-10s %s\n",
               (long long)json_integer_value(json_object_get(item, "id")),
               client_field(item, "platform"), client_field(item, "version_name"),
               (long long)json_integer_value(json_object_get(item, "version_code")),
               json_is_true(json_object_get(item, "registered")) ? "yes" : "no",
               client_field(item, "build_uid"));
    json_decref(out);
    return CLI_OK;
}

int cmd_build(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"register", "make a build known", build_register},
        {"list", "print the newest builds", build_list},
    };

    return cli_dispatch("framewatch build", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
