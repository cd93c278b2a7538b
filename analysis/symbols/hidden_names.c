#include "symbols/hidden_names.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "BCSymbolMap Version: "

static bool is_map(const char *text)
{
    size_t n = strlen(HEAD);

    return strncmp(text, HEAD, n) == 0 &&
           (strncmp(text + n, "1.0", 3) == 0 || strncmp(text + n, "2.0", 3) == 0);
}

static size_t count_lines(const char *text, size_t size)
{
    size_t n = 1;

    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    return n;
}

/* Ends each line by a NUL and notes where the lines behind the first begin. */
static void split(struct hidden_names *h, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (h->text[i] != '\n')
            continue;
        h->text[i] = '\0';
        if (i > 0 && h->text[i - 1] == '\r')
            h->text[i - 1] = '\0';
        if (i + 1 < size)
            h->lines[h->n++] = (uint32_t)(i + 1);
    }
}

bool hidden_names_init(struct hidden_names *h, const void *bytes, size_t size, struct err *err)
{
    struct hidden_names made = {0};

    if (size > HIDDEN_NAMES_BYTES)
        return err_set(err, ERR_TOO_BIG, "bcsymbolmap: %zu bytes, at most %zu", size,
                       HIDDEN_NAMES_BYTES);
    made.text = malloc(size + 1);
    if (!made.text)
        return err_memory(err);
    if (size)
        memcpy(made.text, bytes, size);
    made.text[size] = '\0';
    if (!is_map(made.text)) {
        hidden_names_fini(&made);
        return err_set(err, ERR_INVALID,
                       "bcsymbolmap: the first line is not \"" HEAD "1.0\" or \"2.0\"");
    }
    made.lines = malloc(count_lines(made.text, size) * sizeof *made.lines);
    if (!made.lines) {
        hidden_names_fini(&made);
        return err_memory(err);
    }
    split(&made, size);
    *h = made;
    return true;
}

void hidden_names_fini(struct hidden_names *h)
{
    free(h->text);
    free(h->lines);
    *h = (struct hidden_names){0};
}

/* The number in "hidden#12_", or -1. */
static int64_t number_of(const char *name)
{
    int64_t v = 0;
    size_t digits = 0;

    while (name[0] == '_')
        name++;
    if (strncmp(name, "hidden#", 7) != 0)
        return -1;
    for (name += 7; name[digits] >= '0' && name[digits] <= '9' && digits < 10; digits++)
        v = 10 * v + (name[digits] - '0');
    return digits && name[digits] == '_' ? v : -1;
}

const char *hidden_names_reveal(const struct hidden_names *h, const char *name)
{
    int64_t n = h && name[0] == '_' ? number_of(name) : -1;

    if (n < 0 || (uint64_t)n >= h->n)
        return name;

    const char *line = h->text + h->lines[n];

    if (line[0] == '\1') /* Objective-C: keep the name as it is */
        line++;
    return line[0] ? line : name;
}
