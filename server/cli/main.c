#include "cli.h"

static const struct cli_command commands[] = {
#define X(name, help) {#name, help, cmd_##name},
    SUBCOMMANDS(X)
#undef X
};

int cmd_version(int argc, char **argv)
{
    static const struct cli_usage usage = {
        .command = "version", .args = "", .help = "Prints the version of this tool."};
    struct cli_args args;
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    printf("framewatch %s\n", FW_VERSION);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    int code = cli_dispatch("framewatch", commands, sizeof commands / sizeof *commands, argc, argv);

    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "framewatch: the output could not be written\n");
    return code ? code : CLI_FAILED;
}
