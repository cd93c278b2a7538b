/*
 * cli: what the subcommands of the `framewatch` tool share: their table, options and exit codes.
 *
 * A subcommand is a file NAME.c with `int cmd_NAME(int argc, char **argv)` and one line in
 * SUBCOMMANDS; argv[0] is its name. It returns an exit code of enum cli_exit. Results go to stdout,
 * messages to stderr. Single-threaded.
 */
#pragma once
#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

/* name, one line of help; in the order `framewatch help` prints. */
#define SUBCOMMANDS(X)                                                                             \
    X(session, "show what a session went through, in a terminal or as a trace file")               \
    X(dump, "print a session file as JSON lines, one a packet")                                    \
    X(app, "make and list apps, in the database")                                                  \
    X(key, "make, list and revoke API keys, in the database")                                      \
    X(build, "make a build known to the server; list builds")                                      \
    X(job, "list jobs, retry those that wait for a person")                                        \
    X(families, "jank and crash families: ranked, explained, verified; merge, split, export")      \
    X(rules, "how stacks are grouped into families: show, preview, set, restore")                  \
    X(channels, "where alerts and tickets go; send test messages")                                 \
    X(deliveries, "list what was told and what waits; send dead ones again")                       \
    X(report, "compare a build with its baseline, by tier and scene")                              \
    X(alerts, "list alerts and why; acknowledge, silence")                                         \
    X(tiers, "device tiers, the models in them and why; import a device catalogue")                \
    X(health, "is a release well observed?")                                                       \
    X(demo, "send synthetic sessions to a server")                                                 \
    X(symbols, "send symbols to the server; turn addresses into functions, files and lines")       \
    X(retrace, "put back the names that R8 or ProGuard obfuscated in a stack")                     \
    X(version, "print the version of this tool")

#define X(name, help) int cmd_##name(int argc, char **argv);
SUBCOMMANDS(X)
#undef X

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* understood, but it did not work */
    CLI_USAGE = 2   /* wrong arguments; nothing was done */
};

/* One --option. `out` is written when the option is given, else keeps its default. Options may
 * stand anywhere, as "--name value" or "--name=value"; "--" ends them; "-" is an argument. */
struct cli_option {
    const char *name;  /* without the dashes; one letter means "-o" */
    const char *value; /* what help calls its value; NULL for a switch */
    const char *help;
    enum { CLI_FLAG, CLI_TEXT, CLI_I64 } type;
    void *out;        /* bool *, const char ** or int64_t * */
    int64_t min, max; /* of a CLI_I64, inclusive */
};
#define OPT_FLAG(name, out, help)                                                                  \
    {                                                                                              \
        name, NULL, help, CLI_FLAG, (bool *){out}, 0, 0                                            \
    }
#define OPT_TEXT(name, value, out, help)                                                           \
    {                                                                                              \
        name, value, help, CLI_TEXT, (const char **){out}, 0, 0                                    \
    }
#define OPT_I64(name, value, out, min, max, help)                                                  \
    {                                                                                              \
        name, value, help, CLI_I64, (int64_t *){out}, min, max                                     \
    }
#define OPT_END                                                                                    \
    {                                                                                              \
        NULL, NULL, NULL, CLI_FLAG, NULL, 0, 0                                                     \
    }

struct cli_usage {
    const char *command;              /* "session", "key create" */
    const char *args;                 /* "ID", "FILE…", "" */
    const char *help;                 /* a sentence or two */
    const struct cli_option *options; /* OPT_END at the end; NULL: none */
    int min_args, max_args;           /* plain arguments; max_args -1: any number */
};

struct cli_args {
    char **at;
    int n;
};

/* Reads argv[1..]. False when the command is to end with *exit_code: --help was asked for (printed,
 * CLI_OK), or the arguments are wrong (said on stderr, CLI_USAGE). Reorders argv. */
bool cli_parse(const struct cli_usage *usage, int argc, char **argv, struct cli_args *args,
               int *exit_code) MUST_CHECK;

struct cli_command {
    const char *name, *help;
    int (*run)(int argc, char **argv);
};

/* Runs the command that argv[1] names: `prefix` is what stands before it ("framewatch", "framewatch
 * key"). `help`, --help and -h print the table; no or an unknown name prints it on stderr,
 * CLI_USAGE. For commands with verbs of their own. */
int cli_dispatch(const char *prefix, const struct cli_command *commands, size_t n, int argc,
                 char **argv);

/* "framewatch: TEXT" on stderr; always CLI_FAILED, so callers write `return cli_fail(&err)`. */
int cli_fail(const struct err *err);
