#include "symbols/image.h"

#include <string.h>

/* Names and numbers as in the System V ABI. */
enum {
    ET_REL = 1,
    ET_CORE = 4,
    PT_LOAD = 1,
    PT_NOTE = 4,
    PF_X = 1,
    SHT_SYMTAB = 2,
    SHT_NOTE = 7,
    SHT_NOBITS = 8,
    SHT_DYNSYM = 11,
    SHF_ALLOC = 2,
    SHF_EXECINSTR = 4,
    SHF_COMPRESSED = 0x800,
    SHN_UNDEF = 0,
    SHN_LORESERVE = 0xff00,
    SHN_XINDEX = 0xffff,
    STT_NOTYPE = 0,
    STT_OBJECT = 1,
    STT_FUNC = 2,
    STT_FILE = 4,
    STT_GNU_IFUNC = 10,
    NT_GNU_BUILD_ID = 3,
    ELFCOMPRESS_ZLIB = 1,
    ELFCOMPRESS_ZSTD = 2,
    EM_386 = 3,
    EM_ARM = 40,
    EM_X86_64 = 62,
    EM_AARCH64 = 183,
    EM_RISCV = 243
};

#define PAGE 4096u
#define NAME_MAX 64u /* those of interest are shorter */
#define NOTES 10000u /* looked at for a build id; overlapping sections could hold any number */

struct elf {
    struct bytes file;
    bool wide; /* 64 bit */
    uint16_t type, machine;
    uint64_t phoff, shoff;
    uint32_t phnum, shnum, shstrndx;
    uint16_t phentsize, shentsize;
    struct bytes names;
};

struct elf_section {
    uint32_t name, type, link;
    uint64_t flags, addr, offset, size;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, filesz, memsz;
};

static uint64_t word(struct cursor *c, bool wide)
{
    return wide ? cursor_u64le(c) : cursor_u32le(c);
}

static bool get_section(const struct elf *e, uint32_t i, struct elf_section *s)
{
    uint64_t at = e->shoff + (uint64_t)i * e->shentsize;
    struct bytes b = bytes_within(e->file, at, e->wide ? 64 : 40);

    if (i >= e->shnum || !b.at)
        return false;

    struct cursor c = cursor_over(b.at, b.size, "section header");

    s->name = cursor_u32le(&c);
    s->type = cursor_u32le(&c);
    s->flags = word(&c, e->wide);
    s->addr = word(&c, e->wide);
    s->offset = word(&c, e->wide);
    s->size = word(&c, e->wide);
    s->link = cursor_u32le(&c);
    return true;
}

static bool get_segment(const struct elf *e, uint32_t i, struct elf_segment *p)
{
    uint64_t at = e->phoff + (uint64_t)i * e->phentsize;
    struct bytes b = bytes_within(e->file, at, e->wide ? 56 : 32);

    if (i >= e->phnum || !b.at)
        return false;

    struct cursor c = cursor_over(b.at, b.size, "program header");

    *p = (struct elf_segment){.type = cursor_u32le(&c)};
    if (e->wide)
        p->flags = cursor_u32le(&c);
    p->offset = word(&c, e->wide);
    p->vaddr = word(&c, e->wide);
    word(&c, e->wide); /* physical address */
    p->filesz = word(&c, e->wide);
    p->memsz = word(&c, e->wide);
    if (!e->wide)
        p->flags = cursor_u32le(&c);
    return true;
}

static struct bytes section_bytes(const struct elf *e, const struct elf_section *s)
{
    if (s->type == SHT_NOBITS)
        return (struct bytes){NULL, 0};
    return bytes_within(e->file, s->offset, s->size);
}

/* The name, or "" when out of bounds, without an end or long. */
static const char *section_name(const struct elf *e, const struct elf_section *s)
{
    size_t left = s->name < e->names.size ? e->names.size - s->name : 0;
    struct bytes near = bytes_within(e->names, s->name, left < NAME_MAX ? left : NAME_MAX);
    struct cursor c = cursor_over(near.at, near.size, "section name");
    const char *name = cursor_string(&c);

    return name ? name : "";
}

