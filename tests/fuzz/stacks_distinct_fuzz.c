#include "stacks/distinct.h"

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

static void same(const struct buf *a, const struct buf *b)
{
    HOLDS(!buf_ok(a) || !buf_ok(b) ||
          (a->len == b->len && (!a->len || memcmp(a->at, b->at, a->len) == 0)));
}

static void try_distinct(const uint8_t *data, size_t size, struct arena *mem)
{
    struct distinct d, e;
    struct buf once, twice;
    struct err err;

    distinct_init(&d, mem);
    distinct_init(&e, mem);
    buf_init(&once, CAP);
    buf_init(&twice, CAP);
    if (distinct_read(data, size, 1, &d, &err)) {
        distinct_write(&d, &once);
        HOLDS(!buf_ok(&once) || distinct_read(once.at, once.len, 1, &e, &err));
        distinct_write(&e, &twice);
        same(&once, &twice);
        HOLDS(distinct_estimate(&d) >= 0);
    }
    buf_fini(&once);
    buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *mem = arena_new(CAP);

    if (mem)
        try_distinct(data, size, mem);
    arena_free(mem);
    return 0;
}
