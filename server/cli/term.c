#include "term.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 100

static unsigned window_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : PIPE_WIDTH;
}

struct term term_on(FILE *out, unsigned width)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct term t = {.out = out, .width = width ? width : window_width(fileno(out))};

    if (t.width < TERM_MIN_WIDTH)
        t.width = TERM_MIN_WIDTH;
    if (t.width > TERM_MAX_WIDTH)
        t.width = TERM_MAX_WIDTH;
    t.colour =
        isatty(fileno(out)) && !(no_colour && no_colour[0]) && !(kind && strcmp(kind, "dumb") == 0);
    return t;
}

void term_style(const struct term *t, enum style style)
{
    static const char *const code[] = {"0", "1", "2", "31", "33", "32", "34"};

    if (t->colour)
        fprintf(t->out, "\033[%sm", code[style]);
}

void term_put(const struct term *t, enum style style, const char *text)
{
    if (style != STYLE_PLAIN)
        term_style(t, style);
    fputs(text, t->out);
    if (style != STYLE_PLAIN)
        term_style(t, STYLE_PLAIN);
}

void term_spaces(const struct term *t, unsigned n)
{
    fprintf(t->out, "%*s", (int)n, "");
}

struct glyph {
    uint32_t code;
    unsigned bytes, columns;
};

/* One code point; a byte that begins none counts as one of its own, code 0. */
static struct glyph decode(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned n = s[0] < 0x80   ? 1
                 : s[0] < 0xc2 ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4
                               : 0;
    uint32_t code = n == 1 ? s[0] : n ? s[0] & (0xffu >> (n + 1)) : 0;

    for (unsigned i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return (struct glyph){0, 1, 1};
        code = code << 6 | (s[i] & 0x3fu);
    }
    return n ? (struct glyph){code, n, 1} : (struct glyph){0, 1, 1};
}

struct code_range {
    uint32_t low, high;
};

static bool in_ranges(uint32_t code, const struct code_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].low && code <= ranges[i].high)
            return true;
    return false;
}
#define IN(code, ranges) in_ranges(code, ranges, sizeof(ranges) / sizeof *(ranges))

/* Controls, and what reorders the text around it. */
static bool is_harmful(uint32_t code)
{
    static const struct code_range harmful[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xd800, 0xdfff}};

    return IN(code, harmful);
}

static unsigned columns_of(uint32_t code)
{
    static const struct code_range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    static const struct code_range none[] = {{0x0300, 0x036f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};

    return IN(code, wide) ? 2 : IN(code, none) ? 0 : 1;
}

static struct glyph next_glyph(const char *text)
{
    struct glyph g = decode(text);

    if (is_harmful(g.code))
        g.code = '?';
    g.columns = columns_of(g.code);
    return g;
}

unsigned term_columns(const char *text)
{
    unsigned columns = 0;

    while (*text) {
        struct glyph g = next_glyph(text);

        columns += g.columns;
        text += g.bytes;
    }
    return columns;
}

void term_clean(char *text)
{
    char *out = text;

    while (*text) {
        struct glyph g = next_glyph(text);

        if (g.code == '?')
            *out++ = '?';
        else
            for (unsigned i = 0; i < g.bytes; i++)
                *out++ = text[i];
        text += g.bytes;
    }
    *out = '\0';
}

unsigned term_text(const struct term *t, const char *text, unsigned most)
{
    bool cut = term_columns(text) > most;
    unsigned used = 0;

    while (*text) {
        struct glyph g = next_glyph(text);

        if (used + g.columns + cut > most)
            break;
        if (g.code == '?')
            fputc('?', t->out);
        else
            fwrite(text, 1, g.bytes, t->out);
        used += g.columns;
        text += g.bytes;
    }
    if (cut && most) {
        fputs("…", t->out);
        used++;
    }
    return used;
}

void term_cell(const struct term *t, const char *text, unsigned columns)
{
    term_spaces(t, columns - term_text(t, text, columns));
}
