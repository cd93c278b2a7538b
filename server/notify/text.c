#include "server/notify/text.h"

#include "base/utf8.h"
#include "server/notify/notify.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define CODE_MAX 200

const char *text_cut(struct arena *mem, const char *text, size_t limit)
{
    size_t n = text ? strnlen(text, limit + 4) : 0; /* a whole character past the limit */
    char *out = arena_dup(mem, text ? text : "", n);

    if (out)
        utf8_clean(out, limit);
    return out;
}

const char *text_line(struct arena *mem, const char *text, size_t limit)
{
    size_t n = text ? strnlen(text, limit + 4) : 0;
    char *out = arena_dup(mem, text ? text : "", n);

    if (!out)
        return NULL;
    utf8_clean(out, limit);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return out;
}

void put_escaped(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            buf_text(b, "&amp;");
        else if (*text == '<')
            buf_text(b, "&lt;");
        else if (*text == '>')
            buf_text(b, "&gt;");
        else
            buf_byte(b, (uint8_t)*text);
    }
}

void put_markdown(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]()#+!|<>~@", *text))
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)*text);
    }
}

void put_url(struct buf *b, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isascii(c) && (isalnum(c) || strchr("-._~", c)))
            buf_byte(b, c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

void put_percent(struct buf *b, double ratio)
{
    if (isfinite(ratio) && fabs(ratio) < 1e6)
        buf_printf(b, "%+.1f %%", ratio * 100);
    else
        buf_text(b, "unknown");
}

const char *buf_keep(struct buf *b, struct arena *mem)
{
    return buf_ok(b) ? arena_dup(mem, b->at ? (const char *)b->at : "", b->len) : NULL;
}

/* One more backtick on each side than the longest run inside, as CommonMark has it. A mention or a
 * line break inside inline code is text; "<!--" inside it is, too. */
void notify_put_code(struct buf *b, const char *text)
{
    size_t n = 0, run = 0, longest = 0, limit;

    for (size_t i = 0; text[i] && i < CODE_MAX; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    limit = longest + 1;
    for (size_t i = 0; i < limit; i++)
        buf_byte(b, '`');
    buf_byte(b, ' ');
    while (text[n]) {
        size_t len = utf8_length((const unsigned char *)text + n);

        if (n + (len ? len : 1) > CODE_MAX)
            break;
        if (!len || (unsigned char)text[n] < ' ')
            buf_byte(b, len ? ' ' : '?');
        else
            buf_put(b, text + n, len);
        n += len ? len : 1;
    }
    buf_byte(b, ' ');
    for (size_t i = 0; i < limit; i++)
        buf_byte(b, '`');
}
