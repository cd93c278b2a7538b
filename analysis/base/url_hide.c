#include "base/url_hide.h"

#include <stdbool.h>
#include <string.h>

/* Replaces text[0..n) by as many as three asterisks; gives what follows. */
static char *blot(char *text, size_t n)
{
    size_t stars = n < 3 ? n : 3;

    memset(text, '*', stars);
    memmove(text + stars, text + n, strlen(text + n) + 1);
    return text + stars;
}

static const char *last_at(const char *text, size_t n)
{
    while (n && text[n - 1] != '@')
        n--;
    return n ? text + n - 1 : NULL;
}

/* What stands behind a host's colon is a port, and what ends a sentence. */
static bool is_port(const char *text, size_t n)
{
    size_t digits = strspn(text, "0123456789");

    return digits >= n || digits + strspn(text + digits, ",.;:!?)]}'") >= n;
}

/* `text` is what follows "://". Gives where to look on. */
static char *hide_user(char *text)
{
    size_t token = 0, host, colon;
    const char *at;

    while ((unsigned char)text[token] > ' ' && !strchr("\"<>`", text[token]))
        token++;
    host = strcspn(text, "/?#");
    host = host < token ? host : token;
    at = last_at(text, host);
    if (at)
        return blot(text, (size_t)(at - text));
    colon = text[0] == '[' ? strcspn(text, "]") : 0;
    colon += strcspn(text + colon, ":") + 1;
    if (colon > host || is_port(text + colon, host - colon))
        return text;
    at = last_at(text, token);
    return at ? blot(text, (size_t)(at - text)) : blot(text + colon, host - colon);
}

char *url_hide(char *text)
{
    char *at = text;

    while ((at = strstr(at, "://")))
        at = hide_user(at + 3);
    return text;
}
