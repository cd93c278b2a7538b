/* framewatch rules …: how an app's stacks are grouped into families, over HTTP. */
#include "client.h"
#include "family_text.h"

#include <stdio.h>
#include <string.h>

static int print_json(json_t *tree)
{
    json_dumpf(tree, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(tree);
    return CLI_OK;
}

/* "-": standard input. */
static json_t *read_file(const char *name, struct err *err)
{
    json_error_t why;
    json_t *doc = strcmp(name, "-") == 0 ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &why)
                                         : json_load_file(name, JSON_REJECT_DUPLICATES, &why);

    if (!doc)
        err_set(err, ERR_INVALID, "%.100s, line %d: %.100s", name, why.line, why.text);
    return doc;
}

static int rules_show(int argc, char **argv)
{
    struct client_options o = {NULL, NULL};
    bool versions = false;
    const struct cli_option options[] = {
        OPT_CLIENT(&o), OPT_FLAG("versions", &versions, "all versions, newest first"), OPT_END};
    const struct cli_usage usage = {"rules show", "", "Prints the rules in force as JSON.",
                                    options,      0,  0};
    struct cli_args args;
    struct err err = {0};
    json_t *out = NULL;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;

    struct client *c = client_open(&o, &err);
    bool ok =
        c && client_get(c, versions ? "/v1/family-rules/versions" : "/v1/family-rules", &out, &err);

    client_close(c);
    return ok ? print_json(out) : cli_fail(&err);
}

/* Sends the file's rules. */
static json_t *send_file(const struct client_options *o, const char *method, const char *path,
                         const char *file, const char *note, struct err *err)
{
    json_t *body = read_file(file, err), *out = NULL;
    struct client *c = body ? client_open(o, err) : NULL;

    if (body && note)
        json_object_set_new(body, "note", json_string(note));
    if (c && !client_send(c, method, path, body, &out, err))
        out = NULL;
    client_close(c);
    json_decref(body);
    return out;
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
    return out ? print_json(out) : cli_fail(&err);
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
        return print_json(out);
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
    json_t *out = NULL;
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

    struct client *c = client_open(&o, &err);
    bool ok = c && client_send(c, "POST", path, NULL, &out, &err);

    client_close(c);
    return ok ? print_json(out) : cli_fail(&err);
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
