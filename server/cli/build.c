/* framewatch build register|list: what CI says of a build, over HTTP. */
#include "ask.h"

#include <string.h>

#define MAX_DEBUG_IDS 1024
#define LIST_HEAD "ID       PLATFORM VERSION                      CODE  REGISTERED BUILD"

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
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!o.platform || !o.version || o.version_code < 0) {
        err_set(&err, ERR_INVALID, "--platform, --version and --version-code are required");
        cli_fail(&err);
        return CLI_USAGE;
    }
    return ask_and_print(&o.client, "POST", "/v1/builds", body_of(&o, &args));
}

static void print_build(const json_t *b)
{
    printf("%-8lld %-8s %-20s %12lld  %-10s %s\n", ask_number(b, "id"), client_field(b, "platform"),
           client_field(b, "version_name"), ask_number(b, "version_code"),
           json_is_true(json_object_get(b, "registered")) ? "yes" : "no",
           client_field(b, "build_uid"));
}

static int build_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {"build list", "", "Prints the newest builds of the app.",
                                    options,      0,  0};
    struct cli_args args;
    int code;

    return cli_parse(&usage, argc, argv, &args, &code)
               ? ask_list(&client, "/v1/builds?limit=200", false,
                          &(struct ask_rows){.head = LIST_HEAD, .show = print_build})
               : code;
}

int cmd_build(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"register", "make a build known", build_register},
        {"list", "print the newest builds", build_list},
    };

    return cli_dispatch("framewatch build", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
