#include "base/utf8.h"

#include <string.h>

size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        return (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((s[0] & 0xf0) == 0xe0) {
        unsigned low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;

        return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        unsigned low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;

        return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80 ? 4
                                                                                             : 0;
    }
    return 0;
}

void utf8_clean(char *text, size_t limit)
{
    size_t at = 0;

    while (text[at]) {
        size_t n = utf8_length((const unsigned char *)text + at);

        if (at + (n ? n : 1) > limit)
            break;
        if (!n) {
            text[at] = '?';
            n = 1;
        }
        at += n;
    }
    text[at] = '\0';
}

size_t utf8_tame(char *text, int prose)
{
    size_t n = 0;

    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) { /* U+0080 to U+009F */
            at[0] = at[1] = '?';
            at++;
            n++;
        } else if (*at == '\n' || *at == '\t') {
            *at = prose ? *at : ' ';
        } else if (*at < ' ' || *at == 0x7f) {
            *at = '?';
            n++;
        }
    }
    return n;
}

bool utf8_is_tame(const char *text, const char *but)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        bool c1 = *at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0; /* U+0080 to U+009F */

        if (c1 || ((*at < ' ' || *at == 0x7f) && !strchr(but, *at)))
            return false;
    }
    return true;
}
