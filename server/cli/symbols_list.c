/* framewatch symbols list|delete: what the server holds, and taking one of it
 * away, over HTTP. */
#include "ask.h"
#include "fields.h"
#include "symbols.h"
#include "term.h"

#include <string.h>

#define LIST_HEAD                                                                                  \
    "ID                                ARCH      HOLDS                FILE     "                   \
    "                 "                                                                            \
    "DEBUG ID"

static const char *holds(const json_t *item)
{
    if (strcmp(string(item, "kind"), "mapping") == 0)
        return "mapping";
    return json_is_true(json_object_get(item, "dwarf")) ? "functions and lines" : "functions";
}

static void show_symbols(const json_t *item)
{
    const struct term t = term_on(stdout, 0);

    term_cell(&t, string(item, "id"), 34);
    term_cell(&t, string(item, "arch"), 10);
    term_cell(&t, holds(item), 21);
    term_cell(&t, string(item, "name"), 26);
    term_text(&t, string(item, "debug_id"), 128);
    putchar('\n');
}

int symbols_list(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const char *debug_id = NULL;
    const struct cli_option options[] = {
        OPT_CLIENT(&client), OPT_TEXT("debug-id", "ID", &debug_id, "only those of this debug id"),
        OPT_END};
    const struct cli_usage usage = {
        "symbols list", "", "Prints the symbols that the server holds, newest first.",
        options,        0,  0};
    struct ask_url url = {.n = 0};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    ask_url_put(&url, "/v1/symbols");
    ask_url_query(&url, "limit", "200");
    ask_url_query(&url, "debug_id", debug_id);
    if (!ask_url_fits(&url, &err))
        return cli_fail(&err);
    return ask_list(&client, url.text, true,
                    &(struct ask_rows){
                        .head = LIST_HEAD, .none = "The server has none.", .show = show_symbols});
}

int symbols_delete(int argc, char **argv)
{
    struct client_options client = {NULL, NULL};
    const struct cli_option options[] = {OPT_CLIENT(&client), OPT_END};
    const struct cli_usage usage = {
        "symbols delete",
        "ID",
        "Takes symbols away from the server, so that another file of their debug "
        "id can be sent.\n"
        "ID is what symbols list prints first. Stacks that were read with them "
        "stay as they are\n"
        "until others come. Needs an admin key.",
        options,
        1,
        1};
    struct ask_url url = {.n = 0};
    struct cli_args args;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    ask_url_put(&url, "/v1/symbols/");
    ask_url_segment(&url, args.at[0]);
    if (!ask_url_fits(&url, &err) || !ask(&client, "DELETE", url.text, NULL, NULL, &err))
        return cli_fail(&err);
    fputs("deleted\n", stdout);
    return CLI_OK;
}
