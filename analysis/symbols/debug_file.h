/*
 * debug_file: opens what carries symbols: ELF (.so, executable, their debug-only halves) and Mach-O
 * (dSYM DWARF, dylib, executable; thin, fat, fat64), little-endian, 32 and 64 bit.
 *
 * Input is hostile and is borrowed: it must stay in place and unchanged while an image is open.
 * Nothing is copied but compressed sections, which are unpacked into counted memory. What is broken
 * inside (a section out of bounds, a stream that does not unpack) is left out and counted; only a
 * file that is not of these formats, or no linked image, is refused. Not thread-safe.
 */
#pragma once
#include "base/err.h"
#include "symbols/debug_id.h"
#include "symbols/mem.h"

#include <stddef.h>
#include <stdint.h>

enum debug_format { DEBUG_ELF = 1, DEBUG_MACHO = 2 };

/* The numbers stand in symcaches. */
#define DEBUG_ARCHES(X)                                                                            \
    X(UNKNOWN, 0, "unknown")                                                                       \
    X(X86, 1, "x86")                                                                               \
    X(X86_64, 2, "x86_64")                                                                         \
    X(X86_64H, 3, "x86_64h")                                                                       \
    X(ARMV7, 4, "armv7")                                                                           \
    X(ARMV7S, 5, "armv7s")                                                                         \
    X(ARMV7K, 6, "armv7k")                                                                         \
    X(ARM64, 7, "arm64")                                                                           \
    X(ARM64E, 8, "arm64e")                                                                         \
    X(ARM64_32, 9, "arm64_32")                                                                     \
    X(RISCV64, 10, "riscv64")

enum debug_arch {
#define X(name, number, text) DEBUG_ARCH_##name = number,
    DEBUG_ARCHES(X)
#undef X
};

const char *debug_arch_name(enum debug_arch arch); /* "unknown" for what is not in the list */
const char *debug_format_name(enum debug_format format);

/* A code address without its pointer-authentication and tag bits: arm64 keeps 39 bits on Apple
 * systems (all of an iOS process lies below) and 48 elsewhere; other architectures keep it whole.
 */
uint64_t debug_arch_strip(enum debug_format format, enum debug_arch arch, uint64_t address);

/* Bounds of one file's reading. A field of 0 means its default. */
struct debug_limits {
    size_t memory_bytes; /* heap, unpacked sections included; default 4 GB */
    uint64_t work;       /* steps; default 64 million and 8 a byte of input */
};

/* One architecture of a file. */
struct debug_slice {
    enum debug_format format;
    enum debug_arch arch;
    struct debug_id id;
    size_t offset, size; /* where in the file */
};

#define DEBUG_SLICES 32 /* a fat file with more is refused */

struct debug_slices {
    struct debug_slice at[DEBUG_SLICES];
    size_t n;
    size_t broken; /* entries of the fat table that lie outside the file or are no Mach-O */
};

/* Looks at headers alone. ERR_INVALID when the file is of no known format. */
bool debug_file_slices(const void *bytes, size_t size, struct debug_slices *out,
                       struct err *err) MUST_CHECK;

/* Whether the file begins like one of the formats (8 bytes suffice). */
bool debug_file_looks_like(const void *bytes, size_t size);

enum debug_section_id {
    DEBUG_INFO,
    DEBUG_ABBREV,
    DEBUG_LINE,
    DEBUG_STR,
    DEBUG_LINE_STR,
    DEBUG_STR_OFFSETS,
    DEBUG_ADDR,
    DEBUG_RANGES,
    DEBUG_RNGLISTS,
    DEBUG_SECTIONS
};

enum debug_packing { DEBUG_PLAIN, DEBUG_ZLIB, DEBUG_ZSTD };

struct debug_section {
    const unsigned char *at; /* unpacked; NULL if absent or broken */
    size_t size;
    size_t stored_bytes; /* in the file */
    enum debug_packing packing;
};

const char *debug_section_name(enum debug_section_id id); /* "debug_info" */

/* Addresses of code, relative to the image base: start <= a < end. */
struct debug_range {
    uint32_t start, end;
};

/* A symbol of the symbol table that covers code; strings end in NUL and live as long as the image.
 */
struct debug_symbol {
    uint32_t start, end; /* relative to the base; sorted, not overlapping */
    const char *name;    /* as stored, Mach-O's leading underscore dropped */
    const char *file;    /* of a local ELF symbol, what its STT_FILE symbol says; or NULL */
};

#define DEBUG_CODE_RANGES 4096 /* executable sections beyond are left out and counted */

struct debug_image {
    struct debug_slice slice;
    uint64_t base; /* __TEXT's vmaddr, or the lowest PT_LOAD; what relative addresses count from */
    unsigned address_size; /* 4 or 8 */
    struct debug_section sections[DEBUG_SECTIONS];
    VEC(struct debug_range) code; /* sorted, not overlapping */
    VEC(struct debug_symbol) symbols;
    bool mini_symbols;      /* .gnu_debugdata was read */
    bool split;             /* the file points to .dwo files or to a supplementary file */
    size_t broken_sections; /* left out: out of bounds, or do not unpack */
    size_t broken_symbols;  /* left out: name or address out of bounds */
    bool cut;               /* the table of sections lies behind the file's end */
    struct mem mem;
    struct work work;
    void *unpacked[DEBUG_SECTIONS + 1]; /* owned copies; the last is .gnu_debugdata */
};

/* Opens one slice of the file at `bytes`. Release with debug_image_close(), also after failure of
 * later steps; on failure of this one nothing is held. */
bool debug_image_open(struct debug_image *image, const void *bytes, const struct debug_slice *slice,
                      const struct debug_limits *limits, struct err *err) MUST_CHECK;
void debug_image_close(struct debug_image *image); /* fine on a zeroed one */

/* Whether something of the file is missing or broken. */
bool debug_image_damaged(const struct debug_image *image);

/* Whether an address as the file has it is code; *relative receives it, *room what of its
 * executable section lies from there on. */
bool debug_image_code(const struct debug_image *image, uint64_t address, uint32_t *relative,
                      uint32_t *room);