/* Counts that do not fit the header stand in section 0; of segments only cores have so many. */
static void read_extended_counts(struct elf *e, uint16_t phnum, uint16_t shnum, uint16_t shstrndx)
{
    struct elf_section zero = {0};

    e->phnum = phnum;
    e->shnum = 1;
    if (e->shoff == 0 || !get_section(e, 0, &zero)) {
        e->shnum = 0;
        return;
    }

    uint64_t most = e->file.size / e->shentsize + 1;

    e->shnum = shnum ? shnum : (uint32_t)(zero.size < most ? zero.size : most);
    e->shstrndx = shstrndx == SHN_XINDEX ? zero.link : shstrndx;
}

static bool read_header(struct elf *e, struct bytes file, struct err *err)
{
    struct cursor c = cursor_over(file.at, file.size, "ELF header");
    const unsigned char *ident = cursor_bytes(&c, 16);

    *e = (struct elf){.file = file};
    if (!ident)
        return err_set(err, ERR_INVALID, "ELF header: cut at %zu bytes", file.size);
    if (ident[5] != 1 || ident[4] < 1 || ident[4] > 2)
        return err_set(err, ERR_INVALID, "ELF header: only little-endian files of 32 or 64 bit");
    e->wide = ident[4] == 2;
    e->type = cursor_u16le(&c);
    e->machine = cursor_u16le(&c);
    cursor_u32le(&c);
    word(&c, e->wide); /* entry */
    e->phoff = word(&c, e->wide);
    e->shoff = word(&c, e->wide);
    cursor_bytes(&c, 6);
    e->phentsize = cursor_u16le(&c);

    uint16_t phnum = cursor_u16le(&c);

    e->shentsize = cursor_u16le(&c);

    uint16_t shnum = cursor_u16le(&c), shstrndx = cursor_u16le(&c);

    if (c.failed)
        return err_set(err, ERR_INVALID, "ELF header: cut at %zu bytes", file.size);
    if (phnum && e->phentsize < (e->wide ? 56 : 32))
        return err_set(err, ERR_INVALID, "ELF header: program headers of %u bytes", e->phentsize);
    if (e->shoff && e->shentsize < (e->wide ? 64 : 40))
        return err_set(err, ERR_INVALID, "ELF header: section headers of %u bytes", e->shentsize);
    read_extended_counts(e, phnum, shnum, shstrndx);

    struct elf_section names;

    if (get_section(e, e->shstrndx, &names))
        e->names = section_bytes(e, &names);
    return true;
}

static enum debug_arch arch_of(const struct elf *e)
{
    switch (e->machine) {
    case EM_386:
        return DEBUG_ARCH_X86;
    case EM_ARM:
        return DEBUG_ARCH_ARMV7;
    case EM_X86_64:
        return DEBUG_ARCH_X86_64;
    case EM_AARCH64:
        return DEBUG_ARCH_ARM64;
    case EM_RISCV:
        return e->wide ? DEBUG_ARCH_RISCV64 : DEBUG_ARCH_UNKNOWN;
    default:
        return DEBUG_ARCH_UNKNOWN;
    }
}

/* Looks for the build id among the notes of one section or segment. */
static bool find_build_id(struct bytes notes, uint32_t *budget, struct debug_id *id)
{
    struct cursor c = cursor_over(notes.at, notes.size, "notes");

    while (cursor_left(&c) >= 12 && *budget) {
        (*budget)--;

        uint32_t name_size = cursor_u32le(&c), size = cursor_u32le(&c), type = cursor_u32le(&c);
        const unsigned char *name = cursor_bytes(&c, name_size);

        cursor_bytes(&c, (4 - name_size % 4) % 4);

        const unsigned char *desc = cursor_bytes(&c, size);

        if (c.failed)
            return false;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size) {
            id->size = size < DEBUG_ID_BYTES ? size : DEBUG_ID_BYTES;
            memcpy(id->bytes, desc, id->size);
            return true;
        }
        cursor_bytes(&c, (4 - size % 4) % 4);
    }
    return false;
}

/* Debug-only halves keep their note sections but not what their segments point at. */
static void read_build_id(const struct elf *e, struct debug_id *id)
{
    struct elf_section s;
    struct elf_segment p;
    uint32_t budget = NOTES;

    for (uint32_t i = 0; get_section(e, i, &s); i++)
        if (s.type == SHT_NOTE && find_build_id(section_bytes(e, &s), &budget, id))
            return;
    for (uint32_t i = 0; get_segment(e, i, &p); i++)
        if (p.type == PT_NOTE &&
            find_build_id(bytes_within(e->file, p.offset, p.filesz), &budget, id))
            return;
}

