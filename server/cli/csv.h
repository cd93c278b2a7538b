/*
 * csv: reads RFC 4180 row by row, in UTF-8 with or without a byte order mark. One reader, one
 * thread.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

#define CSV_FIELDS_MAX 64
#define CSV_LINE_MAX 65536 /* bytes of a row, with the line breaks that quotes may hold */

struct csv {
    FILE *in;
    size_t line;   /* where the row read last begins */
    size_t breaks; /* of lines, read so far */
};
struct csv_row {
    char *text; /* that the fields point into */
    const char *field[CSV_FIELDS_MAX];
    size_t n;
};

struct csv csv_over(FILE *in);
/* The next row that is not an empty line. False at the end (err untouched), or ERR_INVALID: no CSV,
 * a NUL byte, a limit, a file that cannot be read. */
bool csv_next(struct csv *c, struct csv_row *row, struct err *err) MUST_CHECK;
void csv_row_fini(struct csv_row *row);
