#include "symbols/debug_file.h"
#include "symbols/image.h"
#include "symbols/sorting.h"

#include <string.h>

#define DEFAULT_MEMORY ((size_t)4 << 30)
#define DEFAULT_WORK ((uint64_t)64 << 20)
#define WORK_PER_BYTE 8u       /* real files use under 1, compressed ones included */
#define UNPACKED_PER_WORK 16u  /* bytes */
#define UNPACK_RATIO_MAX 1100u /* deflate's own limit is 1032 */

static const char *const section_names[DEBUG_SECTIONS] = {
    [DEBUG_INFO] = "debug_info",         [DEBUG_ABBREV] = "debug_abbrev",
    [DEBUG_LINE] = "debug_line",         [DEBUG_STR] = "debug_str",
    [DEBUG_LINE_STR] = "debug_line_str", [DEBUG_STR_OFFSETS] = "debug_str_offsets",
    [DEBUG_ADDR] = "debug_addr",         [DEBUG_RANGES] = "debug_ranges",
    [DEBUG_RNGLISTS] = "debug_rnglists"};

const char *debug_section_name(enum debug_section_id id)
{
    return id < DEBUG_SECTIONS ? section_names[id] : "";
}

const char *debug_arch_name(enum debug_arch arch)
{
    switch (arch) {
#define X(name, number, text)                                                                      \
    case DEBUG_ARCH_##name:                                                                        \
        return text;
        DEBUG_ARCHES(X)
#undef X
    }
    return "unknown";
}

const char *debug_format_name(enum debug_format format)
{
    return format == DEBUG_MACHO ? "Mach-O" : "ELF";
}

uint64_t debug_arch_strip(enum debug_format format, enum debug_arch arch, uint64_t address)
{
    if (arch != DEBUG_ARCH_ARM64 && arch != DEBUG_ARCH_ARM64E)
        return address;
    return address & (format == DEBUG_MACHO ? ((uint64_t)1 << 39) - 1 : ((uint64_t)1 << 48) - 1);
}

enum debug_section_id image_section_id(const char *name, size_t most)
{
    size_t len = strlen(name);

    for (unsigned id = 0; id < DEBUG_SECTIONS; id++) {
        size_t full = strlen(section_names[id]);
        size_t want = full < most ? full : most;

        if (len == want && memcmp(name, section_names[id], want) == 0)
            return (enum debug_section_id)id;
    }
    return DEBUG_SECTIONS;
}

void image_add_code(struct debug_image *image, uint64_t address, uint64_t size)
{
    if (size == 0 || address < image->base || address - image->base >= UINT32_MAX)
        return;
    if (image->code.n == DEBUG_CODE_RANGES || !VEC_ROOM(&image->mem, &image->code, 1)) {
        image->broken_sections++;
        return;
    }

    uint64_t start = address - image->base, room = UINT32_MAX - start;

    image->code.at[image->code.n++] =
        (struct debug_range){(uint32_t)start, (uint32_t)(start + (size < room ? size : room))};
}

void image_settle_code(struct debug_image *image)
{
    struct debug_range *r = image->code.at;
    size_t n = 0;

    for (size_t i = 1; i < image->code.n; i++) {
        struct debug_range x = r[i];
        size_t j = i;

        for (; j > 0 && r[j - 1].start > x.start; j--)
            r[j] = r[j - 1];
        r[j] = x;
    }
    for (size_t i = 0; i < image->code.n; i++) {
        if (n && r[i].start < r[n - 1].end) {
            if (r[i].end > r[n - 1].end)
                r[n - 1].end = r[i].end;
        } else {
            r[n++] = r[i];
        }
    }
    image->code.n = n;
}

