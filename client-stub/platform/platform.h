/* platform: which system this is, and what only its own calls tell. One file each. */
#pragma once
#include "wire/session_writer.h"

extern const enum fw_platform fw_platform_kind;

/* A system property by name ("ro.product.model"); false where there are none. */
bool fw_platform_property(const char *name, char *out, size_t size);

/* What malloc has handed out. Takes the allocator's locks: never on a game's thread. */
bool fw_platform_native_heap_kb(int64_t *kb);
