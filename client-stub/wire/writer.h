/*
 * writer: append-only protobuf encoding into a fw_buf.
 *
 * Not thread-safe. Failure latches in the buffer. A nested message is opened, filled and closed;
 * its length is patched in behind, in the shortest form.
 * Source of the encoding: protobuf.dev, "Encoding".
 */
#pragma once
#include "wire/buf.h"

#include <stdint.h>

void fw_pb_varint(struct fw_buf *b, uint64_t value);
void fw_pb_u64(struct fw_buf *b, uint32_t field, uint64_t value); /* uint32, uint64, enum, bool */
void fw_pb_s64(struct fw_buf *b, uint32_t field, int64_t value);  /* sint32, sint64 */
void fw_pb_float(struct fw_buf *b, uint32_t field, float value);
void fw_pb_bytes(struct fw_buf *b, uint32_t field, const void *bytes, size_t n);
/* At most `max` bytes, cut before a UTF-8 character that would not fit whole; bytes that are not
 * UTF-8 become '?'. NULL and "" are left out. */
void fw_pb_text(struct fw_buf *b, uint32_t field, const char *text, size_t max);

uint64_t fw_zigzag(int64_t value);

/* Opens a nested message (or packed row) and returns its place for fw_pb_close. */
size_t fw_pb_open(struct fw_buf *b, uint32_t field);
void fw_pb_close(struct fw_buf *b, size_t place);