static const struct debug_range *code_range(const struct debug_image *image, uint32_t at)
{
    size_t low = 0, high = image->code.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (image->code.at[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < image->code.n && image->code.at[low].start <= at ? &image->code.at[low] : NULL;
}

bool debug_image_code(const struct debug_image *image, uint64_t address, uint32_t *relative,
                      uint32_t *room)
{
    if (address < image->base || address - image->base >= UINT32_MAX)
        return false;

    uint32_t at = (uint32_t)(address - image->base);
    const struct debug_range *r = code_range(image, at);

    if (!r)
        return false;
    *relative = at;
    *room = r->end - at;
    return true;
}

static bool unpack(struct bytes in, enum debug_packing packing, unsigned char *out, size_t size)
{
    return packing == DEBUG_ZSTD ? unpack_zstd(in, out, size) : unpack_zlib(in, out, size);
}

void image_set_section(struct debug_image *image, enum debug_section_id id, struct bytes stored,
                       enum debug_packing packing, uint64_t unpacked_size)
{
    struct debug_section *s = &image->sections[id];

    if (s->at) /* the first of a name counts */
        return;
    s->stored_bytes = stored.size;
    s->packing = packing;
    if (packing == DEBUG_PLAIN) {
        s->at = stored.at;
        s->size = stored.size;
        return;
    }

    /* zstd has no such limit, but no section of a real file comes near it. */
    if (unpacked_size == 0 || unpacked_size / UNPACK_RATIO_MAX > stored.size ||
        unpacked_size > image->mem.cap - image->mem.used) {
        image->broken_sections++;
        return;
    }

    if (!work_spend(&image->work, unpacked_size / UNPACKED_PER_WORK)) {
        image->broken_sections++;
        return;
    }

    unsigned char *out = mem_alloc(&image->mem, (size_t)unpacked_size, 1);

    if (!out || !unpack(stored, packing, out, (size_t)unpacked_size)) {
        mem_free(&image->mem, out);
        image->broken_sections++;
        return;
    }
    image->unpacked[id] = out;
    s->at = out;
    s->size = (size_t)unpacked_size;
}

void image_set_zdebug(struct debug_image *image, enum debug_section_id id, struct bytes stored)
{
    struct cursor c = cursor_over(stored.at, stored.size, "zdebug section");
    const unsigned char *magic = cursor_bytes(&c, 4);
    uint64_t size = cursor_u64be(&c);

    if (c.failed || memcmp(magic, "ZLIB", 4) != 0)
        image->broken_sections++;
    else
        image_set_section(image, id, (struct bytes){c.at, cursor_left(&c)}, DEBUG_ZLIB, size);
}

void image_add_symbol(struct debug_image *image, uint64_t address, uint64_t size, const char *name,
                      const char *file)
{
    uint32_t start, room;

    if (!name[0] || !debug_image_code(image, address, &start, &room))
        return;
    if (!VEC_ROOM(&image->mem, &image->symbols, 1)) {
        image->broken_symbols++;
        return;
    }
    image->symbols.at[image->symbols.n++] = (struct debug_symbol){
        start, size ? start + (size < room ? (uint32_t)size : room) : 0, name, file};
}

static uint32_t unsized_end(const struct debug_image *image, uint32_t start)
{
    const struct debug_range *r = code_range(image, start);

    return r ? r->end : start;
}

/* Copies the symbols in key order, one an address. */
static size_t choose_symbols(const struct debug_image *image, const uint64_t *keys,
                             struct debug_symbol *out)
{
    size_t n = 0;

    for (size_t i = 0; i < image->symbols.n; i++) {
        const struct debug_symbol *s = &image->symbols.at[key_index(keys[i])];

        if (n && out[n - 1].start == s->start) {
            if (s->end >= out[n - 1].end)
                out[n - 1] = *s;
        } else {
            out[n++] = *s;
        }
    }
    return n;
}

bool image_settle_symbols(struct debug_image *image)
{
    size_t n = image->symbols.n;
    struct mem *m = &image->mem;

    if (n == 0)
        return true;

    uint64_t *keys = mem_alloc(m, n, sizeof *keys);
    struct debug_symbol *out = mem_alloc(m, n, sizeof *out);
    bool ok = keys && out;

    for (size_t i = 0; ok && i < n; i++)
        keys[i] = sort_key(image->symbols.at[i].start, i);
    ok = ok && sort_keys(m, keys, n);
    if (ok) {
        size_t kept = choose_symbols(image, keys, out);

        for (size_t i = 0; i < kept; i++) {
            if (!out[i].end)
                out[i].end = unsized_end(image, out[i].start);
            if (i + 1 < kept && out[i].end > out[i + 1].start)
                out[i].end = out[i + 1].start;
        }
        mem_free(m, image->symbols.at);
        image->symbols.at = out;
        image->symbols.n = kept;
        image->symbols.size = n;
        out = NULL;
    }
    mem_free(m, out);
    mem_free(m, keys);
    return ok;
}

static uint32_t fat_magic(struct bytes file)
{
    struct cursor c = cursor_over(file.at, file.size, "fat header");

    return cursor_u32be(&c);
}

#define FAT_MAGIC 0xcafebabeu
#define FAT_MAGIC_64 0xcafebabfu
#define JAVA_CLASS_MAJOR                                                                           \
    43u /* class files share the magic; their second word is a version >= 45                       \
         */

/* One entry of the fat table; false: outside the file, or no Mach-O we know. */
static bool fat_entry(struct cursor *c, struct bytes file, bool wide, struct debug_slice *out)
{
    struct err ignored;
    uint64_t offset, size;

    cursor_bytes(c, 8); /* the slice's own header says the architecture */
    offset = wide ? cursor_u64be(c) : cursor_u32be(c);
    size = wide ? cursor_u64be(c) : cursor_u32be(c);
    cursor_bytes(c, wide ? 8 : 4);

    struct bytes slice = bytes_within(file, offset, size);

    if (c->failed || !slice.at || !macho_slice(slice, out, &ignored))
        return false;
    out->offset = (size_t)offset;
    out->size = slice.size;
    return true;
}

static bool fat_slices(struct bytes file, struct debug_slices *out, struct err *err)
{
    struct cursor c = cursor_over(file.at, file.size, "fat header");
    bool wide = cursor_u32be(&c) == FAT_MAGIC_64;
    uint32_t n = cursor_u32be(&c);

    if (!wide && n >= JAVA_CLASS_MAJOR)
        return err_set(err, ERR_INVALID, "a Java class or a damaged fat file, no symbols");
    if (n > DEBUG_SLICES)
        return err_set(err, ERR_TOO_BIG, "fat header: %u architectures, at most %d", n,
                       DEBUG_SLICES);
    for (uint32_t i = 0; i < n; i++) {
        if (fat_entry(&c, file, wide, &out->at[out->n]))
            out->n++;
        else
            out->broken++;
    }
    if (out->n == 0)
        return err_set(err, ERR_INVALID, "fat header: none of its %u slices is a Mach-O", n);
    return true;
}

static bool is_elf(struct bytes file)
{
    return file.size >= 4 && memcmp(file.at, "\177ELF", 4) == 0;
}

static bool is_macho(struct bytes file)
{
    static const unsigned char magic32[4] = {0xce, 0xfa, 0xed, 0xfe};
    static const unsigned char magic64[4] = {0xcf, 0xfa, 0xed, 0xfe};

    return file.size >= 4 && (memcmp(file.at, magic32, 4) == 0 || memcmp(file.at, magic64, 4) == 0);
}

static bool is_fat(struct bytes file)
{
    uint32_t magic = fat_magic(file);

    return magic == FAT_MAGIC || magic == FAT_MAGIC_64;
}

bool debug_file_looks_like(const void *bytes, size_t size)
{
    struct bytes file = {bytes, size};

    if (is_elf(file) || is_macho(file))
        return true;

    struct cursor c = cursor_over(bytes, size, "fat header");
    uint32_t magic = cursor_u32be(&c), n = cursor_u32be(&c);

    return !c.failed && (magic == FAT_MAGIC_64 || (magic == FAT_MAGIC && n < JAVA_CLASS_MAJOR));
}

bool debug_file_slices(const void *bytes, size_t size, struct debug_slices *out, struct err *err)
{
    struct bytes file = {bytes, size};
    struct debug_slices found = {0};
    bool ok;

    if (is_fat(file)) {
        ok = fat_slices(file, &found, err);
    } else if (is_elf(file) || is_macho(file)) {
        ok = is_elf(file) ? elf_slice(file, &found.at[0], err)
                          : macho_slice(file, &found.at[0], err);
        found.at[0].size = size;
        found.n = 1;
    } else {
        return err_set(
            err, ERR_INVALID,
            "neither ELF nor Mach-O: wanted a dSYM's DWARF file, a .so or an executable");
    }
    if (ok)
        *out = found;
    return ok;
}

bool debug_image_open(struct debug_image *image, const void *bytes, const struct debug_slice *slice,
                      const struct debug_limits *limits, struct err *err)
{
    struct bytes file = {(const unsigned char *)bytes + slice->offset, slice->size};
    struct debug_limits l = limits ? *limits : (struct debug_limits){0};

    *image = (struct debug_image){.slice = *slice};
    image->mem.cap = l.memory_bytes ? l.memory_bytes : DEFAULT_MEMORY;
    image->work.left = l.work ? l.work : DEFAULT_WORK + WORK_PER_BYTE * (uint64_t)slice->size;

    bool ok =
        slice->format == DEBUG_ELF ? elf_open(image, file, err) : macho_open(image, file, err);

    ok = ok && ((image_settle_symbols(image) && !image->mem.failed) ||
                err_set(err, ERR_TOO_BIG, "more memory than the limit of %zu bytes is needed",
                        image->mem.cap));
    if (!ok)
        debug_image_close(image);
    return ok;
}

bool debug_image_damaged(const struct debug_image *image)
{
    return image->cut || image->broken_sections || image->broken_symbols;
}

void debug_image_close(struct debug_image *image)
{
    VEC_FREE(&image->mem, &image->code);
    VEC_FREE(&image->mem, &image->symbols);
    for (size_t i = 0; i < sizeof image->unpacked / sizeof *image->unpacked; i++)
        mem_free(&image->mem, image->unpacked[i]);
    *image = (struct debug_image){0};
}
