#include "csv.h"

#include <stdlib.h>
#include <string.h>

struct csv csv_over(FILE *in)
{
    return (struct csv){.in = in};
}

void csv_row_fini(struct csv_row *row)
{
    free(row->text);
    *row = (struct csv_row){0};
}

struct reading {
    struct csv_row *row;
    char *at; /* next byte to write */
    bool quoted, was_quote;
};

static bool begin_field(struct reading *r)
{
    if (r->row->n == CSV_FIELDS_MAX)
        return false;
    r->row->field[r->row->n++] = r->at;
    r->quoted = r->was_quote = false;
    return true;
}

/* One byte; *done at the end of the line. False: no CSV. */
static bool take(struct reading *r, int ch, bool *done)
{
    const char *begin = r->row->field[r->row->n - 1];

    *done = false;
    if (r->quoted && !r->was_quote) {
        r->was_quote = ch == '"';
        if (!r->was_quote)
            *r->at++ = (char)ch;
        return ch != EOF;
    }
    if (ch == '"') {
        if (r->was_quote)
            *r->at++ = '"';
        else if (r->at != begin)
            return false;
        r->quoted = true;
        r->was_quote = false;
        return true;
    }
    if (ch == '\r')
        return true;
    *done = ch == '\n' || ch == EOF;
    if (ch == ',' || *done) {
        *r->at++ = '\0';
        return *done || begin_field(r);
    }
    if (r->was_quote)
        return false;
    *r->at++ = (char)ch;
    return true;
}

static bool read_line(struct csv *c, struct reading *r, struct err *err)
{
    const char *end = r->row->text + CSV_LINE_MAX - 2;
    bool done = false;

    r->at = r->row->text;
    r->row->n = 0;
    begin_field(r);
    while (!done) {
        int ch = getc(c->in);

        if (r->at >= end || !ch || !take(r, ch, &done))
            return err_set(err, ERR_INVALID, "line %zu is no CSV, or too long", c->line);
        c->breaks += ch == '\n';
    }
    return true;
}

/* Spreadsheets begin UTF-8 with it. False: something like it, which no text begins with. */
static bool skip_byte_order_mark(struct csv *c)
{
    int ch = getc(c->in);

    if (ch != 0xef) {
        ungetc(ch, c->in);
        return true;
    }
    return getc(c->in) == 0xbb && getc(c->in) == 0xbf;
}

bool csv_next(struct csv *c, struct csv_row *row, struct err *err)
{
    struct reading r = {.row = row};

    if (!row->text && !(row->text = malloc(CSV_LINE_MAX)))
        return err_memory(err);
    if (!c->line && !skip_byte_order_mark(c))
        return err_set(err, ERR_INVALID, "line 1 is no CSV in UTF-8");
    do {
        int ch = getc(c->in);

        if (ch == EOF)
            return ferror(c->in) ? err_set(err, ERR_INVALID, "the file cannot be read") : false;
        ungetc(ch, c->in);
        c->line = c->breaks + 1;
        if (!read_line(c, &r, err))
            return false;
    } while (row->n == 1 && !*row->field[0]);
    return true;
}
