/* A BCSymbolMap and names, parted by a line of "----": each name is asked for. What is revealed is
 * the name itself or lies within the map's copy. */
#include "symbols/hidden_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 64 /* at most, of one input */
#define NAME_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct hidden_names *h, size_t size, const char *name)
{
    const char *found = hidden_names_reveal(h, name);

    if (hidden_names_reveal(NULL, name) != name)
        abort();
    if (found != name && (found < h->text || found + strlen(found) > h->text + size || !*found))
        abort();
}

/* The names after the seam, a line each. */
static void ask_all(const struct hidden_names *h, size_t size, const char *at, const char *end)
{
    char name[NAME_BYTES];

    for (size_t i = 0; i < NAMES && at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);

        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        ask(h, size, name);
        at += n + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    const char *seam = size ? memmem(text, size, "\n----\n", 6) : NULL;
    size_t map = seam ? (size_t)(seam - text) + 1 : size;
    struct hidden_names h;
    struct err err;
    char name[NAME_BYTES];

    if (!hidden_names_init(&h, data, map, &err))
        return 0;
    if (h.n > map)
        abort();
    for (size_t i = 0; i < h.n && i < NAMES; i++) {
        snprintf(name, sizeof name, "__hidden#%zu_", i);
        ask(&h, map, name);
    }
    if (seam)
        ask_all(&h, map, seam + 6, end);
    hidden_names_fini(&h);
    return 0;
}
