#include "src/control/json.h"

#include <string.h>

#define MAX_INTEGER_DIGITS 18

void fw_json_begin(struct fw_json *j, const void *bytes, size_t n)
{
    *j = (struct fw_json){.at = bytes, .end = (const char *)bytes + n};
    j->failed = n > FW_JSON_MAX_BYTES;
}

static bool fail(struct fw_json *j)
{
    j->failed = true;
    return false;
}

static void skip_blanks(struct fw_json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

static bool next_is(struct fw_json *j, char c)
{
    skip_blanks(j);
    return !j->failed && j->at < j->end && *j->at == c;
}

enum fw_json_kind fw_json_peek(struct fw_json *j)
{
    skip_blanks(j);
    if (j->failed || j->at == j->end)
        return FW_JSON_BAD;
    switch (*j->at) {
    case '{':
        return FW_JSON_OBJECT;
    case '[':
        return FW_JSON_ARRAY;
    case '"':
        return FW_JSON_STRING;
    case 't':
    case 'f':
        return FW_JSON_BOOL;
    case 'n':
        return FW_JSON_NULL;
    default:
        return *j->at == '-' || (*j->at >= '0' && *j->at <= '9') ? FW_JSON_NUMBER : FW_JSON_BAD;
    }
}

bool fw_json_enter(struct fw_json *j)
{
    enum fw_json_kind kind = fw_json_peek(j);

    if (kind != FW_JSON_OBJECT && kind != FW_JSON_ARRAY)
        return fail(j);
    if (++j->depth > FW_JSON_MAX_DEPTH)
        return fail(j);
    j->at++;
    j->first = true;
    return true;
}

/* Before a member: a comma unless it is the first, or the closing bracket. */
static bool another(struct fw_json *j, char close)
{
    if (next_is(j, close)) {
        j->at++;
        j->depth--;
        j->first = false;
        return false;
    }
    if (!j->first) {
        if (!next_is(j, ','))
            return fail(j);
        j->at++;
    }
    j->first = false;
    return !j->failed;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_unit(struct fw_json *j, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int digit = j->at < j->end ? hex_digit(*j->at) : -1;

        if (digit < 0)
            return fail(j);
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

/* After "\u": one character, of two units if the first is a high surrogate. */
static bool read_unicode(struct fw_json *j, uint32_t *character)
{
    uint32_t low;

    if (!read_unit(j, character))
        return false;
    if (*character < 0xd800 || *character > 0xdfff)
        return *character || fail(j); /* no NUL inside texts */
    if (*character > 0xdbff || j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
        return fail(j);
    j->at += 2;
    if (!read_unit(j, &low) || low < 0xdc00 || low > 0xdfff)
        return fail(j);
    *character = 0x10000 + ((*character - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static size_t utf8(uint32_t c, char out[4])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static bool read_character(struct fw_json *j, char out[4], size_t *n)
{
    static const char escape[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    uint32_t character;
    const char *known;

    if ((unsigned char)*j->at < 0x20)
        return fail(j);
    *n = 1;
    if (*j->at != '\\') {
        out[0] = *j->at++;
        return true;
    }
    if (++j->at == j->end)
        return fail(j);
    if (*j->at == 'u') {
        j->at++;
        if (!read_unicode(j, &character))
            return false;
        *n = utf8(character, out);
        return true;
    }
    known = memchr(escape, *j->at, sizeof escape - 1);
    if (!known)
        return fail(j);
    out[0] = meaning[known - escape];
    j->at++;
    return true;
}

/* out may be NULL. False when it did not fit (out is then "") or is malformed. */
static bool read_string(struct fw_json *j, char *out, size_t size)
{
    char piece[4];
    size_t len = 0, n;
    bool fits = size > 0;

    if (!next_is(j, '"'))
        return fail(j);
    j->at++;
    while (j->at < j->end && *j->at != '"') {
        if (!read_character(j, piece, &n))
            return false;
        fits = fits && len + n < size;
        if (fits && out)
            memcpy(out + len, piece, n);
        len += n;
    }
    if (j->at == j->end)
        return fail(j);
    j->at++;
    if (out && size)
        out[fits ? len : 0] = 0;
    return fits;
}

bool fw_json_key(struct fw_json *j, char *key, size_t size)
{
    if (!another(j, '}'))
        return false;
    read_string(j, key, size);
    if (!next_is(j, ':'))
        return fail(j);
    j->at++;
    return true;
}

bool fw_json_item(struct fw_json *j)
{
    return another(j, ']');
}

static bool word(struct fw_json *j, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(j->end - j->at) < n || memcmp(j->at, text, n) != 0)
        return fail(j);
    j->at += n;
    return true;
}

static size_t digits(struct fw_json *j)
{
    const char *from = j->at;

    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return (size_t)(j->at - from);
}

/* RFC 8259's number; *whole: without fraction and exponent. */
static bool read_number(struct fw_json *j, bool *whole)
{
    bool zero;

    *whole = true;
    if (j->at < j->end && *j->at == '-')
        j->at++;
    zero = j->at < j->end && *j->at == '0';
    size_t n = digits(j);
    if (!n || (zero && n > 1))
        return fail(j);
    if (j->at < j->end && *j->at == '.') {
        *whole = false;
        j->at++;
        if (!digits(j))
            return fail(j);
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        *whole = false;
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if (!digits(j))
            return fail(j);
    }
    return true;
}

bool fw_json_i64(struct fw_json *j, int64_t *out)
{
    bool whole, negative;
    int64_t value = 0;

    if (fw_json_peek(j) != FW_JSON_NUMBER) {
        fw_json_skip(j);
        return false;
    }
    const char *from = j->at;
    if (!read_number(j, &whole) || !whole)
        return false;
    negative = *from == '-';
    from += negative;
    if (j->at - from > MAX_INTEGER_DIGITS)
        return false;
    for (; from < j->at; from++)
        value = value * 10 + (*from - '0');
    *out = negative ? -value : value;
    return true;
}

bool fw_json_bool(struct fw_json *j, bool *out)
{
    if (fw_json_peek(j) != FW_JSON_BOOL) {
        fw_json_skip(j);
        return false;
    }
    bool value = *j->at == 't';
    if (!word(j, value ? "true" : "false"))
        return false;
    *out = value;
    return true;
}

bool fw_json_text(struct fw_json *j, char *out, size_t size)
{
    if (fw_json_peek(j) != FW_JSON_STRING) {
        fw_json_skip(j);
        return false;
    }
    return read_string(j, out, size);
}

void fw_json_skip(struct fw_json *j)
{
    bool whole;

    switch (fw_json_peek(j)) {
    case FW_JSON_OBJECT:
        fw_json_enter(j);
        while (!j->failed && another(j, '}')) {
            read_string(j, NULL, 0);
            if (!next_is(j, ':'))
                fail(j);
            else
                j->at++;
            fw_json_skip(j);
        }
        break;
    case FW_JSON_ARRAY:
        fw_json_enter(j);
        while (!j->failed && another(j, ']'))
            fw_json_skip(j);
        break;
    case FW_JSON_STRING:
        read_string(j, NULL, 0);
        break;
    case FW_JSON_NUMBER:
        read_number(j, &whole);
        break;
    case FW_JSON_BOOL:
        word(j, *j->at == 't' ? "true" : "false");
        break;
    case FW_JSON_NULL:
        word(j, "null");
        break;
    case FW_JSON_BAD:
        fail(j);
    }
}

bool fw_json_done(struct fw_json *j)
{
    skip_blanks(j);
    return !j->failed && j->at == j->end;
}
