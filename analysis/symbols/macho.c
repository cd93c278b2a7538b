#include "symbols/image.h"

#include <string.h>

/* Names and numbers as in Apple's <mach-o/loader.h>, <mach-o/nlist.h> and <mach/machine.h>. */
enum {
    MH_OBJECT = 1,
    LC_SEGMENT = 1,
    LC_SYMTAB = 2,
    LC_SEGMENT_64 = 0x19,
    LC_UUID = 0x1b,
    S_ZEROFILL = 1,
    N_STAB = 0xe0,
    N_TYPE = 0x0e,
    N_SECT = 0x0e,
    CPU_X86 = 7,
    CPU_ARM = 12,
    CPU_64 = 0x01000000,
    CPU_64_32 = 0x02000000,
    SUBTYPE_X86_64_H = 8,
    SUBTYPE_ARM64E = 2,
    SUBTYPE_V7S = 11,
    SUBTYPE_V7K = 12
};
#define MAGIC_32 0xfeedfaceu
#define MAGIC_64 0xfeedfacfu
#define SUBTYPE_MASK 0x00ffffffu
#define PURE_INSTRUCTIONS 0x80000000u
#define SOME_INSTRUCTIONS 0x00000400u
#define NAME_BYTES 16

struct macho {
    struct bytes file;
    bool wide;
    uint32_t cpu, subtype, type, n_commands;
    struct bytes commands;
};

static uint64_t word(struct cursor *c, bool wide)
{
    return wide ? cursor_u64le(c) : cursor_u32le(c);
}

static bool read_header(struct macho *m, struct bytes file, struct err *err)
{
    struct cursor c = cursor_over(file.at, file.size, "Mach-O header");
    uint32_t magic = cursor_u32le(&c);

    *m = (struct macho){.file = file, .wide = magic == MAGIC_64};
    if (magic != MAGIC_32 && magic != MAGIC_64)
        return err_set(err, ERR_INVALID, "Mach-O header: magic %08x", magic);
    m->cpu = cursor_u32le(&c);
    m->subtype = cursor_u32le(&c) & SUBTYPE_MASK;
    m->type = cursor_u32le(&c);
    m->n_commands = cursor_u32le(&c);

    uint32_t size = cursor_u32le(&c);

    cursor_u32le(&c); /* flags */
    if (m->wide)
        cursor_u32le(&c);
    m->commands = bytes_within(file, cursor_offset(&c), size);
    if (c.failed || (size && !m->commands.at))
        return err_set(err, ERR_INVALID, "Mach-O header: load commands of %u bytes, file of %zu",
                       size, file.size);
    return true;
}

/* The next load command with its own bounds, type and size included; false at the end. */
static bool next_command(struct cursor *all, uint32_t *left, uint32_t *type, struct cursor *command)
{
    if (*left == 0 || cursor_left(all) < 8)
        return false;

    const unsigned char *start = all->at;

    *type = cursor_u32le(all);

    uint32_t size = cursor_u32le(all);

    if (size < 8 || !cursor_bytes(all, size - 8))
        return false;
    *command = cursor_over(start, size, "load command");
    cursor_bytes(command, 8);
    (*left)--;
    return true;
}

static enum debug_arch arch_of(const struct macho *m)
{
    switch (m->cpu) {
    case CPU_X86:
        return DEBUG_ARCH_X86;
    case CPU_X86 | CPU_64:
        return m->subtype == SUBTYPE_X86_64_H ? DEBUG_ARCH_X86_64H : DEBUG_ARCH_X86_64;
    case CPU_ARM:
        return m->subtype == SUBTYPE_V7S   ? DEBUG_ARCH_ARMV7S
               : m->subtype == SUBTYPE_V7K ? DEBUG_ARCH_ARMV7K
                                           : DEBUG_ARCH_ARMV7;
    case CPU_ARM | CPU_64:
        return m->subtype == SUBTYPE_ARM64E ? DEBUG_ARCH_ARM64E : DEBUG_ARCH_ARM64;
    case CPU_ARM | CPU_64_32:
        return DEBUG_ARCH_ARM64_32;
    default:
        return DEBUG_ARCH_UNKNOWN;
    }
}

bool macho_slice(struct bytes slice, struct debug_slice *out, struct err *err)
{
    struct macho m;

    if (!read_header(&m, slice, err))
        return false;
    *out = (struct debug_slice){.format = DEBUG_MACHO, .arch = arch_of(&m), .size = slice.size};

    struct cursor all = cursor_over(m.commands.at, m.commands.size, "load commands"), c;
    uint32_t left = m.n_commands, type;

    while (next_command(&all, &left, &type, &c)) {
        const unsigned char *uuid = type == LC_UUID ? cursor_bytes(&c, 16) : NULL;

        if (uuid) {
            memcpy(out->id.bytes, uuid, 16);
            out->id.size = 16;
            break;
        }
    }
    return true;
}

struct macho_section {
    char name[NAME_BYTES + 1], segment[NAME_BYTES + 1];
    uint64_t address, size;
    uint32_t offset, flags;
};

