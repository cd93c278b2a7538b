/*
 * hidden_names: the names that a build with bitcode hid. Apple's servers recompiled such apps, and
 * their dSYMs say "__hidden#12_" for line 12 (from 0) of the build's .bcsymbolmap file.
 *
 * Immutable once parsed: any number of threads may read it.
 */
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HIDDEN_NAMES_BYTES ((size_t)256 << 20) /* a larger file is refused */

struct hidden_names {
    char *text; /* a copy of the file, each line ended by a NUL */
    uint32_t *lines;
    size_t n;
};

/* ERR_INVALID: no BCSymbolMap of version 1.0 or 2.0. Release with hidden_names_fini(). */
bool hidden_names_init(struct hidden_names *h, const void *bytes, size_t size,
                       struct err *err) MUST_CHECK;
void hidden_names_fini(struct hidden_names *h); /* fine on a zeroed one */

/* The name behind a hidden one, or `name` itself. NULL is a map without names. The underscore that
 * Mach-O puts before symbols may be there or be dropped. */
const char *hidden_names_reveal(const struct hidden_names *h, const char *name);
