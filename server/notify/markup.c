#include "server/notify/markup.h"

#include <ctype.h>
#include <string.h>

struct writer {
    struct buf *b;
    enum markup to;
    bool in_code, in_list, in_table;
};

/* One character of text, so that the target takes it for nothing else. */
static void put_char(struct writer *w, char c)
{
    if (w->to == MARKUP_HTML) {
        if (c == '&' || c == '<' || c == '>' || c == '"')
            buf_printf(w->b, "&#%d;", c);
        else
            buf_byte(w->b, (uint8_t)c);
        return;
    }
    if (strchr("{}[]*_^~|!", c))
        buf_byte(w->b, '\\');
    buf_byte(w->b, (uint8_t)c);
}

static void put_run(struct writer *w, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_char(w, at[i]);
}

/* A line of a fenced block: nothing is special but the block's end. */
static void put_code_line(struct writer *w, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (w->to == MARKUP_HTML)
            put_char(w, at[i]);
        else
            buf_byte(w->b, (uint8_t)at[i]);
        if (w->to == MARKUP_WIKI && n - i >= 9 && memcmp(at + i, "{noformat", 9) == 0)
            buf_byte(w->b, ' ');
    }
    buf_byte(w->b, '\n');
}

/* Inside inline code the same. */
static void put_verbatim(struct writer *w, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (w->to == MARKUP_HTML || at[i] == '{' || at[i] == '}')
            put_char(w, at[i]);
        else
            buf_byte(w->b, (uint8_t)at[i]);
    }
}

static const char *tag(const struct writer *w, const char *html, const char *wiki)
{
    return w->to == MARKUP_HTML ? html : wiki;
}

/* Where `mark` of len bytes stands again in [at, end), NULL: nowhere. */
static const char *find(const char *at, const char *end, const char *mark, size_t len)
{
    for (; at + len <= end; at++)
        if (memcmp(at, mark, len) == 0)
            return at;
    return NULL;
}

/* `code`, with as many backticks as it likes; the place after it, NULL if it does not end. */
static const char *put_code(struct writer *w, const char *at, const char *end)
{
    size_t n = 0;
    const char *close, *from, *to;

    while (at + n < end && at[n] == '`')
        n++;
    close = find(at + n, end, at, n);
    if (!close)
        return NULL;
    from = at + n;
    to = close;
    if (to - from > 2 && *from == ' ' && to[-1] == ' ')
        from++, to--;
    buf_text(w->b, tag(w, "<code>", "{{"));
    put_verbatim(w, from, (size_t)(to - from));
    buf_text(w->b, tag(w, "</code>", "}}"));
    return close + n;
}

/* [text](http…); the place after it, NULL if it is none. */
static const char *put_link(struct writer *w, const char *at, const char *end)
{
    const char *middle = find(at, end, "](", 2), *close;

    close = middle ? find(middle, end, ")", 1) : NULL;
    if (!close ||
        (strncmp(middle + 2, "http://", 7) != 0 && strncmp(middle + 2, "https://", 8) != 0))
        return NULL;
    if (w->to == MARKUP_HTML) {
        buf_text(w->b, "<a href=\"");
        put_run(w, middle + 2, (size_t)(close - middle - 2));
        buf_text(w->b, "\">");
        put_run(w, at + 1, (size_t)(middle - at - 1));
        buf_text(w->b, "</a>");
    } else {
        buf_byte(w->b, '[');
        put_run(w, at + 1, (size_t)(middle - at - 1));
        buf_byte(w->b, '|');
        buf_put(w->b, middle + 2, (size_t)(close - middle - 2));
        buf_byte(w->b, ']');
    }
    return close + 1;
}

static const char *put_bold(struct writer *w, const char *at, const char *end)
{
    const char *close = find(at + 2, end, "**", 2);

    if (!close)
        return NULL;
    buf_text(w->b, tag(w, "<b>", "*"));
    put_run(w, at + 2, (size_t)(close - at - 2));
    buf_text(w->b, tag(w, "</b>", "*"));
    return close + 2;
}

static void put_inline(struct writer *w, const char *at, const char *end)
{
    while (at < end) {
        const char *next = NULL;

        if (*at == '\\' && at + 1 < end && ispunct((unsigned char)at[1])) {
            put_char(w, at[1]);
            next = at + 2;
        } else if (*at == '`') {
            next = put_code(w, at, end);
        } else if (*at == '[') {
            next = put_link(w, at, end);
        } else if (at + 1 < end && at[0] == '*' && at[1] == '*') {
            next = put_bold(w, at, end);
        }
        if (!next)
            put_char(w, *at++);
        else
            at = next;
    }
}

