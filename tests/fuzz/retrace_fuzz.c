/* A mapping and a stack, parted by a line of "----": built, opened and printed. What begins like an
 * index is opened as one. */
#include "base/buf.h"
#include "symbols/retrace/retrace_build.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_MEMORY ((size_t)64 << 20)
#define FUZZ_OUT ((size_t)32 << 20)

/* Under libFuzzer memory does not run out, so it must not be said to; replayed, it may be made to.
 */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define MAY_LACK_MEMORY false
#else
#define MAY_LACK_MEMORY true
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool sink(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

static void print(const void *index, size_t size, const char *stack, size_t len, bool made)
{
    struct retrace r;
    struct err err;
    struct buf out;

    if (!retrace_open(&r, index, size, &err)) {
        if (made)
            abort(); /* the reader's checks and the writer disagree */
        return;
    }
    for (int verbose = 0; verbose < 2; verbose++) {
        buf_init(&out, FUZZ_OUT);
        if (!retrace_print_text(&r, &(struct retrace_print){.verbose = verbose}, stack, len, &out,
                                &err) &&
            err.code != ERR_TOO_BIG && made && !MAY_LACK_MEMORY)
            abort();
        buf_fini(&out);
    }
}

/* In two pieces: lines are cut at the seam. */
static bool build(const char *text, size_t len, struct buf *out)
{
    const struct retrace_limits limits = {.memory_bytes = FUZZ_MEMORY};
    struct retrace_builder *b = retrace_builder_new(&limits);
    struct err err;
    bool ok = b && retrace_builder_feed(b, text, len / 2, &err) &&
              retrace_builder_feed(b, text + len / 2, len - len / 2, &err) &&
              retrace_builder_finish(b, sink, out, NULL, &err);

    retrace_builder_free(b);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    const char *seam = size ? memmem(text, size, "\n----\n", 6) : NULL;
    const char *stack = seam ? seam + 6 : text;
    struct buf out;

    retrace_looks_like_mapping(data, size);
    if (retrace_looks_like(data, size)) {
        print(data, size, "x.Y: no\n\tat a.a(:1)\n\tat b.s(F:27)\n\tat a.a(F)\n", 43, false);
        return 0;
    }
    buf_init(&out, FUZZ_OUT);
    if (build(text, (size_t)((seam ? seam + 1 : end) - text), &out))
        print(out.at, out.len, stack, (size_t)(end - stack), true);
    buf_fini(&out);
    return 0;
}
