/*
 * debug_path: finds the debug file behind what a person names: a file, or a dSYM bundle.
 */
#pragma once
#include "base/err.h"

#include <limits.h>

/* `path` itself, or the DWARF file within a .dSYM folder (which must hold exactly one). */
bool debug_path_resolve(const char *path, char out[PATH_MAX], struct err *err) MUST_CHECK;
