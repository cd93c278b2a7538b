/*
 * crash_recover: makes session packets of the record that a crash left.
 *
 * The slice that was in memory goes behind the session's open file, if that is still as long as it
 * was then; the crash itself becomes a part of its own. Nothing in the record is trusted: sizes are
 * bounded, packets that are not whole end the reading. A record without a fault is deleted: that
 * session was killed. `scratch` as in recover.h.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/buffer/slice.h"

/* name: SESSION-9000.crash. True: a part was made of it. A living session's is left alone. */
bool fw_crash_recover(struct fw_store *s, const char *name, struct fw_slice *scratch);

/* The longest beginning of n bytes that is whole Packets of a SessionLog. */
size_t fw_whole_packets(const void *bytes, size_t n);
/* "SIGSEGV SEGV_MAPERR at 0x10 in thread render". */
struct fw_crash_fault;
void fw_crash_reason(const struct fw_crash_fault *f, char *out, size_t size);