bool elf_slice(struct bytes file, struct debug_slice *out, struct err *err)
{
    struct elf e;

    if (!read_header(&e, file, err))
        return false;
    *out = (struct debug_slice){.format = DEBUG_ELF, .arch = arch_of(&e)};
    read_build_id(&e, &out->id);
    return true;
}

static uint64_t image_base(const struct elf *e)
{
    struct elf_segment p;
    uint64_t lowest = UINT64_MAX;

    for (uint32_t i = 0; get_segment(e, i, &p); i++)
        if (p.type == PT_LOAD && p.vaddr < lowest)
            lowest = p.vaddr;
    return lowest == UINT64_MAX ? 0 : lowest / PAGE * PAGE;
}

static void add_code(struct debug_image *image, const struct elf *e)
{
    struct elf_section s;
    struct elf_segment p;

    for (uint32_t i = 0; get_section(e, i, &s); i++)
        if ((s.flags & SHF_ALLOC) && (s.flags & SHF_EXECINSTR))
            image_add_code(image, s.addr, s.size);
    for (uint32_t i = 0; image->code.n == 0 && get_segment(e, i, &p); i++)
        if (p.type == PT_LOAD && (p.flags & PF_X))
            image_add_code(image, p.vaddr, p.memsz);
    image_settle_code(image);
}

static void set_compressed(struct debug_image *image, const struct elf *e, enum debug_section_id id,
                           struct bytes stored)
{
    struct cursor c = cursor_over(stored.at, stored.size, "compression header");
    uint32_t type = cursor_u32le(&c);

    if (e->wide)
        cursor_u32le(&c);

    uint64_t size = word(&c, e->wide);

    word(&c, e->wide); /* alignment */

    struct bytes packed = {c.at, cursor_left(&c)};

    if (!c.failed && type == ELFCOMPRESS_ZLIB)
        image_set_section(image, id, packed, DEBUG_ZLIB, size);
    else if (!c.failed && type == ELFCOMPRESS_ZSTD)
        image_set_section(image, id, packed, DEBUG_ZSTD, size);
    else
        image->broken_sections++;
}

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void set_section(struct debug_image *image, const struct elf *e, const struct elf_section *s)
{
    const char *name = section_name(e, s);
    bool old = begins(name, ".zdebug_");

    if (!old && !begins(name, ".debug_"))
        return;
    if (s->type == SHT_NOBITS)
        return;

    const char *bare = old ? name + 2 : name + 1;
    enum debug_section_id id = image_section_id(bare, strlen(bare));
    struct bytes stored = section_bytes(e, s);

    if (id == DEBUG_SECTIONS)
        return;
    if (!stored.at)
        image->broken_sections++;
    else if (old)
        image_set_zdebug(image, id, stored);
    else if (s->flags & SHF_COMPRESSED)
        set_compressed(image, e, id, stored);
    else
        image_set_section(image, id, stored, DEBUG_PLAIN, 0);
}

/* $a, $d, $t and $x mark what is code and what is data; they name nothing. */
static bool is_mapping_symbol(const struct elf *e, const char *name)
{
    if (e->machine != EM_ARM && e->machine != EM_AARCH64)
        return false;
    return name[0] == '$' && strchr("adtx", name[1]) && name[1];
}

struct elf_symbol {
    uint32_t name;
    uint64_t value, size;
    uint8_t info;
    uint16_t section;
};

static struct elf_symbol next_symbol(struct cursor *c, bool wide)
{
    struct elf_symbol s = {.name = cursor_u32le(c)};

    if (!wide) {
        s.value = cursor_u32le(c);
        s.size = cursor_u32le(c);
    }
    s.info = cursor_u8(c);
    cursor_u8(c);
    s.section = cursor_u16le(c);
    if (wide) {
        s.value = cursor_u64le(c);
        s.size = cursor_u64le(c);
    }
    return s;
}

