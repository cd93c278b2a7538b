/*
 * coding: answers sent smaller to who can read them so (RFC 9110, 8.4 and 12.5.3). Pure.
 *
 * Left as they are: short ones; those with a strong ETag, for each coding would need its own; those
 * marked no-store, which hold secrets (docs/decisions/0145-compressed-answers.md); and those whose
 * handler chose a coding itself.
 */
#pragma once
#include "server/http/reply.h"

#include <stdbool.h>

#define CODING_BYTES_MIN 1024

/* Whether a list like "gzip;q=0.8, zstd" has the coding with a weight above 0. A bare "*" is left
 * to mean nothing: the plain form is always right. NULL: an empty list. */
bool coding_accepts(const char *list, const char *coding);

/* Codes the body as the list allows, zstd before gzip, and says so; without memory it stays plain.
 */
void coding_reply(struct http_reply *r, const char *accept_encoding);
