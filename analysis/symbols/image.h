/*
 * image: what the ELF and the Mach-O reader share while they fill a struct debug_image.
 */
#pragma once
#include "base/cursor.h"
#include "symbols/debug_file.h"

/* A slice's bytes. */
struct bytes {
    const unsigned char *at;
    size_t size;
};

/* Empty when [offset, offset + size) does not lie within. */
static inline struct bytes bytes_within(struct bytes all, uint64_t offset, uint64_t size)
{
    if (!all.at || offset > all.size || size > all.size - offset)
        return (struct bytes){NULL, 0};
    return (struct bytes){all.at + offset, (size_t)size};
}

/* Reads the headers: format, architecture and debug id. */
bool elf_slice(struct bytes file, struct debug_slice *out, struct err *err) MUST_CHECK;
bool macho_slice(struct bytes slice, struct debug_slice *out, struct err *err) MUST_CHECK;

bool elf_open(struct debug_image *image, struct bytes file, struct err *err) MUST_CHECK;
bool macho_open(struct debug_image *image, struct bytes slice, struct err *err) MUST_CHECK;

/* The id of "debug_str_offsets", or of its first `most` characters: Mach-O cuts names.
 * DEBUG_SECTIONS if it is none that is read. */
enum debug_section_id image_section_id(const char *name, size_t most);

/* Adds code at [address, address + size), relative to image->base, which must be set. */
void image_add_code(struct debug_image *image, uint64_t address, uint64_t size);
void image_settle_code(struct debug_image *image); /* sorts and joins what was added */

/* Unpacks section `id`, or sets it to `stored` when packing is DEBUG_PLAIN. */
void image_set_section(struct debug_image *image, enum debug_section_id id, struct bytes stored,
                       enum debug_packing packing, uint64_t unpacked_size);

/* Takes the old ".zdebug" framing off ("ZLIB", 8 bytes of big-endian size). */
void image_set_zdebug(struct debug_image *image, enum debug_section_id id, struct bytes stored);

/* `out` holds `size` bytes and is filled entirely, or false. */
bool unpack_zlib(struct bytes in, unsigned char *out, size_t size);
bool unpack_zstd(struct bytes in, unsigned char *out, size_t size);
/* An .xz stream; the result is owned by mem. False when broken or out of memory. */
bool unpack_xz(struct mem *mem, struct bytes in, unsigned char **out, size_t *size);

/* A symbol as the table has it, before sorting. */
void image_add_symbol(struct debug_image *image, uint64_t address, uint64_t size, const char *name,
                      const char *file);
/* Sorts; of those at one address keeps the largest, of equals the last; no size = to the next one
 * or the section's end; a later symbol ends an earlier. */
bool image_settle_symbols(struct debug_image *image);
