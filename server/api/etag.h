/*
 * etag: entity tags of RFC 9110, section 8.8.3. Pure.
 */
#pragma once
#include <stdbool.h>

/* Is `tag` (quoted, strong) in the field value `list`, or is that "*"? weak: as If-None-Match
 * compares, W/ or not; otherwise as If-Match does, where a weak tag matches nothing. */
bool etag_in(const char *list, const char *tag, bool weak);
