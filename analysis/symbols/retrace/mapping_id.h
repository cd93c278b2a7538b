/*
 * mapping_id: what a mapping is called where it is bound to a build: the hash its header names, if
 * the text is the one it was taken of or that was not checked; else its pg_map_id; else the SHA-256
 * of the file. Pure.
 */
#pragma once
#include "base/digest.h"
#include "symbols/retrace/retrace.h"

#define MAPPING_ID_TEXT 129 /* longer ids of a header are not used */

void mapping_id(const struct retrace *r, const unsigned char file_sha256[SHA256_BYTES],
                char out[MAPPING_ID_TEXT]);
