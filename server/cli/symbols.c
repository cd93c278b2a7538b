#include "symbols.h"
#include "cli.h"

int cmd_symbols(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"index", "make the symcache of a dSYM, .so or executable", symbols_index},
        {"lookup", "turn addresses into functions, files and lines", symbols_lookup},
        {"info", "say what a debug file or symcache holds", symbols_info},
        {"upload", "send debug files and mappings to the server", symbols_upload},
        {"list", "print the symbols that the server holds", symbols_list},
        {"delete", "take symbols away from the server", symbols_delete}};

    return cli_dispatch("framewatch symbols", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
