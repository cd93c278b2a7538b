/*
 * index_file: makes look-up tables of an uploaded file, in a process of its own: `framewatchd
 * index`. All that parses hostile bytes of symbols is here: archives, compressed files, debug
 * files, mappings. The process has no connection, no secrets and hard limits (see index_child.h).
 *
 *   framewatchd index symbols|mapping FILE FOLDER MAX_BYTES
 *
 * FILE may be zstd-compressed. Written into FOLDER: 0.table, 1.table … and `result`, a line a fact,
 * its words separated by tabs, whole only if the last line is "end":
 *   file    SHA256 BYTES            of the file, unpacked
 *   table   N SHA256 BYTES NAME HIDDEN  N.table, of an image or mapping with that digest; HIDDEN is
 *                                   "revealed" if the archive had the names bitcode hid, else "-"
 *   refused REASON DETAIL           the file, or an image of it, is not taken
 */
#pragma once

#define INDEX_TABLES 256 /* at most, of one file */
#define INDEX_RESULT "result"

/* Reasons, as they stand in quarantine. */
#define INDEX_REASONS(X)                                                                           \
    X(not_symbols, "neither ELF, Mach-O nor a zip file of such")                                   \
    X(not_mapping, "not an R8 or ProGuard mapping")                                                \
    X(damaged, "broken, or cut short")                                                             \
    X(past_limit, "larger than symbols_max_mb once unpacked, or too many images")                  \
    X(no_debug_id, "without GNU build id or LC_UUID: link with --build-id")                        \
    X(no_symbols, "stripped: says nothing about its code")

int index_main(int argc, char **argv);
