/* framewatch rules …: how an app's stacks are grouped into families, over HTTP. */
#include "ask.h"
#include "family_text.h"

#include <stdio.h>
#include <string.h>

static int rules_show(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    bool versions = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_FLAG("versions", &versions, "all versions, newest first"), OPT_END};
    const struct cli_usage usage = {"rules show", "", "Prints the rules in force as JSON.",
                                    options,      0,  0};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    return ask_and_print(&o, "GET", versions ? "/v1/family-rules/versions" : "/v1/family-rules",
                         NULL);
}

/* Sends the file's rules. */
static json_t *send_file(const struct client_options *o, const char *method, const char *path,
                         const char *file, const char *note, struct err *err)
{
    json_t *body = ask_file(file, err), *out = NULL;

    if (!body)
        return NULL;
    if (note)
        json_object_set_new(body, "note", json_string(note));
    return ask(o, method, path, body, &out, err) ? out : NULL;
}

static int rules_set(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    const char *note = NULL;
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_TEXT("note", "TEXT", &note, "why, for the record"), OPT_END};
    const struct cli_usage usage = {
        "rules set",
        "FILE",
        "Puts the rules of a JSON file in force (\"-\": standard input). "
        "Counts of stacks do not move. Needs an admin key.",
        options,
        1,
        1};
    struct cli_args args;
    struct err err = {0};
    json_t *out;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    out = send_file(&o, "PUT", "/v1/family-rules", args.at[0], note, &err);
    return out ? ask_print(out) : cli_fail(&err);
}

static int rules_preview(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    bool json = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_FLAG("json", &json, "print the answer as it came"), OPT_END};
    const struct cli_usage usage = {
        "rules preview", "FILE", "Tells what the rules of a JSON file would do; saves nothing.",
        options,         1,      1};
    struct cli_args args;
    struct err err = {0};
    json_t *out;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    out = send_file(&o, "POST", "/v1/family-rules/preview", args.at[0], NULL, &err);
    if (!out)
        return cli_fail(&err);
    if (json)
        return ask_print(out);
    family_preview_print(out);
    json_decref(out);
    return CLI_OK;
}

static int rules_restore(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&o), OPT_END};
    const struct cli_usage usage = {"rules restore",
                                    "VERSION",
                                    "Puts the rules of a version in force again; 0: the defaults. "
                                    "Needs an admin key.",
                                    options,
                                    1,
                                    1};
    struct cli_args args;
    struct err err = {0};
    char path[128];
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (strspn(args.at[0], "0123456789") != strlen(args.at[0]) || strlen(args.at[0]) > 18) {
        err_set(&err, ERR_INVALID, "a version is a number");
        cli_fail(&err);
        return CLI_USAGE;
    }
    snprintf(path, sizeof path, "/v1/family-rules/versions/%s/restore", args.at[0]);
    return ask_and_print(&o, "POST", path, NULL);
}

int cmd_rules(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"show", "the rules in force", rules_show},
        {"preview", "what other rules would do", rules_preview},
        {"set", "put other rules in force", rules_set},
        {"restore", "go back to a version", rules_restore},
    };

    return cli_dispatch("framewatch rules", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
