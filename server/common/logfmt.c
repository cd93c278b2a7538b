#include "server/common/logfmt.h"

#include "base/url_hide.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void put(struct logfmt *l, const char *text, size_t n)
{
    size_t room = LOGFMT_BYTES - l->len;

    if (n > room)
        n = room;
    memcpy(l->text + l->len, text, n);
    l->len += n;
    l->text[l->len] = '\0';
}

static void put_text(struct logfmt *l, const char *text)
{
    put(l, text, strlen(text));
}

static bool plain(const char *value)
{
    if (!*value)
        return false;
    for (; *value; value++)
        if ((unsigned char)*value <= ' ' || *value == '"' || *value == '=' || *value == '\\' ||
            (unsigned char)*value >= 0x7f)
            return false;
    return true;
}

static void put_quoted(struct logfmt *l, const char *value)
{
    put(l, "\"", 1);
    for (; *value; value++) {
        char escaped[8];
        unsigned char c = (unsigned char)*value;

        if (c == '"' || c == '\\')
            put(l, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\%c", c));
        else if (c < ' ' || c == 0x7f)
            put(l, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", c));
        else
            put(l, value, 1);
    }
    put(l, "\"", 1);
}

static void put_digits(struct logfmt *l, uint64_t v, unsigned at_least)
{
    char text[24];
    size_t at = sizeof text;

    do
        text[--at] = (char)('0' + v % 10);
    while ((v /= 10) || sizeof text - at < at_least);
    put(l, text + at, sizeof text - at);
}

static void put_name(struct logfmt *l, const char *name)
{
    if (l->len)
        put(l, " ", 1);
    put_text(l, name);
    put(l, "=", 1);
}

void logfmt_text(struct logfmt *l, const char *name, const char *value)
{
    char shown[LOGFMT_BYTES + 1];

    if (strstr(value, "://")) {
        snprintf(shown, sizeof shown, "%s", value);
        value = url_hide(shown);
    }
    put_name(l, name);
    if (plain(value))
        put_text(l, value);
    else
        put_quoted(l, value);
}

void logfmt_i64(struct logfmt *l, const char *name, int64_t value)
{
    put_name(l, name);
    if (value < 0)
        put(l, "-", 1);
    put_digits(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

void logfmt_ms(struct logfmt *l, const char *name, int64_t us)
{
    put_name(l, name);
    put_digits(l, (uint64_t)us / 1000, 1);
    put(l, ".", 1);
    put_digits(l, (uint64_t)us % 1000, 3);
}

void logfmt_fields(struct logfmt *l, const char *fields)
{
    if (l->len)
        put(l, " ", 1);
    put_text(l, fields);
}
