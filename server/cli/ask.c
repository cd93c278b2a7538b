#include "ask.h"

#include <stdlib.h>
#include <string.h>

void ask_url_put(struct ask_url *u, const char *text)
{
    size_t n = strlen(text);

    if (n >= sizeof u->text - u->n) {
        u->full = true;
        return;
    }
    memcpy(u->text + u->n, text, n + 1);
    u->n += n;
}

void ask_url_segment(struct ask_url *u, const char *text)
{
    char *escaped = client_escape(text);

    u->full |= !escaped;
    ask_url_put(u, escaped ? escaped : "");
    free(escaped);
}

void ask_url_query(struct ask_url *u, const char *name, const char *value)
{
    if (!value)
        return;
    ask_url_put(u, u->query ? "&" : "?");
    ask_url_put(u, name);
    ask_url_put(u, "=");
    ask_url_segment(u, value);
    u->query = true;
}

bool ask_url_fits(const struct ask_url *u, struct err *err)
{
    return !u->full || err_set(err, ERR_INVALID, "the arguments are too long");
}

bool ask(const struct client_options *o, const char *method, const char *path, json_t *body,
         json_t **out, struct err *err)
{
    struct client *c = client_open(o, err);
    bool ok = c && client_send(c, method, path, body, out, err);

    json_decref(body);
    client_close(c);
    return ok;
}

int ask_print(json_t *tree)
{
    json_dumpf(tree, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(tree);
    return CLI_OK;
}

int ask_and_print(const struct client_options *o, const char *method, const char *path,
                  json_t *body)
{
    struct err err = {0};
    json_t *out = NULL;

    if (!ask(o, method, path, body, &out, &err))
        return cli_fail(&err);
    return out ? ask_print(out) : CLI_OK;
}

bool ask_download(const struct client_options *o, const char *path, FILE *to, struct err *err)
{
    struct client *c = client_open(o, err);
    bool ok = c && client_download(c, path, to, err);

    client_close(c);
    return ok;
}

bool ask_save(const struct client_options *o, const char *path, const char *file, struct err *err)
{
    struct client *c = client_open(o, err);
    bool ok = c && client_save(c, path, file, err);

    client_close(c);
    return ok;
}

static bool show_page(struct client *c, const char *list, const char **cursor, json_t **page,
                      const struct ask_rows *rows, struct err *err)
{
    char path[sizeof(struct ask_url) + 512];
    json_t *out = NULL, *items, *item;
    size_t i;

    snprintf(path, sizeof path, "%s%s%s", list, *cursor ? "&cursor=" : "", *cursor ? *cursor : "");
    if (!client_get(c, path, &out, err))
        return false;
    items = json_object_get(out, "items");
    if (rows->head && !*cursor)
        puts(rows->head);
    if (rows->none && !*cursor && !json_array_size(items))
        puts(rows->none);
    json_array_foreach(items, i, item) rows->show(item);
    return client_turn(page, out, cursor, err); /* the cursor lives in the page */
}

int ask_list(const struct client_options *o, const char *path, bool all,
             const struct ask_rows *rows)
{
    struct err err = {0};
    struct client *c = client_open(o, &err);
    const char *cursor = NULL;
    json_t *page = NULL;
    bool ok = c != NULL;

    do
        ok = ok && show_page(c, path, &cursor, &page, rows, &err);
    while (ok && all && cursor);
    json_decref(page);
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

bool ask_path(char *path, size_t size, const char *prefix, const char *id, const char *more,
              const char *command, struct err *err)
{
    size_t n = strlen(id);

    if (!n || n > 19 || strspn(id, "0123456789") != n)
        return err_field(err, ERR_INVALID, "ID", "is a number, as `%s` prints it", command);
    snprintf(path, size, "%s/%s%s", prefix, id, more);
    return true;
}

int ask_post_ids(const struct client_options *o, const struct cli_args *ids,
                 const struct ask_ids *with)
{
    struct err err = {0};
    struct client *c = client_open(o, &err);
    bool ok = c != NULL;

    for (int i = 0; ok && i < ids->n; i++) {
        char path[128];
        json_t *answer = NULL;

        ok = ask_path(path, sizeof path, with->prefix, ids->at[i], with->more, with->command,
                      &err) &&
             client_send(c, "POST", path, NULL, &answer, &err);
        if (ok)
            with->show(answer);
        json_decref(answer);
    }
    client_close(c);
    return ok ? CLI_OK : cli_fail(&err);
}

json_t *ask_file(const char *name, struct err *err)
{
    json_error_t why;
    json_t *tree = strcmp(name, "-") == 0 ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &why)
                                          : json_load_file(name, JSON_REJECT_DUPLICATES, &why);

    if (!tree)
        err_set(err, ERR_INVALID, "%.80s: line %d: %.120s", name, why.line, why.text);
    return tree;
}
