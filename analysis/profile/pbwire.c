#include "profile/pbwire.h"

static void read_bytes(struct cursor *c, struct pb_field *f)
{
    uint64_t n = cursor_uleb(c);

    if (n > cursor_left(c)) {
        c->failed = true;
        return;
    }
    f->n = (size_t)n;
    f->bytes = cursor_bytes(c, f->n);
}

bool pb_next(struct cursor *c, struct pb_field *out)
{
    if (c->failed || !cursor_left(c))
        return false;

    uint64_t tag = cursor_uleb(c);
    struct pb_field f = {.number = (uint32_t)(tag >> 3), .wire = (enum pb_wire)(tag & 7)};

    if (tag > UINT32_MAX || !f.number)
        c->failed = true;
    if (f.wire == PB_VARINT)
        f.value = cursor_uleb(c);
    else if (f.wire == PB_FIXED64)
        f.value = cursor_u64le(c);
    else if (f.wire == PB_FIXED32)
        f.value = cursor_u32le(c);
    else if (f.wire == PB_BYTES)
        read_bytes(c, &f);
    else
        c->failed = true; /* groups were gone before this format began */
    *out = f;
    return !c->failed;
}
