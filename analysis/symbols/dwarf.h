/*
 * dwarf: reads DWARF 2 to 5 of one image: units, functions with what is inlined into them, and line
 * tables. Not thread-safe; borrows the image and the string table.
 *
 * Hostile input: every read is bounds-checked, every loop spends image->work, and what is broken is
 * skipped and counted: a unit whose entries cannot be followed keeps what came before.
 * Addresses are relative to the image base; those that are not code (functions dropped by the
 * linker keep address 0 or a tombstone) are left out and counted.
 */
#pragma once
#include "base/cursor.h"
#include "symbols/debug_file.h"
#include "symbols/sorting.h"
#include "symbols/strings.h"

#define DWARF_TREE_DEPTH 4096 /* nesting of entries; a unit is left where it goes deeper */
#define DWARF_INLINE_DEPTH                                                                         \
    250 /* calls inlined into one another; deeper ones count as their caller */
#define DWARF_NONE UINT32_MAX

struct dwarf_stats {
    size_t units, split_units;                  /* split: its functions are in a .dwo file */
    size_t versions[6];                         /* units by DWARF version */
    size_t functions;                           /* with code */
    size_t inlined;                             /* inlined calls with code */
    size_t bad_units, bad_functions, bad_lines; /* skipped in whole or in part */
    size_t dead_functions, dead_sequences;      /* not at code */
    size_t deep_inlines;
};

struct dwarf_unit {
    uint64_t offset, dies, end; /* in debug_info */
    uint64_t abbrev_offset;
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t low_pc, lines;
    const char *comp_dir; /* or NULL */
    uint64_t high_pc;     /* 0: none */
    uint64_t ranges;      /* the number of its DW_AT_ranges */
    uint8_t ranges_kind;  /* enum dwarf_class; DWARF_VALUE_NONE: none */
    uint16_t tag;
    uint8_t version, type, address_size, offset_size;
    bool loaded, broken, has_lines, split;
};

struct dwarf_attr {
    uint16_t name, form;
    int32_t size;     /* of the form in units of the table's widths; negative: varies */
    int64_t constant; /* of DW_FORM_implicit_const */
};

enum dwarf_kind { DWARF_OTHER, DWARF_FUNCTION, DWARF_INLINED, DWARF_BROKEN };

struct dwarf_abbrev {
    uint32_t code;
    uint32_t attrs, n_attrs; /* in the table's attrs */
    uint32_t steps, n_steps; /* in the table's steps: how to skip an entry of this kind */
    uint16_t tag;
    uint8_t kind; /* enum dwarf_kind; BROKEN: with a form nobody knows, cannot be skipped */
    bool children;
};

/* An abbreviation table, with sizes computed for units of one version and width. */
struct dwarf_abbrevs {
    uint64_t offset;
    uint8_t version, address_size, offset_size;
    bool used, dense; /* dense: codes are 1, 2, 3 ... */
    VEC(struct dwarf_abbrev) all;
    VEC(struct dwarf_attr) attrs;
    VEC(uint16_t) steps;
};

#define DWARF_ABBREV_CACHE 16

/* Names of functions by the offset of their entry: thousands of inlined calls share one. */
struct dwarf_names {
    uint64_t *keys;   /* offset + 1; 0 = free */
    uint32_t *values; /* string number << 1 | whether it is a linkage name */
    size_t n, size;
};

struct dwarf {
    struct debug_image *image;
    struct strings *strings;
    VEC(struct dwarf_unit) units; /* by offset */
    struct dwarf_abbrevs cache[DWARF_ABBREV_CACHE];
    struct dwarf_names names;
    struct dwarf_stats stats;
};

/* Finds the units. False only when out of memory. */
bool dwarf_init(struct dwarf *d, struct debug_image *image, struct strings *strings);
void dwarf_fini(struct dwarf *d); /* fine on a zeroed one */

/* Reads the unit's root entry, once. False when the unit cannot be used. */
bool dwarf_load_unit(struct dwarf *d, struct dwarf_unit *u);

/* The unit's abbreviations; valid until the next call. NULL: broken or out of memory. */
const struct dwarf_abbrevs *dwarf_abbrevs_of(struct dwarf *d, const struct dwarf_unit *u);
const struct dwarf_abbrev *dwarf_abbrev(const struct dwarf_abbrevs *t, uint64_t code);
void dwarf_free_abbrevs(struct dwarf *d);

enum dwarf_class {
    DWARF_VALUE_NONE, /* of no use here */
    DWARF_VALUE_ADDRESS,
    DWARF_VALUE_ADDRESS_INDEX,
    DWARF_VALUE_NUMBER, /* a constant or an offset into a section */
    DWARF_VALUE_STRING,
    DWARF_VALUE_STRING_INDEX,
    DWARF_VALUE_ENTRY,     /* offset of an entry in debug_info */
    DWARF_VALUE_LIST_INDEX /* of a range list */
};

struct dwarf_value {
    enum dwarf_class kind;
    uint64_t number;
    const char *string; /* ends in NUL */
};

