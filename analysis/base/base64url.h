/*
 * base64url: the alphabet of URLs and file names (RFC 4648, section 5), without padding. Stateless.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>

/* Characters that n bytes take, without a final NUL. */
#define BASE64URL_LEN(n) (((n)*4 + 2) / 3)

void base64url_encode(const void *bytes, size_t n, char *out); /* BASE64URL_LEN(n) + 1 */

/* Exactly n bytes from exactly BASE64URL_LEN(n) characters, unused bits zero: each byte string has
 * one text. False otherwise. */
bool base64url_decode(const char *text, size_t n, void *out) MUST_CHECK;
