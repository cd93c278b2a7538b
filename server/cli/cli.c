#include "cli.h"

#include "term.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(const struct err *err)
{
    struct err shown = *err; /* it may hold what a server or a file says */

    term_clean(shown.field);
    term_clean(shown.text);
    if (shown.field[0])
        fprintf(stderr, "framewatch: %s: %s\n", shown.field, shown.text);
    else
        fprintf(stderr, "framewatch: %s\n", shown.text);
    return CLI_FAILED;
}

static void refuse_option(const char *given)
{
    struct err err;

    err_set(&err, ERR_INVALID, "%.200s: no such option", given);
    cli_fail(&err);
}

static const char *dashes(const struct cli_option *o)
{
    return o->name[1] ? "--" : "-";
}

static void print_usage_line(const struct cli_usage *u, FILE *to)
{
    fprintf(to, "usage: framewatch %s%s%s%s\n", u->command, u->options ? " [options]" : "",
            u->args[0] ? " " : "", u->args);
}

static void print_help(const struct cli_usage *u)
{
    print_usage_line(u, stdout);
    printf("\n%s\n\noptions:\n", u->help);
    for (const struct cli_option *o = u->options; o && o->name; o++) {
        int width =
            printf("  %s%s%s%s", dashes(o), o->name, o->value ? " " : "", o->value ? o->value : "");

        printf("%*s  %s\n", width < 24 ? 24 - width : 0, "", o->help);
    }
    printf("  %-22s  %s\n", "--help", "this text");
}

static const struct cli_option *find_option(const struct cli_usage *u, const char *name, size_t len)
{
    for (const struct cli_option *o = u->options; o && o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static bool store_i64(const struct cli_option *o, const char *text)
{
    char *end;

    errno = 0;
    long long v = strtoll(text, &end, 10);

    if (end == text || *end || errno || v < o->min || v > o->max) {
        fprintf(stderr, "framewatch: %s%s: a whole number from %lld to %lld is wanted\n", dashes(o),
                o->name, (long long)o->min, (long long)o->max);
        return false;
    }
    *(int64_t *)o->out = v;
    return true;
}

static bool store(const struct cli_option *o, const char *text)
{
    switch (o->type) {
    case CLI_FLAG:
        *(bool *)o->out = true;
        return true;
    case CLI_TEXT:
        *(const char **)o->out = text;
        return true;
    case CLI_I64:
        return store_i64(o, text);
    }
    return false;
}

/* argv[*i] is an option; its value may be the next argument, which is then consumed. */
static bool take_option(const struct cli_usage *u, int argc, char **argv, int *i)
{
    const char *given = argv[*i], *name = given + (given[1] == '-' ? 2 : 1);
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *o = find_option(u, name, len);

    if (!o || (name - given == 1) != (len == 1)) {
        refuse_option(given);
        return false;
    }
    if (!o->value) {
        if (equals)
            fprintf(stderr, "framewatch: %s%s takes no value\n", dashes(o), o->name);
        return !equals && store(o, NULL);
    }
    if (equals)
        return store(o, equals + 1);
    if (*i + 1 >= argc) {
        fprintf(stderr, "framewatch: %s wants a value: %s\n", given, o->value);
        return false;
    }
    return store(o, argv[++*i]);
}

static bool wrong_count(const struct cli_usage *u, int n)
{
    if (n < u->min_args)
        fprintf(stderr, "framewatch: %s: an argument is missing: %s\n", u->command, u->args);
    else if (u->max_args >= 0 && n > u->max_args)
        fprintf(stderr, "framewatch: %s: too many arguments\n", u->command);
    else
        return false;
    return true;
}

bool cli_parse(const struct cli_usage *u, int argc, char **argv, struct cli_args *args,
               int *exit_code)
{
    bool only_args = false, right = true;
    int n = 0;

    for (int i = 1; i < argc && right; i++) {
        if (!only_args && strcmp(argv[i], "--") == 0) {
            only_args = true;
        } else if (!only_args && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            print_help(u);
            *exit_code = CLI_OK;
            return false;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
            right = take_option(u, argc, argv, &i);
        } else {
            argv[++n] = argv[i];
        }
    }
    if (!right || wrong_count(u, n)) {
        print_usage_line(u, stderr);
        *exit_code = CLI_USAGE;
        return false;
    }
    *args = (struct cli_args){.at = argv + 1, .n = n};
    return true;
}

static void print_commands(const char *prefix, const struct cli_command *commands, size_t n,
                           FILE *to)
{
    fprintf(to, "usage: %s COMMAND [options] [arguments]\n\n", prefix);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n`%s COMMAND --help` tells more.\n", prefix);
}

static void refuse_name(const char *prefix, const char *name)
{
    struct err err;

    err_set(&err, ERR_INVALID, "no command '%.100s'", name);
    term_clean(err.text);
    fprintf(stderr, "%s: %s\n\n", prefix, err.text);
}

int cli_dispatch(const char *prefix, const struct cli_command *commands, size_t n, int argc,
                 char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    for (size_t i = 0; name && i < n; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);

    bool asked = name && (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
                          strcmp(name, "-h") == 0);

    if (name && !asked)
        refuse_name(prefix, name);
    print_commands(prefix, commands, n, asked ? stdout : stderr);
    return asked ? CLI_OK : CLI_USAGE;
}
