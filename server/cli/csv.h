/*
 * csv: reads RFC 4180 line by line. One reader, one thread.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

#define CSV_FIELDS_MAX 64
#define CSV_LINE_MAX 65536 /* bytes of a line, with the line breaks that quotes may hold */

struct csv {
    FILE *in;
    size_t line;
};
struct csv_row {
    char *text; /* that the fields point into */
    const char *field[CSV_FIELDS_MAX];
    size_t n;
};

struct csv csv_over(FILE *in);
/* The next line that is not empty. False at the end (err untouched), or ERR_INVALID. */
bool csv_next(struct csv *c, struct csv_row *row, struct err *err) MUST_CHECK;
void csv_row_fini(struct csv_row *row);
