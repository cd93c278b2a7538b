#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    struct buf out;

    if (!name)
        return 0;
    memcpy(name, data, size);
    name[size] = '\0';
    buf_init(&out, 4 * DEMANGLE_TEXT_MAX);
    demangle(name, &out);
    if (out.len > DEMANGLE_TEXT_MAX && out.len > size)
        abort();
    buf_fini(&out);
    free(name);
    return 0;
}
