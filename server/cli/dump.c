#include "cli.h"
#include "local.h"

#include "profile/part.h"

#include <stdlib.h>

static bool print_line(void *user, const char *text, size_t len)
{
    FILE *to = user;

    return fwrite(text, 1, len, to) == len && fputc('\n', to) != EOF;
}

int cmd_dump(int argc, char **argv)
{
    static const struct cli_usage usage = {
        .command = "dump",
        .args = "FILE|-",
        .help =
            "Prints a session file as JSON lines, one a packet, as the packets came. A file that\n"
            "is cut or damaged is read as far as it goes; its last line says so.",
        .min_args = 1,
        .max_args = 1};
    struct cli_args args;
    struct err err = {0};
    unsigned char *file;
    size_t n;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    file = file_read(args.at[0], &n, &err);

    bool ok = file && part_dump(file, n, &part_limits_default, print_line, stdout, &err);

    free(file);
    if (ok)
        return CLI_OK;
    if (!err.field[0])
        snprintf(err.field, sizeof err.field, "%s", args.at[0]);
    return cli_fail(&err);
}
