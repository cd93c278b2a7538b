/*
 * recover: finishes the files of sessions whose process is gone.
 *
 * Each .open file that nobody holds locked is cut after its last whole zstd frame, gets an
 * End{RECOVERED} at the last time it speaks of, and becomes a .fws file; one without a whole frame
 * is deleted. What a crash left is made use of before (crash_recover.h). Runs on the sampling
 * thread before it records; `scratch` lends its buffers, which are empty afterwards.
 */
#pragma once
#include "src/buffer/files.h"
#include "src/buffer/slice.h"

unsigned fw_store_recover(struct fw_store *s, struct fw_slice *scratch); /* files finished */

/* The latest time in a serialized SessionLog, 0 if it has none. Bytes may be anything. */
uint64_t fw_last_time_us(const void *bytes, size_t n);

/* For crash_recover.c: the locked descriptor of a dead session's file, or -1. */
int fw_lock_dead(const struct fw_store *s, const char *name);
