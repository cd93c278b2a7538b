#include "symbols/debug_id.h"

#include "base/digest.h"

#include <string.h>

#define UUID_BYTES 16

static char hex_digit(unsigned v, bool upper)
{
    return v < 10 ? (char)('0' + v) : (char)((upper ? 'A' : 'a') + v - 10);
}

void debug_id_text(const struct debug_id *id, char out[DEBUG_ID_TEXT])
{
    size_t n = id->size < DEBUG_ID_BYTES ? id->size : DEBUG_ID_BYTES;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = hex_digit(id->bytes[i] >> 4, false);
        out[2 * i + 1] = hex_digit(id->bytes[i] & 15u, false);
    }
    out[2 * n] = '\0';
}

static void print_uuid(const unsigned char bytes[UUID_BYTES], char out[DEBUG_ID_GUID_TEXT])
{
    size_t at = 0;

    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        out[at++] = hex_digit(bytes[i] >> 4, true);
        out[at++] = hex_digit(bytes[i] & 15u, true);
    }
    out[at] = '\0';
}

void debug_id_uuid(const struct debug_id *id, char out[DEBUG_ID_GUID_TEXT])
{
    unsigned char first[UUID_BYTES] = {0};

    memcpy(first, id->bytes, id->size < UUID_BYTES ? id->size : UUID_BYTES);
    print_uuid(first, out);
}

static void swap_fields(const struct debug_id *id, unsigned char out[UUID_BYTES])
{
    static const unsigned char from[UUID_BYTES] = {3, 2, 1,  0,  5,  4,  7,  6,
                                                   8, 9, 10, 11, 12, 13, 14, 15};

    for (size_t i = 0; i < UUID_BYTES; i++)
        out[i] = from[i] < id->size ? id->bytes[from[i]] : 0;
}

void debug_id_guid(const struct debug_id *id, char out[DEBUG_ID_GUID_TEXT])
{
    unsigned char swapped[UUID_BYTES];

    swap_fields(id, swapped);
    print_uuid(swapped, out);
}

bool debug_id_parse(const char *text, struct debug_id *out)
{
    struct debug_id id = {0};
    size_t digits = 0;

    for (; *text; text++) {
        int v = hex_value(*text);

        if (*text == '-')
            continue;
        if (v < 0 || digits == 2 * DEBUG_ID_BYTES)
            return false;
        id.bytes[digits / 2] = (unsigned char)(id.bytes[digits / 2] << 4 | v);
        digits++;
    }
    if (digits == 0 || digits % 2)
        return false;
    id.size = digits / 2;
    *out = id;
    return true;
}

static bool is_short_form(const struct debug_id *shorter, const struct debug_id *longer)
{
    unsigned char swapped[UUID_BYTES];

    if (shorter->size != UUID_BYTES || longer->size < UUID_BYTES)
        return false;
    swap_fields(longer, swapped);
    return memcmp(shorter->bytes, longer->bytes, UUID_BYTES) == 0 ||
           memcmp(shorter->bytes, swapped, UUID_BYTES) == 0;
}

bool debug_id_equal(const struct debug_id *a, const struct debug_id *b)
{
    if (a->size == 0 || b->size == 0)
        return false;
    if (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0)
        return true;
    return is_short_form(a, b) || is_short_form(b, a);
}
