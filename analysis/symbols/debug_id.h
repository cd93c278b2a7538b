/*
 * debug_id: what binds a binary to its symbols: LC_UUID (Mach-O) or the GNU build id (ELF).
 *
 * Crash tools write it in two ways: all bytes as lower-case hexadecimal, and, for tools born on
 * Windows, the first 16 bytes read as a GUID (the first three fields little-endian). Both forms
 * are printed here, and debug_id_equal() knows that a 16-byte id may be the swapped form of
 * another. Plain values; no ownership.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DEBUG_ID_BYTES 32 /* a longer build id is cut; linkers write 8, 16 or 20 */
#define DEBUG_ID_TEXT (2 * DEBUG_ID_BYTES + 1)
#define DEBUG_ID_GUID_TEXT 37

struct debug_id {
    unsigned char bytes[DEBUG_ID_BYTES];
    size_t size; /* 0: the file has none */
};

/* Lower-case hexadecimal; "" when there is none. */
void debug_id_text(const struct debug_id *id, char out[DEBUG_ID_TEXT]);

/* "XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX" of the first 16 bytes as they stand (Apple's writing of
 * LC_UUID), shorter ids padded with zeros. */
void debug_id_uuid(const struct debug_id *id, char out[DEBUG_ID_GUID_TEXT]);

/* The same, its first three fields byte-swapped (Breakpad's and Sentry's writing of build ids). */
void debug_id_guid(const struct debug_id *id, char out[DEBUG_ID_GUID_TEXT]);

/* Reads any of the forms above: 2 to 64 hexadecimal digits, dashes ignored, case ignored. */
bool debug_id_parse(const char *text, struct debug_id *out);

/* The same bytes; or 16 bytes on one side that are the other's first 16, as they stand or swapped.
 */
bool debug_id_equal(const struct debug_id *a, const struct debug_id *b);
