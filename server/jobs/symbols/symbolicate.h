/*
 * symbolicate: how a stack reads with the symbols an app has. One symbolicator serves one job in
 * one thread. What it learned (tables, and that there are none) holds until symbolicator_forget(),
 * which is due before the stacks of another transaction are locked: what another job has read with
 * newer symbols in between would be overwritten with older knowledge, and nobody comes again.
 *
 * A stack's frames come as they are stored: [{"module", "debug_id", "offset"} | {"text"} …],
 * innermost first. They leave as a list of frames in which inlined calls have frames of their own:
 *   frame     number of the raw frame it came from
 *   status    "symbolicated"; "ambiguous": the mapping allows several (`alternatives`); "system": a
 *             library of the operating system without symbols here; "missing": waits for the
 *             symbols of debug_id; "not_found": the symbols say nothing of that place;
 *             "no_debug_id": the module cannot be told from others of its name; "managed": as the
 *             runtime named it; "unknown": outside every module
 *   function, file, line, column       what is known; "Unknown" where nothing can be
 *   inlined                            true: into the next frame
 *   module, offset                     of a native frame
 *   debug_id, arch, symbol_file        the symbols it came from, or (missing) waits for
 */
#pragma once
#include "base/buf.h"
#include "server/db/db.h"
#include "server/jobs/symbols/symcache_files.h"

enum stack_state { STACK_RAW, STACK_PARTIAL, STACK_SYMBOLICATED };
extern const char *const stack_state_name[];

struct symbolicator {
    struct db *db;
    struct symcache_files *files;
    struct arena *mem; /* what was learned; the caller may reset it once it is forgotten */
    int64_t app;
    struct symbol_source *sources, *mappings; /* lists */
    size_t n_sources;
    struct arena *scratch; /* of one frame's retracing */
};

/* Borrows nothing yet. */
bool symbolicator_init(struct symbolicator *s, struct db *db, struct symcache_files *files,
                       struct arena *mem, int64_t app, struct err *err) MUST_CHECK;
void symbolicator_forget(struct symbolicator *s); /* returns the tables */
void symbolicator_fini(struct symbolicator *s);

/* Appends the list to `out`. build_id: of a stack with managed frames, 0 if not known. */
bool symbolicate(struct symbolicator *s, const char *frames_json, int64_t build_id, struct buf *out,
                 enum stack_state *state, struct err *err) MUST_CHECK;