/* Reads one attribute; on broken input *c latches and the value is NONE. */
struct dwarf_value dwarf_read(const struct dwarf *d, const struct dwarf_unit *u, struct cursor *c,
                              unsigned form, int64_t constant);
void dwarf_skip(const struct dwarf_unit *u, struct cursor *c, unsigned form);
/* Bytes of a form of fixed size; -1 variable, -2 unknown. */
int dwarf_form_size(const struct dwarf_unit *u, unsigned form);

/* The string of a STRING or STRING_INDEX value, or NULL. */
const char *dwarf_string(const struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v);
/* The address of an ADDRESS or ADDRESS_INDEX value. */
bool dwarf_address(const struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v,
                   uint64_t *address);

/* Calls `add` for each range of a DW_AT_ranges value; addresses as the file has them. False when
 * the list is broken or out of bounds; ranges before the break were added. */
typedef void dwarf_add_range(void *ctx, uint64_t low, uint64_t high);
bool dwarf_ranges(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_value v,
                  dwarf_add_range *add, void *ctx);

/* A function or an inlined call. */
struct dwarf_node {
    uint32_t parent;  /* what it is inlined into; DWARF_NONE: a function of its own */
    uint32_t depth;   /* 0 for such */
    const char *name; /* of its own entry, or NULL */
    uint64_t origin;  /* entry that tells the rest, or 0 */
    bool is_linkage;  /* name is a linkage name */
    bool named;       /* string is valid */
    uint32_t string;  /* see dwarf_node_name() */
    uint32_t call_file, call_line, call_column; /* where it is inlined */
    uint32_t caller, caller_epoch;              /* for the caller's use; 0 at first */
};

/* The unit's own ranges: all its code. False when it tells none, or they are broken. */
bool dwarf_unit_ranges(struct dwarf *d, const struct dwarf_unit *u, dwarf_add_range *add,
                       void *ctx);

/* The functions of one unit. `ranges`: tag = node; a later one lies within an earlier one or
 * beside. */
struct dwarf_functions {
    VEC(struct dwarf_node) nodes;
    VEC(struct sweep_range) ranges;
};

/* Empties *out and reads the unit's functions into it. False only when out of memory. */
bool dwarf_read_functions(struct dwarf *d, struct dwarf_unit *u, struct dwarf_functions *out);

/* The string number of a node's name: the linkage name if there is one; 0: none. */
uint32_t dwarf_node_name(struct dwarf *d, struct dwarf_node *n);

struct dwarf_row {
    uint32_t address, file, line,
        column; /* file: as the unit counts; DWARF_NONE: no code from here */
};

struct dwarf_file {
    const char *name;
    uint64_t directory;
    uint32_t string; /* of the whole path; see dwarf_file_path() */
};

struct dwarf_sequence {
    uint32_t start, end;
    uint32_t first, n; /* rows, the closing one included */
};

/* The line table of one unit. Rows ascend; each holds up to the next one's address. */
struct dwarf_lines {
    VEC(struct dwarf_row) rows;
    VEC(const char *) directories;
    VEC(struct dwarf_file) files;
    VEC(struct dwarf_sequence) sequences;
    VEC(struct dwarf_row) sorted;
    VEC(char) path;
    uint8_t version;
    bool columns; /* keep them; set by the caller */
    const char *comp_dir;
};

/* Empties *out and reads the unit's lines into it. False only when out of memory. */
bool dwarf_read_lines(struct dwarf *d, const struct dwarf_unit *u, struct dwarf_lines *out);

/* The string number of a file's path, joined as comp_dir/directory/name; 0: no such file. */
uint32_t dwarf_file_path(struct dwarf *d, struct dwarf_lines *l, uint32_t file);

void dwarf_free_functions(struct mem *m, struct dwarf_functions *f);
void dwarf_free_lines(struct mem *m, struct dwarf_lines *l);

/* Reads of the inner loops, inlined; the same contract as base/cursor. */
static inline uint8_t fast_u8(struct cursor *c)
{
    if (c->at < c->end)
        return *c->at++;
    c->failed = true;
    return 0;
}

static inline uint64_t fast_uleb(struct cursor *c)
{
    if (c->at < c->end && *c->at < 0x80)
        return *c->at++;
    return cursor_uleb(c);
}

static inline void fast_skip(struct cursor *c, uint64_t n)
{
    if (n <= (uint64_t)(c->end - c->at)) {
        c->at += n;
    } else {
        c->at = c->end;
        c->failed = true;
    }
}

/* n bytes, little-endian; n <= 8. */
static inline uint64_t fast_word(struct cursor *c, unsigned n)
{
    uint64_t v = 0;

    if (n > (size_t)(c->end - c->at)) {
        c->at = c->end;
        c->failed = true;
        return 0;
    }
    for (unsigned i = n; i > 0; i--)
        v = v << 8 | c->at[i - 1];
    c->at += n;
    return v;
}
