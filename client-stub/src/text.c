#include "src/text.h"

#include <string.h>

void fw_copy_text(char *out, size_t size, const char *text)
{
    size_t n = text ? strnlen(text, size - 1) : 0;

    if (n)
        memcpy(out, text, n);
    out[n] = 0;
}