static bool next_section(struct cursor *c, bool wide, struct macho_section *s)
{
    const unsigned char *name = cursor_bytes(c, NAME_BYTES), *segment = cursor_bytes(c, NAME_BYTES);

    if (!name || !segment)
        return false;
    *s = (struct macho_section){0};
    memcpy(s->name, name, NAME_BYTES);
    memcpy(s->segment, segment, NAME_BYTES);
    s->address = word(c, wide);
    s->size = word(c, wide);
    s->offset = cursor_u32le(c);
    cursor_bytes(c, 12); /* alignment, relocations */
    s->flags = cursor_u32le(c);
    cursor_bytes(c, wide ? 12 : 8);
    return !c->failed;
}

static void set_debug_section(struct debug_image *image, const struct macho *m,
                              const struct macho_section *s)
{
    bool old = strncmp(s->name, "__zdebug", 8) == 0;
    const char *bare = s->name + (old ? 3 : 2);
    size_t most = old ? NAME_BYTES - 3 : NAME_BYTES - 2;

    if (!old && strncmp(s->name, "__debug", 7) != 0)
        return;

    enum debug_section_id id = image_section_id(bare, most);

    if (id == DEBUG_SECTIONS)
        return;

    struct bytes stored = bytes_within(m->file, s->offset, s->size);

    if (!stored.at)
        image->broken_sections++;
    else if (old)
        image_set_zdebug(image, id, stored);
    else
        image_set_section(image, id, stored, DEBUG_PLAIN, 0);
}

/* Which parts of a segment command are wanted in this pass. */
enum pass { FIND_BASE, FIND_CODE, FIND_DWARF };

static void read_segment(struct debug_image *image, const struct macho *m, struct cursor *c,
                         enum pass pass)
{
    const unsigned char *name = cursor_bytes(c, NAME_BYTES);
    uint64_t address = word(c, m->wide);

    word(c, m->wide); /* size */
    word(c, m->wide); /* file offset and size */
    word(c, m->wide);
    cursor_bytes(c, 8); /* protections */

    uint32_t n = cursor_u32le(c);

    cursor_u32le(c);
    if (c->failed)
        return;
    if (pass == FIND_BASE) {
        if (strncmp((const char *)name, "__TEXT", NAME_BYTES) == 0)
            image->base = address;
        return;
    }

    struct macho_section s;

    for (uint32_t i = 0; i < n && next_section(c, m->wide, &s); i++) {
        if (pass == FIND_DWARF)
            set_debug_section(image, m, &s);
        else if (s.flags & (PURE_INSTRUCTIONS | SOME_INSTRUCTIONS))
            image_add_code(image, s.address, s.size);
    }
}

static void read_segments(struct debug_image *image, const struct macho *m, enum pass pass)
{
    struct cursor all = cursor_over(m->commands.at, m->commands.size, "load commands"), c;
    uint32_t left = m->n_commands, type;

    while (next_command(&all, &left, &type, &c))
        if (type == (m->wide ? LC_SEGMENT_64 : LC_SEGMENT))
            read_segment(image, m, &c, pass);
}

/* Strings cut behind their last NUL, so that each begins within and ends. */
static struct bytes closed_strings(struct bytes strings)
{
    while (strings.size && strings.at[strings.size - 1])
        strings.size--;
    return strings;
}

static void read_symbols(struct debug_image *image, const struct macho *m, struct cursor *command)
{
    uint32_t offset = cursor_u32le(command), n = cursor_u32le(command);
    uint32_t strings_at = cursor_u32le(command), strings_size = cursor_u32le(command);
    struct bytes table = bytes_within(m->file, offset, (uint64_t)n * (m->wide ? 16 : 12));
    struct bytes strings = closed_strings(bytes_within(m->file, strings_at, strings_size));
    struct cursor c = cursor_over(table.at, table.size, "symbol table");

    if (command->failed || (n && !table.at)) {
        image->broken_symbols += n;
        return;
    }
    while (cursor_left(&c) && work_spend(&image->work, 1)) {
        uint32_t at = cursor_u32le(&c);
        uint8_t type = cursor_u8(&c);

        cursor_bytes(&c, 3); /* section, description */

        uint64_t value = word(&c, m->wide);

        if ((type & N_STAB) || (type & N_TYPE) != N_SECT)
            continue;
        if (at >= strings.size) {
            image->broken_symbols += at != 0;
            continue;
        }

        const char *name = (const char *)strings.at + at;

        image_add_symbol(image, value, 0, name[0] == '_' ? name + 1 : name, NULL);
    }
}

bool macho_open(struct debug_image *image, struct bytes slice, struct err *err)
{
    struct macho m;

    if (!read_header(&m, slice, err))
        return false;
    if (m.type == MH_OBJECT)
        return err_set(err, ERR_INVALID,
                       "an object file (.o); wanted is the dSYM or the linked binary");
    image->address_size = m.wide ? 8 : 4;
    read_segments(image, &m, FIND_BASE);
    read_segments(image, &m, FIND_CODE);
    image_settle_code(image);
    read_segments(image, &m, FIND_DWARF);

    struct cursor all = cursor_over(m.commands.at, m.commands.size, "load commands"), c;
    uint32_t left = m.n_commands, type;

    while (next_command(&all, &left, &type, &c))
        if (type == LC_SYMTAB)
            read_symbols(image, &m, &c);
    return true;
}
