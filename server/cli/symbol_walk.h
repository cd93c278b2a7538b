/*
 * symbol_walk: finds what carries symbols among paths a person names: debug files (dSYM bundles are
 * folders that hold one), mappings, zip files. Single-threaded.
 */
#pragma once
#include "base/digest.h"
#include "symbols/debug_file.h"
#include "symbols/retrace/mapping_id.h"

#include <limits.h>

#define SYMBOL_FILES_MAX 4096

enum symbol_kind { SYMBOLS_IMAGE, SYMBOLS_ZIP, SYMBOLS_MAPPING };

struct symbol_image {
    char debug_id[DEBUG_ID_TEXT];
    enum debug_arch arch;
    enum debug_format format;
    bool damaged;                       /* so that it says nothing */
    bool dwarf, symbols;                /* files and lines; names */
    unsigned char sha256[SHA256_BYTES]; /* of its bytes in the file */
};

struct symbol_found {
    char path[PATH_MAX];
    enum symbol_kind kind;
    int64_t size;
    struct symbol_image *images; /* of a debug file, or of those in a zip file */
    size_t n_images;
    bool hidden_maps; /* the zip file has .bcsymbolmap files */
    bool unread;      /* not all of the zip file was looked at */
    char mapping_id[MAPPING_ID_TEXT];
    unsigned char sha256[SHA256_BYTES]; /* of the file */
    bool skip;                          /* nothing to send of it */
};

struct symbol_files {
    struct symbol_found *at;
    size_t n, passed_over; /* files in folders that carry no symbols */
};

/* Looks at each path. A path that is named itself must carry symbols; in a folder others are passed
 * over, and zip files too. */
bool symbol_walk(char *const *paths, int n, struct symbol_files *out, struct err *err) MUST_CHECK;
void symbol_files_free(struct symbol_files *f);

/* The last part of a path. */
const char *symbol_file_name(const char *path);