/* Lines --------------------------------------------------------------------------------------- */

static void end_blocks(struct writer *w, bool list_goes_on, bool table_goes_on)
{
    if (w->in_list && !list_goes_on) {
        buf_text(w->b, tag(w, "</ul>\n", ""));
        w->in_list = false;
    }
    if (w->in_table && !table_goes_on) {
        buf_text(w->b, tag(w, "</table>\n", ""));
        w->in_table = false;
    }
}

static void put_row(struct writer *w, const char *at, const char *end)
{
    const char *cell = tag(w, w->in_table ? "td" : "th", w->in_table ? "|" : "||");

    if (!w->in_table)
        buf_text(w->b, tag(w, "<table>\n", ""));
    w->in_table = true;
    buf_text(w->b, tag(w, "<tr>", cell));
    for (at++; at < end;) {
        const char *bar = find(at, end, "|", 1);

        if (!bar)
            bar = end;
        if (w->to == MARKUP_HTML)
            buf_printf(w->b, "<%s>", cell);
        put_inline(w, at, bar);
        if (w->to == MARKUP_HTML)
            buf_printf(w->b, "</%s>", cell);
        else
            buf_text(w->b, cell);
        at = bar + 1;
    }
    buf_text(w->b, tag(w, "</tr>\n", "\n"));
}

static void put_heading(struct writer *w, const char *at, const char *end)
{
    int level = 0;

    while (at < end && *at == '#' && level < 6)
        at++, level++;
    while (at < end && *at == ' ')
        at++;
    buf_printf(w->b, w->to == MARKUP_HTML ? "<h%d>" : "h%d. ", level);
    put_inline(w, at, end);
    if (w->to == MARKUP_HTML)
        buf_printf(w->b, "</h%d>", level);
    buf_text(w->b, "\n");
}

static void put_item(struct writer *w, const char *at, const char *end)
{
    if (!w->in_list)
        buf_text(w->b, tag(w, "<ul>\n", ""));
    w->in_list = true;
    buf_text(w->b, tag(w, "<li>", "* "));
    put_inline(w, at + 2, end);
    buf_text(w->b, tag(w, "</li>\n", "\n"));
}

static bool is_rule_row(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!strchr("|-: ", *at))
            return false;
    return true;
}

static void put_fence(struct writer *w)
{
    w->in_code = !w->in_code;
    if (w->to == MARKUP_HTML)
        buf_text(w->b, w->in_code ? "<pre>" : "</pre>\n");
    else
        buf_text(w->b, "{noformat}\n");
}

static void put_line(struct writer *w, const char *at, const char *end)
{
    bool fence = end - at >= 3 && memcmp(at, "```", 3) == 0;
    bool row = at < end && *at == '|',
         item = end - at >= 2 && (*at == '-' || *at == '*') && at[1] == ' ';

    if (fence || w->in_code) {
        end_blocks(w, false, false);
        if (fence)
            put_fence(w);
        else
            put_code_line(w, at, (size_t)(end - at));
        return;
    }
    end_blocks(w, item, row);
    if (row && w->in_table && is_rule_row(at, end))
        return;
    if (row)
        put_row(w, at, end);
    else if (item)
        put_item(w, at, end);
    else if (at < end && *at == '#')
        put_heading(w, at, end);
    else {
        put_inline(w, at, end);
        buf_text(w->b, tag(w, "<br>\n", "\n"));
    }
}

void put_markup(struct buf *b, const char *markdown, enum markup to)
{
    struct writer w = {.b = b, .to = to};

    while (*markdown) {
        size_t n = strcspn(markdown, "\n");

        put_line(&w, markdown, markdown + n);
        markdown += n + (markdown[n] ? 1 : 0);
    }
    if (w.in_code)
        put_fence(&w);
    end_blocks(&w, false, false);
}

void put_without_commands(struct buf *b, const char *markdown)
{
    bool in_code = false;

    while (*markdown) {
        size_t n = strcspn(markdown, "\n"), blank = strspn(markdown, " \t\r");

        if (strncmp(markdown, "```", 3) == 0)
            in_code = !in_code;
        if (!in_code && markdown[blank] == '/') {
            buf_byte(b, '\\');
            markdown += blank;
            n -= blank;
        }
        buf_put(b, markdown, n);
        markdown += n;
        if (*markdown)
            buf_byte(b, (uint8_t)*markdown++);
    }
}
