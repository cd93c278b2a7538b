/*
 * pbwire: the fields of one protobuf message as they stand on the wire, for readers that need them
 * before or without unpacking. Pure; borrows the cursor's bytes.
 */
#pragma once
#include "base/cursor.h"

enum pb_wire { PB_VARINT, PB_FIXED64, PB_BYTES, PB_GROUP, PB_GROUP_END, PB_FIXED32 };

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value;             /* PB_VARINT, PB_FIXED64, PB_FIXED32 */
    const unsigned char *bytes; /* PB_BYTES */
    size_t n;
};

/* False at the end, or at a fault, which latches c->failed: a cut field, number 0, or a group. */
bool pb_next(struct cursor *c, struct pb_field *out);
