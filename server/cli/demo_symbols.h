/*
 * demo_symbols: the debug files of the builds that synthetic sessions come from, as a linker would
 * have left them: names of functions, no lines. The game's own modules; the system's have none.
 */
#pragma once
#include "demo_session.h"

#include "base/buf.h"
#include "base/err.h"

/* An ELF shared library or a Mach-O image with the debug id and the functions that the module has
 * in that version. Latches failure in `out`. */
void demo_symbols(bool ios, unsigned module, const struct demo_version *v, struct buf *out);

/* All of them as files "VERSION-MODULE" in the folder, which is made if it is missing. */
bool demo_symbols_write(const struct demo_config *c, const char *dir, struct err *err) MUST_CHECK;
