#include "server/api/etag.h"

#include <string.h>

#define BLANK " \t,"

bool etag_in(const char *list, const char *tag, bool weak)
{
    size_t len = strlen(tag);

    for (const char *at = list + strspn(list, BLANK); *at; at += strspn(at, BLANK)) {
        bool is_weak = strncmp(at, "W/", 2) == 0;

        if (*at == '*')
            return true;
        at += is_weak ? 2 : 0;
        if (*at != '"')
            return false; /* not a list of tags: matches nothing */

        const char *end = strchr(at + 1, '"');

        if (!end)
            return false;
        if ((weak || !is_weak) && (size_t)(end + 1 - at) == len && memcmp(at, tag, len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}
