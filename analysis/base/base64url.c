#include "base/base64url.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_encode(const void *bytes, size_t n, char *out)
{
    const unsigned char *at = bytes;
    uint32_t bits = 0;
    unsigned have = 0;

    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | at[i];
        for (have += 8; have >= 6; have -= 6)
            *out++ = alphabet[bits >> (have - 6) & 63];
    }
    if (have)
        *out++ = alphabet[bits << (6 - have) & 63];
    *out = '\0';
}

bool base64url_decode(const char *text, size_t n, void *out)
{
    unsigned char *to = out;
    uint32_t bits = 0;
    unsigned have = 0;

    if (strlen(text) != BASE64URL_LEN(n))
        return false;
    for (; *text; text++) {
        const char *at = strchr(alphabet, *text);

        if (!at)
            return false;
        bits = bits << 6 | (uint32_t)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            *to++ = (unsigned char)(bits >> have);
        }
    }
    return (bits & ((1u << have) - 1)) == 0;
}