static void add_symbol(struct debug_image *image, const struct elf *e, const struct elf_symbol *s,
                       const char *name, const char *file)
{
    unsigned type = s->info & 15u;
    uint64_t value = s->value;

    if (s->section == SHN_UNDEF || (s->section >= SHN_LORESERVE && s->section != SHN_XINDEX))
        return;
    if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC)
        return;
    if (is_mapping_symbol(e, name))
        return;
    if (e->machine == EM_ARM && type == STT_FUNC)
        value &= ~(uint64_t)1; /* Thumb */
    image_add_symbol(image, value, s->size, name, file);
}

/* Strings cut behind their last NUL, so that each begins within and ends. */
static struct bytes closed_strings(struct bytes strings)
{
    while (strings.size && strings.at[strings.size - 1])
        strings.size--;
    return strings;
}

static void read_symbols(struct debug_image *image, const struct elf *e,
                         const struct elf_section *s)
{
    struct elf_section str;
    struct bytes table = section_bytes(e, s), strings = {NULL, 0};
    struct cursor c = cursor_over(table.at, table.size, "symbol table");
    const char *file = NULL;

    if (get_section(e, s->link, &str))
        strings = closed_strings(section_bytes(e, &str));
    while (cursor_left(&c) >= (e->wide ? 24u : 16u) && work_spend(&image->work, 1)) {
        struct elf_symbol sym = next_symbol(&c, e->wide);

        if (sym.name >= strings.size) {
            image->broken_symbols += sym.name != 0;
            continue;
        }

        const char *name = (const char *)strings.at + sym.name;
        bool local = sym.info >> 4 == 0;

        if ((sym.info & 15) == STT_FILE)
            file = local && name[0] ? name : NULL;
        else
            add_symbol(image, e, &sym, name, local ? file : NULL);
    }
}

static bool read_symbols_of(struct debug_image *image, const struct elf *e, uint32_t type)
{
    struct elf_section s;
    bool any = false;

    for (uint32_t i = 0; get_section(e, i, &s); i++) {
        if (s.type != type)
            continue;
        read_symbols(image, e, &s);
        any = any || section_bytes(e, &s).size > 0;
    }
    return any;
}

/* .gnu_debugdata: an xz-packed ELF whose .symtab holds what .dynsym lacks. Its addresses are those
 * of the file around it. */
static void read_mini_symbols(struct debug_image *image, const struct elf *e)
{
    struct elf_section s;
    void **slot = &image->unpacked[DEBUG_SECTIONS];

    for (uint32_t i = 0; get_section(e, i, &s); i++) {
        if (strcmp(section_name(e, &s), ".gnu_debugdata") != 0)
            continue;

        unsigned char *out = NULL;
        size_t size = 0;
        struct elf mini;
        struct err ignored;

        if (unpack_xz(&image->mem, section_bytes(e, &s), &out, &size) && size >= 4 &&
            memcmp(out, "\177ELF", 4) == 0 &&
            read_header(&mini, (struct bytes){out, size}, &ignored))
            image->mini_symbols = read_symbols_of(image, &mini, SHT_SYMTAB);
        else
            image->broken_sections++;
        *slot = out;
        return;
    }
}

/* Linkers put it last: whatever cuts a file takes it. */
static bool lost_sections(const struct elf *e)
{
    struct elf_section s;

    return e->shoff && (e->shnum == 0 || !get_section(e, e->shnum - 1, &s));
}

bool elf_open(struct debug_image *image, struct bytes file, struct err *err)
{
    struct elf e;
    struct elf_section s;

    if (!read_header(&e, file, err))
        return false;
    if (e.type == ET_REL || e.type == ET_CORE)
        return err_set(err, ERR_INVALID, "%s; wanted is the linked library or executable",
                       e.type == ET_REL ? "an object file (.o)" : "a core dump");
    image->address_size = e.wide ? 8 : 4;
    image->base = image_base(&e);
    image->cut = lost_sections(&e);
    add_code(image, &e);
    for (uint32_t i = 0; get_section(&e, i, &s); i++) {
        set_section(image, &e, &s);
        if (strcmp(section_name(&e, &s), ".gnu_debugaltlink") == 0)
            image->split = true;
    }
    if (!read_symbols_of(image, &e, SHT_SYMTAB)) {
        read_symbols_of(image, &e, SHT_DYNSYM);
        read_mini_symbols(image, &e);
    }
    return true;
}
