#include "server/http/uri.h"

#include "base/digest.h"

#include <string.h>

bool percent_decode(char *text, bool plus_is_space)
{
    char *out = text;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '%') {
            int high = hex_value(text[1]), low = high < 0 ? -1 : hex_value(text[2]);

            if (low < 0)
                return false;
            c = (unsigned char)(high << 4 | low);
            text += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (c < ' ' || c == 0x7f)
            return false;
        *out++ = (char)c;
    }
    *out = '\0';
    return true;
}

const char *uri_arg(const struct uri *u, const char *name)
{
    for (size_t i = 0; i < u->n_args; i++)
        if (strcmp(u->arg[i].name, name) == 0)
            return u->arg[i].value;
    return NULL;
}

static bool add_arg(struct uri *u, char *text, struct err *err)
{
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    else
        value = text + strlen(text);
    if (!percent_decode(text, true) || !percent_decode(value, true))
        return err_set(err, ERR_INVALID, "the query holds a bad %%-escape");
    if (uri_arg(u, text))
        return err_field(err, ERR_INVALID, text, "the argument stands there twice");
    if (u->n_args == URI_ARGS_MAX)
        return err_set(err, ERR_INVALID, "more than %d arguments", URI_ARGS_MAX);
    u->arg[u->n_args++] = (struct uri_arg){text, value};
    return true;
}

static bool visible(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

bool uri_parse(char *text, struct uri *out, struct err *err)
{
    char *query = strchr(text, '?');

    out->path = text;
    out->n_args = 0;
    if (*text != '/' || !visible(text) || strchr(text, '#'))
        return err_set(err, ERR_INVALID, "the request target is not an absolute path");
    if (!query)
        return true;
    *query++ = '\0';
    while (query) {
        char *next = strchr(query, '&');

        if (next)
            *next++ = '\0';
        if (*query && !add_arg(out, query, err))
            return false;
        query = next;
    }
    return true;
}
