#include "support/analysed.h"

#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void analysed_init(struct analysed *a)
{
    *a = (struct analysed){.mem = arena_new((size_t)256 << 20)};
    assert_non_null(a->mem);
}

void analysed_fini(struct analysed *a)
{
    arena_free(a->mem);
    a->mem = NULL;
}

static void succeed(bool ok, const struct err *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}

void analysed_add(struct analysed *a, struct session_builder *b)
{
    struct err err = {.text = "too many parts for a test"};
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);

    succeed(a->n < ANALYSED_PARTS, &err);
    succeed(part_decode(bytes, n, &part_limits_default, a->mem, &a->parts[a->n], &err), &err);
    a->files[a->n].part = &a->parts[a->n];
    sha256(bytes, n, a->files[a->n].sha256);
    a->n++;
}

void analysed_run(struct analysed *a)
{
    struct err err;

    succeed(session_merge(a->files, a->n, a->mem, &a->session, &err), &err);
    succeed(session_analyse(&a->session, a->mem, &a->result, &err), &err);
    succeed(contribution_of(&a->result, a->mem, &a->contribution, &err), &err);
}
