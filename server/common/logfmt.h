/*
 * logfmt: name=value fields of one line of a log. Values are quoted where logfmt wants it; users
 * and passwords of URLs in them are hidden. A line that is too long loses its end. In place, no
 * allocation; start from {0}.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define LOGFMT_BYTES 1024
struct logfmt {
    size_t len;
    char text[LOGFMT_BYTES + 1]; /* ends with a NUL after every call */
};

void logfmt_text(struct logfmt *l, const char *name, const char *value);
void logfmt_i64(struct logfmt *l, const char *name, int64_t value);
void logfmt_ms(struct logfmt *l, const char *name, int64_t us); /* as 12.345 */

/* Fields made elsewhere, as they are. */
void logfmt_fields(struct logfmt *l, const char *fields);
