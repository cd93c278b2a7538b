#include "stacks/name.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where memory ran out, that what was asked for is not there says nothing. */
#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* First byte: managed or not. The name of a name is itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *mem = arena_new((size_t)1 << 20);
    char *text = size ? malloc(size) : NULL;
    struct name once, twice;

    if (!mem || !text) {
        arena_free(mem);
        free(text);
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    HOLDS(name_of(text, data[0] & 1, mem, &once) && name_of(once.text, data[0] & 1, mem, &twice));
    HOLDS(strcmp(once.text, twice.text) == 0);
    HOLDS(strlen(once.text) <= NAME_TEXT_MAX);
    arena_free(mem);
    free(text);
    return 0;
}
