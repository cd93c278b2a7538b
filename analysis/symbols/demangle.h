/*
 * demangle: linkage names for people: C++ (Itanium), Rust legacy and v0, by libiberty. Swift names
 * stay mangled. Reentrant, nothing global is changed.
 *
 * Names are hostile: output is bounded (a short name can stand for gigabytes), and so is recursion.
 * Needs up to 1 MB of stack for the worst names.
 */
#pragma once
#include "base/buf.h"

#define DEMANGLE_NAME_MAX 4096        /* longer names stay as they are */
#define DEMANGLE_TEXT_MAX (64u << 10) /* so do those that would come out longer */

/* Appends the readable form, or the name itself if it is not mangled or cannot be read; the return
 * value says which. A Mach-O symbol's extra underscore ("__ZN…") is dropped. */
bool demangle(const char *name, struct buf *out);
