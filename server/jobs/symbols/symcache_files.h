/*
 * symcache_files: look-up tables of symbols as mapped files, in a folder that is only a cache: what
 * is missing comes from the database, piece by piece. Thread-safe; the folder may be shared by any
 * number of processes of one machine.
 *
 * A file is named after its own digest, is written beside and renamed, and is checked against the
 * digest when it is mapped: half a file or a damaged one is made again, and no app can meet another
 * app's table but by its own row in the database. One at a time fills a file. Beyond `cap_bytes`
 * the files used longest ago go (a file that is mapped stays readable). Mappings are shared by
 * threads.
 */
#pragma once
#include "server/db/db.h"
#include "symbols/retrace/retrace.h"
#include "symbols/symcache.h"

struct symcache_files;

/* folder "" : a temporary one, made at first need and removed at the end. */
struct symcache_files *symcache_files_new(const char *folder, int64_t cap_bytes,
                                          struct err *err) MUST_CHECK;
void symcache_files_free(struct symcache_files *f); /* all tables must be returned; NULL is fine */

/* Folder for the files of one job; remove it with symcache_files_drop(). The path lies in mem. */
bool symcache_files_workspace(struct symcache_files *f, struct arena *mem, const char **path,
                              struct err *err) MUST_CHECK;
void symcache_files_drop(const char *workspace);

enum table_kind { TABLE_NATIVE, TABLE_MAPPING };

struct table_key { /* a row of symcache */
    enum table_kind kind;
    unsigned char id[16], sha256[32];
    int64_t size;
};

struct table {
    enum table_kind kind;
    struct symcache native; /* of that kind */
    struct retrace mapping;
};

/* ERR_NOT_FOUND: the row is gone. ERR_INVALID: what is stored is not a table of today's layout. */
bool symcache_files_borrow(struct symcache_files *f, struct db *db, const struct table_key *key,
                           const struct table **out, struct err *err) MUST_CHECK;
void symcache_files_return(struct symcache_files *f, const struct table *t);

struct symcache_files_counts {
    int64_t hits, maps, fills, evicted, damaged;
};
void symcache_files_counts(const struct symcache_files *f, struct symcache_files_counts *out);
