/*
 * index_hidden: the names that a build with bitcode hid, in an archive of symbols: its BCSymbolMap
 * files, each found by the image it belongs to. A map is called UUID.bcsymbolmap, by the image as
 * the developer's machine made it; Apple's servers made another, and the dSYM's UUID.plist tells
 * its DBGOriginalUUID. Single-threaded; borrows the archive.
 */
#pragma once
#include "symbols/debug_id.h"
#include "symbols/hidden_names.h"

#include <zip.h>

#define HIDDEN_MAPS 256 /* at most, of one archive; further ones are passed over */

struct hidden_map {
    struct debug_id id;
    zip_uint64_t entry;
};

struct hidden_alias { /* what the plist of a dSYM says */
    struct debug_id id, original;
};

struct hidden_maps {
    zip_t *zip;
    struct hidden_map maps[HIDDEN_MAPS];
    struct hidden_alias aliases[HIDDEN_MAPS];
    size_t n_maps, n_aliases;
};

void hidden_maps_find(struct hidden_maps *h, zip_t *zip);

/* The names hidden in the image `id`: false if the archive has none that can be read within `*left`
 * bytes, which the map's size is taken from. Release with hidden_names_fini(). */
bool hidden_maps_read(const struct hidden_maps *h, const struct debug_id *id, uint64_t *left,
                      struct hidden_names *out);
