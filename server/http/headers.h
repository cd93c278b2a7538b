/*
 * headers: the header lines of one request, and the rules they must keep.
 *
 * Pure: no sockets, no allocation; names and values are borrowed. libmicrohttpd lets through what
 * makes two readers of one stream disagree (two lengths, a length beside a transfer coding, spaces
 * in a name), so headers_check refuses all of that.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HEADERS_MAX 64
#define HEADER_VALUE_MAX 8192

struct http_header {
    const char *name, *value;
};

struct http_headers {
    size_t n;
    bool overflow; /* there were more than HEADERS_MAX */
    struct http_header at[HEADERS_MAX];
};

void headers_add(struct http_headers *h, const char *name, const char *value);
/* NULL if absent; names compare without regard to case. */
const char *headers_find(const struct http_headers *h, const char *name);

struct body_length {
    bool chunked; /* length unknown until its end */
    uint64_t bytes;
};

/* ERR_INVALID or ERR_TOO_BIG with the header at fault in err->field. *smuggling tells a request
 * that two readers could take for different ones. On success *body is the length announced. */
bool headers_check(const struct http_headers *h, struct body_length *body, bool *smuggling,
                   struct err *err) MUST_CHECK;

/* Decimal digits only, at most INT64_MAX: no sign, no space, no empty text. */
bool parse_decimal(const char *text, int64_t *out) MUST_CHECK;
