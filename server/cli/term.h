/*
 * term: text for a person at a terminal. UTF-8; columns are counted as terminals do it: wide East
 * Asian characters take two. What comes from outside is made harmless first: control characters,
 * escape sequences and bidirectional overrides show as '?'.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_YELLOW, STYLE_GREEN, STYLE_BLUE };

struct term {
    FILE *out;
    bool colour;
    unsigned width; /* columns, at least TERM_MIN_WIDTH */
};
#define TERM_MIN_WIDTH 80
#define TERM_MAX_WIDTH 400

/* width 0: the terminal's own, 100 if it is none. Colour only on a terminal, and not with NO_COLOR
 * or TERM=dumb. */
struct term term_on(FILE *out, unsigned width);

void term_style(const struct term *t, enum style style);
/* The text in that style; trusted: printed as it is. */
void term_put(const struct term *t, enum style style, const char *text);
/* Foreign text cut to `most` columns, the cut shown as an ellipsis. Returns the columns used. */
unsigned term_text(const struct term *t, const char *text, unsigned most);
/* The same, filled with spaces to exactly `columns`. */
void term_cell(const struct term *t, const char *text, unsigned columns);
void term_spaces(const struct term *t, unsigned n);
/* Makes it harmless where it stands, for who prints it by other means. */
void term_clean(char *text);
/* Columns that term_text would use without a limit. */
unsigned term_columns(const char *text);
