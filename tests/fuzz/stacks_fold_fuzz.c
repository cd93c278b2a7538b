#include "stacks/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP ((size_t)16 << 20)

/* Where memory ran out, that what was asked for is not there says nothing. */
#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fold(struct trie *t, struct buf *out)
{
    struct err err;

    buf_init(out, CAP);
    if (!trie_sort(t, TRIE_COUNT, &err))
        return false;
    export_folded(t, TRIE_COUNT, out);
    return buf_ok(out);
}

/* What is written is read back as it was. */
static void round_trip(struct trie *t)
{
    struct trie *back = trie_new(CAP);
    struct buf one = {0}, other = {0};
    struct err err = {0};

    if (back && fold(t, &one)) {
        bool read = fold_read((const char *)one.at, one.len, back, &err);

        HOLDS(read || err.code != ERR_INVALID);
        HOLDS(!read || !fold(back, &other) ||
              (one.len == other.len && (!one.len || memcmp(one.at, other.at, one.len) == 0)));
    }
    buf_fini(&one);
    buf_fini(&other);
    trie_free(back);
}

static void use(struct trie *t)
{
    struct export_about about = {"title", "count", "weight", 1};
    struct trie *pruned = NULL;
    struct buf out;
    struct err err;

    buf_init(&out, CAP);
    if (trie_prune(t, TRIE_COUNT, 0.1, CAP, &pruned, &err))
        HOLDS(trie_at(pruned, TRIE_ROOT).total[0] == trie_at(t, TRIE_ROOT).total[0]);
    export_speedscope(t, TRIE_COUNT, &about, &out);
    if (export_pprof(t, &about, &out, &err))
        HOLDS(export_trie_json(t, TRIE_COUNT, 20, &out, &err));
    buf_fini(&out);
    trie_free(pruned);
}

/* Other control bytes are written as '?', and that is not read back. */
static char *without_controls(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    for (size_t i = 0; text && i < size; i++)
        text[i] = (char)(data[i] < 0x20 && data[i] != '\n' ? 'x' : data[i]);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trie *t = trie_new(CAP);
    char *text = without_controls(data, size);
    struct err err = {0};

    if (t && text && fold_read(text, size, t, &err)) {
        round_trip(t);
        use(t);
    }
    free(text);
    trie_free(t);
    return 0;
}
